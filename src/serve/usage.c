/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/usage.h"

#include "base/check.h"
#include "base/json.h"

static const struct {
	const char *key;
	size_t from, to;
} members[] = {
#define M(key) \
	{ \
#key, offsetof(struct wz_wire_ended, key), offsetof(struct usage, key) \
	}
        M(cpu_us),
        M(mem_peak_bytes),
        M(log_bytes),
        M(log_lost),
#undef M
        {"log_gap_at", offsetof(struct wz_wire_ended, log_gap_at), offsetof(struct usage, gap.at)},
        {"log_gap_bytes", offsetof(struct wz_wire_ended, log_gap_bytes), offsetof(struct usage, gap.bytes)},
        {"log_gap_marker", offsetof(struct wz_wire_ended, log_gap_marker),
                offsetof(struct usage, gap.marker_bytes)},
};

void usage_write(const struct wz_wire_ended *e, struct wz_buf *b)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(members); i++) {
		wz_buf_addz(b, i ? ",\"" : "{\"");
		wz_buf_addz(b, members[i].key);
		wz_buf_addz(b, "\":");
		wz_buf_add_i64(b, *(const int64_t *)(const void *)((const char *)e + members[i].from));
	}
	wz_buf_addc(b, '}');
}

void usage_read(struct wz_str text, struct usage *ret)
{
	struct usage u = {.cpu_us = -1, .mem_peak_bytes = -1, .log_bytes = -1, .log_lost = -1};
	struct wz_json j;
	struct wz_str key;
	*ret = u;
	wz_json_init(&j, text);
	wz_json_object(&j);
	while (wz_json_key(&j, &key)) {
		int64_t v;
		if (!wz_json_i64(&j, &v))
			break;
		for (size_t i = 0; i < WZ_ARRAY_LEN(members); i++) {
			if (wz_str_eq(key, wz_str(members[i].key)))
				*(int64_t *)(void *)((char *)&u + members[i].to) = v;
		}
	}
	if (wz_json_end(&j))
		*ret = u;
}
