/* SPDX-License-Identifier: Apache-2.0 */
/* What was used, by whom or by what: GET /v1/usage. Two scans of the tables: jobs first, which say to which row they belong,
 * then attempts, which say what was held for how long. Device time is counted within the window asked for; a job counts
 * when it ended within it. O(jobs + attempts of the window). */
#include "serve/serve_int.h"

#include "base/map.h"
#include "serve/usage.h"

#include <stdlib.h>
#include <time.h>

#define ROWS_MAX 1000000u

struct line {
	struct wz_api_usage u;
	int64_t *wait;
	uint32_t n_waits, wait_cap;
};

struct kept { /* of a job that belongs to the report */
	uint32_t line;
	int32_t milli; /* of each device */
	int64_t submitted_us;
	bool completed;
};

struct report {
	struct serve *s;
	const struct wz_api_usage_query *q;
	struct wz_strtab keys;
	struct line *line;
	uint32_t line_cap;
	struct kept *job;
	uint32_t n_jobs, job_cap;
	struct wz_map by_number;
	int64_t until_us;
	enum { BY_USER, BY_QUEUE, BY_STATE, BY_MODEL, BY_DAY } by;
	int status;
};

static struct line *line_of(struct report *r, struct wz_str key)
{
	uint32_t id, n = r->keys.len;
	if (wz_strtab_add(&r->keys, key, &id) < 0 ||
	        wz_grow(r->s->mem, &r->line, &r->line_cap, r->keys.len, sizeof *r->line) < 0) {
		r->status = -ENOMEM;
		return NULL;
	}
	if (r->keys.len > n)
		r->line[id] = (struct line){.n_waits = 0};
	return &r->line[id];
}

static void day_of(int64_t us, char ret[16])
{
	time_t t = (time_t)(us / 1000000);
	struct tm tm;
	if (!localtime_r(&t, &tm) || strftime(ret, 16, "%Y-%m-%d", &tm) == 0)
		memcpy(ret, "?", 2);
}

static int32_t milli_of(struct report *r, const struct wz_job_row *row)
{
	struct wz_profile p;
	if (wz_profile_parse(row->profile, wz_core_catalogue(r->s->core), &p, NULL) < 0)
		return WZ_WHOLE;
	return p.gpus == 0 && p.share_milli ? (int32_t)p.share_milli : WZ_WHOLE;
}

static int on_job(void *ctx, const struct wz_job_row *row)
{
	struct report *r = ctx;
	char day[16];
	bool ended = row->state == WZ_ROW_ENDED;
	if (row->submitted_us >= r->until_us || (ended && row->ended_us < r->q->since_us))
		return 0;
	day_of(ended ? row->ended_us : r->until_us - 1, day);
	struct line *l = line_of(r, r->by == BY_USER    ? row->user
	                            : r->by == BY_QUEUE ? (row->queue.len ? row->queue : WZ_STR("-"))
	                            : r->by == BY_STATE ? wz_str(wz_api_state_words[api_state(row)])
	                            : r->by == BY_DAY   ? wz_str(day)
	                                                : WZ_STR(""));
	if (!l || wz_grow(r->s->mem, &r->job, &r->job_cap, r->n_jobs + 1, sizeof *r->job) < 0 ||
	        wz_map_put(&r->by_number, (uint64_t)row->job, r->n_jobs) < 0) {
		r->status = -ENOMEM;
		return -ENOMEM;
	}
	bool counts = ended && row->ended_us < r->until_us, completed = counts && row->end == WZ_END_COMPLETED;
	r->job[r->n_jobs++] =
	        (struct kept){(uint32_t)(l - r->line), milli_of(r, row), row->submitted_us, completed};
	if (r->by == BY_MODEL) /* its line is known when its devices are */
		return 0;
	l->u.jobs++;
	l->u.completed += completed;
	l->u.cancelled += counts && row->end == WZ_END_CANCELLED;
	l->u.failed += counts && !completed && row->end != WZ_END_CANCELLED;
	return 0;
}

static struct wz_str model_of(struct report *r, const struct wz_attempt_row *a, uint64_t device)
{
	const struct wz_model_state *m = wz_core_model(r->s->core);
	uint32_t node = node_find(r->s, a->node);
	if (node == WZ_ID_NONE || device >= m->node[node].n_dev)
		return WZ_STR("-");
	return wz_str(wz_core_catalogue(r->s->core)->model[m->dev[m->node[node].first_dev + device].model].name);
}

static void add_wait(struct report *r, struct line *l, int64_t us)
{
	if (wz_grow(r->s->mem, &l->wait, &l->wait_cap, l->n_waits + 1, sizeof *l->wait) < 0)
		r->status = -ENOMEM;
	else
		l->wait[l->n_waits++] = us > 0 ? us : 0;
}

