/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a constraint: a recursive descent without recursion over one line of text. What is wrong is told with the text
 * up to the place. */
#include "core/constraint.h"

#include <string.h>

const char *const wz_taint_effects[4] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};

#define SHOWN 40u /* bytes of the text before the place of an error */

struct reader {
	struct wz_str text;
	size_t at;
	struct wz_strtab *names;
	struct wz_constraint *k;
	struct wz_err *err;
	int r;
};

static int bad(struct reader *x, const char *expected)
{
	char shown[SHOWN];
	size_t n = x->at < SHOWN ? x->at : SHOWN;

	for (size_t i = 0; i < n; i++) {
		char c = x->text.ptr[x->at - n + i];
		shown[i] = c >= ' ' && c <= '~' ? c : '?';
	}
	return x->r = wz_err_set(x->err, -EINVAL, "BadConstraint", wz_str(expected),
	               WZ_STR(" is expected after \""), (struct wz_str){shown, n}, WZ_STR("\""));
}

static int no_room(struct reader *x, int r)
{
	return x->r = wz_err_set(x->err, r, "OutOfMemory", WZ_STR("no memory for a constraint"));
}

static int too_many(struct reader *x)
{
	return x->r = wz_err_set(x->err, -E2BIG, "TooManyTerms", WZ_STR("a constraint has too many parts"));
}

static char peek(const struct reader *x)
{
	return x->at < x->text.len ? x->text.ptr[x->at] : 0;
}

static void blanks(struct reader *x)
{
	while (peek(x) == ' ' || peek(x) == '\t')
		x->at++;
}

static bool take(struct reader *x, char c)
{
	blanks(x);
	if (peek(x) != c || x->at >= x->text.len)
		return false;
	x->at++;
	return true;
}

static bool word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	       c == '.' || c == '/';
}

bool wz_constraint_word(struct wz_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!word_char(s.ptr[i]))
			return false;
	return s.len <= WZ_CONSTRAINT_WORD_MAX;
}

/* The next word, perhaps empty. */
static struct wz_str word(struct reader *x)
{
	struct wz_str w;

	blanks(x);
	w = (struct wz_str){x->text.ptr + x->at, 0};
	while (x->at < x->text.len && word_char(peek(x)))
		x->at++;
	w.len = (size_t)(x->text.ptr + x->at - w.ptr);
	return w;
}

/* The next word when it is this one. */
static bool keyword(struct reader *x, const char *name)
{
	size_t before = x->at;

	if (wz_str_eq(word(x), wz_str(name)))
		return true;
	x->at = before;
	return false;
}

static int intern(struct reader *x, struct wz_str w, bool may_be_empty, const char *what, uint32_t *ret)
{
	int r;

	if ((w.len == 0 && !may_be_empty) || w.len > WZ_CONSTRAINT_WORD_MAX)
		return bad(x, what);
	r = wz_strtab_add(x->names, w, ret);
	return r < 0 ? no_room(x, r) : 0;
}

static int number(struct reader *x, int64_t min, int64_t max, const char *what, int64_t *ret)
{
	struct wz_str w = word(x);
	int64_t v;

	if (wz_str_parse_i64(w, &v) < 0 || v < min || v > max) {
		x->at -= w.len;
		return bad(x, what);
	}
	*ret = v;
	return 0;
}

/* Room for one more element of an array of the constraint. */
#define ROOM(x, array, n, cap) \
	((x)->k->n >= WZ_CONSTRAINT_PARTS_MAX ? too_many(x) \
	        : (wz_grow((x)->k->mem, &(x)->k->array, &(x)->k->cap, (x)->k->n + 1, sizeof(*(x)->k->array))) < 0 \
	                ? no_room(x, -ENOMEM) \
	                : 0)

static int add_value(struct reader *x, struct wz_expr *e, struct wz_str w)
{
	uint32_t id;

	if (intern(x, w, true, "a value", &id) < 0 || ROOM(x, value, n_value, value_cap) < 0)
		return x->r;
	x->k->value[x->k->n_value++] = id;
	e->n_values++;
	return 0;
}

static int value_list(struct reader *x, struct wz_expr *e)
{
	if (!take(x, '('))
		return bad(x, "( and a list of values");
	do {
		if (add_value(x, e, word(x)) < 0)
			return x->r;
	} while (take(x, ','));
	return take(x, ')') ? 0 : bad(x, ", or )");
}

