/* SPDX-License-Identifier: Apache-2.0 */
/* A table per struct: key, kind, place, default. Nesting is as deep as the tables are (3), never as deep as the input. */
#include "agent/wire.h"

#include "base/check.h"

#include <jansson.h>

const char *const wz_wire_types[WZ_WIRE_TYPES] = {"", "start", "stop", "signal", "freeze", "thaw", "list", "query",
        "checkpoint", "acked", "hello", "running", "ended", "cleaning", "report", "telemetry", "node", "notice",
        "ack", "error"};

enum kind { I64, STR, BYTES_LIST, I64_LIST, STRUCT_LIST };

struct table;
struct field {
	const char *key;
	enum kind kind;
	size_t at;
	int64_t absent; /* I64: the value of a key that is not there */
	const struct table *of; /* STRUCT_LIST */
};
struct table {
	const struct field *field;
	unsigned n;
	size_t size;
};

#define AT(type, name) #name, I64, offsetof(struct type, name)
#define INT(type, name) \
	{ \
		AT(type, name), 0, NULL \
	}
#define INTD(type, name, def) \
	{ \
		AT(type, name), def, NULL \
	}
#define TEXT(type, name) \
	{ \
#name, STR, offsetof(struct type, name), 0, NULL \
	}
#define BYTES(type, name) \
	{ \
#name, BYTES_LIST, offsetof(struct type, name), 0, NULL \
	}
#define INTS(type, name) \
	{ \
#name, I64_LIST, offsetof(struct type, name), 0, NULL \
	}
#define STRUCTS(type, name, table) \
	{ \
#name, STRUCT_LIST, offsetof(struct type, name), 0, &table \
	}
