/* SPDX-License-Identifier: Apache-2.0 */
/* The text of rules: of queues and of reservations. One table of keys for each; a setter and a writer of each key. */
#include "core/queue.h"

#include "base/check.h"
#include "base/quant.h"

#include <string.h>

struct entry {
	void *rules;
	const struct wz_catalogue *c;
	const char *key;
	struct wz_err *err;
};
typedef int set_fn(struct entry *x, struct wz_str v);
typedef void put_fn(const void *rules, struct wz_buf *b); /* the value; nothing when it is the default */
struct key {
	set_fn *set;
	put_fn *put;
};

static int bad(struct entry *x, struct wz_str v, const char *expected)
{
	return wz_err_set(x->err, -EINVAL, "BadRules", wz_str(x->key), WZ_STR(": \""), v, WZ_STR("\" is not "),
	        wz_str(expected));
}

bool wz_queue_name_ok(struct wz_str s)
{
	if (s.len == 0 || s.len >= WZ_QUEUE_NAME_MAX || s.ptr[0] == '-' || s.ptr[0] == '.')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char ch = s.ptr[i];
		if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
		            ch == '.' || ch == '_' || ch == '-'))
			return false;
	}
	return true;
}

/* ---- amounts ---- */

static const char *const whats[] = {"gpu", "cu", "cpu", "mem"};

static int amount_value(struct entry *x, struct wz_str pair, struct wz_str v, struct wz_amount *a)
{
	uint64_t n = 0;
	int r = a->what == WZ_WHAT_MEM ? wz_bytes_parse(v, &n, NULL) : wz_milli_parse(v, &n, NULL);

	if (r < 0 || (a->what == WZ_WHAT_MEM && n && n < WZ_MI))
		return bad(x, pair,
		        a->what == WZ_WHAT_MEM ? "an amount of memory, such as mem:512Gi"
		                               : "an amount, such as a100:8 or cpu:64");
	if (a->what == WZ_WHAT_MEM)
		n >>= 20;
	if (n > (uint64_t)WZ_AMOUNT_MAX)
		return bad(x, pair, "an amount in range: it is too large");
	a->value = (int64_t)n;
	return 0;
}

static int amount_model(struct entry *x, struct wz_str what, struct wz_amount *a)
{
	struct wz_str s;
	int r;

	a->what = WZ_WHAT_MODEL;
	if (!x->c)
		return bad(x, what, "gpu, cu, cpu or mem");
	r = wz_catalogue_match(x->c, what, &a->set, x->err);
	if (r < 0) {
		if (x->err)
			x->err->code = -EINVAL;
		return -EINVAL;
	}
	s = wz_catalogue_spelling(x->c, what);
	wz_check(s.len > 0 && s.len < sizeof(a->name));
	for (size_t i = 0; i < s.len; i++)
		a->name[i] = (char)(s.ptr[i] == ' ' ? '-' : s.ptr[i]);
	return 0;
}

static bool same_what(const struct wz_amount *a, const struct wz_amount *b)
{
	return a->what == b->what && wz_str_eq(wz_str(a->name), wz_str(b->name));
}

static int set_amounts(struct entry *x, struct wz_str v, struct wz_amounts *ret)
{
	struct wz_str rest = v;

	memset(ret, 0, sizeof(*ret));
	if (v.len == 0)
		return bad(x, v, "a list of amounts, such as a100:8,cpu:64");
	while (rest.ptr) {
		struct wz_str pair = wz_str_split(&rest, ','), value = pair, what = wz_str_split(&value, ':');
		struct wz_amount a;
		int r = 0;
		memset(&a, 0, sizeof(a));
		if (!value.ptr || !what.len)
			return bad(x, pair, "an amount, such as a100:8 or cpu:64");
		for (a.what = 0; a.what < WZ_WHAT_MODEL; a.what++)
			if (wz_str_eq(what, wz_str(whats[a.what])))
				break;
		if (a.what == WZ_WHAT_MODEL)
			r = amount_model(x, what, &a);
		if (r == 0)
			r = amount_value(x, pair, value, &a);
		if (r < 0)
			return r;
		for (uint32_t i = 0; i < ret->n; i++)
			if (same_what(&ret->a[i], &a))
				return bad(x, v, "a list that names each thing once");
		if (ret->n == WZ_AMOUNTS_MAX)
			return bad(x, v, "a list of at most 12 amounts");
		ret->a[ret->n++] = a;
	}
	return 0;
}

