/* SPDX-License-Identifier: Apache-2.0 */
/* A kind is a row of fields: key, type, and where it is in the struct. Writing and reading walk the same row, so that they
 * cannot disagree. Fields are written in the order of the row, defaults are left out; read in the same order, with any
 * left out. A type that is not a number has a pair of functions. */
#include "store/codec.h"

#include "base/check.h"
#include "base/json.h"
#include "core/profile.h"

#include <stddef.h>

enum type {
	T_END,
	T_U8,
	T_U16,
	T_U32,
	T_U64,
	T_I32,
	T_I64,
	T_BOOL,
	T_STR,
	T_MODEL,
	T_MASK,
	T_LESS_ONE,
	T_NO_DUE,
	T_FACTS,
	T_DEVICES,
	T_LABELS,
	T_TAINTS,
	T_SETS,
	T_PLACE,
	T_PROFILE,
	T_MIX
};

struct field {
	const char *key;
	enum type type;
	uint16_t at;
};

#define F(key, type, member) \
	{ \
		key, type, (uint16_t)offsetof(struct wz_event, u.member) \
	}

static const struct field node_joined[] = {F("node", T_U32, node.node), F("name", T_STR, node.name),
        F("site", T_STR, node.site), F("rack", T_STR, node.rack), F("cpu", T_I64, node.cpu_milli),
        F("mem", T_I64, node.mem_bytes), F("max_tasks", T_U32, node.max_tasks),
        F("count_only", T_BOOL, node.count_only), F("devices", T_DEVICES, node),
        F("labels", T_LABELS, node.n_labels), F("taints", T_TAINTS, node.n_taints), {0}};
static const struct field nothing[] = {{0}};
static const struct field ruled[] = {F("name", T_STR, rules.name), F("rules", T_STR, rules.text), {0}};
static const struct field named[] = {F("name", T_STR, named.name), {0}};
static const struct field node_left[] = {F("node", T_U32, left.node), {0}};
static const struct field node_ready[] = {
        F("node", T_U32, ready.node), F("ready", T_BOOL, ready.ready), F("cordoned", T_BOOL, ready.cordoned), {0}};
static const struct field device_changed[] = {
        F("node", T_U32, device.node), F("index", T_U32, device.index), F("device", T_FACTS, device.facts), {0}};
static const struct field telemetry[] = {F("node", T_U32, telemetry.node), F("index", T_U32, telemetry.index),
        F("free_mem_pct", T_U8, telemetry.free_mem_pct), F("util_pct", T_U8, telemetry.util_pct),
        F("temp_c", T_U8, telemetry.temp_c), {0}};
static const struct field submitted[] = {F("job", T_U64, submit.job), F("user", T_STR, submit.user),
        F("queue", T_STR, submit.queue), F("priority", T_I32, submit.priority),
        F("profile", T_PROFILE, submit.profile), F("held", T_BOOL, submit.held), F("p50", T_U64, submit.p50_us),
        F("p80", T_U64, submit.p80_us), F("p95", T_U64, submit.p95_us), F("labels", T_LABELS, submit.n_labels),
        F("constraint", T_STR, submit.constraint), F("sets", T_SETS, submit.n_sets), {0}};
static const struct field edited[] = {
        F("job", T_U64, edit.job), F("priority", T_I32, edit.priority), F("profile", T_PROFILE, edit.profile), {0}};
static const struct field job[] = {F("job", T_U64, job.job), {0}};
static const struct field task_started[] = {
        F("job", T_U64, task.job), F("task", T_U32, task.task), F("attempt", T_U32, task.attempt), {0}};
static const struct field task_ended[] = {F("job", T_U64, task.job), F("task", T_U32, task.task),
        F("attempt", T_U32, task.attempt), F("end", T_U32, task.end), F("requeue", T_BOOL, task.requeue), {0}};
static const struct field observed[] = {F("job", T_U64, observed.job), F("place", T_PLACE, observed.place),
        F("labels", T_LABELS, observed.n_labels), F("constraint", T_STR, observed.constraint), {0}};
static const struct field reported[] = {F("job", T_U64, report.job), F("task", T_U32, report.task),
        F("progress_milli", T_I64, report.progress_milli), F("checkpoint_us", T_I64, report.checkpoint_us), {0}};
static const struct field resized[] = {F("job", T_U64, resize.job), F("set", T_STR, resize.set),
        F("min", T_U32, resize.tasks_min), F("max", T_U32, resize.tasks_max), {0}};
