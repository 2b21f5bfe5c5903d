/* SPDX-License-Identifier: Apache-2.0 */
/* The Test Anything Protocol in one header. A test program is a list of functions:
 *
 *	static void test_sum(void) { tap_eq_i64(1 + 1, 2, "one and one"); }
 *	int main(void) { tap_run(test_sum); return tap_done(); }
 *
 * Every check prints a line only when it fails or when it ends a tap_run; so a property loop may check millions of
 * times. tap_skip says why. The process exits non-zero when anything failed. */
#ifndef WZ_TESTS_TAP_H
#define WZ_TESTS_TAP_H

#include "base/str.h"

#include <inttypes.h>

static unsigned tap_count, tap_failures, tap_failed_here;
static const char *tap_skipped;

#define tap_fail_at(...)                                               \
	do {                                                           \
		tap_failed_here++;                                     \
		if (tap_failed_here <= 20) {                           \
			printf("# %s:%d: ", __FILE__, __LINE__);       \
			printf(__VA_ARGS__);                           \
			printf("\n");                                  \
		}                                                      \
	} while (0)

#define tap_ok(cond, ...) do { if (!(cond)) tap_fail_at(__VA_ARGS__); } while (0)
#define tap_require(cond, ...) do { if (!(cond)) { tap_fail_at(__VA_ARGS__); return; } } while (0)
#define tap_eq_i64(a, b, ...)                                                                       \
	do {                                                                                        \
		int64_t a_ = (int64_t)(a), b_ = (int64_t)(b);                                       \
		if (a_ != b_) {                                                                     \
			tap_fail_at(__VA_ARGS__);                                                   \
			printf("#   got %" PRId64 ", want %" PRId64 "\n", a_, b_);                  \
		}                                                                                   \
	} while (0)
#define tap_eq_str(a, b, ...)                                                                       \
	do {                                                                                        \
		struct wz_str a_ = (a), b_ = (b);                                                   \
		if (a_.len != b_.len || (a_.len && memcmp(a_.ptr, b_.ptr, a_.len) != 0)) {          \
			tap_fail_at(__VA_ARGS__);                                                   \
			printf("#   got  \"%.*s\"\n#   want \"%.*s\"\n", (int)a_.len, a_.ptr ? a_.ptr : "", \
			       (int)b_.len, b_.ptr ? b_.ptr : "");                                  \
		}                                                                                   \
	} while (0)
#define tap_skip(why) do { tap_skipped = (why); return; } while (0)

#define tap_run(fn)                                                                                 \
	do {                                                                                        \
		tap_failed_here = 0;                                                                \
		tap_skipped = NULL;                                                                 \
		fn();                                                                               \
		tap_count++;                                                                        \
		if (tap_failed_here) {                                                              \
			tap_failures++;                                                             \
			printf("not ok %u - %s (%u checks failed)\n", tap_count, #fn, tap_failed_here); \
		} else if (tap_skipped) {                                                           \
			printf("ok %u - %s # SKIP %s\n", tap_count, #fn, tap_skipped);              \
		} else {                                                                            \
			printf("ok %u - %s\n", tap_count, #fn);                                     \
		}                                                                                   \
		fflush(stdout);                                                                     \
	} while (0)

static inline int tap_done(void)
{
	printf("1..%u\n", tap_count);
	return tap_failures ? 1 : 0;
}

#endif
