/* SPDX-License-Identifier: Apache-2.0 */
/* A body in memory for tests of the API: jobs that wait, run and end when told, two nodes, answers that come later when
 * `fake.defer` is set. It implements every operation. */
#ifndef WZ_TESTS_FAKE_H
#define WZ_TESTS_FAKE_H

#include "net.h"

#include "api/api.h"
#include "os/clock.h"

#define FAKE_JOBS 4096u
#define FAKE_DEFERRED 64u

struct fake_job {
	uint64_t id;
	int64_t uid;
	char user[64], name[132], key[132];
	int32_t state, priority;
};

static struct fake {
	struct wz_api *api;
	struct fake_job jobs[FAKE_JOBS];
	uint32_t n;
	bool not_ready, drained, defer;
	struct wz_api_call *deferred[FAKE_DEFERRED];
	uint32_t n_deferred;
	uint32_t audits, reloads, submits;
	struct wz_api_audit last_audit;
	char last_operation[32], last_reason[32];
	uint64_t seq;
} fake;

static struct fake_job *fake_find(uint64_t id)
{
	return id >= 1 && id <= fake.n ? &fake.jobs[id - 1] : NULL;
}

static void fake_keep_str(char *to, size_t cap, struct wz_str s)
{
	size_t n = s.len < cap ? s.len : cap - 1;
	if (n)
		memcpy(to, s.ptr, n);
	to[n] = 0;
}

static void fake_publish(const char *what, const struct fake_job *j)
{
	struct wz_api_event e = {.seq = ++fake.seq,
	        .time_us = wz_clock_wall_us(),
	        .type = WZ_STR("job"),
	        .what = wz_str(what),
	        .job = j->id,
	        .user = wz_str(j->user),
	        .device = -1,
	        .state = j->state};
	wz_hub_publish(wz_api_hub(fake.api), &e);
}

static void fake_fail(struct wz_api_call *c, int code, const char *reason, const char *text)
{
	struct wz_err err;
	wz_err_set(&err, code, reason, wz_str(text));
	wz_api_fail(c, &err);
}

static void fake_show(const struct fake_job *j, struct wz_api_job *ret, struct wz_api_task *task)
{
	static const struct wz_str argv[] = {{"python", 6}, {"canary-train.py", 15}}, uuid[] = {{"GPU-1", 5}};
	static const uint64_t devices[] = {0};
	*task = (struct wz_api_task){
	        .state = j->state, .node = WZ_STR("n1"), .devices = {devices, 1}, .uuids = {uuid, 1}, .pid = 4711};
	*ret = (struct wz_api_job){
	        .id = j->id,
	        .name = wz_str(j->name),
	        .user = wz_str(j->user),
	        .uid = j->uid,
	        .queue = WZ_STR("default"),
	        .state = j->state,
	        .reason = WZ_STR("Busy"),
	        .reason_text = WZ_STR("enough devices, but not free now"),
	        .priority = j->priority,
	        .profile = WZ_STR("gpus=1"),
	        .tasks_min = 1,
	        .tasks_max = 1,
	        .submit_us = 1700000000000000,
	        .attempt = 1,
	        .argv = {argv, 2},
	        .cwd = WZ_STR("/canary-dir"),
	        .tasks = {task, j->state == WZ_STATE_RUNNING},
	};
}

static void fake_job_submit(void *ctx, struct wz_api_call *c, const struct wz_api_submit *rq)
{
	const struct wz_api_who *who = wz_api_call_who(c);
	(void)ctx;
	fake.submits++;
	if (!rq->argv.n && !rq->script.len) {
		struct wz_err err;
		wz_err_set(&err, -EINVAL, "NoCommand", WZ_STR("give argv or script"));
		wz_api_fail_field(c, &err, "argv");
		return;
	}
	if (rq->dry_run) {
		wz_api_reply_submitted(c, &(struct wz_api_submitted){.would_start = true});
		return;
	}
	for (uint32_t i = 0; i < fake.n && rq->idempotency_key.len; i++) {
		if (wz_str_eq(wz_str(fake.jobs[i].key), rq->idempotency_key)) {
			wz_api_reply_submitted(
			        c, &(struct wz_api_submitted){.id = fake.jobs[i].id, .count = 1, .repeated = true});
			return;
		}
	}
	if (fake.n == FAKE_JOBS) {
		fake_fail(c, -EDQUOT, "TooManyJobs", "the fake is full");
		return;
	}
	struct fake_job *j = &fake.jobs[fake.n++];
	*j = (struct fake_job){.id = fake.n, .uid = who->uid, .state = rq->held ? WZ_STATE_HELD : WZ_STATE_PENDING};
	j->priority = rq->priority;
	fake_keep_str(j->user, sizeof j->user, wz_str(who->name));
	fake_keep_str(j->name, sizeof j->name, rq->name);
	fake_keep_str(j->key, sizeof j->key, rq->idempotency_key);
	fake_publish("submitted", j);
	if (fake.defer) {
		wz_check(fake.n_deferred < FAKE_DEFERRED);
		*wz_api_call_data(c) = j;
		fake.deferred[fake.n_deferred++] = c;
		return;
	}
	wz_api_reply_submitted(c, &(struct wz_api_submitted){.id = j->id, .count = 1, .state = WZ_STR("PENDING")});
}

