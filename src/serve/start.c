/* SPDX-License-Identifier: Apache-2.0 */
/* From an effect that is durable to what the agent is told. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/file.h"
#include "os/proc.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#define LOG_HEAD ((int64_t)32 << 20)
#define LOG_TAIL ((int64_t)32 << 20)
#define GROUPS_MAX 256
#define ENV_MAX 4096u

static const char *const ends[] = {"Completed", "Failed", "Cancelled", "Timeout", "OutOfMemory", "Preempted",
        "NodeLost", "DeviceLost", "LaunchFailed"};

const char *end_word(int64_t end)
{
	return end >= 0 && end < (int64_t)WZ_ARRAY_LEN(ends) ? ends[end] : "Unknown";
}

struct starting {
	struct serve *s;
	const struct wz_effect *e;
	struct wz_arena arena;
	struct wz_wire_msg m;
	struct wz_job_row row;
	struct wz_json_doc doc;
	struct wz_api_submit spec;
	struct wz_buf env, script;
	bool found;
};

static struct wz_str keep(struct starting *x, struct wz_str v)
{
	char *p = wz_arena_alloc(&x->arena, v.len + 1);
	if (!p)
		return (struct wz_str){NULL, 0};
	if (v.len)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, v.len};
}

static int on_row(void *ctx, const struct wz_job_row *r)
{
	struct starting *x = ctx;
	x->row = *r;
	x->row.user = keep(x, r->user);
	x->row.name = keep(x, r->name);
	x->row.queue = keep(x, r->queue);
	x->row.profile = keep(x, r->profile);
	x->row.spec = keep(x, r->spec);
	x->row.env = keep(x, r->env);
	x->row.script = keep(x, r->script);
	x->row.template = keep(x, r->template);
	x->row.params = keep(x, r->params);
	x->row.secrets = keep(x, r->secrets);
	x->row.snapshot = keep(x, r->snapshot);
	x->found = true;
	return 0;
}

static int load(struct starting *x, struct wz_err *err)
{
	struct wz_job_query q = {.job = x->e->job};
	int rc = wz_store_jobs(x->s->store, &q, on_row, x, err);
	if (rc == 0 && !x->found)
		rc = wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("the store has no such job"));
	if (rc == 0)
		rc = spec_load(x->s, &x->row, &x->arena, &x->doc, &x->spec, err);
	if (rc == 0 && x->row.env.len)
		rc = wz_store_blob(x->s->store, x->row.env, &x->env, err);
	if (rc == 0 && x->row.script.len)
		rc = wz_store_blob(x->s->store, x->row.script, &x->script, err);
	return rc;
}

static int put_env(struct starting *x)
{
	struct wz_str all = wz_buf_str(&x->env);
	struct wz_str *v = wz_arena_alloc(&x->arena, ENV_MAX * sizeof *v);
	uint32_t n = 0;
	if (!v)
		return -ENOMEM;
	while (all.ptr && all.len && n < ENV_MAX) {
		struct wz_str one = wz_str_split(&all, '\0');
		if (one.len)
			v[n++] = one;
	}
	x->m.u.start.env = (struct wz_wire_array){n, v};
	return 0;
}

static int put_argv(struct starting *x)
{
	struct wz_str *v = wz_arena_alloc(&x->arena, (x->spec.argv.n + 1) * sizeof *v);
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->spec.argv.n; i++)
		v[i] = x->spec.argv.v[i];
	x->m.u.start.argv = (struct wz_wire_array){x->spec.argv.n, v};
	x->m.u.start.script = wz_buf_str(&x->script);
	return 0;
}

static int put_user(struct starting *x)
{
	struct wz_wire_start *w = &x->m.u.start;
	struct passwd *p = getpwuid((uid_t)x->row.uid);
	gid_t g[GROUPS_MAX];
	int n = GROUPS_MAX;
	if (p) {
		w->home = keep(x, wz_str(p->pw_dir));
		w->shell = keep(x, wz_str(p->pw_shell));
	}
	w->user = x->row.user;
	if (!x->s->privileged)
		return 0;
	w->uid = x->row.uid;
	w->gid = x->row.gid;
	if (!p || getgrouplist(p->pw_name, (gid_t)x->row.gid, g, &n) < 0)
		n = 0;
	int64_t *v = wz_arena_alloc(&x->arena, ((size_t)n + 1) * sizeof *v);
	if (!v)
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		v[i] = (int64_t)g[i];
	w->groups = (struct wz_wire_array){(uint32_t)n, v};
	return 0;
}

static int put_devices(struct starting *x)
{
	struct wz_wire_start *w = &x->m.u.start;
	const struct wz_place *p = &x->e->place;
	int64_t *v = wz_arena_alloc(&x->arena, WZ_NODE_DEVICES_MAX * sizeof *v);
	uint32_t n = 0;
	if (!v)
		return -ENOMEM;
	for (int64_t i = 0; i < (int64_t)WZ_NODE_DEVICES_MAX; i++)
		if (p->devices >> i & 1)
			v[n++] = i;
	w->devices = (struct wz_wire_array){n, v};
	w->dev_milli = p->dev_milli;
	w->dev_mem_bytes = p->dev_mem > 0 ? p->dev_mem : 0;
	w->cpu_milli = p->cpu;
	w->mem_bytes = p->mem;
	return 0;
}

/* Compute units of what a task holds, in thousandths; 0: not known, or no device. */
static int64_t speed_of(const struct serve *s, const struct wz_place *p)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	const struct wz_node *n = &m->node[p->node.v];
	int64_t sum = 0;
	for (uint64_t w = p->devices; w; w &= w - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(w);
		if (i >= n->n_dev)
			continue;
		sum += (int64_t)wz_core_catalogue(s->core)->model[m->dev[n->first_dev + i].model].cu_milli *
		       p->dev_milli / WZ_WHOLE;
	}
	return sum;
}

