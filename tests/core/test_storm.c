/* SPDX-License-Identifier: Apache-2.0 */
/* A storm: a random cluster, random work and a body with every fault that a body may have, for every policy. Three cores
 * live through the same history:
 *
 *	main     decides with its index
 *	plain    decides without an index: every plan must be the same, field by field
 *	replay   never decides, only applies: every digest must be the same; at the end it decides too, as after a restart
 *
 * After every event the invariants are checked, and what the body knows is compared with what the core says: no process
 * of an earlier attempt or of a finished job is alive when another starts (I7), no accepted job is lost (I7), what tasks
 * hold is what devices miss (I2), and after a complete step no waiting job could start (I6).
 *
 * WZ_SEED=n runs one seed and prints its history; WZ_STORMS=n sets how many run (0: without end), from WZ_FIRST on. A seed
 * that fails is made short, and its script shown; WZ_SCRIPT=FILE runs one. */
#include "tap.h"
#include "fault.h"

#include "core/core.h"
#include "base/check.h"
#include "base/rng.h"
#include "storm_script.h"

#define GI ((int64_t)1 << 30)
#define SECOND ((uint64_t)1000000)
#define NODES 10u
#define JOBS 60u
#define PROFILES 24u
#define TASKS 6u
#define ACKS 256u
#define STEPS 45u

enum { MAIN, PLAIN, REPLAY, CORES };

struct body_job {
	bool live, may_end, foreign;
	uint64_t number;
	struct wz_profile profile;
	uint32_t alive[TASKS]; /* attempt whose process lives; 0 none */
	uint32_t node[TASKS];
};

struct storm {
	uint64_t seed;
	bool loud;
	struct wz_rng rng;
	struct fault_mem f[CORES];
	struct wz_core *core[CORES];
	struct wz_plan plan[CORES];
	uint64_t now, next_job, last_id;
	bool queued; /* rules of queues were set: not every job is taken */
	struct wz_profile profile[PROFILES];
	struct body_job job[JOBS];
	struct {
		uint64_t id;
		bool confirm;
	} ack[ACKS];
	uint32_t n_acks;
	struct wz_model_id_list {
		wz_model_id id;
	} model[6];
	uint64_t evictions;
	bool failed;
};

static uint64_t below(struct storm *s, uint64_t n)
{
	return wz_rng_below(&s->rng, n);
}
static bool chance(struct storm *s, unsigned percent)
{
	return below(s, 100) < percent;
}

#define STORM_OK(s, cond, ...) \
	do { \
		if (!(cond)) { \
			tap_ok(false, __VA_ARGS__); \
			if (!(s)->failed) \
				printf("#   rerun with WZ_SEED=%" PRIu64 "\n", (s)->seed); \
			(s)->failed = true; \
		} \
	} while (0)

/* ---- what is compared after every call ---- */

static void compare(struct storm *s, const char *what)
{
	struct wz_err err = {0};
	uint64_t d = wz_core_digest(s->core[MAIN]);
	STORM_OK(s, wz_core_check(s->core[MAIN], &err) == 0, "after %s: %s", what, err.text);
	for (int i = MAIN + 1; i < CORES; i++)
		STORM_OK(s, wz_core_digest(s->core[i]) == d, "core %d has another digest after %s", i, what);
	if (s->failed)
		return;
	STORM_OK(s, wz_core_check(s->core[REPLAY], &err) == 0, "replay after %s: %s", what, err.text);
}

static int apply(struct storm *s, struct wz_event *e)
{
	int r[CORES];
	uint64_t before = wz_core_digest(s->core[MAIN]);
	struct wz_err err = {0};
	e->time_us = s->now;
	for (int i = 0; i < CORES; i++)
		r[i] = wz_core_apply(s->core[i], e, i == MAIN ? &err : NULL);
	if (s->loud)
		printf("# t=%" PRIu64 "s event %u job %" PRIu64 " -> %d %s\n", s->now / SECOND, e->kind,
		        e->kind >= WZ_EV_JOB_SUBMITTED && e->kind < WZ_EV_EFFECT_CONFIRMED ? e->u.job.job : 0,
		        r[MAIN], r[MAIN] < 0 ? err.text : "");
	STORM_OK(s, r[PLAIN] == r[MAIN] && r[REPLAY] == r[MAIN], "event %u: one core differs", e->kind);
	STORM_OK(s, r[MAIN] == 0 || wz_core_digest(s->core[MAIN]) == before,
	        "event %u was refused but changed something", e->kind);
	compare(s, "an event");
	return r[MAIN];
}

/* ---- the cluster ---- */

static struct wz_device_facts random_device(struct storm *s, unsigned model)
{
	static const int64_t mem[] = {0, 40 * GI, 15 * GI, 80 * GI, 24 * GI, 32 * GI};
	struct wz_device_facts f = {.model = s->model[model].id, .compute_milli = WZ_WHOLE};
	f.mem_bytes = chance(s, 10) ? 0 : chance(s, 10) ? mem[model] / 2 : mem[model];
	f.compute_milli = chance(s, 5) ? 500 : WZ_WHOLE;
	f.link_domain = chance(s, 70) ? (uint16_t)(1 + below(s, 2)) : 0;
	f.numa = (uint8_t)below(s, 2);
	f.pcie = (uint8_t)below(s, 4);
	f.health = chance(s, 5) ? WZ_HEALTH_FAILED : chance(s, 5) ? WZ_HEALTH_DEGRADED : WZ_HEALTH_OK;
	f.partition = chance(s, 4) ? 1 : 0;
	return f;
}