/* What follows the key of an expression. */
static int operator_of(struct reader *x, struct wz_expr *e)
{
	if (take(x, '=')) {
		(void)take(x, '=');
		e->op = WZ_SELECT_IN;
		return add_value(x, e, word(x));
	}
	if (take(x, '!')) {
		e->op = WZ_SELECT_NOT_IN;
		return take(x, '=') ? add_value(x, e, word(x)) : bad(x, "=");
	}
	if (take(x, '>')) {
		e->op = WZ_SELECT_GT;
		return number(x, INT64_MIN, INT64_MAX, "an integer", &e->number);
	}
	if (take(x, '<')) {
		e->op = WZ_SELECT_LT;
		return number(x, INT64_MIN, INT64_MAX, "an integer", &e->number);
	}
	if (keyword(x, "in")) {
		e->op = WZ_SELECT_IN;
		return value_list(x, e);
	}
	if (keyword(x, "notin")) {
		e->op = WZ_SELECT_NOT_IN;
		return value_list(x, e);
	}
	e->op = WZ_SELECT_EXISTS;
	return 0;
}

static int selector(struct reader *x, struct wz_selector *ret)
{
	struct wz_selector s = {.expr = x->k->n_expr};

	if (take(x, '*')) {
		*ret = s;
		return 0;
	}
	do {
		bool absent = take(x, '!');
		struct wz_expr e = {.value = x->k->n_value, .op = WZ_SELECT_ABSENT};
		if (intern(x, word(x), false, "a label's key", &e.key) < 0)
			return x->r;
		if (!absent && operator_of(x, &e) < 0)
			return x->r;
		if (ROOM(x, expr, n_expr, expr_cap) < 0)
			return x->r;
		x->k->expr[x->k->n_expr++] = e;
		s.n++;
	} while (take(x, ','));
	*ret = s;
	return 0;
}

static int node_entry(struct reader *x, int32_t weight)
{
	do {
		struct wz_alternative a = {.weight = weight};
		if (selector(x, &a.sel) < 0 || ROOM(x, node, n_node, node_cap) < 0)
			return x->r;
		x->k->node[x->k->n_node++] = a;
	} while (weight == 0 && take(x, '|'));
	x->k->required = x->k->required || weight == 0;
	x->k->prefers = x->k->prefers || weight != 0;
	return 0;
}

static int effect_of(struct reader *x, uint8_t *ret)
{
	struct wz_str w = word(x);

	for (unsigned i = 1; i < 4; i++)
		if (wz_str_eq(w, wz_str(wz_taint_effects[i]))) {
			*ret = (uint8_t)i;
			return 0;
		}
	x->at -= w.len;
	return bad(x, "NoSchedule, PreferNoSchedule or NoExecute");
}

static int tolerate_entry(struct reader *x)
{
	do {
		struct wz_toleration t = {.key = WZ_NONE, .value = WZ_NONE};
		if (!take(x, '*')) {
			if (intern(x, word(x), false, "a taint's key or *", &t.key) < 0)
				return x->r;
			if (take(x, '=') && intern(x, word(x), true, "a taint's value", &t.value) < 0)
				return x->r;
		}
		if (take(x, ':') && effect_of(x, &t.effect) < 0)
			return x->r;
		if (ROOM(x, toleration, n_toleration, toleration_cap) < 0)
			return x->r;
		x->k->toleration[x->k->n_toleration++] = t;
	} while (take(x, ','));
	return 0;
}

static int protocol_of(struct reader *x, struct wz_str w, uint8_t *ret)
{
	static const char *const names[] = {"tcp", "udp", "sctp"};

	for (unsigned i = 0; i < 3; i++)
		if (wz_str_eq(w, wz_str(names[i]))) {
			*ret = (uint8_t)i;
			return 0;
		}
	x->at -= w.len;
	return bad(x, "tcp, udp or sctp");
}

