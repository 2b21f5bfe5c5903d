/* SPDX-License-Identifier: Apache-2.0 */
/* What the running daemon can say of itself: the checks that `wz doctor` asks for, and its numbers for /metrics. */
#include "serve/serve_int.h"

#include "base/check.h"

#include <sys/statvfs.h>

#define DISK_LOW_BYTES ((uint64_t)1 << 30)
#define SLOW_COMMIT_US 200000
#define WAL_LARGE_BYTES ((uint64_t)1 << 30)

static void tell(struct wz_api_call *c, const char *name, int32_t result, const char *text, const char *remedy)
{
	struct wz_api_check k = {
	        .name = wz_str(name), .result = result, .text = wz_str(text), .remedy = wz_str(remedy)};
	wz_api_item_check(c, &k);
}

static uint64_t disk_free(const struct serve *s)
{
	struct statvfs fs;
	return statvfs(s->o->state_dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
}

static void check_store(struct serve *s, struct wz_api_call *c)
{
	struct wz_store_status st;
	struct wz_err err;
	char text[400];
	wz_store_status(s->store, &st);
	if (wz_store_ready(s->store, &err) < 0)
		tell(c, "journal", err.code == -EAGAIN ? WZ_RESULT_WARN : WZ_RESULT_FAIL, err.text,
		        "new jobs are refused until it can be written again");
	else
		tell(c, "journal", WZ_RESULT_OK, st.warning[0] ? st.warning : "is written", "");
	(void)snprintf(text, sizeof text, "p50 %llu us, p99 %llu us of the last 512",
	        (unsigned long long)st.commit_p50_us, (unsigned long long)st.commit_p99_us);
	tell(c, "commits", st.commit_p99_us > SLOW_COMMIT_US ? WZ_RESULT_WARN : WZ_RESULT_OK, text,
	        st.commit_p99_us > SLOW_COMMIT_US ? "the disk of the state directory is slow or busy" : "");
	(void)snprintf(text, sizeof text, "%llu MiB, and a log of %llu MiB",
	        (unsigned long long)(st.db_bytes >> 20), (unsigned long long)(st.wal_bytes >> 20));
	tell(c, "store", st.wal_bytes > WAL_LARGE_BYTES ? WZ_RESULT_WARN : WZ_RESULT_OK, text,
	        st.wal_bytes > WAL_LARGE_BYTES ? "a long query keeps the log from being reused" : "");
	(void)snprintf(text, sizeof text, "%llu MiB free", (unsigned long long)(disk_free(s) >> 20));
	tell(c, "disk", disk_free(s) < DISK_LOW_BYTES ? WZ_RESULT_WARN : WZ_RESULT_OK, text,
	        disk_free(s) < DISK_LOW_BYTES ? "make room, or keep less (retention)" : "");
}

static void check_rest(struct serve *s, struct wz_api_call *c)
{
	struct wz_notify_stats n;
	struct wz_err err;
	char text[200];
	tell(c, "agent", s->adopted ? WZ_RESULT_OK : WZ_RESULT_FAIL,
	        s->adopted ? "has said all that runs" : "has not said yet what runs: nothing is decided",
	        s->adopted ? "" : "look at the daemon's log: a driver may hang");
	if (wz_core_check(s->core, &err) < 0)
		tell(c, "invariants", WZ_RESULT_FAIL, err.text, "please report this, with `wz doctor --bundle`");
	else
		tell(c, "invariants", WZ_RESULT_OK, "the ledger is what its parts say", "");
	wz_notify_stats(s->notify, &n);
	(void)snprintf(text, sizeof text, "%llu sent, %llu given up, %llu dropped, %llu wait",
	        (unsigned long long)n.sent, (unsigned long long)n.failed, (unsigned long long)n.dropped,
	        (unsigned long long)n.queued);
	tell(c, "notifications", n.failed || n.dropped ? WZ_RESULT_WARN : WZ_RESULT_OK, text,
	        n.failed || n.dropped ? "the daemon's log says which" : "");
	(void)snprintf(text, sizeof text, "%llu lines lost", (unsigned long long)s->auditlog.lost);
	tell(c, "audit file", s->auditlog.lost ? WZ_RESULT_WARN : WZ_RESULT_OK, text, "");
}

void op_doctor(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	(void)rq;
	check_store(ctx, c);
	check_rest(ctx, c);
	wz_api_list_end(c, 0);
}

/* ---- numbers ---- */

enum {
	M_WAITING,
	M_LIVE,
	M_TASKS,
	M_STEPS,
	M_COMMITS,
	M_RECORDS,
	M_P50,
	M_P99,
	M_DB,
	M_WAL,
	M_FAILING,
	M_DISK,
	M_START_LATEST,
	M_START_BY_LATEST,
	M_START_BAND,
	M_START_WITHIN,
	M_START_WIDTH,
	M_NOTES,
	M_COUNT_
};
static const struct wz_metric table[] = {
        [M_WAITING] = {"wz_jobs_waiting", "Jobs that wait.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_LIVE] = {"wz_jobs_live", "Jobs that wait or run.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_TASKS] = {"wz_tasks_live", "Tasks that hold something.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_STEPS] = {"wz_steps_total", "Steps of the core.", WZ_METRIC_COUNTER, {NULL}, NULL, 0},
        [M_COMMITS] = {"wz_store_commits_total", "Commits of the journal.", WZ_METRIC_COUNTER, {NULL}, NULL, 0},
        [M_RECORDS] = {"wz_store_records_total", "Records written.", WZ_METRIC_COUNTER, {NULL}, NULL, 0},
        [M_P50] = {"wz_store_commit_p50_seconds", "Median of the last 512 commits.", WZ_METRIC_GAUGE, {NULL}, NULL,
                0},
        [M_P99] = {"wz_store_commit_p99_seconds", "99th percentile of the last 512 commits.", WZ_METRIC_GAUGE,
                {NULL}, NULL, 0},
        [M_DB] = {"wz_store_bytes", "Size of the store.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_WAL] = {"wz_store_wal_bytes", "Size of its write-ahead log.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_FAILING] = {"wz_store_failing", "1 while the journal cannot be written.", WZ_METRIC_GAUGE, {NULL}, NULL,
                0},
        [M_DISK] = {"wz_disk_free_bytes", "Room left for the state directory.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [M_START_LATEST] = {"wz_starts_with_latest_total", "Jobs that started and had been told a latest start.",
                WZ_METRIC_COUNTER, {NULL}, NULL, 0},
        [M_START_BY_LATEST] = {"wz_starts_by_latest_total", "Of them, those that started by it.", WZ_METRIC_COUNTER,
                {NULL}, NULL, 0},
        [M_START_BAND] = {"wz_starts_with_band_total",
                "Jobs that started and had been told a likely band (80 of 100).", WZ_METRIC_COUNTER, {NULL}, NULL,
                0},
        [M_START_WITHIN] = {"wz_starts_within_band_total", "Of them, those that started within it.",
                WZ_METRIC_COUNTER, {NULL}, NULL, 0},
        [M_START_WIDTH] = {"wz_starts_band_median_seconds", "Median width of these bands.", WZ_METRIC_GAUGE, {NULL},
                NULL, 0},
        [M_NOTES] = {"wz_notifications_total", "Deliveries, by what became of them.", WZ_METRIC_COUNTER, {"result"},
                NULL, 0},
};

int serve_metrics(struct serve *s)
{
	return wz_metrics_add_table(wz_api_metrics(s->api), table, M_COUNT_);
}

void serve_collect(void *ctx, struct wz_metrics *m)
{
	struct serve *s = ctx;
	struct wz_core_stats c;
	struct wz_starts_record starts;
	struct wz_store_status st;
	struct wz_notify_stats n;
	wz_core_stats(s->core, &c);
	wz_core_starts_record(s->core, &starts);
	wz_store_status(s->store, &st);
	wz_notify_stats(s->notify, &n);
	const double v[M_NOTES] = {[M_WAITING] = (double)c.jobs_waiting,
	        [M_LIVE] = (double)c.jobs_live,
	        [M_TASKS] = (double)c.tasks_live,
	        [M_STEPS] = (double)c.steps,
	        [M_COMMITS] = (double)st.commits,
	        [M_RECORDS] = (double)st.records,
	        [M_P50] = (double)st.commit_p50_us / 1e6,
	        [M_P99] = (double)st.commit_p99_us / 1e6,
	        [M_DB] = (double)st.db_bytes,
	        [M_WAL] = (double)st.wal_bytes,
	        [M_FAILING] = st.failing,
	        [M_DISK] = (double)disk_free(s),
	        [M_START_LATEST] = (double)starts.with_latest,
	        [M_START_BY_LATEST] = (double)starts.by_latest,
	        [M_START_BAND] = (double)starts.with_band,
	        [M_START_WITHIN] = (double)starts.within,
	        [M_START_WIDTH] = (double)starts.width_median_us / 1e6};
	for (unsigned i = 0; i < M_NOTES; i++)
		wz_metric_set(m, &table[i], NULL, v[i]);
	const struct wz_str results[] = {WZ_STR("sent"), WZ_STR("given_up"), WZ_STR("dropped")};
	const uint64_t counts[] = {n.sent, n.failed, n.dropped};
	for (unsigned i = 0; i < WZ_ARRAY_LEN(results); i++)
		wz_metric_set(m, &table[M_NOTES], &results[i], (double)counts[i]);
}