/* Answers what was kept. */
static inline void fake_answer(void *ctx)
{
	(void)ctx;
	for (uint32_t i = 0; i < fake.n_deferred; i++) {
		const struct fake_job *j = *wz_api_call_data(fake.deferred[i]);
		wz_api_reply_submitted(fake.deferred[i], &(struct wz_api_submitted){.id = j->id, .count = 1});
	}
	fake.n_deferred = 0;
}

static void fake_job_list(void *ctx, struct wz_api_call *c, const struct wz_api_job_query *rq)
{
	uint32_t shown = 0, limit = rq->limit ? rq->limit : 1000;
	(void)ctx;
	for (uint64_t id = rq->after + 1; id <= fake.n && id > 0; id++) {
		const struct fake_job *j = fake_find(id);
		struct wz_api_job job;
		struct wz_api_task task;
		if (rq->user.len && !wz_str_eq(rq->user, wz_str(j->user)))
			continue;
		if (shown++ == limit) {
			wz_api_list_end(c, id - 1);
			return;
		}
		fake_show(j, &job, &task);
		wz_api_item_job(c, &job);
	}
	wz_api_list_end(c, 0);
}

static void fake_show_one(struct wz_api_call *c, uint64_t id)
{
	struct wz_api_job job;
	struct wz_api_task task;
	const struct fake_job *j = fake_find(id);
	if (!j) {
		fake_fail(c, -ENOENT, "NoSuchJob", "no such job");
		return;
	}
	fake_show(j, &job, &task);
	wz_api_reply_job(c, &job);
}

static void fake_job_get(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	(void)ctx;
	fake_show_one(c, rq->id);
}

static void fake_job_edit(void *ctx, struct wz_api_call *c, const struct wz_api_job_edit *rq)
{
	struct fake_job *j = fake_find(rq->id);
	(void)ctx;
	if (rq->set_priority)
		j->priority = rq->priority;
	if (rq->set_name)
		fake_keep_str(j->name, sizeof j->name, rq->name);
	fake_publish("edited", j);
	fake_show_one(c, rq->id);
}

static void fake_become(struct wz_api_call *c, uint64_t id, int32_t state, const char *what)
{
	struct fake_job *j = fake_find(id);
	if (j->state == state) {
		fake_fail(c, -EALREADY, "Already", "it is that already");
		return;
	}
	j->state = state;
	fake_publish(what, j);
	wz_api_done(c);
}

