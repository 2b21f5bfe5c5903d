/* SPDX-License-Identifier: Apache-2.0 */
/* Force-included into every translation unit: functions that this project does not use, with what to use instead.
 * The system headers that declare them are included first, so that only *uses* fail. */
#ifndef WZ_BANNED_H
#define WZ_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* glibc makes macros of some (alloca always, sprintf when clang fortifies), which may not be poisoned as such. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef alloca

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets /* wz_buf */
#pragma GCC poison strtok                                             /* wz_str_split */
#pragma GCC poison atoi atol atoll atof                               /* wz_str_parse_u64 and friends */
#pragma GCC poison gmtime localtime ctime asctime                     /* the _r forms, in os only */
#pragma GCC poison system tmpnam mktemp                               /* posix_spawn, mkstemp */
#pragma GCC poison alloca

#endif