/* The fastest is 1000. Nothing is said when one is not known. */
static void put_speeds(struct wz_wire_start *w, int64_t *speed, uint32_t n)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (speed[i] <= 0)
			return;
		most = speed[i] > most ? speed[i] : most;
	}
	for (uint32_t i = 0; i < n; i++)
		speed[i] = speed[i] * 1000 / most;
	w->speeds = (struct wz_wire_array){n, speed};
}

/* Rank, size and hosts of a gang. All nodes of this body are on this host, so the first rank is reached at 127.0.0.1. */
static int put_gang(struct starting *x, const struct wz_job_info *info)
{
	struct wz_wire_start *w = &x->m.u.start;
	struct wz_place p;
	if (info->tasks_max < 2)
		return 0;
	struct wz_str *host = wz_arena_alloc(&x->arena, (info->task_numbers + 1) * sizeof *host);
	int64_t *speed = wz_arena_alloc(&x->arena, (info->task_numbers + 1) * sizeof *speed);
	if (!host || !speed)
		return -ENOMEM;
	uint32_t n = 0;
	for (uint32_t t = 0; t < info->task_numbers; t++) {
		if (wz_core_task(x->s->core, x->e->job, t, &p) < 0)
			continue;
		if (t == x->e->task)
			w->rank = n;
		speed[n] = speed_of(x->s, &p);
		host[n++] = node_name(x->s, p.node.v);
	}
	w->size = n;
	w->hosts = (struct wz_wire_array){n, host};
	put_speeds(w, speed, n);
	w->master_addr = WZ_STR("127.0.0.1");
	w->master_port = 20000 + (int64_t)((x->e->job * 31 + info->attempt) % 20000);
	return 0;
}

static void put_contract(struct starting *x)
{
	struct wz_wire_start *w = &x->m.u.start;
	struct wz_profile p;
	int signo;
	if (wz_profile_parse(x->row.profile, wz_core_catalogue(x->s->core), &p, NULL) < 0)
		return;
	if (p.preempt.signal[0] && wz_proc_signal_parse(wz_str(p.preempt.signal), &signo) == 0)
		w->preempt_signal = signo;
	w->preempt_grace_ms = (int64_t)(p.preempt.grace_us / 1000);
	w->preempt_ack = p.preempt.ack;
}

