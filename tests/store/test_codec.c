/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the journal: the lines of the spec, vectors, random lives there and back, another JSON parser's opinion, errors with
 * their places. */
#include "fault.h"
#include "tap.h"

#include "base/hash.h"
#include "base/json.h"
#include "history.h"
#include "os/file.h"
#include "os/mem.h"
#include "store/store_int.h"

#include <jansson.h>

static struct wz_catalogue cat;
static struct wz_arena arena;

static const char *source(char *to, size_t n, const char *rest)
{
	const char *root = getenv("WZ_SOURCE_ROOT");
	(void)snprintf(to, n, "%s/%s", root ? root : ".", rest);
	return to;
}

/* Formats again what was parsed; the caller releases. */
static int again(struct wz_str line, struct wz_buf *b, struct wz_err *err)
{
	struct wz_event ev;
	struct wz_effect ef;
	int r;
	wz_buf_init(b, wz_os_mem(), WZ_LINE_MAX);
	if (wz_str_starts(line, WZ_STR("{\"ef\""))) {
		r = wz_effect_parse(line, &arena, &ef, err);
		return r < 0 ? r : wz_effect_format(&ef, b, err);
	}
	r = wz_event_parse(line, &cat, &arena, &ev, err);
	return r < 0 ? r : wz_event_format(&ev, &cat, b, err);
}

/* The lines of a page show defaults where that helps to read; formatted they are without, and stable. */
static void page(const char *name, const char *first, unsigned least)
{
	char path[512];
	struct wz_file_text t = {0};
	unsigned n = 0;
	tap_require(wz_file_read(source(path, sizeof path, name), 1 << 20, wz_os_mem(), &t, NULL) == 0, "%s", name);
	struct wz_str rest = wz_file_text_str(&t);
	while (rest.ptr) {
		struct wz_str line = wz_str_split(&rest, '\n');
		struct wz_buf b, c;
		struct wz_err err = {0};
		if (!wz_str_starts(line, wz_str(first)))
			continue;
		n++;
		tap_ok(again(line, &b, &err) == 0, "%.*s: %s", (int)line.len, line.ptr, err.text);
		tap_ok(again(wz_buf_str(&b), &c, &err) == 0, "again: %s", err.text);
		tap_eq_str(wz_buf_str(&c), wz_buf_str(&b), "format(parse(l)) = l");
		wz_buf_release(&b);
		wz_buf_release(&c);
		wz_arena_clear(&arena);
	}
	tap_ok(n >= least, "%s has %u lines", name, n);
	wz_file_text_release(&t);
}

/* The notes of spec/store.md come back as they are. */
static void notes(void)
{
	char path[512];
	struct wz_file_text t = {0};
	unsigned n = 0;
	tap_require(wz_file_read(source(path, sizeof path, "spec/store.md"), 1 << 20, wz_os_mem(), &t, NULL) == 0,
	        "spec/store.md");
	struct wz_str rest = wz_file_text_str(&t);
	while (rest.ptr) {
		struct wz_str line = wz_str_split(&rest, '\n');
		struct wz_err err = {0};
		union wz_row row;
		unsigned table;
		struct wz_buf b;
		if (!wz_str_starts(line, WZ_STR("{\"no\":")))
			continue;
		n++;
		wz_buf_init(&b, wz_os_mem(), 4096);
		tap_ok(wz_note_parse(line, &arena, &table, &row, &err) == 0, "%.*s: %s", (int)line.len, line.ptr,
		        err.text);
		tap_ok(wz_note_format(table, &row, &b, &err) == 0, "%s", err.text);
		tap_eq_str(wz_buf_str(&b), line, "comes back");
		wz_buf_release(&b);
		wz_arena_clear(&arena);
	}
	tap_ok(n == WZ_T_NOTES, "%u notes", n);
	wz_file_text_release(&t);
}

static void test_pages(void)
{
	notes();
	page("spec/events.md", "{\"ev\":", 30);
	page("spec/effects.md", "{\"ef\":", 3);
}

