/* SPDX-License-Identifier: Apache-2.0 */
/* One list of NAME=VALUE; setting a name replaces it. */
#include "agent/env.h"

#include "base/check.h"

#include <sys/resource.h>

#define VARS_MAX 4096u
#define WARNINGS_MAX 16u

const char *const wz_env_pass_names[] = {
        "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "LANG", "LANGUAGE", "LC_*", "TZ", NULL};

struct list {
	struct wz_arena *arena;
	const char *v[VARS_MAX + 1];
	uint32_t n;
	int status; /* -ENOMEM, -E2BIG */
	struct wz_wire_array *warnings;
};

static struct wz_str name_of(struct wz_str var)
{
	const char *eq = var.len ? memchr(var.ptr, '=', var.len) : NULL;
	return eq ? (struct wz_str){var.ptr, (size_t)(eq - var.ptr)} : (struct wz_str){NULL, 0};
}

static const char **find(struct list *l, struct wz_str name)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (strncmp(l->v[i], name.ptr, name.len) == 0 && l->v[i][name.len] == '=')
			return &l->v[i];
	}
	return NULL;
}

static void set_parts(struct list *l, struct wz_str name, struct wz_str value)
{
	char *p = wz_arena_alloc(l->arena, name.len + value.len + 2);
	const char **at = find(l, name);
	if (!p || (!at && l->n == VARS_MAX)) {
		l->status = p ? -E2BIG : -ENOMEM;
		return;
	}
	memcpy(p, name.ptr, name.len);
	p[name.len] = '=';
	if (value.len)
		memcpy(p + name.len + 1, value.ptr, value.len);
	if (at)
		*at = p;
	else
		l->v[l->n++] = p;
}

static void set(struct list *l, const char *name, struct wz_str value)
{
	set_parts(l, wz_str(name), value);
}

static void set_i64(struct list *l, const char *name, int64_t v)
{
	struct wz_num n;
	set(l, name, wz_str_i64(&n, v));
}

static void set_both(struct list *l, bool slurm, const char *wz, const char *alias, struct wz_str v)
{
	set(l, wz, v);
	if (slurm)
		set(l, alias, v);
}

static void set_both_i64(struct list *l, bool slurm, const char *wz, const char *alias, int64_t v)
{
	struct wz_num n;
	set_both(l, slurm, wz, alias, wz_str_i64(&n, v));
}

static void warn(struct list *l, const char *text)
{
	struct wz_wire_array *w = l->warnings;
	if (w->n < WARNINGS_MAX)
		((struct wz_str *)w->item)[w->n++] = wz_str(text);
}

static bool matches(struct wz_str name, struct wz_str pattern)
{
	if (pattern.len && pattern.ptr[pattern.len - 1] == '*')
		return wz_str_starts(name, (struct wz_str){pattern.ptr, pattern.len - 1});
	return wz_str_eq(name, pattern);
}

static bool passes(const struct wz_wire_start *s, struct wz_str name)
{
	const struct wz_str *pass = s->pass.item;
	if (s->env_all || (s->pty && matches(name, WZ_STR("TERM"))))
		return true;
	for (unsigned i = 0; wz_env_pass_names[i]; i++) {
		if (matches(name, wz_str(wz_env_pass_names[i])))
			return true;
	}
	for (uint32_t i = 0; i < s->pass.n; i++) {
		if (matches(name, pass[i]))
			return true;
	}
	return false;
}

/* --- ours ----------------------------------------------------------------------------------------------------- */

static struct wz_str join(struct list *l, const struct wz_wire_start *s, const struct wz_env_facts *f, bool uuids)
{
	struct wz_buf b;
	size_t cap = s->devices.n * 96u + 1;
	char *text = wz_arena_alloc(l->arena, cap);
	if (!text) {
		l->status = -ENOMEM;
		return WZ_STR("");
	}
	wz_buf_init_fixed(&b, text, cap);
	for (uint32_t i = 0; i < s->devices.n; i++) {
		int64_t index = ((const int64_t *)s->devices.item)[i];
		if (i)
			wz_buf_addc(&b, ',');
		if (uuids && index >= 0 && index < f->n_uuids)
			wz_buf_add(&b, f->uuids[index]);
		else if (!uuids)
			wz_buf_add_i64(&b, index);
	}
	return wz_buf_str(&b);
}

