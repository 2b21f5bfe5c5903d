/* SPDX-License-Identifier: Apache-2.0 */
/* Acknowledged submits a second: 64 producers that each wait for their answer before the next submit, and one alone. Beside them
 * the same disk raw: one 4 KiB write and fdatasync after the other, which is what an acknowledgement costs at least.
 *
 *	bench_store [--dir DIR] [--seconds N] [--producers N] [--json]
 *
 * A submit is what serve writes for one: the event, the row of the job, and its part of a step (STEP, digest). The figures are of
 * the disk that DIR is on; the ratio to raw commits is what says whether the store is good. */
#include "base/check.h"
#include "os/clock.h"
#include "os/mem.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

struct bench {
	struct wz_store *s;
	struct wz_core *core;
	struct wz_profile profile;
	int64_t job;
	uint64_t answered, until_ns;
	uint64_t *took_us, n_took, cap;
	unsigned waiting; /* producers that may submit now */
};

struct ask {
	struct bench *b;
	uint64_t began_ns;
};

static void answer(void *ctx, uint64_t seq, int r)
{
	struct ask *a = ctx;
	(void)seq;
	wz_check(r == 0);
	a->b->answered++;
	a->b->waiting++;
	if (a->b->n_took < a->b->cap)
		a->b->took_us[a->b->n_took++] = (wz_clock_monotonic_ns() - a->began_ns) / 1000;
	free(a);
}

static void submit(struct bench *b, struct wz_batch *batch)
{
	uint64_t now = (uint64_t)wz_clock_wall_us();
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = now},
	                step = {.kind = WZ_EV_STEP, .time_us = now};
	struct wz_event gone = {.kind = WZ_EV_JOB_CANCELLED, .time_us = now, .u.job.job = (uint64_t)b->job};
	struct wz_job_row r = {0};
	struct ask *a = malloc(sizeof(*a));
	char key[32];

	wz_check(a);
	*a = (struct ask){b, wz_clock_monotonic_ns()};
	(void)snprintf(key, sizeof(key), "key-%lld", (long long)b->job);
	e.u.submit = (struct wz_ev_submit){
	        .job = (uint64_t)b->job, .user = WZ_STR("ann"), .queue = WZ_STR("vision"), .profile = &b->profile};
	WZ_SET(JOB, &r, job, b->job);
	WZ_SET(JOB, &r, user, WZ_STR("ann"));
	WZ_SET(JOB, &r, uid, 1000);
	WZ_SET(JOB, &r, name, WZ_STR("train"));
	WZ_SET(JOB, &r, queue, WZ_STR("vision"));
	WZ_SET(JOB, &r, profile, WZ_STR("gpus=1 cpus=4"));
	WZ_SET(JOB, &r, spec,
	        WZ_STR("{\"argv\":[\"python\",\"train.py\",\"--epochs\",\"90\"],\"cwd\":\"/home/user/train\"}"));
	WZ_SET(JOB, &r, idem, wz_str(key));
	WZ_SET(JOB, &r, submitted_us, (int64_t)now);
	WZ_SET(JOB, &r, state, WZ_ROW_WAITING);
	/* the core, as serve does; the job is withdrawn again, so that the figure does not depend on how many wait */
	wz_check(wz_core_apply(b->core, &e, NULL) == 0 &&
	         wz_batch_event(batch, &e, wz_core_catalogue(b->core), NULL) == 0);
	wz_check(wz_core_apply(b->core, &step, NULL) == 0 &&
	         wz_batch_event(batch, &step, wz_core_catalogue(b->core), NULL) == 0);
	wz_check(wz_core_apply(b->core, &gone, NULL) == 0 &&
	         wz_batch_event(batch, &gone, wz_core_catalogue(b->core), NULL) == 0);
	wz_batch_digest(batch, wz_core_digest(b->core));
	wz_check(wz_batch_job(batch, &r, NULL) == 0);
	wz_check(wz_store_append(b->s, batch, (struct wz_store_done){answer, a}, NULL, NULL) == 0);
	b->job++;
	b->waiting--;
}

static int by_size(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return a < b ? -1 : a > b;
}

struct result {
	double rate;
	uint64_t p50, p99;
	double per_commit;
};

static struct result run(struct bench *b, unsigned producers, unsigned seconds)
{
	uint64_t began = wz_clock_monotonic_ns(), until = began + seconds * 1000000000ull;
	struct wz_store_status before, after;
	struct wz_batch batch;
	struct result r;

	wz_batch_init(&batch, wz_os_mem());
	b->answered = b->n_took = 0;
	b->waiting = producers;
	wz_store_status(b->s, &before);
	while (wz_clock_monotonic_ns() < until) {
		struct pollfd p = {.fd = wz_store_fd(b->s), .events = POLLIN};
		while (b->waiting)
			submit(b, &batch);
		(void)poll(&p, 1, 100);
		wz_store_dispatch(b->s);
	}
	r.rate = (double)b->answered / ((double)(wz_clock_monotonic_ns() - began) / 1e9);
	wz_check(wz_store_flush(b->s, NULL) == 0);
	wz_store_status(b->s, &after);
	r.per_commit = (double)b->answered / (double)(after.commits - before.commits);
	qsort(b->took_us, b->n_took, sizeof(*b->took_us), by_size);
	r.p50 = b->n_took ? b->took_us[b->n_took / 2] : 0;
	r.p99 = b->n_took ? b->took_us[b->n_took - 1 - b->n_took / 100] : 0;
	wz_batch_release(&batch);
	return r;
}