#define FAKE_BECOME(op, rq_, state) \
	static void fake_##op(void *ctx, struct wz_api_call *c, const struct wz_api_##rq_ *rq) \
	{ \
		(void)ctx; \
		fake_become(c, rq->id, state, #op); \
	}
static void fake_snapshot_put(void *ctx, struct wz_api_call *c, const struct wz_api_snapshot_put *rq)
{
	(void)ctx;
	wz_api_reply_snapshot(c, &(struct wz_api_snapshot){.id = rq->id, .have = rq->size, .complete = true});
}

FAKE_BECOME(job_cancel, job_cancel, WZ_STATE_CANCELLED)
FAKE_BECOME(job_hold, job_hold, WZ_STATE_HELD)
FAKE_BECOME(job_release, job_hold, WZ_STATE_RUNNING)
FAKE_BECOME(job_requeue, job_hold, WZ_STATE_PENDING)
FAKE_BECOME(job_suspend, job_ref, WZ_STATE_SUSPENDED)
FAKE_BECOME(job_resume, job_ref, WZ_STATE_RUNNING)

static void fake_job_signal(void *ctx, struct wz_api_call *c, const struct wz_api_job_signal *rq)
{
	(void)ctx;
	if (!wz_str_eq(rq->signal, WZ_STR("USR1"))) {
		struct wz_err err;
		wz_err_set(&err, -EINVAL, "UnknownSignal", WZ_STR("unknown signal"));
		wz_api_fail_field(c, &err, "signal");
		return;
	}
	wz_api_done(c);
}

static void fake_job_report(void *ctx, struct wz_api_call *c, const struct wz_api_job_report *rq)
{
	(void)ctx, (void)rq;
	wz_api_done(c);
}

static void fake_job_why(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	static const struct wz_api_blocker blockers[] = {{{"Busy", 4}, {"2 devices busy", 14}, 2}};
	static const struct wz_api_remedy remedies[] = {{{"gpus=1", 6}, {"with one device", 15}, 0}};
	(void)ctx;
	wz_api_reply_why(c, &(struct wz_api_why){.job = rq->id,
	                            .reason = WZ_STR("Busy"),
	                            .text = WZ_STR("busy"),
	                            .blockers = {blockers, 1},
	                            .remedies = {remedies, 1}});
}

static void fake_job_attempts(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	struct wz_api_task task = {.node = WZ_STR("n1"), .pid = 4711};
	(void)ctx, (void)rq;
	wz_api_item_attempt(c, &(struct wz_api_attempt){.attempt = 1, .tasks = {&task, 1}});
	wz_api_item_attempt(c, &(struct wz_api_attempt){.attempt = 2, .tasks = {&task, 1}});
	wz_api_list_end(c, 0);
}

/* A log of 200 kB, sent as the client reads. */
static void fake_log_more(struct wz_api_call *c)
{
	uintptr_t *left = (uintptr_t *)wz_api_call_data(c);
	while (*left) {
		int rc = wz_api_stream_write(
		        c, WZ_STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"));
		if (rc == -EAGAIN)
			return;
		if (rc < 0)
			break;
		(*left)--;
	}
	wz_api_stream_end(c);
}
static void fake_log_gone(struct wz_api_call *c)
{
	wz_api_stream_end(c);
}
static void fake_job_logs(void *ctx, struct wz_api_call *c, const struct wz_api_job_logs *rq)
{
	(void)ctx;
	*(uintptr_t *)wz_api_call_data(c) = rq->tail ? rq->tail % 10000 : 3200;
	wz_api_stream_begin(c, fake_log_more, fake_log_gone);
	fake_log_more(c);
}

static void fake_job_terminal(void *ctx, struct wz_api_call *c, const struct wz_api_job_terminal *rq)
{
	(void)ctx, (void)rq;
	wz_api_stream_begin(c, NULL, NULL);
	(void)wz_api_stream_write(c, WZ_STR("$ "));
	wz_api_stream_end(c);
}

static void fake_job_type(void *ctx, struct wz_api_call *c, const struct wz_api_job_type *rq)
{
	(void)ctx, (void)rq;
	wz_api_done(c);
}

static void fake_device(struct wz_api_device *d, const uint64_t *jobs)
{
	*d = (struct wz_api_device){.node = WZ_STR("n1"),
	        .uuid = WZ_STR("GPU-1"),
	        .model = WZ_STR("A100-SXM4-80GB"),
	        .health = WZ_STR("ok"),
	        .mem_bytes = 85899345920,
	        .mem_free_bytes = -1,
	        .compute_milli = 1000,
	        .jobs = {jobs, 1},
	        .util_pct = -1,
	        .mem_used_pct = -1,
	        .temp_c = -1,
	        .mem_used_bytes = -1,
	        .power_mw = -1};
}

static void fake_node(struct wz_api_node *n, const struct wz_api_device *d)
{
	static const struct wz_pair labels[] = {{{"zone", 4}, {"a", 1}}};
	*n = (struct wz_api_node){.name = WZ_STR("n1"),
	        .state = fake.drained ? WZ_STR("drained") : WZ_STR("ready"),
	        .labels = {labels, 1},
	        .devices = {d, 1},
	        .devices_total = 1};
}

static const uint64_t fake_ids[] = {1};

static void fake_node_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct wz_api_device d;
	struct wz_api_node n;
	(void)ctx, (void)rq;
	fake_device(&d, fake_ids);
	fake_node(&n, &d);
	wz_api_item_node(c, &n);
	wz_api_list_end(c, 0);
}

static bool fake_known_node(struct wz_api_call *c, struct wz_str name)
{
	if (wz_str_eq(name, WZ_STR("n1")))
		return true;
	fake_fail(c, -ENOENT, "NoSuchNode", "no such node");
	return false;
}

static void fake_node_get(void *ctx, struct wz_api_call *c, const struct wz_api_node_ref *rq)
{
	struct wz_api_device d;
	struct wz_api_node n;
	(void)ctx;
	if (!fake_known_node(c, rq->node))
		return;
	fake_device(&d, fake_ids);
	fake_node(&n, &d);
	wz_api_reply_node(c, &n);
}

static void fake_node_drain(void *ctx, struct wz_api_call *c, const struct wz_api_node_drain *rq)
{
	(void)ctx;
	if (!fake_known_node(c, rq->node))
		return;
	fake.drained = true;
	wz_api_done(c);
}

static void fake_node_undrain(void *ctx, struct wz_api_call *c, const struct wz_api_node_ref *rq)
{
	(void)ctx;
	if (!fake_known_node(c, rq->node))
		return;
	fake.drained = false;
	wz_api_done(c);
}

static void fake_device_list(void *ctx, struct wz_api_call *c, const struct wz_api_device_query *rq)
{
	struct wz_api_device d;
	(void)ctx, (void)rq;
	fake_device(&d, fake_ids);
	wz_api_item_device(c, &d);
	wz_api_list_end(c, 0);
}

static void fake_queue_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	(void)ctx, (void)rq;
	wz_api_item_queue(c, &(struct wz_api_queue){.name = WZ_STR("default")});
	wz_api_list_end(c, 0);
}