#define TABLE(name, type) \
	static const struct table name = {name##_fields, (unsigned)WZ_ARRAY_LEN(name##_fields), sizeof(struct type)}
#define ID(type) INT(type, job), INT(type, task), INT(type, attempt)

#define T wz_wire_start
static const struct field start_fields[] = {ID(T), TEXT(T, node), TEXT(T, name), TEXT(T, user), TEXT(T, queue),
        BYTES(T, argv), TEXT(T, script), BYTES(T, env), BYTES(T, pass), BYTES(T, set), INT(T, env_all),
        TEXT(T, cwd), TEXT(T, home), TEXT(T, shell), INTD(T, uid, -1), INTD(T, gid, -1), INTS(T, groups),
        INTD(T, umask, -1), INT(T, cpu_milli), INT(T, mem_bytes), INT(T, pids), INTS(T, rlimits), INT(T, nice),
        INT(T, no_new_privs), INTS(T, devices), INT(T, devices_by_uuid), INT(T, devices_open), INT(T, dev_milli),
        INT(T, dev_mem_bytes), TEXT(T, log), TEXT(T, log_err), INT(T, log_as_user), INT(T, log_head_bytes),
        INT(T, log_tail_bytes), INT(T, signal), INT(T, grace_ms), INT(T, leftover_ms), INT(T, time_ms),
        INT(T, preempt_signal), INT(T, preempt_grace_ms), INT(T, preempt_ack), INT(T, rank), INT(T, size),
        TEXT(T, master_addr), INT(T, master_port), BYTES(T, hosts), INTS(T, speeds), INT(T, pty), INT(T, rows),
        INT(T, cols), INT(T, pty_alone_ms), TEXT(T, image), INT(T, restarts), INT(T, slurm), TEXT(T, array_job),
        INT(T, array_index), INT(T, array_count), INT(T, array_min), INT(T, array_max), INT(T, array_step),
        BYTES(T, params), BYTES(T, secrets), INT(T, secrets_env), INT(T, script_at)};
TABLE(start, wz_wire_start);
#undef T
#define T wz_wire_stop
static const struct field stop_fields[] = {
        ID(T), INT(T, signal), INTD(T, grace_ms, -1), INT(T, preempt), TEXT(T, reason)};
TABLE(stop, wz_wire_stop);
#undef T
#define T wz_wire_device
static const struct field device_fields[] = {INT(T, index), INT(T, mem_bytes), INT(T, link_domain), INT(T, numa),
        INT(T, pcie), TEXT(T, uuid), TEXT(T, name), TEXT(T, bus), TEXT(T, health), TEXT(T, why)};
TABLE(device, wz_wire_device);
#undef T
#define T wz_wire_label
static const struct field label_fields[] = {TEXT(T, key), TEXT(T, value)};
TABLE(label, wz_wire_label);
#undef T
#define T wz_wire_node
static const struct field node_fields[] = {TEXT(T, name), TEXT(T, site), TEXT(T, rack), INT(T, cpu_milli),
        INT(T, mem_bytes), INT(T, max_tasks), INT(T, ready), STRUCTS(T, labels, label),
        STRUCTS(T, devices, device)};
TABLE(node, wz_wire_node);
#undef T
#define T wz_wire_facet
static const struct field facet_fields[] = {TEXT(T, name), TEXT(T, why), INT(T, version)};
TABLE(facet, wz_wire_facet);
#undef T
#define T wz_wire_hello
static const struct field hello_fields[] = {INT(T, proto), INT(T, pid), TEXT(T, version), TEXT(T, boot),
        TEXT(T, host), TEXT(T, provider), INT(T, privileged), STRUCTS(T, nodes, node), STRUCTS(T, cgroup, facet)};
TABLE(hello, wz_wire_hello);
#undef T
#define T wz_wire_running
static const struct field running_fields[] = {ID(T), INT(T, pid), INT(T, started_us), INT(T, left), INT(T, frozen),
        INTD(T, cpu_us, -1), INTD(T, mem_bytes, -1), INT(T, adopted), TEXT(T, node), TEXT(T, tracked),
        BYTES(T, warnings)};
TABLE(running, wz_wire_running);
#undef T
#define T wz_wire_ended
static const struct field ended_fields[] = {ID(T), TEXT(T, node), TEXT(T, why), TEXT(T, reason), TEXT(T, text),
        INTD(T, exit_code, -1), INTD(T, exit_signal, -1), INT(T, core_dumped), INTD(T, oom_kills, -1),
        INT(T, acked), INT(T, started_us), INT(T, ended_us), INTD(T, cpu_us, -1), INTD(T, mem_peak_bytes, -1),
        INTD(T, mem_limit_bytes, -1), INT(T, log_bytes), INT(T, log_lost), INT(T, log_gap_at),
        INT(T, log_gap_bytes), INT(T, log_gap_marker)};
TABLE(ended, wz_wire_ended);
#undef T
#define T wz_wire_report
static const struct field report_fields[] = {ID(T), TEXT(T, text)};
TABLE(report, wz_wire_report);
#undef T
#define T wz_wire_reading
static const struct field reading_fields[] = {
        TEXT(T, name), TEXT(T, unit), TEXT(T, status), INT(T, value), INT(T, age_us)};
TABLE(reading, wz_wire_reading);
#undef T
#define T wz_wire_sample
static const struct field sample_fields[] = {INT(T, index), STRUCTS(T, readings, reading)};
TABLE(sample, wz_wire_sample);
#undef T
#define T wz_wire_proc
static const struct field proc_fields[] = {
        INT(T, index), INTD(T, pid, -1), INTD(T, mem_bytes, -1), INT(T, job), TEXT(T, user), TEXT(T, command)};
TABLE(proc, wz_wire_proc);
#undef T
#define T wz_wire_telemetry
static const struct field telemetry_fields[] = {
        TEXT(T, node), INT(T, time_us), INT(T, procs_known), STRUCTS(T, devices, sample), STRUCTS(T, procs, proc)};
TABLE(telemetry, wz_wire_telemetry);
#undef T
#define T wz_wire_error
static const struct field error_fields[] = {TEXT(T, reason), TEXT(T, text), ID(T)};
TABLE(error, wz_wire_error);
#undef T

static const struct table *const body_of[WZ_WIRE_TYPES] = {[WZ_WIRE_START] = &start,
        [WZ_WIRE_STOP] = &stop,
        [WZ_WIRE_SIGNAL] = &stop,
        [WZ_WIRE_FREEZE] = &stop,
        [WZ_WIRE_THAW] = &stop,
        [WZ_WIRE_QUERY] = &stop,
        [WZ_WIRE_CHECKPOINT] = &stop,
        [WZ_WIRE_ACKED] = &stop,
        [WZ_WIRE_HELLO] = &hello,
        [WZ_WIRE_RUNNING] = &running,
        [WZ_WIRE_ENDED] = &ended,
        [WZ_WIRE_CLEANING] = &running,
        [WZ_WIRE_REPORT] = &report,
        [WZ_WIRE_TELEMETRY] = &telemetry,
        [WZ_WIRE_NODE] = &node,
        [WZ_WIRE_NOTICE] = &error,
        [WZ_WIRE_ERROR] = &error};

static void defaults(const struct table *t, void *to)
{
	memset(to, 0, t->size);
	for (unsigned i = 0; i < t->n; i++) {
		if (t->field[i].kind == I64)
			*(int64_t *)(void *)((char *)to + t->field[i].at) = t->field[i].absent;
		else if (t->field[i].kind == STR)
			*(struct wz_str *)(void *)((char *)to + t->field[i].at) = WZ_STR("");
	}
}

void wz_wire_init(struct wz_wire_msg *m, enum wz_wire_type type)
{
	memset(m, 0, sizeof *m);
	m->type = type;
	if (body_of[type])
		defaults(body_of[type], &m->u);
}

/* --- parsing -------------------------------------------------------------------------------------------------- */

static int bad(struct wz_err *err, const char *key, const char *what)
{
	return wz_err_set(
	        err, -EBADMSG, "BadMessage", WZ_STR("message: \""), wz_str(key), WZ_STR("\" "), wz_str(what));
}

static int no_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

static int copy_text(struct wz_str s, struct wz_arena *arena, struct wz_str *ret)
{
	char *p = wz_arena_alloc(arena, s.len + 1);
	if (!p)
		return -ENOMEM;
	if (s.len)
		memcpy(p, s.ptr, s.len);
	*ret = (struct wz_str){p, s.len};
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "text" or {"hex":"..."} */
static int parse_bytes(const json_t *v, struct wz_arena *arena, struct wz_str *ret)
{
	const json_t *hex = json_is_object(v) ? json_object_get(v, "hex") : NULL;
	const json_t *text = hex ? hex : v;
	if (!json_is_string(text))
		return -EBADMSG;
	struct wz_str s = {json_string_value(text), json_string_length(text)};
	if (!hex)
		return s.len && memchr(s.ptr, 0, s.len) ? -EBADMSG : copy_text(s, arena, ret);
	char *p = s.len % 2 == 0 ? wz_arena_alloc(arena, s.len / 2 + 1) : NULL;
	if (!p)
		return s.len % 2 ? -EBADMSG : -ENOMEM;
	for (size_t i = 0; i < s.len / 2; i++) {
		int a = hex_digit(s.ptr[2 * i]), b = hex_digit(s.ptr[2 * i + 1]);
		if (a < 0 || b < 0 || (a == 0 && b == 0))
			return -EBADMSG;
		p[i] = (char)(a * 16 + b);
	}
	*ret = (struct wz_str){p, s.len / 2};
	return 0;
}

static int parse_flat(const json_t *v, const struct field *f, struct wz_arena *arena, void *to, struct wz_err *err)
{
	if (f->kind == I64) {
		if (!json_is_integer(v) && !json_is_boolean(v))
			return bad(err, f->key, "is no whole number");
		*(int64_t *)to = json_is_integer(v) ? json_integer_value(v) : json_is_true(v);
		return 0;
	}
	int rc = parse_bytes(v, arena, to);
	return rc == -ENOMEM ? no_memory(err) : rc < 0 ? bad(err, f->key, "is no text, or has a zero byte") : 0;
}

static int parse_array(const json_t *v, const struct field *f, size_t size, struct wz_arena *arena,
        struct wz_wire_array *ret, struct wz_err *err)
{
	size_t n = json_array_size(v);
	if (!json_is_array(v))
		return bad(err, f->key, "is no list");
	if (n > WZ_WIRE_ITEMS_MAX)
		return wz_err_set(
		        err, -E2BIG, "TooLarge", WZ_STR("message: \""), wz_str(f->key), WZ_STR("\" is too long"));
	*ret = (struct wz_wire_array){(uint32_t)n, n ? wz_arena_alloc(arena, n * size) : NULL};
	return n && !ret->item ? no_memory(err) : 0;
}

/* A struct of flat fields and lists of flat values; `deep` receives the lists of structs, which the caller goes on with. */
static int parse_struct(const json_t *o, const struct table *t, struct wz_arena *arena, void *to,
        struct wz_err *err, unsigned depth)
{
	static const struct field item_text = {"item", STR, 0, 0, NULL}, item_i64 = {"item", I64, 0, 0, NULL};
	wz_check(depth < 4); /* as deep as the tables */
	if (!json_is_object(o))
		return bad(err, "item", "is no object");
	defaults(t, to);
	for (unsigned i = 0; i < t->n; i++) {
		const struct field *f = &t->field[i];
		char *at = (char *)to + f->at;
		const json_t *v = json_object_get(o, f->key);
		if (!v || json_is_null(v))
			continue;
		int rc;
		if (f->kind == I64 || f->kind == STR) {
			rc = parse_flat(v, f, arena, at, err);
		} else {
			struct wz_wire_array *a = (struct wz_wire_array *)(void *)at;
			size_t size = f->kind == STRUCT_LIST ? f->of->size
			              : f->kind == I64_LIST  ? sizeof(int64_t)
			                                     : sizeof(struct wz_str);
			rc = parse_array(v, f, size, arena, a, err);
			for (uint32_t k = 0; rc == 0 && k < a->n; k++) {
				const json_t *item = json_array_get(v, k);
				void *place = (char *)a->item + k * size;
				rc = f->kind == STRUCT_LIST
				             ? parse_struct(item, f->of, arena, place, err, depth + 1)
				             : parse_flat(item, f->kind == I64_LIST ? &item_i64 : &item_text, arena,
				                       place, err);
			}
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int parse_root(const json_t *root, struct wz_arena *arena, struct wz_wire_msg *m, struct wz_err *err)
{
	const json_t *type = json_object_get(root, "type"), *re = json_object_get(root, "re");
	struct wz_str word = json_is_string(type) ? wz_str(json_string_value(type)) : WZ_STR("");
	uint32_t t = 1;
	while (t < WZ_WIRE_TYPES && !wz_str_eq(word, wz_str(wz_wire_types[t])))
		t++;
	if (t == WZ_WIRE_TYPES)
		return bad(err, "type", "is none that is known");
	if (re && !json_is_integer(re))
		return bad(err, "re", "is no whole number");
	m->type = t;
	m->re = json_integer_value(re);
	return body_of[t] ? parse_struct(root, body_of[t], arena, &m->u, err, 0) : 0;
}

int wz_wire_parse(
        struct wz_str line, struct wz_arena *arena, struct wz_wire_msg *ret, int64_t *ret_id, struct wz_err *err)
{
	struct wz_wire_msg m;
	json_error_t why;
	*ret_id = 0;
	if (line.len > WZ_WIRE_LINE_MAX)
		return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("a message is longer than 16 MiB"));
	json_t *root = json_loadb(line.ptr ? line.ptr : "", line.len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return wz_err_set(err, -EBADMSG, "BadMessage", WZ_STR("message: "), wz_str(why.text));
	memset(&m, 0, sizeof m);
	int rc = json_is_object(root) ? 0 : bad(err, "message", "is no object");
	if (rc == 0) {
		const json_t *id = json_object_get(root, "id");
		m.id = *ret_id = json_is_integer(id) ? json_integer_value(id) : 0;
		rc = parse_root(root, arena, &m, err);
	}
	json_decref(root);
	if (rc == 0)
		*ret = m;
	return rc;
}

/* --- formatting ----------------------------------------------------------------------------------------------- */

static void format_bytes(struct wz_buf *b, struct wz_str s)
{
	static const char digits[] = "0123456789abcdef";
	json_t *utf8 = json_stringn(s.ptr ? s.ptr : "", s.len); /* NULL unless valid UTF-8 */
	if (utf8) {
		json_decref(utf8);
		wz_buf_add_json(b, s);
		return;
	}
	wz_buf_addz(b, "{\"hex\":\"");
	for (size_t i = 0; i < s.len; i++) {
		wz_buf_addc(b, digits[(unsigned char)s.ptr[i] >> 4]);
		wz_buf_addc(b, digits[s.ptr[i] & 15]);
	}
	wz_buf_addz(b, "\"}");
}

static bool is_default(const struct field *f, const void *at)
{
	if (f->kind == I64)
		return *(const int64_t *)at == f->absent;
	if (f->kind == STR)
		return ((const struct wz_str *)at)->len == 0;
	return ((const struct wz_wire_array *)at)->n == 0;
}

static void format_struct(const struct table *t, const void *from, bool first, struct wz_buf *b, unsigned depth);

static void format_field(const struct field *f, const void *at, struct wz_buf *b, unsigned depth)
{
	const struct wz_wire_array *a = at;
	if (f->kind == I64) {
		wz_buf_add_i64(b, *(const int64_t *)at);
		return;
	}
	if (f->kind == STR) {
		format_bytes(b, *(const struct wz_str *)at);
		return;
	}
	wz_buf_addc(b, '[');
	for (uint32_t i = 0; i < a->n; i++) {
		if (i)
			wz_buf_addc(b, ',');
		if (f->kind == I64_LIST)
			wz_buf_add_i64(b, ((const int64_t *)a->item)[i]);
		else if (f->kind == BYTES_LIST)
			format_bytes(b, ((const struct wz_str *)a->item)[i]);
		else {
			wz_buf_addc(b, '{');
			format_struct(f->of, (const char *)a->item + i * f->of->size, true, b, depth + 1);
			wz_buf_addc(b, '}');
		}
	}
	wz_buf_addc(b, ']');
}

static void format_struct(const struct table *t, const void *from, bool first, struct wz_buf *b, unsigned depth)
{
	wz_check(depth < 4);
	for (unsigned i = 0; i < t->n; i++) {
		const void *at = (const char *)from + t->field[i].at;
		if (is_default(&t->field[i], at))
			continue;
		wz_buf_addz(b, first ? "\"" : ",\"");
		wz_buf_addz(b, t->field[i].key);
		wz_buf_addz(b, "\":");
		format_field(&t->field[i], at, b, depth);
		first = false;
	}
}

void wz_wire_format(const struct wz_wire_msg *m, struct wz_buf *b)
{
	wz_check(m->type > WZ_WIRE_NONE && m->type < WZ_WIRE_TYPES);
	wz_buf_addz(b, "{\"type\":\"");
	wz_buf_addz(b, wz_wire_types[m->type]);
	wz_buf_addz(b, "\",\"id\":");
	wz_buf_add_i64(b, m->id);
	if (m->re) {
		wz_buf_addz(b, ",\"re\":");
		wz_buf_add_i64(b, m->re);
	}
	if (body_of[m->type])
		format_struct(body_of[m->type], &m->u, false, b, 0);
	wz_buf_addz(b, "}\n");
}
