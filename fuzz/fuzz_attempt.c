/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: spec and status that parse are written back and parse to the same; argv is terminated; keys have one
 * spelling. */
#include "fuzz.h"

#include "agent/attempt.h"
#include "base/check.h"
#include "os/mem.h"

static void spec(struct wz_str text)
{
	struct wz_arena arena;
	struct wz_attempt_spec s;
	struct wz_buf once, twice;
	wz_arena_init(&arena, wz_os_mem(), 4096);
	wz_buf_init(&once, wz_os_mem(), 64u << 20);
	wz_buf_init(&twice, wz_os_mem(), 64u << 20);
	if (wz_attempt_spec_parse(text, &arena, &s, NULL) == 0) {
		wz_check(s.n_argv > 0 && s.argv[s.n_argv] == NULL && s.env[s.n_env] == NULL);
		wz_attempt_spec_format(&s, &once);
		wz_check(wz_attempt_spec_parse(wz_buf_str(&once), &arena, &s, NULL) == 0);
		wz_attempt_spec_format(&s, &twice);
		wz_check(wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)));
	}
	wz_buf_release(&once);
	wz_buf_release(&twice);
	wz_arena_release(&arena);
}

static void status(struct wz_str text)
{
	struct wz_attempt_status s;
	struct wz_buf once, twice;
	wz_buf_init(&once, wz_os_mem(), 65536);
	wz_buf_init(&twice, wz_os_mem(), 65536);
	if (wz_attempt_status_parse(text, &s) == 0) {
		wz_attempt_status_format(&s, &once);
		wz_check(wz_attempt_status_parse(wz_buf_str(&once), &s) == 0);
		wz_attempt_status_format(&s, &twice);
		wz_check(wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)));
	}
	wz_buf_release(&once);
	wz_buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str text = {(const char *)data, size};
	struct wz_attempt_id id;
	uint64_t a, b;
	spec(text);
	status(text);
	if (wz_attempt_key_parse(text, &id) == 0) {
		char key[WZ_ATTEMPT_KEY_MAX];
		wz_attempt_key(id, key);
		wz_check(wz_str_eq(text, wz_str(key)));
	}
	if (wz_joblog_segment_parse(text, WZ_STR("x"), &a, &b) == 0)
		wz_check(b >= a);
	return 0;
}
