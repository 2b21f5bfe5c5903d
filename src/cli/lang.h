/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the read verbs in the language of who reads: headers of tables, states, reasons. English is the key, so a text
 * without a translation is shown as it is. JSON, errors and what scripts read are English always.
 *
 * The language: WZ_LANG, else LC_ALL, LC_MESSAGES, LANG, the first that is set; "zh..." is Chinese, all else English. */
#ifndef WZ_CLI_LANG_H
#define WZ_CLI_LANG_H

#include "base/str.h"

struct wz_str wz_tr(struct wz_str english); /* a view of `english` or of a constant */

#endif
