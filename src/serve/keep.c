/* SPDX-License-Identifier: Apache-2.0 */
/* Retention. Once a day, and a minute after the start, one pass over the ended jobs, newest first and 64 at a time, so that
 * the loop is never held: logs go that are older than they may be, or for which the room is used up by younger ones; then
 * the store forgets rows. What waits or runs is never looked at: only rows that say "ended" come here.
 *
 * A log directory is opened step by step and never followed through a link: what is in it may be a job's. */
#include "serve/serve_int.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 64u
#define FIRST_US 60000000
#define DAY_US ((int64_t)86400 * 1000000)
#define DEPTH_MAX 8u

struct pass {
	struct serve *s;
	uint64_t jobs[BATCH];
	int64_t ended_us[BATCH];
	uint32_t n;
};

static int take_row(void *ctx, const struct wz_job_row *r)
{
	struct pass *p = ctx;
	if (p->n == BATCH)
		return 1;
	p->jobs[p->n] = (uint64_t)r->job;
	p->ended_us[p->n++] = r->ended_us;
	return 0;
}

/* Bytes of a directory; with `drop` they go. Takes dir_fd. */
static uint64_t walk(int dir_fd, bool drop, unsigned depth)
{
	DIR *dir = fdopendir(dir_fd);
	uint64_t bytes = 0;
	if (!dir) {
		close(dir_fd);
		return 0;
	}
	for (const struct dirent *e; (e = readdir(dir));) {
		struct stat st;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		        fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
			int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd >= 0)
				bytes += walk(fd, drop, depth + 1);
		} else {
			bytes += (uint64_t)st.st_blocks * 512;
		}
		if (drop)
			(void)unlinkat(dirfd(dir), e->d_name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	}
	(void)closedir(dir);
	return bytes;
}

static void look_at(struct serve *s, int logs, uint64_t job, int64_t ended_us)
{
	const struct wz_config *c = s->conf;
	struct keeping *k = &s->keep;
	char name[24];
	(void)snprintf(name, sizeof name, "%llu", (unsigned long long)job);
	int fd = openat(logs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	bool old = (c->keep_logs_us && ended_us < k->now_us - c->keep_logs_us) ||
	           (c->keep_jobs_us && ended_us < k->now_us - c->keep_jobs_us);
	bool over = c->keep_logs_bytes && k->bytes > c->keep_logs_bytes;
	uint64_t bytes = walk(fd, old || over, 0);
	if (!old && !over)
		k->bytes += bytes;
	if (!old && !over && (!c->keep_logs_bytes || k->bytes <= c->keep_logs_bytes))
		return;
	if (!old && !over) { /* the one that passes the limit goes too */
		fd = openat(logs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			(void)walk(fd, true, 0);
	}
	(void)unlinkat(logs, name, AT_REMOVEDIR);
	k->dropped++;
	k->freed += bytes;
}

static void end_pass(struct serve *s)
{
	struct keeping *k = &s->keep;
	const struct wz_config *c = s->conf;
	struct wz_err err;
	char text[120];
	uint64_t jobs =
	        c->keep_jobs_us && k->now_us > c->keep_jobs_us ? (uint64_t)(k->now_us - c->keep_jobs_us) : 0;
	uint64_t audit =
	        c->keep_audit_us && k->now_us > c->keep_audit_us ? (uint64_t)(k->now_us - c->keep_audit_us) : 0;
	if ((jobs || audit) && wz_store_retain(s->store, jobs, audit, &err) < 0)
		serve_log("retention", err.text);
	snapshot_retain(s);
	if (k->dropped) {
		(void)snprintf(text, sizeof text, "logs of %llu jobs, %llu MiB", (unsigned long long)k->dropped,
		        (unsigned long long)(k->freed >> 20));
		serve_log("retention deleted", text);
	}
	*k = (struct keeping){.timer = k->timer};
	wz_timer_set(&s->keep.timer, DAY_US);
}

static void on_timer(void *ctx)
{
	struct serve *s = ctx;
	struct keeping *k = &s->keep;
	struct pass p = {.s = s};
	struct wz_err err;
	struct wz_job_query q = {
	        .states = 1u << WZ_ROW_ENDED, .after = k->after, .limit = BATCH, .newest_first = true};
	char path[4096];
	if (!k->now_us)
		k->now_us = serve_now_us(s);
	(void)snprintf(path, sizeof path, "%s/logs", s->o->state_dir);
	int rc = wz_store_jobs(s->store, &q, take_row, &p, &err);
	int logs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 0; rc >= 0 && logs >= 0 && i < p.n; i++)
		look_at(s, logs, p.jobs[i], p.ended_us[i]);
	if (logs >= 0)
		close(logs);
	if (rc < 0)
		serve_log("retention", err.text);
	if (rc >= 0 && p.n == BATCH) {
		k->after = p.jobs[p.n - 1];
		wz_timer_set(&k->timer, 20000);
	} else {
		end_pass(s);
	}
}

int keep_begin(struct serve *s)
{
	int rc = wz_timer_init(&s->keep.timer, s->loop, on_timer, s);
	const char *soon = getenv("WZ_TEST_KEEP_MS"); /* of tests: how soon the first pass comes */
	uint64_t ms = 0;
	if (rc == 0)
		wz_timer_set(&s->keep.timer,
		        soon && wz_str_parse_u64(wz_str(soon), &ms) == 0 ? (int64_t)ms * 1000 : FIRST_US);
	return rc;
}