/* These exact words are pinned by a test: one letter less and the job runs on another card. */
static void set_devices(struct list *l, const struct wz_wire_start *s, const struct wz_env_facts *f)
{
	struct wz_str indices = join(l, s, f, false), uuids = join(l, s, f, true);
	struct wz_str visible = s->devices_by_uuid ? uuids : indices;
	const char **order = find(l, WZ_STR("CUDA_DEVICE_ORDER"));
	const char **mine = find(l, WZ_STR("CUDA_VISIBLE_DEVICES"));
	if (order && strcmp(*order, "CUDA_DEVICE_ORDER=PCI_BUS_ID") != 0)
		warn(l, "CUDA_DEVICE_ORDER was replaced by PCI_BUS_ID: the devices granted are numbered that way");
	set(l, "CUDA_DEVICE_ORDER", WZ_STR("PCI_BUS_ID"));
	if (mine && !s->devices_open)
		warn(l, "CUDA_VISIBLE_DEVICES was replaced by the devices granted");
	if (!s->devices_open)
		set(l, "CUDA_VISIBLE_DEVICES", visible);
	set_i64(l, "WZ_GPUS", s->devices.n);
	set(l, "WZ_GPU_INDICES", indices);
	set(l, "WZ_GPU_UUIDS", uuids);
	if (s->devices.n && s->dev_milli)
		set_i64(l, "WZ_GPU_SHARE_MILLI", s->dev_milli);
	if (s->devices.n && s->dev_mem_bytes > 0)
		set_i64(l, "WZ_GPU_MEM_BYTES", s->dev_mem_bytes);
	if (s->slurm) {
		set_i64(l, "SLURM_GPUS_ON_NODE", s->devices.n);
		set(l, "SLURM_JOB_GPUS", indices);
	}
}

static void set_path(struct list *l, const char *name, const struct wz_env_facts *f, const char *file)
{
	size_t n = f->run_dir.len + strlen(file) + 2;
	char *p = wz_arena_alloc(l->arena, n);
	if (!p) {
		l->status = -ENOMEM;
		return;
	}
	(void)snprintf(p, n, "%.*s/%s", (int)f->run_dir.len, f->run_dir.ptr, file);
	set(l, name, wz_str(p));
}

static void set_params(struct list *l, const struct wz_wire_start *s)
{
	const struct wz_str *p = s->params.item;
	for (uint32_t i = 0; i < s->params.n; i++) {
		struct wz_str name = name_of(p[i]), value = {p[i].ptr + name.len + 1, p[i].len - name.len - 1};
		char key[160];
		if (name.len &&
		        snprintf(key, sizeof key, "WZ_PARAM_%.*s", (int)name.len, name.ptr) < (int)sizeof key)
			set(l, key, value);
	}
}

static void set_secrets(struct list *l, const struct wz_wire_start *s, const struct wz_env_facts *f)
{
	const struct wz_str *v = s->secrets.item;
	if (s->secrets.n && !s->secrets_env) {
		if (f->secrets_dir.len)
			set(l, "WZ_SECRETS_DIR", f->secrets_dir);
		return;
	}
	for (uint32_t i = 0; i < s->secrets.n; i++) {
		struct wz_str name = name_of(v[i]);
		if (name.len && !wz_str_starts(name, WZ_STR("WZ_")))
			set_parts(l, name, (struct wz_str){v[i].ptr + name.len + 1, v[i].len - name.len - 1});
	}
}

