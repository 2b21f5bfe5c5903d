/* SPDX-License-Identifier: Apache-2.0 */
/* Random clusters and jobs against a checker that knows nothing of the core: it holds labels as small numbers and asks every
 * task of every other, as Kubernetes words it. Whatever is started must be allowed where it is started, by what was there
 * just before; whoever waits after a whole step must be allowed nowhere. Beside it: with and without the index the same
 * plans, the state as bytes and back, and the tallies rebuilt (wz_core_check) after every event. WZ_SEED reruns one. */
#include "world.h"

#include "base/rng.h"

#include <stdlib.h>

enum { NODES = 9, JOBS = 60, TERMS = 3, NONE = -1 };
static const char *const word[] = {"a", "b", "c", "x", "1", "2", "3", "4"}; /* 4.. are integers */
enum { APP, TIER, TASK_KEYS };
static const char *const task_key[] = {"app", "tier"};
enum { ZONE, NUM, RACK, NAME, NODE_KEYS };
static const char *const node_key[] = {"zone", "num", "rack", "node"};
enum op { IN, NOT_IN, EXISTS, ABSENT, GT, LT };

struct expr {
	int key, value[2], n, number;
	enum op op;
};
struct sel {
	int n;
	struct expr e[2];
};
struct term {
	int kind, topo, skew, min;
	bool soft;
	struct sel sel;
}; /* kind: 0 near, 1 apart, 2 spread */
struct ask {
	int n_alt, n_term;
	struct sel alt[2];
	bool tolerates[2]; /* taint "t0", "t1" */
	int port; /* 0 none */
	struct term term[TERMS];
};
struct node {
	bool present;
	int key[NODE_KEYS];
	bool taint[2];
};
struct job {
	uint64_t number;
	bool live, waits;
	int label[TASK_KEYS];
	struct ask ask;
	int node;
};

struct town {
	struct wz_rng rng;
	struct world w, plain;
	struct node node[NODES];
	struct job job[JOBS];
	uint64_t next;
	uint64_t seed;
	bool failed;
};

#define SAY(t, cond, ...) \
	do { \
		if (!(cond)) { \
			if (!(t)->failed) \
				tap_ok(false, __VA_ARGS__); \
			if (!(t)->failed) \
				printf("#   rerun with WZ_SEED=%" PRIu64 "\n", (t)->seed); \
			(t)->failed = true; \
		} \
	} while (0)

static int below(struct town *t, int n)
{
	return (int)wz_rng_below(&t->rng, (uint64_t)n);
}

/* ---- the checker ---- */

static bool holds(const struct expr *e, const int *label)
{
	int v = label[e->key];
	bool in = v != NONE && (v == e->value[0] || (e->n > 1 && v == e->value[1]));
	switch (e->op) {
	case IN:
		return in;
	case NOT_IN:
		return !in;
	case EXISTS:
		return v != NONE;
	case ABSENT:
		return v == NONE;
	case GT:
		return v >= 4 && v - 3 > e->number;
	case LT:
		return v >= 4 && v - 3 < e->number;
	}
	return false;
}

static bool selects(const struct sel *s, const int *label)
{
	for (int i = 0; i < s->n; i++)
		if (!holds(&s->e[i], label))
			return false;
	return true;
}

static bool selects_near(const struct ask *a, const struct term *m, const int *label)
{
	if (m->kind != 0 || m->soft)
		return selects(&m->sel, label);
	for (int i = 0; i < a->n_term; i++)
		if (a->term[i].kind == 0 && !a->term[i].soft && !selects(&a->term[i].sel, label))
			return false;
	return true;
}

static bool node_allowed(const struct ask *a, const struct node *n)
{
	for (int i = 0; i < a->n_alt; i++)
		if (selects(&a->alt[i], n->key))
			return true;
	return a->n_alt == 0;
}

static bool spread_counts(const struct ask *a, const struct term *m, const struct node *n)
{
	for (int i = 0; i < a->n_term; i++)
		if (a->term[i].kind == 2 && a->term[i].soft == m->soft && n->key[a->term[i].topo] == NONE)
			return false;
	return n->present && node_allowed(a, n);
}

