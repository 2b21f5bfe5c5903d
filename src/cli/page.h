/* SPDX-License-Identifier: Apache-2.0 */
/* Long output on a terminal: how wide it is, and a pager. WZ_PAGER, else PAGER, else `less -FRSX`; an empty one, or "cat", is none. */
#ifndef WZ_CLI_PAGE_H
#define WZ_CLI_PAGE_H

#include "base/str.h"

size_t wz_page_width(void); /* WZ_WIDTH, else of the terminal on stdout, else 0: no limit */
/* To stdout, through the pager when stdout is a terminal that the text is longer than. 0 or -errno. */
int wz_page_out(struct wz_str text);

#endif