/* spec/vectors/journal.txt: "= line" must come back as it is; "! N line" is an error at byte N (or "-": without a place). */
static void test_vectors(void)
{
	char path[512];
	struct wz_file_text t = {0};
	unsigned good = 0, bad = 0;
	tap_require(wz_file_read(source(path, sizeof path, "spec/vectors/journal.txt"), 1 << 20, wz_os_mem(), &t,
	                    NULL) == 0,
	        "vectors");
	struct wz_str rest = wz_file_text_str(&t);
	while (rest.ptr) {
		struct wz_str line = wz_str_split(&rest, '\n'), sign = wz_str_split(&line, ' ');
		struct wz_err err = {0};
		struct wz_buf b;
		if (wz_str_eq(sign, WZ_STR("="))) {
			good++;
			tap_ok(again(line, &b, &err) == 0, "%.*s: %s", (int)line.len, line.ptr, err.text);
			tap_eq_str(wz_buf_str(&b), line, "comes back");
			wz_buf_release(&b);
		} else if (wz_str_eq(sign, WZ_STR("!"))) {
			struct wz_str at = wz_str_split(&line, ' ');
			char want[64];
			bad++;
			tap_ok(again(line, &b, &err) == -EINVAL, "%.*s is refused", (int)line.len, line.ptr);
			(void)snprintf(want, sizeof want, "byte %.*s", (int)at.len, at.ptr);
			tap_ok(at.ptr[0] == '-' || strstr(err.text, want), "%.*s: \"%s\" has %s", (int)line.len,
			        line.ptr, err.text, want);
			wz_buf_release(&b);
		}
		wz_arena_clear(&arena);
	}
	tap_ok(good >= 15 && bad >= 25, "%u good and %u bad vectors", good, bad);
	wz_file_text_release(&t);
}

/* ---- random lives, and another parser ---- */

static uint64_t lines, bytes;

static void record(void *ctx, const struct wz_event *ev, const struct wz_effect *ef)
{
	const struct wz_catalogue *c = ctx;
	struct wz_buf b, d;
	struct wz_err err = {0};
	struct wz_event ev2;
	struct wz_effect ef2;
	json_error_t je;
	int r;
	wz_buf_init(&b, wz_os_mem(), WZ_LINE_MAX);
	wz_buf_init(&d, wz_os_mem(), WZ_LINE_MAX);
	wz_arena_clear(&arena);
	r = ev ? wz_event_format(ev, c, &b, &err) : wz_effect_format(ef, &b, &err);
	tap_ok(r == 0, "format: %s", err.text);
	r = ev ? wz_event_parse(wz_buf_str(&b), c, &arena, &ev2, &err)
	       : wz_effect_parse(wz_buf_str(&b), &arena, &ef2, &err);
	tap_ok(r == 0, "%.*s: %s", (int)b.len, b.data, err.text);
	if (r == 0)
		r = ev ? wz_event_format(&ev2, c, &d, &err) : wz_effect_format(&ef2, &d, &err);
	tap_ok(r == 0 && wz_str_eq(wz_buf_str(&b), wz_buf_str(&d)), "the same line again");
	if (ef)
		tap_ok(memcmp(&ef->place, &ef2.place, sizeof ef->place) == 0 && ef->id == ef2.id &&
		                ef->deadline_us == ef2.deadline_us && ef->job == ef2.job && ef->task == ef2.task &&
		                ef->attempt == ef2.attempt && ef->reason == ef2.reason,
		        "the same effect");
	json_t *j = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, &je);
	tap_ok(j, "jansson: %s in %.*s", je.text, (int)b.len, b.data);
	if (j && ev && ev->kind == WZ_EV_NODE_JOINED) {
		const char *name = json_string_value(json_object_get(j, "name"));
		tap_eq_str(wz_str(name), ev->u.node.name, "jansson reads the name");
		tap_eq_i64(
		        json_integer_value(json_object_get(j, "cpu")), ev->u.node.cpu_milli, "jansson reads cpu");
		if (ev->u.node.n_labels == 2)
			tap_eq_str(wz_str(json_string_value(json_object_get(json_object_get(j, "labels"), "disk"))),
			        ev->u.node.label[1].value, "escapes");
	}
	json_decref(j);
	lines++;
	bytes += b.len;
	wz_buf_release(&b);
	wz_buf_release(&d);
}

static void test_lives(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct wz_core_options o = {.seed = seed};
		struct wz_core *c;
		struct history h;
		wz_check(wz_core_new(wz_os_mem(), &o, &c, NULL) == 0);
		history_init(&h, c, wz_os_mem(), seed);
		h.record = record;
		h.ctx = wz_core_catalogue(c);
		for (uint32_t i = 0; i < 100; i++)
			history_step(&h);
		wz_plan_release(&h.plan);
		wz_core_free(c);
	}
	tap_ok(lines > 5000, "%" PRIu64 " lines", lines);
	printf("# %" PRIu64 " lines, %" PRIu64 " bytes each\n", lines, bytes / lines);
}

/* A journal made of lines leads to the same digest as the events themselves. */
struct twin {
	struct wz_core *core;
};

