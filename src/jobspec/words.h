/* SPDX-License-Identifier: Apache-2.0 */
/* A line of text as arguments, by the quoting of the shell and nothing else of it: blanks part, '...' and "..." keep, \
 * takes the next byte as it is. No variables, no globs, no operators: a word that would mean something to a shell
 * (| & ; < > ( ) $ ` or * unquoted) is refused, so that nobody thinks that one runs. And the way back. Pure; fuzzed. */
#ifndef WZ_JOBSPEC_WORDS_H
#define WZ_JOBSPEC_WORDS_H

#include "base/buf.h"
#include "base/err.h"

#define WZ_WORDS_MAX 65536u

/* Into words of the arena, each NUL-terminated. `strict` false: operators are plain text. -EINVAL "BadQuoting" or
 * "NeedsShell", -E2BIG, -ENOMEM. A blank line has no words. */
int wz_words_split(struct wz_str line, bool strict, struct wz_arena *a, struct wz_str **ret, uint32_t *ret_n,
        struct wz_err *err);
/* As a shell takes it back, byte by byte: quoted only where it must be. */
void wz_words_quote(struct wz_str word, struct wz_buf *b);

#endif