static void set_job(struct list *l, const struct wz_wire_start *s, const struct wz_env_facts *f)
{
	bool slurm = s->slurm != 0;
	set_both_i64(l, slurm, "WZ_JOB_ID", "SLURM_JOB_ID", s->job);
	set_i64(l, "WZ_TASK", s->task);
	set_i64(l, "WZ_ATTEMPT", s->attempt);
	set_both_i64(l, slurm, "WZ_RESTART_COUNT", "SLURM_RESTART_COUNT", s->restarts);
	set_both(l, slurm, "WZ_JOB_NAME", "SLURM_JOB_NAME", s->name);
	set_both(l, slurm, "WZ_USER", "SLURM_JOB_USER", s->user);
	set_both(l, slurm, "WZ_QUEUE", "SLURM_JOB_PARTITION", s->queue);
	set_both(l, slurm, "WZ_NODE", "SLURMD_NODENAME", f->node);
	set_both(l, slurm, "WZ_SUBMIT_DIR", "SLURM_SUBMIT_DIR", s->cwd);
	if (s->cpu_milli > 0)
		set_both_i64(l, slurm, "WZ_CPUS", "SLURM_CPUS_ON_NODE", (s->cpu_milli + 999) / 1000);
	if (s->mem_bytes > 0)
		set_i64(l, "WZ_MEM_BYTES", s->mem_bytes);
	if (s->array_job.len) {
		set_both(l, slurm, "WZ_ARRAY_JOB_ID", "SLURM_ARRAY_JOB_ID", s->array_job);
		set_both_i64(l, slurm, "WZ_ARRAY_INDEX", "SLURM_ARRAY_TASK_ID", s->array_index);
		set_both_i64(l, slurm, "WZ_ARRAY_COUNT", "SLURM_ARRAY_TASK_COUNT", s->array_count);
		set_both_i64(l, slurm, "WZ_ARRAY_MIN", "SLURM_ARRAY_TASK_MIN", s->array_min);
		set_both_i64(l, slurm, "WZ_ARRAY_MAX", "SLURM_ARRAY_TASK_MAX", s->array_max);
		set_both_i64(l, slurm, "WZ_ARRAY_STEP", "SLURM_ARRAY_TASK_STEP", s->array_step);
	}
	set_params(l, s);
	set_secrets(l, s, f);
	set(l, "WZ_RUN_DIR", f->run_dir);
	set_path(l, "WZ_SOCKET", f, "sock");
	set_path(l, "WZ_PREEMPT_FILE", f, "preempt");
	set_path(l, "WZ_ACK_FILE", f, "ack");
}

/* Items by rank with commas between: texts or numbers. */
static void set_list(struct list *l, const char *name, const struct wz_wire_array *items, bool texts)
{
	struct wz_buf b;
	size_t size = 1;
	for (uint32_t i = 0; i < items->n; i++)
		size += texts ? ((const struct wz_str *)items->item)[i].len + 1 : WZ_NUM_MAX + 1;
	char *p = wz_arena_alloc(l->arena, size);
	if (!p) {
		l->status = -ENOMEM;
		return;
	}
	wz_buf_init_fixed(&b, p, size);
	for (uint32_t i = 0; i < items->n; i++) {
		if (i)
			wz_buf_addc(&b, ',');
		if (texts)
			wz_buf_add(&b, ((const struct wz_str *)items->item)[i]);
		else
			wz_buf_add_i64(&b, ((const int64_t *)items->item)[i]);
	}
	set(l, name, wz_buf_str(&b));
}

static void set_gang(struct list *l, const struct wz_wire_start *s, const struct wz_env_facts *f)
{
	bool slurm = s->slurm != 0;
	int64_t size = s->size > 0 ? s->size : 1;
	set_both_i64(l, slurm, "WZ_RANK", "SLURM_PROCID", s->rank);
	set_both_i64(l, slurm, "WZ_WORLD_SIZE", "SLURM_NTASKS", size);
	if (slurm) {
		set(l, "SLURM_LOCALID", WZ_STR("0"));
		set_i64(l, "SLURM_NODEID", s->rank);
		set_i64(l, "SLURM_JOB_NUM_NODES", size);
	}
	if (s->size <= 0)
		return;
	set_i64(l, "RANK", s->rank);
	set_i64(l, "WORLD_SIZE", s->size);
	set(l, "MASTER_ADDR", s->master_addr);
	set_i64(l, "MASTER_PORT", s->master_port);
	set_path(l, "WZ_HOSTFILE", f, "hosts");
	if (s->speeds.n && s->rank >= 0 && s->rank < s->speeds.n) {
		set_i64(l, "WZ_SPEED_MILLI", ((const int64_t *)s->speeds.item)[s->rank]);
		set_list(l, "WZ_THROUGHPUT", &s->speeds, false);
	}
	if (slurm)
		set_list(l, "SLURM_JOB_NODELIST", &s->hosts, true);
}