static int on_attempt(void *ctx, const struct wz_attempt_row *a)
{
	struct report *r = ctx;
	struct usage used;
	uint32_t at = wz_map_get(&r->by_number, (uint64_t)a->job), devices = 0;
	if (at == WZ_NONE)
		return 0;
	const struct kept *k = &r->job[at];
	int64_t from = a->started_us > r->q->since_us ? a->started_us : r->q->since_us;
	int64_t to = WZ_GIVEN(ATTEMPT, a, ended_us) && a->ended_us < r->until_us ? a->ended_us : r->until_us;
	struct wz_str list = a->devices, first = WZ_STR("-");
	while (list.ptr && list.len) {
		uint64_t d;
		if (wz_str_parse_u64(wz_str_split(&list, ','), &d) == 0 && devices++ == 0)
			first = model_of(r, a, d);
	}
	struct line *l = r->by == BY_MODEL ? line_of(r, first) : &r->line[k->line];
	if (!l || from >= to)
		return r->status;
	if (r->by == BY_MODEL && a->task == 0) {
		l->u.jobs++;
		l->u.completed += k->completed;
	}
	int64_t held = (to - from) / WZ_WHOLE * devices * k->milli;
	l->u.device_us += held;
	if (k->completed)
		l->u.completed_device_us += held;
	usage_read(a->usage, &used);
	l->u.cpu_us += used.cpu_us > 0 ? used.cpu_us : 0;
	if (a->attempt == 1 && a->task == 0 && a->started_us >= r->q->since_us)
		add_wait(r, l, a->started_us - k->submitted_us);
	return r->status;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	size_t n = x->u.key.len < y->u.key.len ? x->u.key.len : y->u.key.len;
	int c = n ? memcmp(x->u.key.ptr, y->u.key.ptr, n) : 0;
	return c ? c : (x->u.key.len > y->u.key.len) - (x->u.key.len < y->u.key.len);
}

static void answer(struct report *r, struct wz_api_call *c)
{
	for (uint32_t i = 0; i < r->keys.len; i++)
		r->line[i].u.key = wz_strtab_get(&r->keys, i);
	if (r->keys.len)
		qsort(r->line, r->keys.len, sizeof *r->line, by_key);
	for (uint32_t i = 0; i < r->keys.len; i++) {
		struct line *l = &r->line[i];
		if (!l->u.jobs && !l->u.device_us)
			continue;
		if (l->n_waits) {
			qsort(l->wait, l->n_waits, sizeof *l->wait, by_size);
			l->u.wait_p50_us = l->wait[(l->n_waits - 1) / 2];
			l->u.wait_p95_us = l->wait[(uint32_t)((uint64_t)(l->n_waits - 1) * 95 / 100)];
		}
		wz_api_item_usage(c, &l->u);
	}
	wz_api_list_end(c, 0);
}

static int by_word(struct wz_str by)
{
	static const char *const words[] = {"user", "queue", "state", "model", "day"};
	for (int i = 0; i < (int)(sizeof words / sizeof words[0]); i++)
		if (wz_str_eq(by, wz_str(words[i])))
			return i;
	return by.len ? -1 : BY_USER;
}

void op_usage(void *ctx, struct wz_api_call *c, const struct wz_api_usage_query *rq)
{
	struct serve *s = ctx;
	struct report r = {.s = s, .q = rq, .until_us = rq->until_us ? rq->until_us : serve_now_us(s)};
	struct wz_job_query q = {.user = rq->user,
	        .queue = rq->queue,
	        .since_us = rq->since_us > 0 ? (uint64_t)rq->since_us : 0,
	        .limit = ROWS_MAX};
	struct wz_err err;
	int by = by_word(rq->by);
	if (by < 0) {
		(void)wz_err_set(&err, -EINVAL, "BadField", WZ_STR("by: user, queue, state, model or day"));
		wz_api_fail_field(c, &err, "by");
		return;
	}
	r.by = (unsigned)by;
	wz_strtab_init(&r.keys, s->mem);
	wz_map_init(&r.by_number, s->mem);
	/* A job that was submitted before and still runs belongs to the window too. */
	q.since_us = 0;
	int rc = wz_store_jobs(s->store, &q, on_job, &r, &err);
	if (rc == 0)
		rc = wz_store_attempts_since(s->store, (uint64_t)rq->since_us, ROWS_MAX, on_attempt, &r, &err);
	if (r.status < 0)
		rc = wz_err_set(&err, r.status, "OutOfMemory", WZ_STR("no memory for the report"));
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		answer(&r, c);
	for (uint32_t i = 0; i < r.keys.len && i < r.line_cap; i++)
		wz_grow_free(s->mem, &r.line[i].wait, &r.line[i].wait_cap, sizeof *r.line[i].wait);
	wz_grow_free(s->mem, &r.line, &r.line_cap, sizeof *r.line);
	wz_grow_free(s->mem, &r.job, &r.job_cap, sizeof *r.job);
	wz_map_release(&r.by_number);
	wz_strtab_release(&r.keys);
}
