/* SPDX-License-Identifier: Apache-2.0 */
/* What a submit gets and may: entries of a profile that it does not say (defaults.profile), and how many jobs may wait or run
 * (limits.jobs, limits.jobs-per-user). Counts are of what was accepted, whether it is on the disk yet or not. */
#include "serve/serve_int.h"

#include "base/check.h"

#define USERS_MAX (1u << 20)

static uint32_t *count_of(struct quota *q, const struct wz_mem *mem, int64_t uid)
{
	uint32_t at = wz_map_get(&q->user, (uint64_t)uid);
	if (at == WZ_NONE) {
		if (q->n == USERS_MAX || wz_grow(mem, &q->count, &q->cap, q->n + 1, sizeof *q->count) < 0 ||
		        wz_map_put(&q->user, (uint64_t)uid, q->n) < 0)
			return NULL;
		at = q->n++;
	}
	return &q->count[at];
}

void quota_add(struct serve *s, uint64_t job, int64_t uid)
{
	struct quota *q = &s->quota;
	uint32_t *n = count_of(q, s->mem, uid);
	if (n && wz_map_put(&q->owner, job, wz_map_get(&q->user, (uint64_t)uid)) == 0)
		(*n)++; /* without memory a job is not counted: it is no reason to refuse it */
}

void quota_end(struct serve *s, uint64_t job)
{
	struct quota *q = &s->quota;
	uint32_t at = wz_map_get(&q->owner, job);
	if (at == WZ_NONE)
		return;
	wz_check(q->count[at] > 0);
	q->count[at]--;
	(void)wz_map_del(&q->owner, job);
}

static int count_row(void *ctx, const struct wz_job_row *r)
{
	quota_add(ctx, (uint64_t)r->job, r->uid);
	return 0;
}

int quota_begin(struct serve *s, struct wz_err *err)
{
	struct wz_job_query q = {.states = ~(1u << WZ_ROW_ENDED) & 0x3f, .limit = UINT32_MAX, .brief = true};
	wz_map_init(&s->quota.user, s->mem);
	wz_map_init(&s->quota.owner, s->mem);
	int rc = wz_store_jobs(s->store, &q, count_row, s, err);
	return rc < 0 ? rc : 0;
}

void quota_free(struct serve *s)
{
	if (!s->quota.user.mem)
		return;
	wz_map_release(&s->quota.user);
	wz_map_release(&s->quota.owner);
	wz_grow_free(s->mem, &s->quota.count, &s->quota.cap, sizeof *s->quota.count);
}

int quota_room(struct serve *s, const struct wz_api_who *who, uint64_t n, struct wz_err *err)
{
	const struct wz_config *c = s->conf;
	struct wz_num a;
	uint32_t at = wz_map_get(&s->quota.user, (uint64_t)who->uid);
	uint64_t mine = at == WZ_NONE ? 0 : s->quota.count[at];
	if (c->jobs_max && s->quota.owner.len + n > c->jobs_max)
		return wz_err_set(err, -EDQUOT, "TooManyJobs", WZ_STR("the queue holds as many jobs as it may: "),
		        wz_str_u64(&a, c->jobs_max));
	if (c->jobs_per_user_max && who->role != WZ_ROLE_ADMIN && mine + n > c->jobs_per_user_max)
		return wz_err_set(err, -EDQUOT, "TooManyJobs",
		        WZ_STR("you have as many jobs that wait or run as one user may: "),
		        wz_str_u64(&a, c->jobs_per_user_max));
	return 0;
}

/* ---- defaults ---- */

static struct wz_str key_of(struct wz_str entry)
{
	size_t n = 0;
	while (n < entry.len && !memchr("=<>~!", entry.ptr[n], 5))
		n++;
	return (struct wz_str){entry.ptr, n};
}

static bool names(struct wz_str profile, struct wz_str key)
{
	while (profile.ptr && profile.len) {
		struct wz_str e = wz_str_split(&profile, ' ');
		if (wz_str_eq(key_of(e), key))
			return true;
	}
	return false;
}

struct wz_str conf_profile(const struct serve *s, struct wz_str asked, struct wz_arena *a)
{
	struct wz_str rest = wz_str(s->conf->default_profile);
	struct wz_buf b;
	char *room = rest.len ? wz_arena_alloc(a, asked.len + rest.len + 2) : NULL;
	if (!room)
		return asked;
	wz_buf_init_fixed(&b, room, asked.len + rest.len + 2);
	wz_buf_add(&b, asked);
	while (rest.ptr && rest.len) {
		struct wz_str e = wz_str_split(&rest, ' ');
		if (!e.len || names(asked, key_of(e)))
			continue;
		if (b.len)
			wz_buf_addc(&b, ' ');
		wz_buf_add(&b, e);
	}
	return b.status < 0 ? asked : wz_buf_str(&b);
}
