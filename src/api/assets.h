/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's files, embedded: web/dist by tools/embed-assets. */
#ifndef WZ_API_ASSETS_H
#define WZ_API_ASSETS_H

#include "api/api.h"

extern const struct wz_api_asset wz_api_assets[];
extern const uint32_t wz_api_assets_n;

#endif