static void join(struct storm *s, uint32_t node)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
	static const char *const racks[] = {"", "r1", "r2", "r3"};
	static const uint32_t sizes[] = {0, 1, 2, 4, 4, 8, 8};
	struct wz_device_facts f[8];
	struct wz_label label[2] = {{WZ_STR("zone"), WZ_STR("x")}, {WZ_STR("disk"), WZ_STR("ssd")}};
	unsigned model = (unsigned)below(s, 6);
	bool mixed = chance(s, 20);
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED,
	        .u.node = {.node = {node},
	                .name = wz_str(names[chance(s, 3) ? node + 1 : node]),
	                .rack = wz_str(racks[below(s, 4)]),
	                .site = chance(s, 50) ? WZ_STR("here") : WZ_STR(""),
	                .cpu_milli = (int64_t)(1 + below(s, 8)) * 8000,
	                .mem_bytes = (int64_t)(1 + below(s, 8)) * 32 * GI,
	                .max_tasks = chance(s, 20) ? 1 + (uint32_t)below(s, 5) : 0,
	                .count_only = chance(s, 15),
	                .n_devices = sizes[below(s, 7)],
	                .device = f,
	                .n_labels = (uint32_t)below(s, 3),
	                .label = label}};
	for (uint32_t i = 0; i < e.u.node.n_devices; i++)
		f[i] = random_device(s, mixed ? (unsigned)below(s, 6) : model);
	apply(s, &e);
}

static void place_event(struct storm *s)
{
	uint32_t node = (uint32_t)below(s, NODES);
	struct wz_event e = {.kind = WZ_EV_NODE_LEFT, .u.left.node = {node}};
	switch (below(s, 8)) {
	case 0:
		for (unsigned i = 0; i < JOBS; i++)
			for (unsigned t = 0; t < TASKS; t++)
				if (s->job[i].alive[t] && s->job[i].node[t] == node) {
					s->job[i].alive[t] = 0;
					s->job[i].may_end |= s->job[i].foreign;
				}
		apply(s, &e);
		return;
	case 1:
	case 2:
		e = (struct wz_event){.kind = WZ_EV_NODE_READY,
		        .u.ready = {.node = {node}, .ready = chance(s, 80), .cordoned = chance(s, 20)}};
		break;
	case 3:
	case 4:
		e = (struct wz_event){.kind = WZ_EV_DEVICE_CHANGED,
		        .u.device = {.node = {node},
		                .index = (uint32_t)below(s, 9),
		                .facts = random_device(s, (unsigned)below(s, 6))}};
		break;
	case 5:
		e = (struct wz_event){.kind = WZ_EV_TELEMETRY,
		        .u.telemetry = {.node = {node},
		                .index = (uint32_t)below(s, 9),
		                .free_mem_pct = (uint8_t)below(s, 110),
		                .util_pct = (uint8_t)below(s, 110),
		                .temp_c = (uint8_t)below(s, 256)}};
		break;
	default:
		join(s, node);
		return;
	}
	apply(s, &e);
}

/* ---- the work ---- */

/* Half of the profiles are plain; keys are drawn one by one, and those that contradict each other are drawn again. */
static void random_profile(struct storm *s, struct wz_profile *p)
{
	static const char *const links[] = {"link=nvlink", "link~nvlink", "link=pcie", "link=numa", "link=rack",
	        "link~rack", "link=node", "link~pcie"};
	static const char *const types[] = {
	        "gpu-type=a100", "gpu-type=t4,a100", "gpu-type=!t4", "gpu-type=G9", "gpu-type=V9,G9,t4"};
	for (;;) {
		char text[256] = "";
		size_t n = 0;
		struct wz_profile q;
		bool fancy = chance(s, 50);
#define KEY(...) \
	(n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__), \
	        n += (size_t)snprintf(text + n, sizeof text - n, " "))
		if (chance(s, 55))
			KEY("gpus=%u", (unsigned)(1u << below(s, 4)));
		else if (chance(s, 70))
			KEY("gpu-share=%u%%", (unsigned)(5 + 5 * below(s, 19)));
		if (chance(s, 80))
			KEY("cpus=%u", (unsigned)(1 + below(s, 8)));
		if (chance(s, 50))
			KEY("mem=%uGi", (unsigned)(1 + below(s, 32)));
		if (fancy && chance(s, 30))
			KEY("gpu-mem=%uGi", (unsigned)(1 + below(s, 30)));
		if (fancy && chance(s, 10))
			KEY("gpu-mem=%uG", chance(s, 50) ? 16u : 40u);
		if (fancy && chance(s, 15))
			KEY("gpu-mem-total=%uGi", (unsigned)(1 + below(s, 120)));
		if (fancy && chance(s, 15))
			KEY("cu=%u", (unsigned)(5 + below(s, 250)));
		if (fancy && chance(s, 30))
			KEY("%s", types[below(s, 5)]);
		if (fancy && chance(s, 40))
			KEY("%s", links[below(s, 8)]);
		if (fancy && chance(s, 10))
			KEY("free=%u%%", (unsigned)(10 + below(s, 80)));
		if (fancy && chance(s, 10))
			KEY("bw=%u", (unsigned)(100 + below(s, 1900)));
		if (chance(s, 30))
			KEY("time=%us", (unsigned)(20 + below(s, 200)));
		if (chance(s, 30))
			KEY("repair=%us", (unsigned)(5 + below(s, 60)));
		if (chance(s, 40)) {
			unsigned lo = 1 + (unsigned)below(s, 4);
			KEY("tasks=%u..%u", lo, lo + (unsigned)below(s, TASKS - lo + 1));
		}
		if (chance(s, 40))
			KEY("preempt=%s", chance(s, 50) ? "movable" : "signal:USR1,grace:10s,ack:file");
#undef KEY
		if (wz_profile_parse(wz_str(text), wz_core_catalogue(s->core[MAIN]), &q, NULL) == 0) {
			if (s->loud)
				printf("# profile %s\n", text);
			*p = q;
			return;
		}
	}
}

static struct body_job *some_job(struct storm *s, bool live)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		struct body_job *j = &s->job[below(s, JOBS)];
		if (j->live == live)
			return j;
	}
	return NULL;
}

static const char *const queue_names[] = {"a", "b", "c", "default"};

