/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies against the table of each request type. Properties: an error has a reason and a text; what was read can
 * be written, and what was written can be read again to the same text. */
#include "fuzz.h"

#include "api/route.h"
#include "base/check.h"
#include "os/mem.h"

static const struct wz_api_type *const types[] = {&wz_type_submit, &wz_type_job_edit, &wz_type_job_cancel,
        &wz_type_job_signal, &wz_type_job_report, &wz_type_node_drain, &wz_type_queue_set, &wz_type_reservation_set,
        &wz_type_nothing};

/* 0 and the text of what was read, or the error. */
static int round_trip(struct wz_str text, const struct wz_api_type *t, struct wz_buf *out)
{
	struct wz_json_doc d = {NULL};
	struct wz_json_fault f = {.field = ""};
	struct wz_arena a;
	wz_arena_init(&a, wz_os_mem(), 1024);
	int rc = wz_json_parse(text, &d, &f);
	if (rc == 0) {
		void *item = wz_arena_alloc(&a, t->size);
		wz_check(item != NULL);
		rc = wz_json_read(&d, t, item, &a, &f);
		if (rc == 0)
			wz_json_write(out, t, item, true);
	}
	if (rc < 0)
		wz_check(f.err.code == rc && f.err.reason && f.err.text[0] && memchr(f.field, 0, sizeof f.field));
	wz_json_release(&d);
	wz_arena_release(&a);
	return rc;
}

/* Fields of the path, the query and the headers are written too, and cannot be read from a body. They are zero here,
 * hence left out; id, which is required in the path, is zero as well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_buf once, twice;
	if (!size)
		return 0;
	const struct wz_api_type *t = types[data[0] % WZ_ARRAY_LEN(types)];
	wz_buf_init(&once, wz_os_mem(), 64 + 16 * size);
	wz_buf_init(&twice, wz_os_mem(), 64 + 16 * size);
	if (round_trip((struct wz_str){(const char *)data + 1, size - 1}, t, &once) == 0) {
		wz_check(once.status == 0);
		int rc = round_trip(wz_buf_str(&once), t, &twice);
		/* A required field may be empty, and what is empty is not written. */
		struct wz_json_fault f;
		if (wz_json_read_none(t, &f) == 0) {
			wz_check(rc == 0 && twice.status == 0);
			wz_check(wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)));
		}
	}
	wz_buf_release(&once);
	wz_buf_release(&twice);
	return 0;
}