static void replay(void *ctx, const struct wz_event *ev, const struct wz_effect *ef)
{
	struct twin *t = ctx;
	struct wz_buf b;
	struct wz_event ev2;
	struct wz_effect ef2;
	wz_buf_init(&b, wz_os_mem(), WZ_LINE_MAX);
	wz_arena_clear(&arena);
	wz_check((ev ? wz_event_format(ev, wz_core_catalogue(t->core), &b, NULL)
	             : wz_effect_format(ef, &b, NULL)) == 0);
	if (ev)
		tap_ok(wz_event_parse(wz_buf_str(&b), wz_core_catalogue(t->core), &arena, &ev2, NULL) == 0 &&
		                wz_core_apply(t->core, &ev2, NULL) == 0,
		        "applies");
	else
		tap_ok(wz_effect_parse(wz_buf_str(&b), &arena, &ef2, NULL) == 0 &&
		                wz_core_apply_effect(t->core, &ef2, NULL) == 0,
		        "applies");
	wz_buf_release(&b);
}

static void test_twin(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct wz_core_options o = {.seed = seed};
		struct wz_core *a;
		struct twin t;
		struct history h;
		wz_check(wz_core_new(wz_os_mem(), &o, &a, NULL) == 0 &&
		         wz_core_new(wz_os_mem(), &o, &t.core, NULL) == 0);
		history_init(&h, a, wz_os_mem(), seed);
		h.record = replay;
		h.ctx = &t;
		for (uint32_t i = 0; i < 100; i++) {
			history_step(&h);
			tap_ok(wz_core_digest(a) == wz_core_digest(t.core), "seed %" PRIu64 " step %u", seed, i);
		}
		wz_plan_release(&h.plan);
		wz_core_free(a);
		wz_core_free(t.core);
	}
}

static void test_refusals_of_format(void)
{
	struct wz_event e = {.kind = WZ_EV_NODE_LEFT};
	struct wz_label twice[2] = {{WZ_STR("a"), WZ_STR("1")}, {WZ_STR("a"), WZ_STR("2")}};
	struct wz_device_facts d = {.model = {9999}};
	struct wz_err err = {0};
	struct wz_buf b;
	wz_buf_init(&b, wz_os_mem(), 4096);
	wz_buf_addz(&b, "before");
	e.kind = 999;
	tap_eq_i64(wz_event_format(&e, &cat, &b, &err), -EINVAL, "kind");
	e = (struct wz_event){.kind = WZ_EV_SITE_JOINED};
	e.u.named.name = WZ_STR("\xff");
	tap_eq_i64(wz_event_format(&e, &cat, &b, &err), -EINVAL, "UTF-8");
	tap_eq_str(wz_str(err.reason), WZ_STR("BadText"), "reason");
	e = (struct wz_event){.kind = WZ_EV_NODE_JOINED};
	e.u.node = (struct wz_ev_node){.name = WZ_STR("n"), .n_labels = 2, .label = twice};
	tap_eq_i64(wz_event_format(&e, &cat, &b, &err), -EINVAL, "label twice");
	e.u.node = (struct wz_ev_node){.name = WZ_STR("n"), .n_devices = 1, .device = &d};
	tap_eq_i64(wz_event_format(&e, &cat, &b, &err), -EINVAL, "model");
	tap_eq_str(wz_buf_str(&b), WZ_STR("before"), "nothing was appended");
	wz_buf_release(&b);
}

static void test_limits(void)
{
	uint64_t u;
	int64_t i;
	struct wz_json j;
	wz_json_init(&j, WZ_STR("18446744073709551615"));
	tap_ok(wz_json_u64(&j, &u) && wz_json_end(&j) && u == UINT64_MAX, "all 64 bits");
	wz_json_init(&j, WZ_STR("18446744073709551616"));
	tap_ok(!wz_json_u64(&j, &u) && j.what, "one more");
	wz_json_init(&j, WZ_STR("-9223372036854775808"));
	tap_ok(wz_json_i64(&j, &i) && i == INT64_MIN, "least");
	wz_json_init(&j, WZ_STR("-9223372036854775809"));
	tap_ok(!wz_json_i64(&j, &i), "less");
	struct {
		const char *z;
		bool ok;
	} utf8[] = {{"\xc3\xa9", 1}, {"\xe9\xb2\xb8", 1}, {"\xf0\x9f\x90\x8b", 1}, {"\xc0\x80", 0},
	        {"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0}, {"\xe9\xb2", 0}, {"\x80", 0}};
	for (size_t k = 0; k < WZ_ARRAY_LEN(utf8); k++)
		tap_ok(wz_utf8_ok(wz_str(utf8[k].z)) == utf8[k].ok, "UTF-8 %zu", k);
}

int main(void)
{
	wz_check(wz_catalogue_init(&cat, wz_os_mem()) == 0);
	wz_arena_init(&arena, wz_os_mem(), 4096);
	tap_run(test_limits);
	tap_run(test_pages);
	tap_run(test_vectors);
	tap_run(test_lives);
	tap_run(test_twin);
	tap_run(test_refusals_of_format);
	wz_arena_release(&arena);
	wz_catalogue_release(&cat);
	return tap_done();
}