static void submit(struct storm *s)
{
	/* What a later start cannot make possible for those who were looked at before it, so that a step is complete. */
	static const char *const asks[] = {"node: zone=x", "node: disk | zone!=x; ports: 80", "apart: u=1 per node",
	        "apart~: u=2 per rack; node~: disk=ssd", "ports: 81,82/udp; apart: u in (1,2) per zone"};
	static const char *const values[] = {"1", "2", "3"};
	struct wz_label label = {WZ_STR("u"), wz_str(values[below(s, 3)])};
	struct body_job *j = some_job(s, false);
	struct wz_event e;
	if (!j)
		return;
	*j = (struct body_job){.number = ++s->next_job * 7919, .profile = s->profile[below(s, PROFILES)]};
	e = (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	        .u.submit = {.job = j->number,
	                .user = wz_str(queue_names[below(s, 3)]),
	                .queue = chance(s, 40) ? wz_str(queue_names[below(s, 4)]) : WZ_STR(""),
	                .priority = (int32_t)below(s, 3) - 1,
	                .profile = &j->profile,
	                .held = chance(s, 5),
	                .n_labels = s->seed % 2 && chance(s, 50),
	                .label = &label,
	                .constraint = s->seed % 2 && chance(s, 30) ? wz_str(asks[below(s, 5)]) : WZ_STR("")}};
	if (s->loud)
		printf("# submit by %.*s to %.*s, cpu %" PRIu64 " gpus %u milli %d\n", (int)e.u.submit.user.len,
		        e.u.submit.user.ptr, (int)e.u.submit.queue.len,
		        e.u.submit.queue.len ? e.u.submit.queue.ptr : "", j->profile.cpu_milli, j->profile.gpus,
		        j->profile.share_milli);
	j->live = apply(s, &e) == 0;
	j->may_end = j->profile.time_us > 0;
	STORM_OK(s, j->live || s->queued, "a job is accepted");
}

static void observe(struct storm *s)
{
	struct body_job *j = some_job(s, false);
	uint32_t node = (uint32_t)below(s, NODES);
	struct wz_event e;
	if (!j)
		return;
	*j = (struct body_job){.number = ++s->next_job * 7919, .foreign = true};
	e = (struct wz_event){.kind = WZ_EV_TASK_OBSERVED,
	        .u.observed = {.job = j->number,
	                .place = {.node = {node},
	                        .devices = chance(s, 80) ? 1ull << below(s, 9) : 3,
	                        .cpu = (int64_t)below(s, 40000),
	                        .mem = (int64_t)below(s, 64) * GI,
	                        .dev_milli = (int32_t)below(s, 1001),
	                        .dev_mem = chance(s, 50) ? -1 : (int64_t)below(s, 50) * GI}}};
	j->live = apply(s, &e) == 0;
	j->alive[0] = 1;
	j->node[0] = node;
}

static void end_task(struct storm *s)
{
	struct body_job *j = some_job(s, true);
	uint32_t t = (uint32_t)below(s, TASKS);
	struct wz_event e;
	if (!j)
		return;
	for (unsigned i = 0; i < TASKS && !j->alive[t]; i++)
		t = (t + 1) % TASKS;
	if (!j->alive[t] && chance(s, 90))
		return;
	if (j->alive[t] > 1 && chance(s, 15)) { /* a report of an earlier attempt that was long on its way */
		e = (struct wz_event){.kind = chance(s, 50) ? WZ_EV_TASK_ENDED : WZ_EV_TASK_STARTED,
		        .u.task = {.job = j->number, .task = t, .attempt = j->alive[t] - 1, .end = WZ_END_FAILED}};
		apply(s, &e);
		return;
	}
	e = (struct wz_event){.kind = WZ_EV_TASK_ENDED,
	        .u.task = {.job = j->number,
	                .task = t,
	                .attempt = j->alive[t],
	                .end = (uint32_t)(chance(s, 60) ? WZ_END_COMPLETED : below(s, WZ_END_LAUNCH_FAILED + 1)),
	                .requeue = chance(s, 50)}};
	if (e.u.task.end == WZ_END_COMPLETED || !e.u.task.requeue || j->foreign)
		j->may_end = true;
	j->alive[t] = 0;
	apply(s, &e);
}

static void rule_event(struct storm *s)
{
	struct wz_profile p[3];
	uint32_t weight[3];
	struct wz_event e = {.kind = WZ_EV_WORKLOAD_STATED,
	        .u.workload = {.n = (uint32_t)below(s, 4), .profile = p, .weight = weight}};
	for (unsigned i = 0; i < 3; i++) {
		p[i] = s->profile[below(s, PROFILES)];
		weight[i] = (uint32_t)below(s, 100);
	}
	if (chance(s, 30)) {
		unsigned n = 0;
		while (wz_policies[n])
			n++;
		e = (struct wz_event){
		        .kind = WZ_EV_POLICY_SET, .u.policy.name = wz_str(wz_policies[below(s, n)]->name)};
	} else if (chance(s, 30)) {
		e = (struct wz_event){.kind = WZ_EV_REPACK_ASKED};
	}
	apply(s, &e);
}

