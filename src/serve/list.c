/* SPDX-License-Identifier: Apache-2.0 */
/* The list of jobs: which ones, page by page, and an array's waiting tasks as one item when asked. */
#include "serve/serve_int.h"

#include "jobspec/indices.h"

struct showing {
	struct serve *s;
	struct wz_api_call *c;
	const struct wz_api_job_query *q;
	struct shown_text text;
	struct wz_indices indices;
	/* with collapse: the tasks of one array that wait, so far */
	struct wz_api_job group;
	struct wz_buf runs;
	int64_t run_first, run_last;
	uint32_t words; /* mask of enum wz_api_state; 0: all */
	uint32_t n, limit;
	uint64_t last;
	bool more;
};

/* NAME=VALUE, or NAME whatever its value. */
static bool labelled(struct serve *s, const struct wz_job_row *r, struct wz_str label)
{
	struct wz_str value = label, name = wz_str_split(&value, '=');
	struct wz_api_submit spec;
	struct wz_json_doc doc = {NULL};
	struct wz_arena a;
	struct wz_err err;
	bool found = false;
	wz_arena_init(&a, s->mem, 4096);
	if (spec_load(s, r, &a, &doc, &spec, &err) == 0)
		for (uint32_t i = 0; i < spec.labels.n; i++)
			found = found || (wz_str_eq(spec.labels.v[i].key, name) &&
			                         (!value.ptr || wz_str_eq(spec.labels.v[i].value, value)));
	wz_json_release(&doc);
	wz_arena_release(&a);
	return found;
}

static void end_run(struct showing *x)
{
	if (x->runs.len)
		wz_buf_addc(&x->runs, ',');
	wz_buf_add_i64(&x->runs, x->run_first);
	if (x->run_last > x->run_first) {
		wz_buf_addc(&x->runs, '-');
		wz_buf_add_i64(&x->runs, x->run_last);
	}
}

static void end_group(struct showing *x)
{
	if (!x->group.count)
		return;
	end_run(x);
	x->group.array_indices = wz_buf_str(&x->runs);
	wz_api_item_job(x->c, &x->group);
	x->n++;
	x->group.count = 0;
	wz_buf_clear(&x->runs);
}

static bool waits_in_array(const struct wz_api_job *j)
{
	return j->array && (j->state == WZ_STATE_PENDING || j->state == WZ_STATE_HELD);
}

/* Rows come by number, so the tasks of an array come together. */
static bool same_group(const struct showing *x, const struct wz_api_job *j)
{
	return x->group.count && waits_in_array(j) && j->array == x->group.array && j->state == x->group.state;
}

static void begin_group(struct showing *x, const struct wz_api_job *j)
{
	struct wz_arena *a = wz_api_call_arena(x->c);
	x->group = *j; /* its strings are the row's */
	x->group.count = 1;
	x->group.name = show_keep(a, j->name);
	x->group.user = show_keep(a, j->user);
	x->group.queue = show_keep(a, j->queue);
	x->group.reason = show_keep(a, j->reason);
	x->group.reason_text = show_keep(a, j->reason_text);
	x->group.profile = show_keep(a, j->profile);
	x->group.comment = (struct wz_str){NULL, 0};
	x->group.after = x->group.params = (struct wz_strs){NULL, 0};
	x->run_first = x->run_last = j->array_index;
	x->last = j->id;
}

static void add_to_group(struct showing *x, const struct wz_api_job *j)
{
	x->group.count++;
	x->last = j->id;
	if (j->array_index != x->run_last + 1) {
		end_run(x);
		x->run_first = j->array_index;
	}
	x->run_last = j->array_index;
}

/* Ended within the time asked for; what has not ended is in every window that has no end. */
static bool in_window(const struct wz_api_job_query *q, const struct wz_job_row *r)
{
	if (r->state != WZ_ROW_ENDED)
		return !q->until_us;
	return r->ended_us >= q->since_us && (!q->until_us || r->ended_us < q->until_us);
}

struct seeking {
	struct wz_str node;
	bool found;
};

static int on_node(void *ctx, const struct wz_attempt_row *r)
{
	struct seeking *k = ctx;
	k->found = wz_str_eq(r->node, k->node);
	return k->found;
}

static bool was_on(struct serve *s, const struct wz_job_row *r, struct wz_str node)
{
	struct seeking k = {node, false};
	return wz_store_attempts(s->store, (uint64_t)r->job, on_node, &k, NULL) >= 0 && k.found;
}