int wz_env_build(const struct wz_wire_start *s, const struct wz_env_facts *f, struct wz_arena *arena,
        const char ***ret_env, uint32_t *ret_n, struct wz_wire_array *warnings, struct wz_err *err)
{
	struct list *l = wz_arena_alloc(arena, sizeof *l);
	const struct wz_str *env = s->env.item, *own = s->set.item;
	if (!warnings->item)
		warnings->item = wz_arena_alloc(arena, WARNINGS_MAX * sizeof(struct wz_str));
	if (!l || !warnings->item)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	l->arena = arena;
	l->warnings = warnings;
	set(l, "PATH", WZ_STR("/usr/local/bin:/usr/bin:/bin"));
	set(l, "HOME", s->home.len ? s->home : WZ_STR("/"));
	set(l, "SHELL", s->shell.len ? s->shell : WZ_STR("/bin/sh"));
	if (s->pty)
		set(l, "TERM", WZ_STR("xterm"));
	if (s->user.len) {
		set(l, "USER", s->user);
		set(l, "LOGNAME", s->user);
	}
	for (uint32_t i = 0; i < s->env.n + s->set.n; i++) {
		struct wz_str var = i < s->env.n ? env[i] : own[i - s->env.n], name = name_of(var);
		if (name.len == 0)
			return wz_err_set(err, -EINVAL, "BadEnvironment", WZ_STR("no NAME=VALUE: \""),
			        var.len > 60 ? (struct wz_str){var.ptr, 60} : var, WZ_STR("\""));
		/* Ours come last; those of a job that submits another must not reach it. */
		if (wz_str_starts(name, WZ_STR("WZ_")) ||
		        (!s->slurm && wz_str_starts(name, WZ_STR("SLURM_")) && i < s->env.n))
			continue;
		if (i >= s->env.n || passes(s, name))
			set_parts(l, name, (struct wz_str){var.ptr + name.len + 1, var.len - name.len - 1});
	}
	set_devices(l, s, f);
	set_job(l, s, f);
	set_gang(l, s, f);
	if (l->status == -ENOMEM)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (l->status < 0)
		return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("more than 4096 environment variables"));
	*ret_env = l->v;
	*ret_n = l->n;
	return 0;
}

int wz_env_check_size(const char *const *argv, const char *const *env, struct wz_err *err)
{
	enum { STRING_MAX = 131072, SLACK = 4096 };
	struct rlimit r;
	/* Linux: a quarter of the stack limit, at least 128 KiB, at most 6 MiB. */
	uint64_t limit =
	        getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur != RLIM_INFINITY ? r.rlim_cur / 4 : 6u << 20;
	uint64_t total = SLACK;
	if (limit < 131072)
		limit = 131072;
	if (limit > 6u << 20)
		limit = 6u << 20;
	for (unsigned list = 0; list < 2; list++) {
		for (const char *const *p = list ? env : argv; *p; p++) {
			size_t n = strlen(*p) + 1;
			total += n + sizeof *p;
			if (n > STRING_MAX)
				return wz_err_set(err, -E2BIG, "TooLarge",
				        WZ_STR("one argument or variable is longer than 128 KiB: \""),
				        (struct wz_str){*p, 40}, WZ_STR("...\""));
		}
	}
	struct wz_num a, b;
	if (total > limit)
		return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("arguments and environment take "),
		        wz_str_u64(&a, total), WZ_STR(" bytes; the kernel takes "), wz_str_u64(&b, limit));
	return 0;
}