static void job_event(struct storm *s)
{
	struct body_job *j = some_job(s, true);
	struct wz_event e = {.u.job.job = j ? j->number : 1};
	struct wz_profile p;
	switch (below(s, 11)) {
	case 6:
	case 7:
		e = (struct wz_event){.kind = WZ_EV_JOB_RESIZED,
		        .u.resize = {.job = e.u.job.job, .tasks_min = 1 + (uint32_t)below(s, 3)}};
		e.u.resize.tasks_max = e.u.resize.tasks_min + (uint32_t)below(s, TASKS - 2);
		if (j && apply(s, &e) == 0) {
			j->profile.tasks_min = e.u.resize.tasks_min;
			j->profile.tasks_max = e.u.resize.tasks_max;
		}
		return;
	case 8:
		e.kind = WZ_EV_JOB_REQUEUED;
		break;
	case 9:
		e.kind = chance(s, 50) ? WZ_EV_JOB_SUSPENDED : WZ_EV_JOB_RESUMED;
		break;
	case 10:
		e = (struct wz_event){.kind = WZ_EV_TASK_REPORTED,
		        .u.report = {.job = e.u.job.job,
		                .task = (uint32_t)below(s, TASKS),
		                .progress_milli = (int64_t)below(s, 1000),
		                .checkpoint_us = (int64_t)below(s, s->now + 5 * SECOND)}};
		break;
	case 0:
	case 1:
		e.kind = WZ_EV_JOB_CANCELLED;
		if (j)
			j->may_end = true;
		break;
	case 2:
		e.kind = WZ_EV_JOB_HELD;
		break;
	case 3:
	case 4:
		e.kind = WZ_EV_JOB_RELEASED;
		break;
	default:
		p = s->profile[below(s, PROFILES)];
		if (j && chance(s, 80)) {
			p.tasks_min = j->profile.tasks_min;
			p.tasks_max = j->profile.tasks_max;
		}
		e = (struct wz_event){.kind = WZ_EV_JOB_EDITED,
		        .u.edit = {.job = e.u.job.job,
		                .priority = (int32_t)below(s, 4) - 1,
		                .profile = chance(s, 70) ? &p : NULL}};
		if (j)
			j->may_end |= p.time_us > 0;
		break;
	}
	apply(s, &e);
}

/* Queues, quotas and promises of capacity come, change and go. */
static void queue_event(struct storm *s)
{
	static const char *const rules[] = {"", "weight=3", "guaranteed=gpu:4", "limit=gpu:6",
	        "limit=gpu:2,cpu:32 weight=2", "guaranteed=gpu:2 borrow=gpu:2", "guaranteed=gpu:4 lend=gpu:1",
	        "user-limit=gpu:3", "job-limit=gpu:4", "priority=0..1", "preemptible=no", "limit=gpu:0"};
	char text[128];
	struct wz_event e = {.kind = WZ_EV_QUEUE_SET};
	e.u.rules.name = wz_str(queue_names[below(s, 4)]);
	e.u.rules.text = wz_str(rules[below(s, 12)]);
	switch (below(s, 6)) {
	case 0:
		e.kind = WZ_EV_QUEUE_REMOVED;
		e.u.rules.text = WZ_STR("");
		break;
	case 1:
		e.kind = WZ_EV_RESERVATION_SET;
		(void)snprintf(text, sizeof text, "from=%" PRIu64 "us to=%" PRIu64 "us gpus=%u",
		        s->now + below(s, 60) * SECOND, s->now + (60 + below(s, 600)) * SECOND,
		        (unsigned)(1 + below(s, 6)));
		e.u.rules.text = wz_str(text);
		break;
	case 2:
		e.kind = WZ_EV_RESERVATION_REMOVED;
		e.u.rules.text = WZ_STR("");
		break;
	default:
		break;
	}
	if (s->loud)
		printf("# rules of %.*s: %.*s\n", (int)e.u.rules.name.len, e.u.rules.name.ptr,
		        (int)e.u.rules.text.len, e.u.rules.text.ptr);
	s->queued |= apply(s, &e) == 0;
}

/* ---- acknowledgements: late, lost, twice, in any order ---- */

static void later(struct storm *s, uint64_t id, bool confirm)
{
	if (chance(s, 10) || s->n_acks == ACKS)
		return; /* lost */
	s->ack[s->n_acks].id = id;
	s->ack[s->n_acks++].confirm = confirm;
}

static void some_acks(struct storm *s)
{
	for (uint64_t n = below(s, 4) * (1 + s->n_acks / 8); n && s->n_acks; n--) {
		uint32_t i = chance(s, 70) ? 0 : (uint32_t)below(s, s->n_acks);
		struct wz_event e = {.kind = s->ack[i].confirm ? WZ_EV_EFFECT_CONFIRMED : WZ_EV_EFFECT_REFUSED,
		        .u.effect.effect = s->ack[i].id};
		apply(s, &e);
		if (!chance(s, 10)) /* else it comes again */
			s->ack[i] = s->ack[--s->n_acks];
	}
}

static struct body_job *job_of(struct storm *s, uint64_t number)
{
	for (unsigned i = 0; i < JOBS; i++)
		if (s->job[i].live && s->job[i].number == number)
			return &s->job[i];
	return NULL;
}

static void enact(struct storm *s, const struct wz_effect *f)
{
	struct body_job *j = job_of(s, f->job);
	STORM_OK(s, j || f->kind == WZ_EF_EXPLAIN, "an effect names a live job");
	if (!j || f->kind == WZ_EF_EXPLAIN || f->kind == WZ_EF_RESIZE)
		return;
	if (f->kind == WZ_EF_START) {
		STORM_OK(s, f->task < TASKS && !j->alive[f->task],
		        "I7: task %u of job %" PRIu64 " starts while it lives", f->task, f->job);
		for (unsigned t = 0; t < TASKS;
		        t++) /* a task that was replaced is of a later attempt than its neighbours */
			STORM_OK(s,
			        !j->alive[t] || t == f->task ||
			                wz_core_task_attempt(s->core[MAIN], f->job, t) == j->alive[t],
			        "I7: job %" PRIu64 " attempt %u starts while task %u of attempt %u lives", f->job,
			        f->attempt, t, j->alive[t]);
		if (chance(s, 8)) {
			later(s, f->id, false);
			return;
		}
		j->alive[f->task] = f->attempt;
		j->node[f->task] = f->place.node.v;
		if (chance(s, 10)) {
			struct wz_event e = {.kind = WZ_EV_TASK_STARTED,
			        .u.task = {.job = f->job, .task = f->task, .attempt = f->attempt}};
			apply(s, &e);
		}
		later(s, f->id, true);
	} else if (f->kind == WZ_EF_SUSPEND || f->kind == WZ_EF_RESUME) {
		later(s, f->id, chance(s, 90));
	} else if (f->kind == WZ_EF_HOLD || f->kind == WZ_EF_UNHOLD) {
		return;
	} else if (f->kind == WZ_EF_PREEMPT && chance(s, 15)) {
		return; /* deaf: it runs on */
	} else if (chance(s, 8)) {
		later(s, f->id, false); /* a stop that cannot be carried out now */
	} else {
		if (j->alive[f->task] == f->attempt)
			j->alive[f->task] = 0;
		later(s, f->id, true);
	}
}