static const struct field budget_set[] = {F("name", T_STR, budget.name), F("selector", T_STR, budget.selector),
        F("limit", T_U32, budget.limit), F("most", T_BOOL, budget.most), F("percent", T_BOOL, budget.percent),
        F("expected", T_U32, budget.expected), {0}};
static const struct field budget_removed[] = {F("name", T_STR, budget.name), {0}};
static const struct field confirmed[] = {F("effect", T_U64, effect.effect), {0}};
static const struct field refused[] = {F("effect", T_U64, effect.effect), F("reason", T_U32, effect.reason), {0}};
static const struct field rule_list[] = {F("rules", T_STR, rule_list.text), {0}};
static const struct field policy[] = {F("name", T_STR, policy.name), {0}};
static const struct field workload[] = {F("mix", T_MIX, workload), {0}};

static const struct field *const event_fields[] = {
        [WZ_EV_TIME] = nothing,
        [WZ_EV_STEP] = nothing,
        [WZ_EV_SITE_JOINED] = named,
        [WZ_EV_SITE_LEFT] = named,
        [WZ_EV_NODE_JOINED] = node_joined,
        [WZ_EV_NODE_LEFT] = node_left,
        [WZ_EV_NODE_READY] = node_ready,
        [WZ_EV_DEVICE_CHANGED] = device_changed,
        [WZ_EV_TELEMETRY] = telemetry,
        [WZ_EV_JOB_SUBMITTED] = submitted,
        [WZ_EV_JOB_EDITED] = edited,
        [WZ_EV_JOB_CANCELLED] = job,
        [WZ_EV_JOB_HELD] = job,
        [WZ_EV_JOB_RELEASED] = job,
        [WZ_EV_TASK_STARTED] = task_started,
        [WZ_EV_TASK_ENDED] = task_ended,
        [WZ_EV_TASK_OBSERVED] = observed,
        [WZ_EV_TASK_REPORTED] = reported,
        [WZ_EV_JOB_REQUEUED] = job,
        [WZ_EV_JOB_SUSPENDED] = job,
        [WZ_EV_JOB_RESUMED] = job,
        [WZ_EV_JOB_RESIZED] = resized,
        [WZ_EV_EFFECT_CONFIRMED] = confirmed,
        [WZ_EV_EFFECT_REFUSED] = refused,
        [WZ_EV_POLICY_SET] = policy,
        [WZ_EV_WORKLOAD_STATED] = workload,
        [WZ_EV_QUEUE_SET] = ruled,
        [WZ_EV_QUEUE_REMOVED] = named,
        [WZ_EV_RESERVATION_SET] = ruled,
        [WZ_EV_RESERVATION_REMOVED] = named,
        [WZ_EV_OFFER_SET] = named,
        [WZ_EV_OFFER_REMOVED] = named,
        [WZ_EV_SOLUTION] = named,
        [WZ_EV_REPACK_ASKED] = named,
        [WZ_EV_RULES_SET] = rule_list,
        [WZ_EV_DISRUPTION_BUDGET_SET] = budget_set,
        [WZ_EV_DISRUPTION_BUDGET_REMOVED] = budget_removed,
};

#define E(key, type, member) \
	{ \
		key, type, (uint16_t)offsetof(struct wz_effect, member) \
	}
static const struct field effect_fields[] = {E("due", T_NO_DUE, deadline_us), E("job", T_U64, job),
        E("task", T_U32, task), E("attempt", T_U32, attempt), E("reason", T_U32, reason),
        E("place", T_PLACE, place), {0}};
static const struct wz_place no_place; /* of all kinds but START: zeroed, as `decide` leaves it */

#define D(key, type, member) \
	{ \
		key, type, (uint16_t)offsetof(struct wz_device_facts, member) \
	}
static const struct field facts_fields[] = {D("model", T_MODEL, model), D("mem", T_I64, mem_bytes),
        D("milli", T_I32, compute_milli), D("link", T_U16, link_domain), D("numa", T_U8, numa),
        D("pcie", T_U8, pcie), D("health", T_U8, health), D("partition", T_U16, partition), D("card", T_U8, card),
        {0}};

#define P(key, type, member) \
	{ \
		key, type, (uint16_t)offsetof(struct wz_place, member) \
	}
static const struct field place_fields[] = {P("node", T_U32, node), P("devices", T_MASK, devices),
        P("cpu", T_I64, cpu), P("mem", T_I64, mem), P("dev_milli", T_I32, dev_milli),
        P("dev_mem", T_LESS_ONE, dev_mem), {0}};

