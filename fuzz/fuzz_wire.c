/* SPDX-License-Identifier: Apache-2.0 */
/* Property: what parses, formats and parses to the same text again. */
#include "fuzz.h"

#include "agent/wire.h"
#include "base/check.h"
#include "os/mem.h"

static bool again(struct wz_str line, struct wz_buf *out)
{
	struct wz_arena arena;
	struct wz_wire_msg m;
	struct wz_err err = {0};
	int64_t id;
	wz_arena_init(&arena, wz_os_mem(), 4096);
	int rc = wz_wire_parse(line, &arena, &m, &id, &err);
	if (rc < 0)
		wz_check(err.code == rc && err.reason);
	else
		wz_wire_format(&m, out);
	wz_arena_release(&arena);
	return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_buf once, twice;
	wz_buf_init(&once, wz_os_mem(), 64u << 20);
	wz_buf_init(&twice, wz_os_mem(), 64u << 20);
	if (again((struct wz_str){(const char *)data, size}, &once)) {
		wz_check(once.status == 0 && once.data[once.len - 1] == '\n' &&
		         !memchr(once.data, '\n', once.len - 1));
		wz_check(again((struct wz_str){once.data, once.len - 1}, &twice));
		wz_check(wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)));
	}
	wz_buf_release(&once);
	wz_buf_release(&twice);
	return 0;
}