/* An interactive shell takes no notice of TERM, but ends when its terminal goes. */
static void put_terminal(struct starting *x)
{
	struct wz_wire_start *w = &x->m.u.start;
	if (!x->spec.pty)
		return;
	w->pty = 1;
	w->rows = x->spec.rows;
	w->cols = x->spec.cols;
	w->pty_alone_ms = x->spec.terminal_keep_us / 1000;
	w->signal = SIGHUP;
}

static int make(struct starting *x, const struct wz_job_info *info, struct wz_err *err)
{
	struct wz_wire_start *w = &x->m.u.start;
	struct log_paths logs;
	char dir[4096];
	int rc = load(x, err);
	if (rc < 0)
		return rc;
	w->job = (int64_t)x->e->job;
	w->task = x->e->task;
	w->attempt = x->e->attempt;
	w->node = node_name(x->s, x->e->place.node.v);
	w->name = x->row.name;
	w->queue = x->row.queue;
	w->cwd = x->spec.cwd;
	w->umask = x->spec.umask ? x->spec.umask : -1;
	w->slurm = wz_str_eq(x->spec.compat, WZ_STR("slurm"));
	w->restarts = x->e->attempt - 1;
	w->log_head_bytes = x->spec.log_max_bytes ? x->spec.log_max_bytes / 2 : LOG_HEAD;
	w->log_tail_bytes = x->spec.log_max_bytes ? x->spec.log_max_bytes / 2 : LOG_TAIL;
	rc = log_paths(x->s, &x->row, &x->spec, x->e->task, x->e->attempt, w->node, &x->arena, &logs, err);
	if (rc < 0)
		return rc;
	w->log = logs.out;
	w->log_err = logs.err;
	w->log_as_user = logs.theirs[0] | logs.theirs[1] << 1;
	put_terminal(x);
	w->image = x->spec.image;
	(void)snprintf(dir, sizeof dir, "%s/logs/%llu", x->s->o->state_dir, (unsigned long long)x->e->job);
	rc = wz_file_mkdirs(dir, 0711, err);
	if (rc < 0)
		return rc;
	if (put_env(x) < 0 || put_argv(x) < 0 || put_user(x) < 0 || put_devices(x) < 0 || put_gang(x, info) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	put_contract(x);
	return task_fill(x->s, &x->arena, &x->row, &x->spec, w, err);
}

void start_task(struct serve *s, const struct wz_effect *e)
{
	struct wz_job_info info;
	struct wz_err err;
	struct asked what = {.job = e->job, .task = e->task, .attempt = e->attempt, .effect = e->id};
	struct starting x = {.s = s, .e = e};
	/* Cancelled in between: the stop finds nothing, which is the answer. */
	if (wz_core_job(s->core, e->job, &info) < 0 || info.state == WZ_JOB_ENDING ||
	        wz_core_task_attempt(s->core, e->job, e->task) != e->attempt)
		return;
	wz_arena_init(&x.arena, s->mem, 8192);
	wz_buf_init(&x.env, s->mem, WZ_BLOB_MAX);
	wz_buf_init(&x.script, s->mem, WZ_BLOB_MAX);
	wz_wire_init(&x.m, WZ_WIRE_START);
	if (make(&x, &info, &err) == 0) {
		link_ask(s, &x.m, &what);
	} else {
		struct wz_event refused = {.kind = WZ_EV_TASK_ENDED};
		serve_log("a start cannot be made", err.text);
		refused.u.task.job = e->job;
		refused.u.task.task = e->task;
		refused.u.task.attempt = e->attempt;
		refused.u.task.end = WZ_END_LAUNCH_FAILED;
		(void)serve_apply_job(s, e->job, WZ_END_LAUNCH_FAILED, &refused, NULL);
	}
	wz_json_release(&x.doc);
	wz_buf_release(&x.env);
	wz_buf_release(&x.script);
	wz_arena_release(&x.arena);
}