#define FAKE_DONE(op, rq_) \
	static void fake_##op(void *ctx, struct wz_api_call *c, const struct wz_api_##rq_ *rq) \
	{ \
		(void)ctx, (void)rq; \
		wz_api_done(c); \
	}
FAKE_DONE(queue_set, queue_set)
FAKE_DONE(queue_remove, name_ref)
FAKE_DONE(reservation_set, reservation_set)
FAKE_DONE(reservation_remove, name_ref)

static void fake_reload(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	static const struct wz_str changed[] = {WZ_STR("roles")};
	(void)ctx, (void)rq;
	wz_api_reply_reloaded(c, &(struct wz_api_reloaded){.changed = {changed, 1}});
}

static void fake_audit_list(void *ctx, struct wz_api_call *c, const struct wz_api_audit_query *rq)
{
	(void)ctx, (void)rq;
	wz_api_item_audit_line(c, &(struct wz_api_audit_line){.time_us = 1, .user = WZ_STR("root"), .verb = WZ_STR("x")});
	wz_api_list_end(c, 0);
}

static void fake_reservation_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	(void)ctx, (void)rq;
	wz_api_list_end(c, 0);
}

static void fake_usage(void *ctx, struct wz_api_call *c, const struct wz_api_usage_query *rq)
{
	(void)ctx;
	wz_api_item_usage(c, &(struct wz_api_usage){.key = rq->by, .jobs = 3});
	wz_api_list_end(c, 0);
}

static void fake_info(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	(void)ctx, (void)rq;
	wz_api_reply_info(
	        c, &(struct wz_api_info){.version = WZ_STR("0"), .body = WZ_STR("fake"), .seq = fake.seq});
}

static void fake_doctor(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	(void)ctx, (void)rq;
	wz_api_item_check(c, &(struct wz_api_check){.name = WZ_STR("store"), .text = WZ_STR("fine")});
	wz_api_list_end(c, 0);
}

static int fake_job_owner(void *ctx, uint64_t job, struct wz_str *name, int64_t *uid)
{
	const struct fake_job *j = fake_find(job);
	(void)ctx;
	if (!j)
		return -ENOENT;
	*name = wz_str(j->user);
	*uid = j->uid;
	return 0;
}

static bool fake_ready(void *ctx, struct wz_buf *why)
{
	(void)ctx;
	if (fake.not_ready)
		wz_buf_addz(why, "the agent is not here yet");
	return !fake.not_ready;
}

static const struct wz_metric fake_metrics[] = {
        {"wz_fake_jobs", "Jobs of the fake.", WZ_METRIC_GAUGE, {"state"}, NULL, 0},
};

static void fake_collect(void *ctx, struct wz_metrics *m)
{
	struct wz_str label = WZ_STR("a \"quoted\"\nlabel\\");
	(void)ctx;
	wz_metric_clear(m, &fake_metrics[0]);
	wz_metric_set(m, &fake_metrics[0], &label, fake.n);
}