/* ---- a step ---- */

static bool same_place(const struct wz_place *a, const struct wz_place *b)
{
	return a->node.v == b->node.v && a->devices == b->devices && a->cpu == b->cpu && a->mem == b->mem &&
	       a->dev_milli == b->dev_milli && a->dev_mem == b->dev_mem;
}

static bool same_plan(const struct wz_plan *a, const struct wz_plan *b)
{
	if (a->n != b->n || a->work != b->work || a->complete != b->complete)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_effect *x = &a->effect[i], *y = &b->effect[i];
		if (x->kind != y->kind || x->id != y->id || x->deadline_us != y->deadline_us || x->job != y->job ||
		        x->task != y->task || x->attempt != y->attempt || x->reason != y->reason ||
		        !same_place(&x->place, &y->place))
			return false;
	}
	return true;
}

static void decide(struct storm *s, int core, uint64_t budget)
{
	uint64_t before = wz_core_digest(s->core[core]);
	int r = wz_core_decide(s->core[core], budget, &s->plan[core], NULL);
	STORM_OK(s, r == 0, "decides");
	STORM_OK(s, wz_core_digest(s->core[core]) == before, "decide changed a digest");
}

/* I1: what was just given out was there. */
static void check_place(struct storm *s, const struct wz_place *p)
{
	const struct wz_model_state *m = wz_core_model(s->core[MAIN]);
	const struct wz_node *n = &m->node[p->node.v];
	STORM_OK(s, n->cpu_free >= 0 && n->mem_free >= 0 && n->tasks_free >= 0, "I1: a start over-commits node %u",
	        p->node.v);
	for (uint64_t w = p->devices; w; w &= w - 1) {
		uint32_t i = n->first_dev + (uint32_t)__builtin_ctzll(w);
		STORM_OK(s, m->dev_milli[i] >= 0, "I1: a start over-commits the compute of a device of node %u",
		        p->node.v);
		STORM_OK(s, !m->dev[i].mem || m->dev_mem[i] >= 0,
		        "I1: a start over-commits the memory of a device of node %u", p->node.v);
		STORM_OK(s, m->dev[i].partition == 0 && m->dev[i].health != WZ_HEALTH_FAILED,
		        "only whole, working devices");
	}
}

/* What the job asked, checked against where it was put, without the code of fit. */
static void check_asked(struct storm *s, const struct wz_effect *f)
{
	const struct wz_core *c = s->core[MAIN];
	const struct wz_model_state *m = wz_core_model(c);
	const struct wz_node *n = &m->node[f->place.node.v];
	struct wz_job_info info;
	const struct wz_shape *a;
	uint64_t all = 0, total = 0, cu = 0;
	if (wz_core_job(c, f->job, &info) < 0)
		return;
	a = &wz_core_shapes(c)->shape[info.shape.v];
	STORM_OK(s, f->place.cpu == a->cpu && f->place.mem == a->mem, "host CPU and memory as asked");
	STORM_OK(s, !a->count || (unsigned)__builtin_popcountll(f->place.devices) == a->count,
	        "as many devices as asked");
	for (uint64_t w = f->place.devices; w; w &= w - 1) {
		const struct wz_device *d = &m->dev[n->first_dev + (uint32_t)__builtin_ctzll(w)];
		const struct wz_model *k = &wz_core_catalogue(s->core[MAIN])->model[d->model];
		int64_t size = d->mem ? d->mem : (int64_t)k->mem_bytes;
		int64_t got = f->place.dev_mem >= 0 ? f->place.dev_mem
		                                    : size / WZ_WHOLE * f->place.dev_milli * WZ_WHOLE / d->milli;
		STORM_OK(s, a->any_model || wz_model_set_has(&a->allowed, d->model), "an allowed model");
		STORM_OK(s, k->bw_gbps >= a->bw_gbps, "bandwidth as asked");
		STORM_OK(s, size >= a->dev_mem && got + WZ_WHOLE >= a->dev_mem,
		        "device memory as asked: %" PRId64 " of %" PRId64, got, a->dev_mem);
		STORM_OK(s, !a->free_pct || (d->free_mem_pct != 255 && d->free_mem_pct >= a->free_pct),
		        "live free memory as asked");
		all++;
		total += (uint64_t)got;
		cu += (uint64_t)k->cu_milli * (uint64_t)f->place.dev_milli / WZ_WHOLE;
		for (uint64_t v = f->place.devices; v && !a->link_preferred; v &= v - 1) {
			const struct wz_device *o = &m->dev[n->first_dev + (uint32_t)__builtin_ctzll(v)];
			STORM_OK(s,
			        a->link != WZ_LINK_NVLINK || o == d ||
			                (d->link_domain && o->link_domain == d->link_domain),
			        "one link domain");
			STORM_OK(s, a->link != WZ_LINK_PCIE || o->pcie == d->pcie, "one PCIe switch");
			STORM_OK(s, a->link != WZ_LINK_NUMA || o->numa == d->numa, "one NUMA node");
			STORM_OK(s, o->model == d->model, "one model");
		}
	}
	STORM_OK(s, total + all * WZ_WHOLE >= (uint64_t)a->dev_mem_total,
	        "total device memory as asked: %" PRIu64 " of %" PRId64, total, a->dev_mem_total);
	STORM_OK(s, cu + all >= (uint64_t)a->cu_milli, "compute units as asked");
}