static void put_amounts(const struct wz_amounts *s, struct wz_buf *b)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (i)
			wz_buf_addc(b, ',');
		wz_buf_addz(b, s->a[i].what == WZ_WHAT_MODEL ? s->a[i].name : whats[s->a[i].what]);
		wz_buf_addc(b, ':');
		if (s->a[i].what == WZ_WHAT_MEM)
			wz_bytes_format(b, (uint64_t)s->a[i].value << 20);
		else
			wz_milli_format(b, (uint64_t)s->a[i].value);
	}
}

/* ---- single values ---- */

static int set_u32(struct entry *x, struct wz_str v, uint32_t max, const char *expected, uint32_t *ret)
{
	uint64_t n;

	if (wz_str_parse_u64(v, &n) < 0 || n > max)
		return bad(x, v, expected);
	*ret = (uint32_t)n;
	return 0;
}

static int set_milli(struct entry *x, struct wz_str v, uint64_t max, const char *expected, uint64_t *ret)
{
	uint64_t n;

	if (wz_milli_parse(v, &n, NULL) < 0 || n > max)
		return bad(x, v, expected);
	*ret = n;
	return 0;
}

static int set_name(struct entry *x, struct wz_str v, char ret[WZ_QUEUE_NAME_MAX])
{
	if (!wz_queue_name_ok(v))
		return bad(x, v, "a name of a queue: 1 to 63 letters, digits, '.', '_' and '-'");
	memset(ret, 0, WZ_QUEUE_NAME_MAX);
	memcpy(ret, v.ptr, v.len);
	return 0;
}

/* ---- keys of a queue ---- */

#define Q(x) ((struct wz_queue_rules *)(x)->rules)
#define R(r) ((const struct wz_queue_rules *)(r))

static int set_parent(struct entry *x, struct wz_str v)
{
	return wz_str_eq(v, WZ_STR("root")) ? 0 : set_name(x, v, Q(x)->parent);
}
static void put_parent(const void *r, struct wz_buf *b)
{
	wz_buf_addz(b, R(r)->parent);
}

#define AMOUNTS(field) \
	static int set_##field(struct entry *x, struct wz_str v) \
	{ \
		return set_amounts(x, v, &Q(x)->field); \
	} \
	static void put_##field(const void *r, struct wz_buf *b) \
	{ \
		put_amounts(&R(r)->field, b); \
	}
AMOUNTS(guaranteed)
AMOUNTS(limit)
AMOUNTS(borrow)
AMOUNTS(lend)
AMOUNTS(user_limit)
AMOUNTS(job_limit)
#undef AMOUNTS

static int set_price(struct entry *x, struct wz_str v)
{
	struct wz_amounts a;
	int r = set_amounts(x, v, &a);

	for (uint32_t i = 0; r == 0 && i < a.n; i++)
		if ((a.a[i].what != WZ_WHAT_MODEL && a.a[i].what != WZ_WHAT_GPU) || a.a[i].value > 1000000000)
			r = bad(x, v, "prices of a device-hour by model, or of any by gpu, such as a100:2.1,gpu:1");
	if (r == 0)
		Q(x)->price = a;
	return r;
}
static void put_price(const void *r, struct wz_buf *b)
{
	put_amounts(&R(r)->price, b);
}

static int set_weight(struct entry *x, struct wz_str v)
{
	uint64_t n = 0;
	int r = set_milli(x, v, 1000000, "a weight from 0.001 to 1000", &n);

	if (r == 0 && n == 0)
		r = bad(x, v, "a weight from 0.001 to 1000");
	if (r == 0)
		Q(x)->weight_milli = (uint32_t)n;
	return r;
}
static void put_weight(const void *r, struct wz_buf *b)
{
	if (R(r)->weight_milli != 1000)
		wz_milli_format(b, R(r)->weight_milli);
}