/* Selected tasks in the domain of the key that has this value; value NONE: anywhere that has the key. */
static int count(const struct town *t, const struct ask *a, const struct term *m, int value)
{
	int n = 0;
	for (int i = 0; i < JOBS; i++) {
		const struct job *j = &t->job[i];
		if (!j->live || j->node < 0 || !selects_near(a, m, j->label))
			continue;
		if (m->kind == 2 && !spread_counts(a, m, &t->node[j->node]))
			continue;
		n += value == NONE ? t->node[j->node].key[m->topo] != NONE : t->node[j->node].key[m->topo] == value;
	}
	return n;
}

static bool spread_allows(const struct town *t, const struct job *j, const struct term *m, const struct node *n)
{
	int least = 1 << 30, domains = 0;
	bool seen[64] = {false};
	if (n->key[m->topo] == NONE)
		return false;
	for (int i = 0; i < NODES; i++) {
		int d = t->node[i].key[m->topo], c;
		if (!spread_counts(&j->ask, m, &t->node[i]) || seen[d])
			continue;
		seen[d] = true;
		domains++;
		c = count(t, &j->ask, m, d);
		least = c < least ? c : least;
	}
	if (domains < m->min || domains == 0)
		least = 0;
	return count(t, &j->ask, m, n->key[m->topo]) + selects(&m->sel, j->label) - least <= m->skew;
}

static bool near_allows(const struct town *t, const struct job *j, const struct term *m, const struct node *n)
{
	bool first = true;
	if (n->key[m->topo] == NONE)
		return false;
	if (count(t, &j->ask, m, n->key[m->topo]))
		return true;
	for (int i = 0; i < j->ask.n_term; i++) {
		const struct term *o = &j->ask.term[i];
		if (o->kind == 0 && !o->soft && (count(t, &j->ask, o, NONE) || !selects(&o->sel, j->label)))
			first = false;
	}
	return first;
}

static bool others_allow(const struct town *t, const struct job *j, const struct node *n)
{
	for (int i = 0; i < JOBS; i++) {
		const struct job *o = &t->job[i];
		for (int k = 0; o->live && o->node >= 0 && k < o->ask.n_term; k++) {
			const struct term *m = &o->ask.term[k];
			int d = t->node[o->node].key[m->topo];
			if (m->kind == 1 && !m->soft && d != NONE && d == n->key[m->topo] &&
			        selects(&m->sel, j->label))
				return false;
		}
	}
	return true;
}

static bool allowed(const struct town *t, const struct job *j, int at)
{
	const struct node *n = &t->node[at];
	if (!n->present || !node_allowed(&j->ask, n))
		return false;
	for (int i = 0; i < 2; i++)
		if (n->taint[i] && !j->ask.tolerates[i])
			return false;
	for (int i = 0; i < JOBS && j->ask.port; i++)
		if (t->job[i].live && t->job[i].node == at && t->job[i].ask.port == j->ask.port)
			return false;
	for (int i = 0; i < j->ask.n_term; i++) {
		const struct term *m = &j->ask.term[i];
		if (m->soft)
			continue;
		if (m->kind == 0 && !near_allows(t, j, m, n))
			return false;
		if (m->kind == 1 && n->key[m->topo] != NONE && count(t, &j->ask, m, n->key[m->topo]))
			return false;
		if (m->kind == 2 && !spread_allows(t, j, m, n))
			return false;
	}
	return others_allow(t, j, n);
}

/* ---- random asks, and their text ---- */

static struct sel random_sel(struct town *t, int keys)
{
	struct sel s = {.n = below(t, 8) ? 1 + below(t, 2) : 0};
	for (int i = 0; i < s.n; i++)
		s.e[i] = (struct expr){.key = below(t, keys),
		        .value = {below(t, 8), below(t, 8)},
		        .n = 1 + below(t, 2),
		        .number = below(t, 4),
		        .op = below(t, 3) ? IN : (enum op)below(t, 6)};
	for (int i = 0; i < s.n; i++)
		if (keys == TASK_KEYS && s.e[i].op == IN && below(t, 4))
			s.e[i].value[0] = s.e[i].key == APP ? below(t, 3) : 4 + below(t, 2);
	return s;
}

