/* SPDX-License-Identifier: Apache-2.0 */
/* A body in small: a random life (history.h) that is journalled to a store, with rows of jobs and attempts beside. */
#ifndef WZ_TESTS_STORE_BODY_H
#define WZ_TESTS_STORE_BODY_H

#include "history.h"
#include "os/mem.h"
#include "store/store_int.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

struct body {
	struct history h;
	struct wz_batch b;
	struct wz_store *s;
	bool open[4096]; /* by job number: in the table and not ended */
	uint8_t last[4096]; /* the state that the table has */
	uint64_t steps;
};

static inline const char *scratch_dir(char *to, size_t n, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(to, n, "%s/wz-%s-XXXXXX", tmp ? tmp : "/tmp", name);
	wz_check(mkdtemp(to));
	return to;
}

static inline void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[600];
	while (d && (e = readdir(d))) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		(void)unlink(path);
	}
	if (d)
		(void)closedir(d);
	(void)rmdir(dir);
}

static inline void body_record(void *ctx, const struct wz_event *ev, const struct wz_effect *ef)
{
	struct body *x = ctx;
	if (ev)
		wz_check(wz_batch_event(&x->b, ev, wz_core_catalogue(x->h.core), NULL) == 0);
	else
		wz_check(wz_batch_effect(&x->b, ef, NULL) == 0);
	if (ev && ev->kind == WZ_EV_JOB_SUBMITTED && ev->u.submit.job < 4096) {
		struct wz_job_row r = {0};
		char key[32], blob[WZ_BLOB_ID];
		(void)snprintf(key, sizeof key, "key-%" PRIu64, ev->u.submit.job);
		wz_check(wz_batch_blob(&x->b, WZ_STR("PATH=/bin\nHOME=/root\n"), blob, NULL) == 0);
		WZ_SET(JOB, &r, job, (int64_t)ev->u.submit.job);
		WZ_SET(JOB, &r, user, ev->u.submit.user);
		WZ_SET(JOB, &r, uid, 1000);
		WZ_SET(JOB, &r, name, WZ_STR("train \"it\""));
		WZ_SET(JOB, &r, idem, wz_str(key));
		WZ_SET(JOB, &r, env, wz_str(blob));
		WZ_SET(JOB, &r, priority, ev->u.submit.priority);
		WZ_SET(JOB, &r, submitted_us, (int64_t)ev->time_us);
		WZ_SET(JOB, &r, state, ev->u.submit.held ? WZ_ROW_HELD : WZ_ROW_WAITING);
		wz_check(wz_batch_job(&x->b, &r, NULL) == 0);
		x->open[ev->u.submit.job] = true;
	}
	if (ef && ef->kind == WZ_EF_START) {
		struct wz_attempt_row r = {0};
		WZ_SET(ATTEMPT, &r, job, (int64_t)ef->job);
		WZ_SET(ATTEMPT, &r, attempt, ef->attempt);
		WZ_SET(ATTEMPT, &r, task, ef->task);
		WZ_SET(ATTEMPT, &r, effect, (int64_t)ef->id);
		WZ_SET(ATTEMPT, &r, decided_us, (int64_t)x->h.now_us);
		wz_check(wz_batch_attempt(&x->b, &r, NULL) == 0);
	}
}

/* The core alone knows how jobs stand: asked after each step, told in the same batch. */
static inline void body_rows(struct body *x)
{
	for (uint64_t j = 1; j < 4096 && j < x->h.next_job; j++) {
		struct wz_job_info info;
		struct wz_job_row r = {0};
		if (!x->open[j])
			continue;
		WZ_SET(JOB, &r, job, (int64_t)j);
		if (wz_core_job(x->h.core, j, &info) < 0) {
			WZ_SET(JOB, &r, state, WZ_ROW_ENDED);
			WZ_SET(JOB, &r, ended_us, (int64_t)x->h.now_us);
			x->open[j] = false;
		} else if (x->last[j] == info.state) {
			continue;
		} else {
			WZ_SET(JOB, &r, state, (int64_t)info.state);
			WZ_SET(JOB, &r, attempt, info.attempt);
		}
		x->last[j] = (uint8_t)info.state;
		wz_check(wz_batch_job(&x->b, &r, NULL) == 0);
	}
	if (x->steps % 7 == 0) {
		struct wz_audit_row a = {0};
		WZ_SET(AUDIT, &a, time_us, (int64_t)x->h.now_us);
		WZ_SET(AUDIT, &a, verb, WZ_STR("step"));
		wz_check(wz_batch_audit(&x->b, &a, NULL) == 0);
		wz_check(wz_batch_kv(&x->b, WZ_STR("drain/a"), x->steps % 14 ? WZ_STR("") : WZ_STR("broken fan"), NULL) == 0);
	}
}

static inline void body_init(struct body *x, struct wz_store *s, struct wz_core *core, uint64_t seed, uint64_t next_job)
{
	memset(x, 0, sizeof *x);
	x->s = s;
	history_init(&x->h, core, wz_os_mem(), seed);
	x->h.next_job = next_job;
	x->h.now_us = wz_core_now(core);
	x->h.record = body_record;
	x->h.ctx = x;
	wz_batch_init(&x->b, wz_os_mem());
	x->b.time_us = x->h.now_us;
	for (uint64_t j = 1; j < next_job && j < 4096; j++) {
		struct wz_job_info info;
		x->open[j] = wz_core_job(core, j, &info) == 0;
	}
}

/* One step, appended. The number of its last record. */
static inline uint64_t body_step(struct body *x, struct wz_store_done done)
{
	uint64_t seq = 0;
	history_step(&x->h);
	wz_batch_digest(&x->b, wz_core_digest(x->h.core));
	body_rows(x);
	x->steps++;
	wz_check(wz_store_append(x->s, &x->b, done, &seq, NULL) == 0);
	return seq;
}

static inline void body_release(struct body *x)
{
	wz_plan_release(&x->h.plan);
	wz_batch_release(&x->b);
}

#endif
