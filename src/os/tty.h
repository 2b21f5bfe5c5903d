/* SPDX-License-Identifier: Apache-2.0 */
/* What a person's terminal can show. Data is never coloured unless a person reads it. */
#ifndef WZ_OS_TTY_H
#define WZ_OS_TTY_H

#include <stdbool.h>

bool wz_tty_is(int fd);
/* Columns: COLUMNS when it is a number, else the terminal's, else 80. Never below 20. */
unsigned wz_tty_width(int fd);
/* A terminal, NO_COLOR unset or empty (no-color.org), TERM not "dumb" and not unset. */
bool wz_tty_colour(int fd);

#endif
