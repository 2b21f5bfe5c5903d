/* SPDX-License-Identifier: Apache-2.0 */
/* Programming errors assert, in every build. Data errors never do. */
#ifndef WZ_BASE_CHECK_H
#define WZ_BASE_CHECK_H

#define wz_check(cond)                          \
	do {                                    \
		if (__builtin_expect(!(cond), 0)) \
			__builtin_trap();       \
	} while (0)

#define WZ_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