static bool starts_now(const struct storm *s, uint64_t number, uint32_t task)
{
	for (uint32_t i = 0; i < s->plan[MAIN].n; i++) {
		const struct wz_effect *f = &s->plan[MAIN].effect[i];
		if (f->kind == WZ_EF_START && f->job == number && f->task == task)
			return true;
	}
	return false;
}

static void check_racks(struct storm *s, uint64_t number)
{
	const struct wz_core *c = s->core[MAIN];
	struct wz_job_info i;
	uint32_t first = WZ_ID_NONE;
	const struct wz_shape *a;
	bool moved = false; /* a node has come back in another rack, with tasks that run */
	if (wz_core_job(c, number, &i) < 0)
		return;
	a = &wz_core_shapes(c)->shape[i.shape.v];
	STORM_OK(s, i.state != WZ_JOB_STARTING || i.tasks_placed >= i.tasks_min,
	        "I4: job %" PRIu64 " starts with less than its minimum", number);
	for (uint32_t t = 0; t < i.task_numbers; t++) {
		struct wz_place p;
		if (wz_core_task(c, number, t, &p) < 0 || a->link_preferred ||
		        (a->link != WZ_LINK_RACK && a->link != WZ_LINK_NODE) || i.tasks_max < 2)
			continue;
		uint32_t key = a->link == WZ_LINK_NODE ? p.node.v : wz_core_model(c)->node[p.node.v].rack;
		moved |= !starts_now(s, number, t) && (key == WZ_ID_NONE || (first != WZ_ID_NONE && first != key));
		STORM_OK(s, moved || (key != WZ_ID_NONE && (first == WZ_ID_NONE || first == key)),
		        "the gang stays together");
		first = key;
	}
}

/* I6: nobody who waits could start, and every one has been told a reason. */
static void check_reasons(struct storm *s)
{
	for (unsigned i = 0; i < JOBS; i++) {
		struct wz_explanation x[2];
		struct wz_job_info info;
		uint64_t before = wz_core_digest(s->core[MAIN]);
		if (!s->job[i].live || wz_core_job(s->core[MAIN], s->job[i].number, &info) < 0 ||
		        (info.state != WZ_JOB_WAITING && info.state != WZ_JOB_HELD))
			continue;
		for (int k = MAIN; k <= PLAIN; k++)
			STORM_OK(s, wz_core_explain(s->core[k], info.job, &x[k], NULL) == 0, "explains");
		STORM_OK(s, wz_core_digest(s->core[MAIN]) == before, "a question leaves no trace");
		STORM_OK(s, x[0].main != WZ_REASON_NONE && x[0].main < WZ_REASON_COUNT_,
		        "I6: job %" PRIu64 " waits for %s but could start", info.job, wz_reason_word(info.reason));
		STORM_OK(s, info.reason != WZ_REASON_NONE && info.reason != WZ_REASON_WORK_BUDGET,
		        "I6: job %" PRIu64 " has no reason", info.job);
		STORM_OK(s, x[0].main == x[1].main && x[0].tasks_fit == x[1].tasks_fit && x[0].never == x[1].never,
		        "the index changes no explanation");
		STORM_OK(s, x[0].main != WZ_REASON_NO_NODES || x[0].nodes == 0, "there are nodes");
		if (info.state == WZ_JOB_WAITING)
			STORM_OK(s,
			        (info.reason == WZ_REASON_GANG) == (x[0].main == WZ_REASON_GANG) ||
			                x[0].main == WZ_REASON_GANG || info.reason == WZ_REASON_GANG,
			        "the coarse reason agrees");
	}
}

/* Does one of those for whom the plan holds room go before the victim? Between queues the right is of quotas, as they are
 * when those who leave are gone: the core proves that, and nothing here can. */
static bool lawful(struct storm *s, int32_t priority)
{
	struct wz_job_info info;
	for (uint32_t i = 0; i < s->plan[MAIN].n; i++) {
		const struct wz_effect *h = &s->plan[MAIN].effect[i];
		if (h->kind == WZ_EF_HOLD && wz_core_job(s->core[MAIN], h->job, &info) == 0 &&
		        info.state == WZ_JOB_WAITING && (s->queued || info.priority > priority))
			return true;
	}
	return false;
}

/* I5: who is moved aside goes for somebody who has the right and has the room held, and waits again or runs on. Asked when the
 * effects before it were applied: what this plan starts is part of what queues use. */
static void check_eviction(struct storm *s, const struct wz_effect *f)
{
	const struct body_job *j = job_of(s, f->job);
	struct wz_task_work work;
	struct wz_job_info info;
	if (f->kind != WZ_EF_PREEMPT || wz_core_job(s->core[MAIN], f->job, &info) < 0 ||
	        info.state != WZ_JOB_RUNNING || wz_core_task_work(s->core[MAIN], f->job, f->task, &work) < 0 ||
	        work.warned || !same_place(&f->place, &(struct wz_place){.node = {0}}))
		return; /* it was told to go before; or it moves to a place that repacking found */
	s->evictions++;
	STORM_OK(s, lawful(s, info.priority), "I5: job %" PRIu64 " is moved aside for nobody above it", f->job);
	STORM_OK(s, j && !j->foreign && (f->reason == 0 || f->reason == WZ_END_PREEMPTED),
	        "I5: it waits again, or goes on without the task");
}

static bool unholds(const struct wz_plan *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->effect[i].kind == WZ_EF_UNHOLD)
			return true;
	return false;
}

