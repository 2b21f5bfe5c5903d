/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9: a child accepts jobs and tells each one over a pipe when it is durable; the parent kills it at random, again and again, on
 * one directory. No job that was told is lost, none is there twice, none is missing in between. test_kill [RUNS] */
#include "tap.h"

#include "body.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static char dir[256];
static unsigned runs = 50;

struct teller {
	int fd;
	int64_t job;
};

static void tell(void *ctx, uint64_t seq, int r)
{
	struct teller *t = ctx;
	(void)seq;
	if (r == 0 && write(t->fd, &t->job, sizeof t->job) != sizeof t->job)
		_exit(1);
	free(t);
}

static void child(int fd, uint64_t seed)
{
	struct wz_store_options o = {.dir = dir, .reserve_mib = 1, .snapshot_every = 300};
	struct wz_core_options fresh = {.seed = 1};
	struct wz_restored got;
	struct wz_store *s;
	struct wz_batch b;
	struct wz_rng rng;
	struct wz_profile p;
	struct wz_err err;
	if (wz_store_open(&o, &s, &err) < 0 || wz_store_restore(s, wz_os_mem(), &fresh, &got, &err) < 0) {
		(void)fprintf(stderr, "# child: %s\n", err.text);
		_exit(2);
	}
	wz_rng_seed(&rng, seed);
	wz_batch_init(&b, wz_os_mem());
	wz_profile_init(&p);
	for (int64_t job = (int64_t)got.last_job + 1;; job++) {
		struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = (uint64_t)job};
		struct wz_event gone = {
		        .kind = WZ_EV_JOB_CANCELLED, .time_us = (uint64_t)job, .u.job.job = (uint64_t)job};
		struct wz_job_row r = {0};
		struct teller *t = malloc(sizeof *t);
		wz_check(t);
		*t = (struct teller){fd, job};
		e.u.submit = (struct wz_ev_submit){.job = (uint64_t)job, .user = WZ_STR("ann"), .profile = &p};
		WZ_SET(JOB, &r, job, job);
		WZ_SET(JOB, &r, user, WZ_STR("ann"));
		WZ_SET(JOB, &r, state, WZ_ROW_ENDED);
		wz_check(wz_core_apply(got.core, &e, NULL) == 0 && wz_core_apply(got.core, &gone, NULL) == 0);
		wz_check(wz_batch_event(&b, &e, wz_core_catalogue(got.core), NULL) == 0 &&
		         wz_batch_event(&b, &gone, wz_core_catalogue(got.core), NULL) == 0);
		wz_batch_digest(&b, wz_core_digest(got.core));
		wz_check(wz_batch_job(&b, &r, NULL) == 0);
		wz_check(wz_store_append(s, &b, (struct wz_store_done){tell, t}, NULL, NULL) == 0);
		if (wz_store_wants_snapshot(s))
			wz_check(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, NULL) == 0);
		if (wz_rng_below(&rng, 4) == 0)
			(void)wz_store_flush(s, NULL);
		wz_store_dispatch(s);
	}
}

static uint64_t number(struct wz_store *s, const char *sql)
{
	uint64_t n = 0;
	wz_check(wz_sql_u64(s->rd, sql, &n, NULL) == 0);
	return n;
}

static void test_kill(void)
{
	struct wz_core_options fresh = {.seed = 1};
	int64_t told = 0, total = 0;
	struct wz_rng rng;
	struct wz_err err = {0};
	wz_rng_seed(&rng, (uint64_t)getpid());
	printf("# seed %d\n", (int)getpid());
	for (unsigned i = 0; i < runs && !tap_failed_here; i++) {
		struct wz_store_options o = {.dir = dir, .reserve_mib = 1};
		struct wz_restored got;
		struct wz_store *s = NULL;
		int64_t job;
		int fd[2], status;
		wz_check(pipe(fd) == 0);
		(void)fflush(stdout);
		pid_t pid = fork();
		wz_check(pid >= 0);
		if (pid == 0) {
			(void)close(fd[0]);
			child(fd[1], (uint64_t)i);
		}
		(void)close(fd[1]);
		/* after so many were told, and a little more, it is killed */
		uint64_t after = wz_rng_below(&rng, 120), n = 0;
		while (n < after && read(fd[0], &job, sizeof job) == sizeof job) {
			told = job;
			n++;
		}
		struct timespec t = {0, (long)wz_rng_below(&rng, 3000000)};
		(void)nanosleep(&t, NULL);
		(void)kill(pid, SIGKILL);
		while (read(fd[0], &job, sizeof job) == sizeof job) {
			tap_ok(job > told, "told in order");
			told = job;
			n++;
		}
		total += (int64_t)n;
		(void)close(fd[0]);
		wz_check(waitpid(pid, &status, 0) == pid);
		tap_ok(WIFSIGNALED(status), "run %u: it was killed, and did not end by itself (%d)", i, status);
		int r = wz_store_open(&o, &s, &err);
		tap_ok(r == 0, "run %u: opens: %s", i, err.text);
		if (r < 0)
			break;
		r = wz_store_restore(s, wz_os_mem(), &fresh, &got, &err);
		tap_ok(r == 0, "run %u: restores: %s", i, err.text);
		if (r == 0) {
			tap_ok((int64_t)got.last_job >= told, "run %u: told %" PRId64 ", found %" PRIu64, i, told,
			        got.last_job);
			tap_eq_i64((int64_t)number(s, "SELECT count(*) FROM jobs"), (int64_t)got.last_job,
			        "run %u: none is missing, none is there twice", i);
			told = (int64_t)got.last_job;
			wz_core_free(got.core);
		}
		if (i % 10 == 9) {
			struct wz_buf report;
			wz_buf_init(&report, wz_os_mem(), 1 << 20);
			tap_ok(wz_store_flush(s, &err) == 0 && wz_store_check(s, wz_os_mem(), &report, &err) == 0,
			        "run %u: check: %s", i, wz_buf_z(&report));
			wz_buf_release(&report);
		}
		wz_store_close(s);
	}
	printf("# %u kills, %" PRId64 " jobs acknowledged\n", runs, total);
	tap_ok(total > runs, "jobs were accepted at all");
}

int main(int argc, char **argv)
{
	uint64_t n;
	if (argc > 1 && wz_str_parse_u64(wz_str(argv[1]), &n) == 0)
		runs = (unsigned)n;
	scratch_dir(dir, sizeof dir, "kill");
	tap_run(test_kill);
	remove_dir(dir);
	return tap_done();
}