static void fake_audit(void *ctx, const struct wz_api_audit *a)
{
	(void)ctx;
	fake.audits++;
	fake.last_audit = *a;
	fake_keep_str(fake.last_operation, sizeof fake.last_operation, wz_str(a->operation));
	fake_keep_str(fake.last_reason, sizeof fake.last_reason, wz_str(a->reason));
}

static void fake_board(void *ctx, struct wz_api_call *c, const struct wz_api_board_query *rq)
{
	static const struct wz_api_piece pieces[] = {{1, 0, 300, (int64_t)4 << 30}};
	static const struct wz_api_board_device devices[] = {{.model = {"T4", 2},
	        .health = {"ok", 2},
	        .mem_bytes = (int64_t)16 << 30,
	        .mem_free_bytes = (int64_t)12 << 30,
	        .compute_milli = 1000,
	        .compute_free_milli = 700,
	        .pieces = {pieces, 1}}};
	static const struct wz_api_board_node nodes[] = {
	        {.name = {"n1", 2}, .state = {"ready", 5}, .cpu_milli = 1000, .devices = {devices, 1}}};
	static const struct wz_api_board_job jobs[] = {{.id = 1, .user = {"ann", 3}, .state = WZ_STATE_RUNNING}};
	(void)ctx;
	if (rq->at_us && rq->at_us < 1000) {
		fake_fail(c, -ESTALE, "Compacted", "the journal does not go back so far");
		return;
	}
	wz_api_reply_board(c, &(struct wz_api_board){.at_us = rq->at_us ? rq->at_us : 1700000000000000,
	                              .digest = WZ_STR("00000000000000ff"),
	                              .nodes = {nodes, 1},
	                              .jobs = {jobs, 1}});
}

static void fake_whatif(void *ctx, struct wz_api_call *c, const struct wz_api_whatif_query *rq)
{
	(void)ctx;
	if (!rq->edit.len || rq->edit.len > 64) {
		fake_fail(c, -EINVAL, "BadEdit", "an edit of at most 64 bytes is expected");
		return;
	}
	wz_api_item_change(c, &(struct wz_api_change){.job = 1, .now_latest_us = 1700000000000000});
	wz_api_list_end(c, 0);
}

static void fake_repack_get(void *ctx, struct wz_api_call *c, const struct wz_api_repack_query *rq)
{
	static const struct wz_api_move move = {.job = 1, .from_node = {"n1", 2}, .to_node = {"n2", 2}, .cost_us = 60000000};
	(void)ctx;
	wz_api_reply_repack(c, &(struct wz_api_repack){.moves = {&move, rq->moves ? 1 : 0}, .text = WZ_STR("one move")});
}

static void fake_repack_ask(void *ctx, struct wz_api_call *c, const struct wz_api_repack_ask *rq)
{
	(void)ctx;
	wz_api_reply_repack(c, &(struct wz_api_repack){.text = WZ_STR("done"), .applied = rq->apply});
}

static void fake_samples(void *ctx, struct wz_api_call *c, const struct wz_api_sample_query *rq)
{
	(void)ctx;
	if (rq->node.len && !wz_str_eq(rq->node, WZ_STR("n1"))) {
		fake_fail(c, -ENOENT, "NoSuchNode", "no such node");
		return;
	}
	wz_api_item_sample(c, &(struct wz_api_sample){.time_us = 1700000000000000, .util_pct = 50, .power_mw = -1});
	wz_api_list_end(c, 0);
}

static void fake_timeline(void *ctx, struct wz_api_call *c, const struct wz_api_timeline_query *rq)
{
	static const uint64_t devices[] = {0, 1};
	(void)ctx;
	for (uint32_t i = 0; i < (rq->limit && rq->limit < 3 ? rq->limit : 3); i++) {
		struct wz_api_span s = {.job = i + 1,
		        .attempt = 1,
		        .user = WZ_STR("=cmd,\"x\""),
		        .node = WZ_STR("<n1>"),
		        .devices = {devices, 2},
		        .start_us = 1700000000000000,
		        .state = WZ_STATE_RUNNING};
		wz_api_item_span(c, &s);
	}
	wz_api_list_end(c, 0);
}

static const struct wz_api_backend fake_backend = {
#define X(op, rq) .op = fake_##op,
        WZ_API_OPERATIONS(X)
#undef X
                .job_owner = fake_job_owner,
        .ready = fake_ready,
        .collect = fake_collect,
};

#endif