#define COUNT(field, max, usual, expected) \
	static int set_##field(struct entry *x, struct wz_str v) \
	{ \
		return set_u32(x, v, max, expected, &Q(x)->field); \
	} \
	static void put_##field(const void *r, struct wz_buf *b) \
	{ \
		if (R(r)->field != (usual)) \
			wz_buf_add_u64(b, R(r)->field); \
	}
COUNT(user_running, 1000000, 0, "a number of jobs, to 1000000; 0: no limit")
COUNT(user_waiting, 1000000, 0, "a number of jobs, to 1000000; 0: no limit")
COUNT(budget_epoch, UINT32_MAX, 0, "a number to 4294967295")
COUNT(reserve, 1000, 256, "a number of jobs, to 1000")
#undef COUNT

static int set_priority(struct entry *x, struct wz_str v)
{
	const char *expected = "a range of priorities, such as -10..100";
	int64_t lo, hi;

	for (size_t i = 1; i + 2 < v.len; i++) {
		if (v.ptr[i] != '.' || v.ptr[i + 1] != '.')
			continue;
		if (wz_str_parse_i64((struct wz_str){v.ptr, i}, &lo) < 0 ||
		        wz_str_parse_i64((struct wz_str){v.ptr + i + 2, v.len - i - 2}, &hi) < 0 ||
		        lo < INT32_MIN || hi > INT32_MAX || lo > hi)
			break;
		Q(x)->priority_min = (int32_t)lo;
		Q(x)->priority_max = (int32_t)hi;
		return 0;
	}
	return bad(x, v, expected);
}
static void put_priority(const void *r, struct wz_buf *b)
{
	if (R(r)->priority_min == INT32_MIN && R(r)->priority_max == INT32_MAX)
		return;
	wz_buf_add_i64(b, R(r)->priority_min);
	wz_buf_addz(b, "..");
	wz_buf_add_i64(b, R(r)->priority_max);
}

static int set_preemptible(struct entry *x, struct wz_str v)
{
	bool yes = wz_str_eq(v, WZ_STR("yes"));

	if (!yes && !wz_str_eq(v, WZ_STR("no")))
		return bad(x, v, "yes or no");
	Q(x)->preemptible = yes;
	return 0;
}
static void put_preemptible(const void *r, struct wz_buf *b)
{
	if (!R(r)->preemptible)
		wz_buf_addz(b, "no");
}

static int set_budget_hours(struct entry *x, struct wz_str v)
{
	return set_milli(x, v, (uint64_t)WZ_AMOUNT_MAX, "a number of device-hours", &Q(x)->budget_milli_hours);
}
static void put_budget_hours(const void *r, struct wz_buf *b)
{
	if (R(r)->budget_milli_hours)
		wz_milli_format(b, R(r)->budget_milli_hours);
}
static int set_budget_money(struct entry *x, struct wz_str v)
{
	return set_milli(x, v, (uint64_t)WZ_AMOUNT_MAX, "an amount of money", &Q(x)->budget_milli_money);
}
static void put_budget_money(const void *r, struct wz_buf *b)
{
	if (R(r)->budget_milli_money)
		wz_milli_format(b, R(r)->budget_milli_money);
}

static const char *const missings[] = {"", "refuse", "warn", "non-preemptible"};

static int set_checkpoint(struct entry *x, struct wz_str v)
{
	const char *expected = "a time and what to do, such as 2h:refuse (or warn, non-preemptible)";
	struct wz_str what = v, over = wz_str_split(&what, ':');
	uint64_t us;

	if (wz_duration_parse(over, &us, NULL) < 0)
		return bad(x, v, expected);
	for (uint8_t i = WZ_MISSING_REFUSE; i <= WZ_MISSING_FIXED; i++)
		if (wz_str_eq(what, wz_str(missings[i]))) {
			Q(x)->checkpoint_over_us = us;
			Q(x)->checkpoint_missing = i;
			return 0;
		}
	return bad(x, v, expected);
}
static void put_checkpoint(const void *r, struct wz_buf *b)
{
	if (R(r)->checkpoint_missing == WZ_MISSING_NOTHING)
		return;
	wz_duration_format(b, R(r)->checkpoint_over_us);
	wz_buf_addc(b, ':');
	wz_buf_addz(b, missings[R(r)->checkpoint_missing]);
}