#define L(key, type, owner, member) \
	{ \
		key, type, (uint16_t)offsetof(struct owner, member) \
	}
static const struct field taint_fields[] = {L("key", T_STR, wz_taint, key), L("value", T_STR, wz_taint, value),
        L("effect", T_U8, wz_taint, effect), {0}};
static const struct field set_fields[] = {L("name", T_STR, wz_ev_set, name),
        L("profile", T_PROFILE, wz_ev_set, profile), L("labels", T_LABELS, wz_ev_set, n_labels),
        L("constraint", T_STR, wz_ev_set, constraint), {0}};

/* A count and the array that it counts, neighbours in every struct that has such a pair; copied, since the types differ. */
struct label_list {
	uint32_t n;
	const struct wz_label *label;
};
struct list {
	uint32_t n;
	const void *item;
};
#define NEIGHBOURS(owner, n, array) \
	_Static_assert( \
	        offsetof(struct owner, array) - offsetof(struct owner, n) == offsetof(struct list, item), #array)
NEIGHBOURS(wz_ev_node, n_labels, label);
NEIGHBOURS(wz_ev_node, n_taints, taint);
NEIGHBOURS(wz_ev_submit, n_labels, label);
NEIGHBOURS(wz_ev_submit, n_sets, set);
NEIGHBOURS(wz_ev_set, n_labels, label);
NEIGHBOURS(wz_event, u.observed.n_labels, u.observed.label);

struct list_kind {
	const struct field *fields;
	size_t size;
	uint32_t max;
	const char *too_many;
};
static const struct list_kind taint_list = {
        taint_fields, sizeof(struct wz_taint), WZ_NODE_TAINTS_MAX, "more than 64 taints"};
static const struct list_kind set_list = {
        set_fields, sizeof(struct wz_ev_set), WZ_JOB_SETS_MAX, "more than 64 sets"};

static const struct field *fields_of(uint64_t kind)
{
	return kind < WZ_ARRAY_LEN(event_fields) ? event_fields[kind] : NULL;
}

static bool effect_known(uint64_t kind)
{
	return kind >= WZ_EF_START && kind <= WZ_EF_RELEASE;
}

/* ---- writing ---- */

struct out {
	struct wz_buf *b;
	const struct wz_catalogue *c;
	struct wz_err *err;
	int r;
};

static void refuse(struct out *o, const char *reason, const char *text)
{
	if (o->r == 0)
		o->r = wz_err_set(o->err, -EINVAL, reason, wz_str(text));
}

static void write_fields(struct out *o, const struct field *f, const void *base, bool first);

static void key_of(struct out *o, const char *key, bool *first)
{
	if (!*first)
		wz_buf_addc(o->b, ',');
	*first = false;
	wz_buf_addc(o->b, '"');
	wz_buf_addz(o->b, key);
	wz_buf_addz(o->b, "\":");
}

static void write_text(struct out *o, struct wz_str s)
{
	if (!wz_utf8_ok(s))
		refuse(o, "BadText", "a text is not UTF-8");
	wz_buf_add_json(o->b, s);
}

static void write_model(struct out *o, wz_model_id m)
{
	if (!o->c || m.v >= o->c->n)
		refuse(o, "UnknownModel", "a device names a model that the catalogue has not");
	else
		write_text(o, wz_str(o->c->model[m.v].name));
}

static void write_mask(struct out *o, uint64_t mask)
{
	bool first = true;

	wz_buf_addc(o->b, '[');
	for (; mask; mask &= mask - 1) {
		if (!first)
			wz_buf_addc(o->b, ',');
		first = false;
		wz_buf_add_u64(o->b, (uint64_t)__builtin_ctzll(mask));
	}
	wz_buf_addc(o->b, ']');
}

static void write_list(struct out *o, const struct list_kind *k, const void *p)
{
	struct list l;

	memcpy(&l, p, sizeof(l));
	wz_buf_addc(o->b, '[');
	for (uint32_t i = 0; i < l.n; i++) {
		wz_buf_addz(o->b, i ? ",{" : "{");
		write_fields(o, k->fields, (const char *)l.item + i * k->size, true);
		wz_buf_addc(o->b, '}');
	}
	wz_buf_addc(o->b, ']');
}

static void write_devices(struct out *o, const struct wz_ev_node *n)
{
	wz_buf_addc(o->b, '[');
	for (uint32_t i = 0; i < n->n_devices; i++) {
		wz_buf_addz(o->b, i ? ",{" : "{");
		write_fields(o, facts_fields, &n->device[i], true);
		wz_buf_addc(o->b, '}');
	}
	wz_buf_addc(o->b, ']');
}

static void write_labels(struct out *o, const void *p)
{
	struct label_list n;

	memcpy(&n, p, sizeof(n));
	wz_buf_addc(o->b, '{');
	for (uint32_t i = 0; i < n.n; i++) {
		struct wz_str key = n.label[i].key;
		for (uint32_t k = 0; k < i; k++)
			if (wz_str_eq(key, n.label[k].key))
				refuse(o, "BadText", "a label is there twice");
		for (size_t k = 0; k < key.len; k++)
			if ((unsigned char)key.ptr[k] < 0x20 || key.ptr[k] == '"' || key.ptr[k] == '\\')
				refuse(o, "BadText", "a label's key has a quote, a backslash or a control byte");
		if (i)
			wz_buf_addc(o->b, ',');
		write_text(o, key);
		wz_buf_addc(o->b, ':');
		write_text(o, n.label[i].value);
	}
	wz_buf_addc(o->b, '}');
}

static void write_profile(struct out *o, const struct wz_profile *p)
{
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_buf b;

	wz_buf_init_fixed(&b, text, sizeof(text));
	wz_profile_format(p, &b);
	if (b.status < 0)
		refuse(o, "BadProfile", "a profile's text is too long");
	write_text(o, wz_buf_str(&b));
}

static void write_mix(struct out *o, uint32_t n, const struct wz_profile *p, const uint32_t *weight)
{
	if (n > WZ_MIX_MAX) {
		refuse(o, "BadEvent", "more than 4096 profiles in a workload");
		return;
	}
	wz_buf_addc(o->b, '[');
	for (uint32_t i = 0; i < n; i++) {
		wz_buf_addz(o->b, i ? ",{\"profile\":" : "{\"profile\":");
		write_profile(o, &p[i]);
		if (weight[i]) {
			wz_buf_addz(o->b, ",\"weight\":");
			wz_buf_add_u64(o->b, weight[i]);
		}
		wz_buf_addc(o->b, '}');
	}
	wz_buf_addc(o->b, ']');
}

static uint64_t unsigned_of(enum type t, const void *p)
{
	switch (t) {
	case T_U8:
		return *(const uint8_t *)p;
	case T_U16:
		return *(const uint16_t *)p;
	case T_U32:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static int64_t signed_of(enum type t, const void *p)
{
	return t == T_I32 ? *(const int32_t *)p : *(const int64_t *)p;
}

/* Is it the default, which is left out? */
static bool is_default(enum type t, const void *p)
{
	switch (t) {
	case T_U8:
	case T_U16:
	case T_U32:
	case T_U64:
	case T_MASK:
		return unsigned_of(t, p) == 0;
	case T_I32:
	case T_I64:
		return signed_of(t, p) == 0;
	case T_BOOL:
		return !*(const bool *)p;
	case T_STR:
		return ((const struct wz_str *)p)->len == 0;
	case T_LESS_ONE:
		return *(const int64_t *)p == -1;
	case T_NO_DUE:
		return *(const uint64_t *)p == UINT64_MAX;
	case T_DEVICES:
		return ((const struct wz_ev_node *)p)->n_devices == 0;
	case T_LABELS:
	case T_TAINTS:
	case T_SETS:
		return *(const uint32_t *)p == 0; /* the count */
	case T_PROFILE:
		return !*(const struct wz_profile *const *)p;
	case T_MIX:
		return *(const uint32_t *)p == 0; /* n, its first member */
	case T_PLACE: {
		const struct wz_place *x = p;
		return !x->node.v && !x->devices && !x->cpu && !x->mem && !x->dev_milli && x->dev_mem == -1;
	}
	default:
		return false;
	}
}

static void write_value(struct out *o, enum type t, const void *p)
{
	switch (t) {
	case T_U8:
	case T_U16:
	case T_U32:
	case T_U64:
	case T_NO_DUE:
		wz_buf_add_u64(o->b, unsigned_of(t, p));
		break;
	case T_I32:
	case T_I64:
	case T_LESS_ONE:
		wz_buf_add_i64(o->b, signed_of(t, p));
		break;
	case T_BOOL:
		wz_buf_addz(o->b, "true");
		break;
	case T_STR:
		write_text(o, *(const struct wz_str *)p);
		break;
	case T_MODEL:
		write_model(o, *(const wz_model_id *)p);
		break;
	case T_MASK:
		write_mask(o, *(const uint64_t *)p);
		break;
	case T_DEVICES:
		write_devices(o, p);
		break;
	case T_LABELS:
		write_labels(o, p);
		break;
	case T_TAINTS:
	case T_SETS:
		write_list(o, t == T_TAINTS ? &taint_list : &set_list, p);
		break;
	case T_PROFILE:
		write_profile(o, *(const struct wz_profile *const *)p);
		break;
	case T_FACTS:
	case T_PLACE:
		wz_buf_addc(o->b, '{');
		write_fields(o, t == T_FACTS ? facts_fields : place_fields, p, true);
		wz_buf_addc(o->b, '}');
		break;
	case T_MIX: {
		const struct wz_event *e = (const void *)((const char *)p - offsetof(struct wz_event, u.workload));
		write_mix(o, e->u.workload.n, e->u.workload.profile, e->u.workload.weight);
		break;
	}
	case T_END:
		break;
	}
}

static void write_fields(struct out *o, const struct field *f, const void *base, bool first)
{
	for (; f->key; f++) {
		const void *p = (const char *)base + f->at;
		if (is_default(f->type, p))
			continue;
		key_of(o, f->key, &first);
		write_value(o, f->type, p);
	}
}

/* Leaves the buffer as it was when anything failed. */
static int finish(struct out *o, size_t before)
{
	if (o->r == 0 && o->b->status < 0)
		return wz_err_set(o->err, o->b->status, o->b->status == -ENOMEM ? "OutOfMemory" : "TooLong",
		        WZ_STR("no room for a line of the journal"));
	if (o->r < 0 && o->b->status == 0)
		o->b->len = before;
	return o->r;
}

int wz_event_format(const struct wz_event *e, const struct wz_catalogue *c, struct wz_buf *b, struct wz_err *err)
{
	struct out o = {.b = b, .c = c, .err = err};
	const struct field *f = fields_of(e->kind);
	size_t before = b->len;

	if (!f)
		return wz_err_set(err, -EINVAL, "UnknownEvent", WZ_STR("unknown kind of event"));
	wz_buf_addz(b, "{\"ev\":");
	wz_buf_add_u64(b, e->kind);
	wz_buf_addz(b, ",\"t\":");
	wz_buf_add_u64(b, e->time_us);
	write_fields(&o, f, e, false);
	wz_buf_addc(b, '}');
	return finish(&o, before);
}

static bool same_place(const struct wz_place *a, const struct wz_place *b)
{
	return a->node.v == b->node.v && a->devices == b->devices && a->cpu == b->cpu && a->mem == b->mem &&
	       a->dev_milli == b->dev_milli && a->dev_mem == b->dev_mem;
}

int wz_effect_format(const struct wz_effect *e, struct wz_buf *b, struct wz_err *err)
{
	struct out o = {.b = b, .err = err};
	struct wz_effect x = *e;
	bool place = e->kind != WZ_EF_START && !same_place(&e->place, &no_place);
	size_t before = b->len;

	if (!effect_known(e->kind))
		return wz_err_set(err, -EINVAL, "UnknownEffect", WZ_STR("unknown kind of effect"));
	if (e->kind != WZ_EF_START)
		x.place = (struct wz_place){.dev_mem = -1}; /* not written by the row */
	wz_buf_addz(b, "{\"ef\":");
	wz_buf_add_u64(b, e->kind);
	wz_buf_addz(b, ",\"id\":");
	wz_buf_add_u64(b, e->id);
	write_fields(&o, effect_fields, &x, false);
	if (place) {
		wz_buf_addz(b, ",\"place\":");
		write_value(&o, T_PLACE, &e->place);
	}
	wz_buf_addc(b, '}');
	return finish(&o, before);
}

/* ---- reading ---- */

struct in {
	struct wz_json j;
	const struct wz_catalogue *c;
	struct wz_arena *a;
	struct wz_err *err;
	int r;
};

static bool read_fields(struct in *x, const struct field *f, void *base);

static void *room(struct in *x, size_t n)
{
	void *p = wz_arena_alloc(x->a, n);

	if (!p) {
		wz_json_fail(&x->j, "out of memory");
		x->j.code = -ENOMEM;
	}
	return p;
}

/* An error that has a text of its own. */
static bool other_error(struct in *x, int r)
{
	struct wz_num n;

	wz_json_fail(&x->j, "a value is not known");
	if (x->r == 0 && x->err) {
		wz_err_prefix(x->err, WZ_STR(": "));
		wz_err_prefix(x->err, wz_str_u64(&n, (uint64_t)(x->j.at - x->j.begin)));
		wz_err_prefix(x->err, WZ_STR("byte "));
		x->err->code = r;
	}
	x->r = r;
	return false;
}

static bool read_unsigned(struct in *x, uint64_t max, uint64_t *ret)
{
	const char *at = x->j.at;

	if (!wz_json_u64(&x->j, ret))
		return false;
	if (*ret <= max)
		return true;
	x->j.at = at;
	wz_json_fail(&x->j, "this number is out of range");
	return false;
}

static bool read_signed(struct in *x, int64_t min, int64_t max, int64_t *ret)
{
	const char *at = x->j.at;

	if (!wz_json_i64(&x->j, ret))
		return false;
	if (*ret >= min && *ret <= max)
		return true;
	x->j.at = at;
	wz_json_fail(&x->j, "this number is out of range");
	return false;
}

/* A key that must come now. */
static bool read_key(struct in *x, const char *want, const char *what)
{
	const char *at = x->j.at;
	struct wz_str key;

	if (wz_json_key(&x->j, &key) && wz_str_eq(key, wz_str(want)))
		return true;
	if (!x->j.what)
		x->j.at = at + (*at == ',');
	wz_json_fail(&x->j, what);
	return false;
}

static bool read_model(struct in *x, wz_model_id *ret)
{
	struct wz_str name;
	int r;

	if (!wz_json_string(&x->j, x->a, &name))
		return false;
	r = x->c ? wz_catalogue_find(x->c, name, ret, x->err)
	         : wz_err_set(x->err, -ENOENT, "UnknownModel", WZ_STR("no catalogue"));
	return r < 0 ? other_error(x, -EINVAL) : true;
}

static bool read_mask(struct in *x, uint64_t *ret)
{
	uint64_t v, next = 0;

	*ret = 0;
	if (!wz_json_array(&x->j))
		return false;
	while (wz_json_item(&x->j) && read_unsigned(x, 63, &v)) {
		if (v < next)
			wz_json_fail(&x->j, "indices of devices ascend");
		next = v + 1;
		*ret |= 1ULL << v;
	}
	return !x->j.what;
}

static bool read_devices(struct in *x, struct wz_ev_node *n)
{
	struct wz_device_facts *d = room(x, WZ_NODE_DEVICES_MAX * sizeof(*d));
	uint32_t i = 0;

	if (!d || !wz_json_array(&x->j))
		return false;
	for (; wz_json_item(&x->j); i++) {
		if (i == WZ_NODE_DEVICES_MAX) {
			wz_json_fail(&x->j, "more than 64 devices");
			return false;
		}
		d[i].model = (wz_model_id){WZ_MODEL_NONE};
		if (!read_fields(x, facts_fields, &d[i]))
			return false;
		if (d[i].model.v == WZ_MODEL_NONE)
			wz_json_fail(&x->j, "a device needs a model");
	}
	n->device = d;
	n->n_devices = i;
	return !x->j.what;
}

static bool read_list(struct in *x, const struct list_kind *k, void *ret)
{
	struct list l = {0};
	char *item = room(x, k->max * k->size);
	uint32_t n = 0;

	if (!item || !wz_json_array(&x->j))
		return false;
	for (; wz_json_item(&x->j); n++) {
		if (n == k->max) {
			wz_json_fail(&x->j, k->too_many);
			return false;
		}
		memset(item + n * k->size, 0, k->size);
		if (!read_fields(x, k->fields, item + n * k->size))
			return false;
	}
	l.n = n;
	l.item = item;
	memcpy(ret, &l, sizeof(l));
	return !x->j.what;
}

static bool read_labels(struct in *x, void *ret)
{
	struct label_list list;
	struct wz_label *l = room(x, WZ_NODE_LABELS_MAX * sizeof(*l));
	struct wz_str key;
	uint32_t i = 0;

	if (!l || !wz_json_object(&x->j))
		return false;
	for (; wz_json_key(&x->j, &key); i++) {
		if (i == WZ_NODE_LABELS_MAX) {
			wz_json_fail(&x->j, "more than 256 labels");
			return false;
		}
		for (uint32_t k = 0; k < i; k++)
			if (wz_str_eq(l[k].key, key))
				wz_json_fail(&x->j, "a label is there twice");
		l[i].key = key;
		if (!wz_json_string(&x->j, x->a, &l[i].value))
			return false;
	}
	list = (struct label_list){i, l};
	memcpy(ret, &list, sizeof(list));
	return !x->j.what;
}

static bool read_profile_into(struct in *x, struct wz_profile *p)
{
	struct wz_str text;
	int r;

	if (!wz_json_string(&x->j, x->a, &text))
		return false;
	r = wz_profile_parse(text, x->c, p, x->err);
	return r < 0 ? other_error(x, r) : true;
}

static bool read_profile(struct in *x, const struct wz_profile **ret)
{
	struct wz_profile *p = room(x, sizeof(*p));

	if (!p || !read_profile_into(x, p))
		return false;
	*ret = p;
	return true;
}

/* Items are read one by one into doubling arrays: a profile is large, and most mixes are short. */
static bool read_mix(struct in *x, struct wz_event *e)
{
	struct wz_profile *p = NULL;
	uint32_t *w = NULL, n = 0, cap = 0;
	struct wz_str key;

	if (!wz_json_array(&x->j))
		return false;
	for (; wz_json_item(&x->j); n++) {
		uint64_t weight = 0;
		if (n == WZ_MIX_MAX) {
			wz_json_fail(&x->j, "more than 4096 profiles in a workload");
			return false;
		}
		if (n == cap) {
			struct wz_profile *p2 = room(x, (cap ? 2 * cap : 4) * sizeof(*p));
			uint32_t *w2 = p2 ? room(x, (cap ? 2 * cap : 4) * sizeof(*w)) : NULL;
			if (!w2)
				return false;
			if (n) {
				memcpy(p2, p, n * sizeof(*p));
				memcpy(w2, w, n * sizeof(*w));
			}
			p = p2;
			w = w2;
			cap = cap ? 2 * cap : 4;
		}
		if (!wz_json_object(&x->j) || !read_key(x, "profile", "the first key is profile") ||
		        !read_profile_into(x, &p[n]))
			return false;
		if (wz_json_key(&x->j, &key)) {
			if (!wz_str_eq(key, WZ_STR("weight")))
				wz_json_fail(&x->j, "the second key is weight");
			if (!read_unsigned(x, UINT32_MAX, &weight))
				return false;
			if (wz_json_key(&x->j, &key))
				wz_json_fail(&x->j, "unknown key");
		}
		w[n] = (uint32_t)weight;
	}
	e->u.workload.n = n;
	e->u.workload.profile = p;
	e->u.workload.weight = w;
	return !x->j.what;
}

static bool read_number(struct in *x, enum type t, void *p)
{
	static const uint64_t top[] = {[T_U8] = UINT8_MAX, [T_U16] = UINT16_MAX, [T_U32] = UINT32_MAX};
	uint64_t u = 0;
	int64_t i = 0;
	bool ok = t == T_I32 ? read_signed(x, INT32_MIN, INT32_MAX, &i)
	          : t == T_I64 || t == T_LESS_ONE
	                  ? read_signed(x, INT64_MIN, INT64_MAX, &i)
	                  : read_unsigned(x, t == T_U64 || t == T_NO_DUE ? UINT64_MAX : top[t], &u);

	if (!ok)
		return false;
	switch (t) {
	case T_U8:
		*(uint8_t *)p = (uint8_t)u;
		break;
	case T_U16:
		*(uint16_t *)p = (uint16_t)u;
		break;
	case T_U32:
		*(uint32_t *)p = (uint32_t)u;
		break;
	case T_I32:
		*(int32_t *)p = (int32_t)i;
		break;
	case T_I64:
	case T_LESS_ONE:
		*(int64_t *)p = i;
		break;
	default:
		*(uint64_t *)p = u;
		break;
	}
	return true;
}

static bool read_value(struct in *x, enum type t, void *p)
{
	switch (t) {
	case T_BOOL:
		return wz_json_bool(&x->j, p);
	case T_STR:
		return wz_json_string(&x->j, x->a, p);
	case T_MODEL:
		return read_model(x, p);
	case T_MASK:
		return read_mask(x, p);
	case T_FACTS:
		return read_fields(x, facts_fields, p);
	case T_PLACE:
		return read_fields(x, place_fields, p);
	case T_DEVICES:
		return read_devices(x, p);
	case T_LABELS:
		return read_labels(x, p);
	case T_TAINTS:
	case T_SETS:
		return read_list(x, t == T_TAINTS ? &taint_list : &set_list, p);
	case T_PROFILE:
		return read_profile(x, p);
	case T_MIX:
		return read_mix(x, (void *)((char *)p - offsetof(struct wz_event, u.workload)));
	default:
		return read_number(x, t, p);
	}
}

/* The keys that are left of an object whose '{' was read, in the order of the row. */
static bool read_rest(struct in *x, const struct field *f, void *base)
{
	struct wz_str key;

	for (;;) {
		const char *at = x->j.at;
		if (!wz_json_key(&x->j, &key))
			return !x->j.what;
		while (f->key && !wz_str_eq(key, wz_str(f->key)))
			f++;
		if (!f->key) {
			x->j.at = at + (*at == ',');
			wz_json_fail(&x->j, "this key is unknown, there twice or out of its order");
			return false;
		}
		if (!read_value(x, f->type, (char *)base + f->at))
			return false;
		f++;
	}
}

static bool read_fields(struct in *x, const struct field *f, void *base)
{
	if (f == place_fields)
		((struct wz_place *)base)->dev_mem = -1;
	return wz_json_object(&x->j) && read_rest(x, f, base);
}

/* The two keys that every line begins with. */
static bool read_head(struct in *x, const char *first, const char *second, uint64_t *a, uint64_t *b)
{
	bool ev = first[1] == 'v';

	return wz_json_object(&x->j) && read_key(x, first, ev ? "the first key is ev" : "the first key is ef") &&
	       read_unsigned(x, UINT32_MAX, a) &&
	       read_key(x, second, ev ? "the second key is t" : "the second key is id") && wz_json_u64(&x->j, b);
}

static int end_of(struct in *x, const char *reason)
{
	if (x->r < 0)
		return x->r;
	wz_json_end(&x->j);
	return wz_json_err(&x->j, x->j.code == -ENOMEM ? "OutOfMemory" : reason, x->err);
}

int wz_event_parse(struct wz_str line, const struct wz_catalogue *c, struct wz_arena *a, struct wz_event *ret,
        struct wz_err *err)
{
	struct in x = {.c = c, .a = a, .err = err};
	struct wz_event e;
	uint64_t kind = 0;
	int r;

	memset(&e, 0, sizeof(e));
	if (line.len > WZ_LINE_MAX)
		return wz_err_set(err, -EINVAL, "BadEvent", WZ_STR("the line is too long"));
	wz_json_init(&x.j, line);
	if (read_head(&x, "ev", "t", &kind, &e.time_us)) {
		const struct field *f = fields_of(kind);
		if (!f)
			return wz_err_set(err, -EINVAL, "UnknownEvent", WZ_STR("unknown kind of event"));
		e.kind = (uint32_t)kind;
		if (kind == WZ_EV_TASK_OBSERVED)
			e.u.observed.place.dev_mem = -1;
		if (kind == WZ_EV_DEVICE_CHANGED)
			e.u.device.facts.model = (wz_model_id){WZ_MODEL_NONE};
		read_rest(&x, f, &e);
		if (kind == WZ_EV_DEVICE_CHANGED && e.u.device.facts.model.v == WZ_MODEL_NONE)
			wz_json_fail(&x.j, "a device needs a model");
	}
	r = end_of(&x, "BadEvent");
	if (r == 0)
		*ret = e;
	return r;
}

int wz_effect_parse(struct wz_str line, struct wz_arena *a, struct wz_effect *ret, struct wz_err *err)
{
	struct in x = {.a = a, .err = err};
	struct wz_effect e;
	uint64_t kind = 0;
	int r;

	memset(&e, 0, sizeof(e));
	e.deadline_us = UINT64_MAX;
	if (line.len > WZ_LINE_MAX)
		return wz_err_set(err, -EINVAL, "BadEffect", WZ_STR("the line is too long"));
	wz_json_init(&x.j, line);
	if (read_head(&x, "ef", "id", &kind, &e.id)) {
		if (!effect_known(kind))
			return wz_err_set(err, -EINVAL, "UnknownEffect", WZ_STR("unknown kind of effect"));
		e.kind = (uint32_t)kind;
		e.place.dev_mem = kind == WZ_EF_START ? -1 : 0;
		read_rest(&x, effect_fields, &e);
	}
	r = end_of(&x, "BadEffect");
	if (r == 0)
		*ret = e;
	return r;
}