/* 8080, 53/udp, 443/tcp@10.0.0.1; an address of all zeros is every address. */
static int port_of(struct reader *x, struct wz_port *ret)
{
	struct wz_str w = word(x), proto = w, number = wz_str_split(&proto, '/'), ip;
	struct wz_port p = {.ip = WZ_NONE};
	uint64_t v;

	if (wz_str_parse_u64(number, &v) < 0 || v < 1 || v > UINT16_MAX) {
		x->at -= w.len;
		return bad(x, "a port from 1 to 65535");
	}
	p.port = (uint16_t)v;
	if (proto.ptr && protocol_of(x, proto, &p.protocol) < 0)
		return x->r;
	if (take(x, '@')) {
		blanks(x);
		ip = (struct wz_str){x->text.ptr + x->at, 0};
		while (x->at < x->text.len && (word_char(peek(x)) || peek(x) == ':'))
			x->at++;
		ip.len = (size_t)(x->text.ptr + x->at - ip.ptr);
		if (ip.len == 0 || ip.len > 64)
			return bad(x, "an address");
		if (!wz_str_eq(ip, WZ_STR("0.0.0.0")) && !wz_str_eq(ip, WZ_STR("::")) &&
		        intern(x, ip, false, "an address", &p.ip) < 0)
			return x->r;
	}
	*ret = p;
	return 0;
}

static int ports_entry(struct reader *x)
{
	do {
		struct wz_port p;
		if (port_of(x, &p) < 0 || ROOM(x, port, n_port, port_cap) < 0)
			return x->r;
		x->k->port[x->k->n_port++] = p;
	} while (take(x, ','));
	return 0;
}

static int term_entry(struct reader *x, enum wz_term_kind kind, int32_t weight)
{
	struct wz_term t = {.kind = (uint8_t)kind, .weight = weight, .max_skew = 1, .min_domains = 1};
	int64_t v;

	if (x->k->n_term == WZ_CONSTRAINT_TERMS_MAX)
		return too_many(x);
	if (kind != WZ_TERM_TOGETHER) {
		if (selector(x, &t.sel) < 0)
			return x->r;
		if (!keyword(x, "per"))
			return bad(x, "per and a topology key");
	}
	if (intern(x, word(x), false, "a topology key", &t.topology) < 0)
		return x->r;
	if (kind == WZ_TERM_SPREAD && keyword(x, "skew")) {
		if (number(x, 1, WZ_SKEW_MAX, "a skew of 1 or more", &v) < 0)
			return x->r;
		t.max_skew = (uint32_t)v;
	}
	if (kind == WZ_TERM_SPREAD && keyword(x, "min")) {
		if (number(x, 1, WZ_SKEW_MAX, "a number of domains of 1 or more", &v) < 0)
			return x->r;
		t.min_domains = (uint32_t)v;
	}
	x->k->term[x->k->n_term++] = t;
	x->k->between = x->k->between || kind != WZ_TERM_TOGETHER;
	x->k->together = x->k->together || kind == WZ_TERM_TOGETHER;
	return 0;
}

static int entry(struct reader *x)
{
	static const char *const words[] = {"node", "tolerate", "ports", "near", "apart", "spread", "together"};
	struct wz_str w = word(x);
	int64_t weight = 0;
	unsigned i = 0;

	while (i < 7 && !wz_str_eq(w, wz_str(words[i])))
		i++;
	if (i == 7) {
		x->at -= w.len;
		return bad(x, "node, tolerate, ports, near, apart, spread or together");
	}
	if (i != 1 && i != 2 && take(x, '~')) {
		weight = WZ_WEIGHT_USUAL;
		blanks(x);
		if (peek(x) != ':' && number(x, 1, WZ_WEIGHT_MAX, "a weight from 1 to 1000", &weight) < 0)
			return x->r;
	}
	if (!take(x, ':'))
		return bad(x, ":");
	if (i == 0 && weight == 0 && x->k->required)
		return bad(x, "a preferred entry (a second required \"node\" can never be meant)");
	switch (i) {
	case 0:
		return node_entry(x, (int32_t)weight);
	case 1:
		return tolerate_entry(x);
	case 2:
		return ports_entry(x);
	default:
		return term_entry(x, (enum wz_term_kind)(i - 3), (int32_t)weight);
	}
}

static int end_of_text(struct reader *x, const char *expected)
{
	blanks(x);
	return x->at == x->text.len ? 0 : bad(x, expected);
}

static int read_entries(struct reader *x)
{
	for (;;) {
		blanks(x);
		if (x->at == x->text.len)
			return 0;
		if (entry(x) < 0)
			return x->r;
		if (!take(x, ';'))
			return end_of_text(x, "; or the end");
	}
}