static void step(struct storm *s, bool final)
{
	uint64_t budget = final || chance(s, 70) ? 0 : 1 + below(s, 6);
	struct wz_event e = {.kind = WZ_EV_STEP};
	apply(s, &e);
	decide(s, MAIN, budget);
	decide(s, PLAIN, budget);
	if (final)
		decide(s, REPLAY, budget);
	STORM_OK(s, same_plan(&s->plan[MAIN], &s->plan[PLAIN]), "the index changes a plan");
	STORM_OK(s, !final || same_plan(&s->plan[MAIN], &s->plan[REPLAY]), "a restart changes a plan");
	for (int k = MAIN; s->loud && final && k <= REPLAY; k += 2)
		for (uint32_t i = 0; i < s->plan[k].n; i++)
			printf("# core %d: effect %u job %" PRIu64 " task %u node %u reason %u\n", k,
			        s->plan[k].effect[i].kind, s->plan[k].effect[i].job, s->plan[k].effect[i].task,
			        s->plan[k].effect[i].place.node.v, s->plan[k].effect[i].reason);
	for (uint32_t i = 0; i < s->plan[MAIN].n && !s->failed; i++) {
		const struct wz_effect *f = &s->plan[MAIN].effect[i];
		STORM_OK(s, f->id > s->last_id, "an id is used twice");
		s->last_id = f->id;
		if (f->kind == WZ_EF_START)
			check_asked(s, f);
		check_eviction(s, f);
		if (s->loud)
			printf("# effect %" PRIu64 " kind %u job %" PRIu64 " task %u node %u devices %" PRIx64
			       " milli %d cpu %" PRId64 " reason %u\n",
			        f->id, f->kind, f->job, f->task, f->place.node.v, f->place.devices,
			        f->place.dev_milli, f->place.cpu, f->reason);
		for (int k = 0; k < CORES; k++)
			STORM_OK(s, wz_core_apply_effect(s->core[k], f, NULL) == 0,
			        "what was decided applies: effect of kind %u", f->kind);
		if (s->failed)
			return;
		if (f->kind == WZ_EF_START)
			check_place(s, &f->place);
		compare(s, "an effect");
	}
	/* Holds that a plan gives up may be room for somebody whom it looked at before: at the next step. */
	if (s->plan[MAIN].complete && !budget && !unholds(&s->plan[MAIN]))
		check_reasons(s);
	for (uint32_t i = 0; i < s->plan[MAIN].n && !s->failed; i++)
		if (s->plan[MAIN].effect[i].kind == WZ_EF_START)
			check_racks(s, s->plan[MAIN].effect[i].job);
	for (uint32_t i = 0; i < s->plan[MAIN].n && !s->failed; i++)
		enact(s, &s->plan[MAIN].effect[i]);
}

/* I3: the deadline that comes up next is the earliest of those in flight. */
static void check_deadlines(struct storm *s)
{
	static struct wz_flight_info f[4096];
	uint32_t n = wz_core_flights(s->core[MAIN], f, 4096);
	uint64_t first = UINT64_MAX;
	for (uint32_t i = 0; i < n && i < 4096; i++)
		first = f[i].deadline_us < first ? f[i].deadline_us : first;
	STORM_OK(s, wz_core_next_deadline(s->core[MAIN]) <= first, "I3: a deadline is passed over");
}

/* What the tasks hold is what the devices miss; and who is gone was allowed to go, and left nothing alive. */
static void check_books(struct storm *s)
{
	const struct wz_core *c = s->core[MAIN];
	const struct wz_model_state *m = wz_core_model(c);
	int64_t held = 0, missing = 0, cpu = 0, cpu_missing = 0;
	uint64_t tasks = 0, live = 0, waiting = 0;
	struct wz_core_stats st;
	uint32_t kept = 0;
	for (unsigned i = 0; i < JOBS; i++) {
		struct body_job *j = &s->job[i];
		struct wz_job_info info;
		if (!j->live)
			continue;
		if (wz_core_job(c, j->number, &info) < 0) {
			STORM_OK(s, j->may_end, "I7: job %" PRIu64 " is lost", j->number);
			for (unsigned t = 0; t < TASKS; t++)
				STORM_OK(s, !j->alive[t], "I7: job %" PRIu64 " is finished but task %u is alive",
				        j->number, t);
			j->live = false;
			continue;
		}
		live++;
		waiting += info.state == WZ_JOB_WAITING;
		for (uint32_t t = 0; t < info.task_numbers; t++) {
			struct wz_place p;
			if (wz_core_task(c, j->number, t, &p) < 0) {
				STORM_OK(s, t >= TASKS || !j->alive[t],
				        "I7: task %u of job %" PRIu64 " lives but holds nothing", t, j->number);
				continue;
			}
			tasks++;
			held += (int64_t)p.dev_milli * __builtin_popcountll(p.devices);
			cpu += p.cpu;
		}
	}
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		if (!(n->flags & WZ_NODE_PRESENT))
			continue;
		cpu_missing += n->cpu - n->cpu_free;
		for (uint32_t d = n->first_dev; d < n->first_dev + n->n_dev; d++)
			missing += wz_device_milli(&m->dev[d]) - m->dev_milli[d];
	}
	check_deadlines(s);
	wz_core_stats(c, &st);
	for (struct wz_hold_info h; wz_core_hold(c, kept, &h) == 0; kept++) {
		missing -= (int64_t)h.place.dev_milli * __builtin_popcountll(h.place.devices);
		cpu_missing -= h.place.cpu;
		STORM_OK(s, h.deadline_us != UINT64_MAX, "I3: a hold has a deadline");
	}
	STORM_OK(s, held == missing && (int64_t)st.gpu_milli_held == held,
	        "tasks hold %" PRId64 " milli, devices miss %" PRId64 ", stats say %" PRId64, held, missing,
	        (int64_t)st.gpu_milli_held);
	STORM_OK(s, cpu == cpu_missing, "tasks hold %" PRId64 " milli CPU, nodes miss %" PRId64, cpu, cpu_missing);
	STORM_OK(s, st.tasks_live == tasks && st.jobs_live == live && st.jobs_waiting == waiting,
	        "the counts of the statistics");
}

/* ---- a life ---- */