/* 4 KiB and fdatasync, one after the other, over the same 4 MB, as in a log that is used again. */
static struct result raw(const char *dir, unsigned seconds, uint64_t *took, uint64_t cap)
{
	static char page[4096];
	char path[600];
	struct result r = {0};
	uint64_t n = 0, began, now;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/raw", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	wz_check(fd >= 0);
	for (unsigned i = 0; i < 1024; i++)
		wz_check(pwrite(fd, page, sizeof(page), (off_t)i * 4096) == (ssize_t)sizeof(page));
	wz_check(fsync(fd) == 0);
	began = now = wz_clock_monotonic_ns();
	while (now - began < seconds * 1000000000ull && n < cap) {
		uint64_t t = now;
		wz_check(pwrite(fd, page, sizeof(page), (off_t)(n % 1024) * 4096) == (ssize_t)sizeof(page) &&
		         fdatasync(fd) == 0);
		now = wz_clock_monotonic_ns();
		took[n++] = (now - t) / 1000;
	}
	(void)close(fd);
	(void)unlink(path);
	r.rate = (double)n / ((double)(now - began) / 1e9);
	qsort(took, n, sizeof(*took), by_size);
	r.p50 = took[n / 2];
	r.p99 = took[n - 1 - n / 100];
	return r;
}

int main(int argc, char **argv)
{
	char dir[600] = "/tmp/wz-bench-XXXXXX", path[700];
	unsigned seconds = 3, producers = 64;
	uint64_t v;
	bool json = false, own = true;
	struct wz_core_options fresh = {.seed = 1};
	struct wz_store_options o = {.dir = dir, .snapshot_every = 1u << 30};
	struct wz_restored got;
	struct bench b = {.cap = 4u << 20};
	struct wz_err err = {0};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--dir") == 0) {
			(void)snprintf(dir, sizeof(dir), "%s", argv[++i]);
			own = false;
		} else if (i + 1 < argc && wz_str_parse_u64(wz_str(argv[i + 1]), &v) == 0 &&
		           strcmp(argv[i], "--seconds") == 0) {
			seconds = (unsigned)v;
			i++;
		} else if (i + 1 < argc && wz_str_parse_u64(wz_str(argv[i + 1]), &v) == 0 &&
		           strcmp(argv[i], "--producers") == 0) {
			producers = (unsigned)v;
			i++;
		} else {
			(void)fprintf(
			        stderr, "usage: bench_store [--dir DIR] [--seconds N] [--producers N] [--json]\n");
			return 2;
		}
	}
	if (own)
		wz_check(mkdtemp(dir));
	if (wz_store_open(&o, &b.s, &err) < 0 || wz_store_restore(b.s, wz_os_mem(), &fresh, &got, &err) < 0) {
		(void)fprintf(stderr, "bench_store: %s\n", err.text);
		return 1;
	}
	b.core = got.core;
	b.job = (int64_t)got.last_job + 1;
	b.took_us = calloc(b.cap, sizeof(*b.took_us));
	wz_check(b.took_us);
	wz_check(wz_profile_parse(WZ_STR("gpus=1 cpus=4"), wz_core_catalogue(b.core), &b.profile, NULL) == 0);
	struct result r0 = raw(dir, 1, b.took_us, b.cap);
	struct result many = run(&b, producers, seconds);
	struct result one = run(&b, 1, seconds);
	struct wz_store_status st;
	wz_store_status(b.s, &st);
	printf(json ? "{\"raw_commits_s\":%.0f,\"raw_p50_us\":%llu,\"raw_p99_us\":%llu,\"producers\":%u,\"submits_"
	              "s\":%.0f,\"p50_us\":%llu,\"p99_us\":%llu,"
	              "\"per_commit\":%.1f,\"one_s\":%.0f,\"one_p50_us\":%llu,\"one_p99_us\":%llu,\"one_to_raw\":%."
	              "2f,\"db_bytes\":%llu}\n"
	            : "raw: %.0f commits/s, p50 %llu us, p99 %llu us\n%u producers: %.0f submits/s acknowledged, "
	              "p50 %llu us, p99 %llu us, %.1f a commit\n"
	              "one producer: %.0f/s, p50 %llu us, p99 %llu us; %.2f of raw\nstore: %llu bytes\n",
	        r0.rate, (unsigned long long)r0.p50, (unsigned long long)r0.p99, producers, many.rate,
	        (unsigned long long)many.p50, (unsigned long long)many.p99, many.per_commit, one.rate,
	        (unsigned long long)one.p50, (unsigned long long)one.p99, one.rate / r0.rate,
	        (unsigned long long)st.db_bytes);
	wz_store_close(b.s);
	wz_core_free(b.core);
	free(b.took_us);
	if (own) {
		static const char *const files[] = {"store.db", "store.db-wal", "store.db-shm", "lock", "reserve"};
		for (size_t i = 0; i < WZ_ARRAY_LEN(files); i++) {
			(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
			(void)unlink(path);
		}
		(void)rmdir(dir);
	}
	return 0;
}