static void put_sel(struct wz_buf *b, const struct sel *s, const char *const *key)
{
	if (s->n == 0)
		wz_buf_addc(b, '*');
	for (int i = 0; i < s->n; i++) {
		const struct expr *e = &s->e[i];
		wz_buf_addz(b, i ? ", " : "");
		wz_buf_addz(b, e->op == ABSENT ? "!" : "");
		wz_buf_addz(b, key[e->key]);
		if (e->op == IN && e->n == 1) {
			wz_buf_addz(b, "=");
			wz_buf_addz(b, word[e->value[0]]);
		} else if (e->op == IN || e->op == NOT_IN) {
			wz_buf_addz(b, e->op == IN ? " in (" : " notin (");
			wz_buf_addz(b, word[e->value[0]]);
			wz_buf_addz(b, e->n > 1 ? "," : "");
			wz_buf_addz(b, e->n > 1 ? word[e->value[1]] : "");
			wz_buf_addz(b, ")");
		} else if (e->op == GT || e->op == LT) {
			wz_buf_addz(b, e->op == GT ? ">" : "<");
			wz_buf_add_i64(b, e->number);
		}
	}
}

static void put_ask(struct wz_buf *b, const struct ask *a)
{
	static const char *const kind[] = {"near", "apart", "spread"};
	for (int i = 0; i < a->n_alt; i++) {
		wz_buf_addz(b, i ? " | " : "node: ");
		put_sel(b, &a->alt[i], node_key);
	}
	wz_buf_addz(b, a->n_alt ? ";" : "");
	for (int i = 0; i < 2; i++)
		if (a->tolerates[i])
			wz_buf_addz(b, i ? "tolerate: t1=x:NoSchedule;" : "tolerate: t0;");
	if (a->port) {
		wz_buf_addz(b, "ports: ");
		wz_buf_add_i64(b, a->port);
		wz_buf_addz(b, ";");
	}
	for (int i = 0; i < a->n_term; i++) {
		const struct term *m = &a->term[i];
		wz_buf_addz(b, kind[m->kind]);
		wz_buf_addz(b, m->soft ? "~30: " : ": ");
		put_sel(b, &m->sel, task_key);
		wz_buf_addz(b, " per ");
		wz_buf_addz(b, node_key[m->topo]);
		if (m->kind == 2) {
			wz_buf_addz(b, " skew ");
			wz_buf_add_i64(b, m->skew);
			wz_buf_addz(b, " min ");
			wz_buf_add_i64(b, m->min);
		}
		wz_buf_addz(b, ";");
	}
}

static void random_ask(struct town *t, struct ask *a)
{
	static const int topo[] = {ZONE, RACK, NAME};
	*a = (struct ask){.n_alt = below(t, 3) ? 0 : 1 + below(t, 2),
	        .n_term = below(t, 3) ? below(t, TERMS + 1) : 0,
	        .tolerates = {below(t, 3) == 0, below(t, 3) == 0},
	        .port = below(t, 5) ? 0 : 80 + below(t, 2)};
	for (int i = 0; i < a->n_alt; i++)
		a->alt[i] = random_sel(t, ZONE + 2);
	for (int i = 0; i < a->n_term; i++)
		a->term[i] = (struct term){.kind = below(t, 3),
		        .topo = topo[below(t, 3)],
		        .skew = 1 + below(t, 2),
		        .min = 1 + below(t, 3),
		        .soft = below(t, 5) == 0,
		        .sel = random_sel(t, TASK_KEYS)};
}

/* ---- what happens ---- */