static int read_selector(struct reader *x)
{
	if (node_entry(x, 0) < 0)
		return x->r;
	return x->k->n_node > 1 ? bad(x, "the end") : end_of_text(x, ", or the end");
}

static int parse(struct wz_str text, struct wz_strtab *names, const struct wz_mem *mem,
        int (*read)(struct reader *), struct wz_constraint *ret, struct wz_err *err)
{
	struct wz_constraint k = {.mem = mem};
	struct reader x = {.text = text, .names = names, .k = &k, .err = err};

	if (text.len > WZ_CONSTRAINT_TEXT_MAX)
		return wz_err_set(err, -EINVAL, "BadConstraint", WZ_STR("a constraint has at most 16384 bytes"));
	if (read(&x) < 0) {
		wz_constraint_release(&k);
		return x.r;
	}
	k.local = k.n_node || k.n_toleration || k.n_port;
	*ret = k;
	return 0;
}

int wz_constraint_parse(struct wz_str text, struct wz_strtab *names, const struct wz_mem *mem,
        struct wz_constraint *ret, struct wz_err *err)
{
	return parse(text, names, mem, read_entries, ret, err);
}

int wz_selector_parse(struct wz_str text, struct wz_strtab *names, const struct wz_mem *mem,
        struct wz_constraint *ret, struct wz_err *err)
{
	return parse(text, names, mem, read_selector, ret, err);
}

void wz_constraint_release(struct wz_constraint *k)
{
	wz_grow_free(k->mem, &k->expr, &k->expr_cap, sizeof(*k->expr));
	wz_grow_free(k->mem, &k->value, &k->value_cap, sizeof(*k->value));
	wz_grow_free(k->mem, &k->node, &k->node_cap, sizeof(*k->node));
	wz_grow_free(k->mem, &k->toleration, &k->toleration_cap, sizeof(*k->toleration));
	wz_grow_free(k->mem, &k->port, &k->port_cap, sizeof(*k->port));
}

/* ---- what it means ---- */

static bool among(const struct wz_constraint *k, const struct wz_expr *e, uint32_t value)
{
	for (uint32_t i = 0; i < e->n_values; i++)
		if (k->value[e->value + i] == value)
			return true;
	return false;
}

static bool holds(
        const struct wz_constraint *k, const struct wz_expr *e, const struct wz_strtab *names, uint32_t value)
{
	int64_t n;

	switch ((enum wz_select_op)e->op) {
	case WZ_SELECT_IN:
		return value != WZ_NONE && among(k, e, value);
	case WZ_SELECT_NOT_IN:
		return value == WZ_NONE || !among(k, e, value);
	case WZ_SELECT_EXISTS:
		return value != WZ_NONE;
	case WZ_SELECT_ABSENT:
		return value == WZ_NONE;
	case WZ_SELECT_GT:
	case WZ_SELECT_LT:
		break;
	}
	if (value == WZ_NONE || wz_str_parse_i64(wz_strtab_get(names, value), &n) < 0)
		return false;
	return e->op == WZ_SELECT_GT ? n > e->number : n < e->number;
}

bool wz_selector_matches(const struct wz_constraint *k, struct wz_selector s, const struct wz_strtab *names,
        wz_label_find *find, const void *labels)
{
	for (uint32_t i = s.expr; i < s.expr + s.n; i++)
		if (!holds(k, &k->expr[i], names, find(labels, k->expr[i].key)))
			return false;
	return true;
}

bool wz_constraint_tolerates(const struct wz_constraint *k, uint32_t key, uint32_t value, uint8_t effect)
{
	for (uint32_t i = 0; i < k->n_toleration; i++) {
		const struct wz_toleration *t = &k->toleration[i];
		if ((t->key == WZ_NONE || t->key == key) && (t->value == WZ_NONE || t->value == value) &&
		        (t->effect == WZ_TAINT_ANY || t->effect == effect))
			return true;
	}
	return false;
}

bool wz_ports_clash(const struct wz_port *a, const struct wz_port *b)
{
	return a->port == b->port && a->protocol == b->protocol &&
	       (a->ip == WZ_NONE || b->ip == WZ_NONE || a->ip == b->ip);
}