static int list_row(void *ctx, const struct wz_job_row *r)
{
	struct showing *x = ctx;
	struct wz_api_job j;
	if (x->words && !(x->words >> state_now(x->s, r) & 1))
		return 0;
	if (x->q->name.len && !wz_str_eq(x->q->name, r->name))
		return 0;
	if (x->q->indices.len && !wz_indices_has(&x->indices, (uint32_t)r->array_index))
		return 0;
	if (!in_window(x->q, r) || (x->q->node.len && !was_on(x->s, r, x->q->node)))
		return 0;
	if (x->q->label.len && !labelled(x->s, r, x->q->label))
		return 0;
	job_of_row(x->s, r, &j, &x->text);
	if (x->q->collapse && same_group(x, &j)) {
		add_to_group(x, &j);
		return 0;
	}
	if (x->n + (x->group.count != 0) >= x->limit) {
		x->more = true;
		return 1;
	}
	end_group(x);
	if (x->q->collapse && waits_in_array(&j)) {
		begin_group(x, &j);
		return 0;
	}
	wz_api_item_job(x->c, &j);
	x->last = j.id;
	x->n++;
	return 0;
}

#define ENDED_WORDS (~0u << WZ_STATE_COMPLETED)

static int words_of(const struct wz_api_job_query *q, uint32_t *ret, struct wz_err *err)
{
	uint32_t m = 0;
	for (uint32_t i = 0; i < q->state.n; i++) {
		struct wz_str w = q->state.v[i];
		uint32_t add = wz_str_eq(w, WZ_STR("waiting")) ? 1u << WZ_STATE_PENDING | 1u << WZ_STATE_HELD
		               : wz_str_eq(w, WZ_STR("active"))
		                       ? 1u << WZ_STATE_STARTING | 1u << WZ_STATE_RUNNING |
		                                 1u << WZ_STATE_SUSPENDED | 1u << WZ_STATE_STOPPING
		               : wz_str_eq(w, WZ_STR("ended")) ? ENDED_WORDS
		                                               : 0;
		for (uint32_t k = 0; k < WZ_STATE_COUNT_ && !add; k++)
			if (wz_str_eq_nocase(w, wz_str(wz_api_state_words[k])))
				add = 1u << k;
		if (!add)
			return wz_err_set(err, -EINVAL, "BadField", WZ_STR("no state has the name "), w);
		m |= add;
	}
	*ret = m ? m : q->all ? 0 : ~ENDED_WORDS;
	return 0;
}

void op_job_list(void *ctx, struct wz_api_call *c, const struct wz_api_job_query *rq)
{
	struct showing x = {.s = ctx, .c = c, .q = rq, .limit = rq->limit ? rq->limit : 100000};
	struct wz_job_query q = {.user = rq->user,
	        .queue = rq->queue,
	        .after = rq->after,
	        .limit = UINT32_MAX,
	        .brief = rq->label.len == 0};
	struct wz_err err;
	int rc = words_of(rq, &x.words, &err);
	q.newest_first = rq->newest;
	if (x.words && !(x.words & ~ENDED_WORDS)) /* else what began before and lives on belongs to it */
		q.since_us = rq->since_us > 0 ? (uint64_t)rq->since_us : 0;
	wz_buf_init(&x.runs, x.s->mem, (size_t)1 << 20);
	q.array = rq->array;
	if (rc == 0 && rq->indices.len)
		rc = wz_indices_parse(rq->indices, &x.indices, &err);
	if (rc == 0 && rq->array && rq->indices.len && x.indices.count == 1) {
		q.by_index = true;
		q.index = x.indices.run[0].first;
	}
	if (rc == 0 && x.words && !(x.words & ENDED_WORDS)) /* by the index of open jobs */
		q.states = ~(1u << WZ_ROW_ENDED) & 0x3f;
	if (rc == 0 && rq->ids.n == 0)
		rc = wz_store_jobs(x.s->store, &q, list_row, &x, &err);
	for (uint32_t i = 0; rc >= 0 && i < rq->ids.n; i++) {
		x.words = 0;
		q.states = 0;
		q.job = rq->ids.v[i];
		rc = wz_store_jobs(x.s->store, &q, list_row, &x, &err);
	}
	if (rc >= 0)
		end_group(&x);
	wz_buf_release(&x.runs);
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		wz_api_list_end(c, x.more ? x.last : 0);
}