#define HALF_LIFE_US (7ULL * 86400 * 1000000)
static int set_half_life(struct entry *x, struct wz_str v)
{
	uint64_t us;

	if (wz_duration_parse(v, &us, NULL) < 0 || us > 3650ULL * 86400 * 1000000 || (us && us < 1000000))
		return bad(x, v, "a time from 1s to 3650d, or 0s for none");
	Q(x)->half_life_us = us;
	return 0;
}
static void put_half_life(const void *r, struct wz_buf *b)
{
	if (R(r)->half_life_us != HALF_LIFE_US)
		wz_duration_format(b, R(r)->half_life_us);
}

/* In canonical order. */
const struct wz_rules_key wz_queue_keys[] = {
        {"parent", "QUEUE", "the queue above; root when absent"},
        {"guaranteed", "AMOUNTS", "what it can always have"},
        {"limit", "AMOUNTS", "more it never has"},
        {"borrow", "AMOUNTS", "how much beyond what is guaranteed; absent: whatever is free"},
        {"lend", "AMOUNTS", "how much of what is guaranteed others may use; absent: all of it"},
        {"user-limit", "AMOUNTS", "of one user"},
        {"job-limit", "AMOUNTS", "of one job"},
        {"weight", "NUMBER", "its part of what is shared beyond the guarantees"},
        {"user-running", "N", "jobs of one user that hold something"},
        {"user-waiting", "N", "jobs of one user that wait or are held"},
        {"priority", "MIN..MAX", "priorities that jobs may have"},
        {"preemptible", "yes|no", "may its jobs be moved aside"},
        {"budget-hours", "NUMBER", "device-hours in all"},
        {"budget-money", "NUMBER", "money in all, by price"},
        {"budget-epoch", "N", "another number begins both budgets anew"},
        {"price", "AMOUNTS", "of a device-hour by model; also of the queues below"},
        {"require-checkpoint", "TIME:refuse|warn|non-preemptible", "of jobs that may run longer"},
        {"half-life", "TIME", "root: how fast past use is forgotten"},
        {"reserve", "N", "root: blocked jobs that get a promised start"},
        {NULL, NULL, NULL},
};
static const struct key queue_key[] = {
        {set_parent, put_parent},
        {set_guaranteed, put_guaranteed},
        {set_limit, put_limit},
        {set_borrow, put_borrow},
        {set_lend, put_lend},
        {set_user_limit, put_user_limit},
        {set_job_limit, put_job_limit},
        {set_weight, put_weight},
        {set_user_running, put_user_running},
        {set_user_waiting, put_user_waiting},
        {set_priority, put_priority},
        {set_preemptible, put_preemptible},
        {set_budget_hours, put_budget_hours},
        {set_budget_money, put_budget_money},
        {set_budget_epoch, put_budget_epoch},
        {set_price, put_price},
        {set_checkpoint, put_checkpoint},
        {set_half_life, put_half_life},
        {set_reserve, put_reserve},
};
_Static_assert(WZ_ARRAY_LEN(queue_key) + 1 == WZ_ARRAY_LEN(wz_queue_keys), "one row each");

void wz_queue_rules_init(struct wz_queue_rules *r)
{
	memset(r, 0, sizeof(*r));
	r->weight_milli = 1000;
	r->priority_min = INT32_MIN;
	r->priority_max = INT32_MAX;
	r->preemptible = true;
	r->half_life_us = HALF_LIFE_US;
	r->reserve = 256;
}

/* ---- entries ---- */

static bool blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

static struct wz_str next_entry(struct wz_str *rest)
{
	struct wz_str s = wz_str_trim(*rest);
	size_t n = 0;

