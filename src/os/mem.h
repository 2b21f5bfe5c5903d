/* SPDX-License-Identifier: Apache-2.0 */
/* The memory table of programs: malloc. Thread safe, since malloc is. */
#ifndef WZ_OS_MEM_H
#define WZ_OS_MEM_H

#include "base/mem.h"

const struct wz_mem *wz_os_mem(void); /* never NULL, the same table always */

#endif