static void both(struct town *t, struct wz_event *e)
{
	struct wz_event f = *e;
	int a = world_apply(&t->w, e), b = world_apply(&t->plain, &f);
	SAY(t, a == 0 && b == 0, "an event of kind %u applies: %s", e->kind, t->w.err.text);
	SAY(t, wz_core_digest(t->w.c) == wz_core_digest(t->plain.c), "with and without the index the same digest");
}

static void random_node(struct town *t, int at)
{
	struct node *n = &t->node[at];
	struct wz_label label[2];
	struct wz_taint taint[2];
	uint32_t labels = 0, taints = 0;
	char name[] = {'n', (char)('0' + at), 0};
	*n = (struct node){.present = true,
	        .key = {below(t, 4) ? below(t, 3) : NONE, below(t, 4) ? 3 + below(t, 5) : NONE,
	                below(t, 4) ? 20 + below(t, 2) : NONE, 30 + at},
	        .taint = {below(t, 5) == 0, below(t, 5) == 0}};
	for (int k = ZONE; k <= NUM; k++)
		if (n->key[k] != NONE)
			label[labels++] = (struct wz_label){wz_str(node_key[k]), wz_str(word[n->key[k]])};
	if (n->taint[0])
		taint[taints++] = (struct wz_taint){WZ_STR("t0"), WZ_STR("any"), 3};
	if (n->taint[1])
		taint[taints++] = (struct wz_taint){WZ_STR("t1"), WZ_STR("x"), 1};
	both(t, &(struct wz_event){.kind = WZ_EV_NODE_JOINED,
	                .u.node = {.node = {(uint32_t)at},
	                        .name = wz_str(name),
	                        .rack = n->key[RACK] == NONE ? WZ_STR("")
	                                : n->key[RACK] == 20 ? WZ_STR("r0")
	                                                     : WZ_STR("r1"),
	                        .cpu_milli = 1000000,
	                        .mem_bytes = 1000 * GI,
	                        .n_labels = labels,
	                        .label = label,
	                        .n_taints = taints,
	                        .taint = taint}});
}

static void random_submit(struct town *t)
{
	struct job *j = NULL;
	struct wz_label label[TASK_KEYS];
	uint32_t labels = 0;
	char text[2048];
	struct wz_buf b;
	struct wz_profile p = profile(&t->w, "cpus=1");
	for (int i = 0; i < JOBS && !j; i++)
		if (!t->job[i].live)
			j = &t->job[i];
	if (!j)
		return;
	*j = (struct job){.number = ++t->next,
	        .live = true,
	        .waits = true,
	        .node = -1,
	        .label = {below(t, 4) ? below(t, 3) : NONE, below(t, 4) ? 3 + below(t, 3) : NONE}};
	random_ask(t, &j->ask);
	for (int k = 0; k < TASK_KEYS; k++)
		if (j->label[k] != NONE)
			label[labels++] = (struct wz_label){wz_str(task_key[k]), wz_str(word[j->label[k]])};
	wz_buf_init_fixed(&b, text, sizeof text);
	put_ask(&b, &j->ask);
	tap_require(b.status == 0, "the text has room");
	both(t, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                .u.submit = {.job = j->number,
	                        .profile = &p,
	                        .n_labels = labels,
	                        .label = label,
	                        .constraint = wz_buf_str(&b)}});
}

static void lose_jobs_of(struct town *t, int node)
{
	for (int i = 0; i < JOBS; i++)
		if (t->job[i].live && t->job[i].node == node) {
			t->job[i].node = -1;
			t->job[i].waits = true;
		}
}