	while (n < s.len && !blank(s.ptr[n]))
		n++;
	*rest = (struct wz_str){s.ptr + n, s.len - n};
	return (struct wz_str){s.ptr, n};
}

static int parse(struct wz_str text, const struct wz_rules_key *names, const struct key *keys, struct entry *x)
{
	struct wz_str rest = text, e;
	uint64_t seen = 0;

	if (text.len > WZ_RULES_TEXT_MAX)
		return wz_err_set(x->err, -EINVAL, "BadRules", WZ_STR("rules have at most 4096 bytes"));
	for (size_t i = 0; i < text.len; i++)
		if (!text.ptr[i])
			return wz_err_set(x->err, -EINVAL, "BadRules", WZ_STR("rules have no zero byte"));
	while (text.len && (e = next_entry(&rest)).len) {
		struct wz_str value = e, key = wz_str_split(&value, '=');
		unsigned i = 0;
		int r;
		while (names[i].name && !wz_str_eq(key, wz_str(names[i].name)))
			i++;
		if (!value.ptr)
			return wz_err_set(
			        x->err, -EINVAL, "BadRules", WZ_STR("\""), e, WZ_STR("\" is not key=value"));
		if (!names[i].name)
			return wz_err_set(
			        x->err, -EINVAL, "UnknownKey", WZ_STR("there is no rule \""), key, WZ_STR("\""));
		x->key = names[i].name;
		if (seen >> i & 1)
			return wz_err_set(x->err, -EINVAL, "Conflict", key, WZ_STR(" is given twice"));
		seen |= 1ULL << i;
		r = keys[i].set(x, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static void format(const void *rules, const struct wz_rules_key *names, const struct key *keys, struct wz_buf *b)
{
	bool first = true;

	for (unsigned i = 0; names[i].name; i++) {
		size_t before = b->len, begin;
		if (!first)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, names[i].name);
		wz_buf_addc(b, '=');
		begin = b->len;
		keys[i].put(rules, b);
		if (b->len == begin && b->status == 0)
			b->len = before;
		else
			first = false;
	}
}

int wz_queue_rules_parse(
        struct wz_str text, const struct wz_catalogue *c, struct wz_queue_rules *ret, struct wz_err *err)
{
	struct wz_queue_rules q;
	struct entry x = {.rules = &q, .c = c, .err = err};
	int r;

	wz_queue_rules_init(&q);
	r = parse(text, wz_queue_keys, queue_key, &x);
	if (r < 0)
		return r;
	*ret = q;
	return 0;
}

void wz_queue_rules_format(const struct wz_queue_rules *r, struct wz_buf *b)
{
	format(r, wz_queue_keys, queue_key, b);
}

/* ---- keys of a reservation ---- */

#define V(x) ((struct wz_reserve_rules *)(x)->rules)
#define W(r) ((const struct wz_reserve_rules *)(r))

static int set_time(struct entry *x, struct wz_str v, uint64_t *ret)
{
	if (wz_str_parse_u64(v, ret) < 0 || *ret > INT64_MAX)
		return bad(x, v, "a time in microseconds");
	return 0;
}
static int set_from(struct entry *x, struct wz_str v)
{
	return set_time(x, v, &V(x)->from_us);
}
static int set_to(struct entry *x, struct wz_str v)
{
	return set_time(x, v, &V(x)->to_us);
}
static void put_from(const void *r, struct wz_buf *b)
{
	wz_buf_add_u64(b, W(r)->from_us);
}
static void put_to(const void *r, struct wz_buf *b)
{
	wz_buf_add_u64(b, W(r)->to_us);
}

static int set_nodes(struct entry *x, struct wz_str v)
{
	struct wz_str rest = v;

	while (rest.ptr) {
		struct wz_str n = wz_str_split(&rest, ',');
		if (n.len == 0)
			return bad(x, v, "a list of nodes, such as gpu-01,gpu-02");
		if (V(x)->n_nodes == WZ_RESERVE_NODES_MAX)
			return bad(x, n, "one of at most 256 nodes");
		V(x)->node[V(x)->n_nodes++] = n;
	}
	return 0;
}
static void put_nodes(const void *r, struct wz_buf *b)
{
	for (uint32_t i = 0; i < W(r)->n_nodes; i++) {
		if (i)
			wz_buf_addc(b, ',');
		wz_buf_add(b, W(r)->node[i]);
	}
}

static int set_gpus(struct entry *x, struct wz_str v)
{
	int r = set_u32(x, v, 1u << 26, "a number of devices, from 1", &V(x)->gpus);

	return r == 0 && V(x)->gpus == 0 ? bad(x, v, "a number of devices, from 1") : r;
}
static void put_gpus(const void *r, struct wz_buf *b)
{
	if (W(r)->gpus)
		wz_buf_add_u64(b, W(r)->gpus);
}

static int set_type(struct entry *x, struct wz_str v)
{
	struct wz_amount a;
	int r;

	memset(&a, 0, sizeof(a));
	r = amount_model(x, v, &a);
	if (r < 0)
		return r;
	V(x)->any_model = false;
	V(x)->set = a.set;
	memcpy(V(x)->type, a.name, sizeof(a.name));
	return 0;
}
static void put_type(const void *r, struct wz_buf *b)
{
	wz_buf_addz(b, W(r)->type);
}

static int set_queue(struct entry *x, struct wz_str v)
{
	V(x)->queue = v;
	return wz_queue_name_ok(v) ? 0 : bad(x, v, "a name of a queue");
}
static void put_queue(const void *r, struct wz_buf *b)
{
	wz_buf_add(b, W(r)->queue);
}
static int set_user(struct entry *x, struct wz_str v)
{
	V(x)->user = v;
	return v.len && v.len <= 256 ? 0 : bad(x, v, "a user");
}
static void put_user(const void *r, struct wz_buf *b)
{
	wz_buf_add(b, W(r)->user);
}

const struct wz_rules_key wz_reserve_keys[] = {
        {"from", "TIME", "when it begins"},
        {"to", "TIME", "when it is over"},
        {"nodes", "NODE,...", "whole nodes"},
        {"gpus", "N", "a number of whole devices"},
        {"gpu-type", "MODEL", "of that model or family"},
        {"queue", "QUEUE", "for the jobs of this queue and of those below it"},
        {"user", "USER", "for the jobs of this user"},
        {NULL, NULL, NULL},
};
static const struct key reserve_key[] = {{set_from, put_from}, {set_to, put_to}, {set_nodes, put_nodes},
        {set_gpus, put_gpus}, {set_type, put_type}, {set_queue, put_queue}, {set_user, put_user}};
_Static_assert(WZ_ARRAY_LEN(reserve_key) + 1 == WZ_ARRAY_LEN(wz_reserve_keys), "one row each");

int wz_reserve_rules_parse(
        struct wz_str text, const struct wz_catalogue *c, struct wz_reserve_rules *ret, struct wz_err *err)
{
	struct wz_reserve_rules v;
	struct entry x = {.rules = &v, .c = c, .err = err};
	int r;

	memset(&v, 0, sizeof(v));
	v.any_model = true;
	r = parse(text, wz_reserve_keys, reserve_key, &x);
	if (r < 0)
		return r;
	if (v.to_us <= v.from_us)
		return wz_err_set(
		        err, -EINVAL, "BadRules", WZ_STR("a reservation ends after it begins: from= and to="));
	if ((v.n_nodes != 0) == (v.gpus != 0))
		return wz_err_set(err, -EINVAL, "BadRules", WZ_STR("a reservation has either nodes= or gpus="));
	if (v.gpus && !v.queue.len && !v.user.len)
		return wz_err_set(err, -EINVAL, "BadRules", WZ_STR("devices are reserved for a queue= or a user="));
	if (!v.any_model && v.n_nodes)
		return wz_err_set(err, -EINVAL, "Conflict", WZ_STR("gpu-type goes with gpus="));
	*ret = v;
	return 0;
}

void wz_reserve_rules_format(const struct wz_reserve_rules *r, struct wz_buf *b)
{
	format(r, wz_reserve_keys, reserve_key, b);
}