static void begin(struct storm *s, uint64_t seed, bool loud)
{
	static const char *const models[] = {"G9", "A100-SXM4-40GB", "T4", "A100-SXM4-80GB", "A10", "V9"};
	unsigned policies = 0;
	*s = (struct storm){.seed = seed, .loud = loud};
	while (wz_policies[policies])
		policies++;
	wz_rng_seed(&s->rng, seed);
	for (int i = 0; i < CORES; i++) {
		struct wz_core_options o = {.seed = seed,
		        .policy = wz_policies[seed % policies]->name,
		        .no_index = i == PLAIN,
		        .start_timeout_us = 20 * SECOND,
		        .stop_timeout_us = 15 * SECOND};
		fault_mem_init(&s->f[i]);
		wz_plan_init(&s->plan[i], &s->f[i].mem);
		int r = wz_core_new(&s->f[i].mem, &o, &s->core[i], NULL);
		wz_check(r == 0);
		for (unsigned k = 0; k < 6; k++)
			if (wz_catalogue_find(
			            wz_core_catalogue(s->core[i]), wz_str(models[k]), &s->model[k].id, NULL) < 0)
				(void)wz_catalogue_declare(wz_core_catalogue(s->core[i]), wz_str(models[k]), NULL,
				        &s->model[k].id, NULL);
	}
	for (unsigned i = 0; i < PROFILES; i++)
		random_profile(s, &s->profile[i]);
}

/* One thing that happens. All that is random in it comes from its own number, so that leaving another out changes nothing
 * in it: what makes a failing history short (storm_script.h). */
static void happen(struct storm *s, enum storm_kind kind, uint64_t r)
{
	wz_rng_seed(&s->rng, r);
	switch (kind) {
	case OP_JOIN:
		join(s, (uint32_t)(r % NODES));
		break;
	case OP_PLACE:
		place_event(s);
		break;
	case OP_JOB:
		job_event(s);
		break;
	case OP_END:
		end_task(s);
		break;
	case OP_OBSERVE:
		observe(s);
		break;
	case OP_RULE:
		rule_event(s);
		break;
	case OP_QUEUE:
		queue_event(s);
		break;
	case OP_ACKS:
		some_acks(s);
		break;
	case OP_SUBMIT:
		submit(s);
		break;
	case OP_TIME:
		s->now += below(s, 8) * SECOND;
		break;
	case OP_CLOCK: { /* the body's clock goes back for one event, or leaps */
		uint64_t now = s->now;
		if (chance(s, 30)) {
			s->now += below(s, 3600) * SECOND;
			break;
		}
		s->now = now > 30 * SECOND ? now - below(s, 30) * SECOND : 0;
		place_event(s);
		s->now = now;
		break;
	}
	case OP_STEP:
	case OP_LAST:
		some_acks(s);
		if (!s->failed)
			step(s, kind == OP_LAST);
		if (!s->failed)
			check_books(s);
		break;
	case OP_KINDS:
		break;
	}
}

static void finish(struct storm *s)
{
	for (int i = 0; i < CORES; i++) {
		wz_plan_release(&s->plan[i]);
		wz_core_free(s->core[i]);
		STORM_OK(s, fault_mem_clean(&s->f[i]), "core %d leaks", i);
	}
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	uint64_t v;
	const char *z = getenv(name);
	return z && wz_str_parse_u64(wz_str(z), &v) == 0 ? v : otherwise;
}

static uint64_t evictions; /* of all storms of this process */

/* Lives through the script; true when all held. */
static bool live(const struct storm_script *x, bool loud)
{
	static struct storm s;
	begin(&s, x->seed, loud);
	for (uint32_t i = 0; i < x->n && !s.failed; i++) {
		if (loud)
			printf("# %s %" PRIu64 "\n", storm_words[x->op[i].kind], x->op[i].r);
		happen(&s, x->op[i].kind, x->op[i].r);
	}
	evictions += s.evictions;
	finish(&s);
	return !s.failed;
}

static struct storm_script script;

static void test_script(void)
{
	struct wz_err err;
	tap_require(storm_read(getenv("WZ_SCRIPT"), &script, &err) == 0, "%s", err.text);
	tap_ok(live(&script, getenv("WZ_LOUD") != NULL), "the script %s", getenv("WZ_SCRIPT"));
}

/* Seeds one after another; the first that fails is made short and shown. Without an end for `make storm`. */
static void test_storm(void)
{
	uint64_t one = number_from("WZ_SEED", 0), n = number_from("WZ_STORMS", 1000),
	         first = number_from("WZ_FIRST", 1);
	if (one) {
		storm_draw(&script, one, NODES, STEPS);
		tap_ok(live(&script, true), "seed %" PRIu64, one);
		return;
	}
	for (uint64_t seed = first; n == 0 || seed < first + n; seed++) {
		storm_draw(&script, seed, NODES, STEPS);
		if (storm_alone(&script, live)) /* in a process of its own: a crash is a failure like another */
			continue;
		uint32_t was = script.n;
		if (!getenv("WZ_NO_SHRINK"))
			storm_shrink(&script, live);
		tap_ok(false,
		        "seed %" PRIu64
		        " fails; %u of its %u lines are enough (WZ_SCRIPT=FILE WZ_LOUD=1 runs them):",
		        seed, script.n, was);
		storm_print(&script);
		(void)storm_alone_loud(&script, live);
		return;
	}
}

/* What is checked of evictions is checked of some. */
static void test_evictions(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		storm_draw(&script, seed, NODES, STEPS);
		tap_ok(live(&script, false), "seed %" PRIu64, seed);
	}
	tap_ok(evictions >= 10, "%" PRIu64 " evictions in twenty storms", evictions);
}

int main(void)
{
	if (getenv("WZ_SCRIPT"))
		tap_run(test_script);
	else {
		tap_run(test_storm);
		tap_run(test_evictions);
	}
	return tap_done();
}