static void random_event(struct town *t)
{
	int at = below(t, NODES), i = below(t, JOBS);
	struct job *j = &t->job[i];
	switch (below(t, 10)) {
	case 0:
		random_node(t, at); /* comes, or is labelled anew under what runs */
		break;
	case 1:
		if (t->node[at].present && below(t, 3) == 0) {
			both(t, &(struct wz_event){.kind = WZ_EV_NODE_LEFT, .u.left.node = {(uint32_t)at}});
			t->node[at].present = false;
			lose_jobs_of(t, at);
		}
		break;
	case 2:
	case 3:
		if (j->live && j->node >= 0) {
			both(t, &(struct wz_event){.kind = WZ_EV_TASK_ENDED,
			                .u.task = {.job = j->number,
			                        .attempt = info_of(&t->w, j->number).attempt,
			                        .end = WZ_END_COMPLETED}});
			*j = (struct job){.node = -1};
		} else if (j->live && below(t, 4) == 0) {
			both(t, &(struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = j->number});
			*j = (struct job){.node = -1};
		}
		break;
	default:
		random_submit(t);
		break;
	}
}

static struct job *job_of(struct town *t, uint64_t number)
{
	for (int i = 0; i < JOBS; i++)
		if (t->job[i].live && t->job[i].number == number)
			return &t->job[i];
	return NULL;
}

static void check_waiting(struct town *t)
{
	for (int i = 0; i < JOBS && !t->failed; i++) {
		struct job *j = &t->job[i];
		struct wz_explanation x;
		bool any = false;
		if (!j->live || !j->waits)
			continue;
		for (int n = 0; n < NODES; n++)
			any = any || allowed(t, j, n);
		SAY(t, !any, "job %" PRIu64 " waits, but may start", j->number);
		if (any)
			continue;
		x = why(&t->w, j->number);
		SAY(t, x.main != WZ_REASON_NONE && x.blocked[WZ_REASON_NONE] == 0, "and is told why");
	}
}

/* One step; how many starts it had. */
static unsigned town_step(struct town *t)
{
	unsigned starts = 0;
	decide_within(&t->w, 0);
	decide_within(&t->plain, 0);
	SAY(t, t->w.plan.n == t->plain.plan.n, "the index changes no plan");
	for (uint32_t i = 0; i < t->w.plan.n && !t->failed; i++) {
		const struct wz_effect *e = &t->w.plan.effect[i], *f = &t->plain.plan.effect[i];
		struct job *j = job_of(t, e->job);
		SAY(t, e->kind == f->kind && e->job == f->job && e->place.node.v == f->place.node.v,
		        "the index changes no effect");
		if (e->kind == WZ_EF_START && j) {
			SAY(t, allowed(t, j, (int)e->place.node.v), "job %" PRIu64 " may go to node %u", e->job,
			        e->place.node.v);
			j->node = (int)e->place.node.v;
			j->waits = false;
			starts++;
		}
		int a = apply_effect(&t->w, e), b = apply_effect(&t->plain, f);
		SAY(t, a == 0 && b == 0, "what was decided applies");
	}
	confirm_plan(&t->w);
	confirm_plan(&t->plain);
	return starts;
}

static void one_town(uint64_t seed)
{
	static struct town t;
	t = (struct town){.seed = seed};
	for (int i = 0; i < JOBS; i++)
		t.job[i].node = -1;
	wz_rng_seed(&t.rng, seed);
	world_init_opt(&t.w, (struct wz_core_options){.seed = seed});
	world_init_opt(&t.plain, (struct wz_core_options){.seed = seed, .no_index = true});
	for (int n = 0; n < NODES; n++)
		if (below(&t, 4))
			random_node(&t, n);
	for (int s = 0; s < 25 && !t.failed; s++) {
		for (int n = below(&t, 12); n > 0 && !t.failed; n--)
			random_event(&t);
		while (!t.failed && town_step(&t)) /* a start may let go those who were looked at before it */
			;
		if (!t.failed)
			check_waiting(&t);
		if (!t.failed && below(&t, 5) == 0)
			world_restart(&t.w);
	}
	world_free(&t.w);
	world_free(&t.plain);
}

static void test_truth(void)
{
	const char *one = getenv("WZ_SEED");
	uint64_t seed = 0;
	if (one && wz_str_parse_u64(wz_str(one), &seed) == 0) {
		one_town(seed);
		return;
	}
	for (seed = 1; seed <= 120; seed++)
		one_town(seed);
}

int main(void)
{
	tap_run(test_truth);
	return tap_done();
}
