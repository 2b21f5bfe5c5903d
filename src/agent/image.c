/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_ 4096u
#define FIXED 48u /* words of our own at most, beside argv, environment and devices */

/* What an image says of itself and a host must not change. */
static const char *const images_own[] = {
        "PATH", "HOME", "SHELL", "USER", "LOGNAME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", NULL};

struct line {
	struct wz_arena *arena;
	const char **v;
	uint32_t n;
	bool failed;
};

static void add(struct line *l, const char *word)
{
	l->v[l->n++] = word;
}

static void add2(struct line *l, const char *a, struct wz_str b)
{
	size_t n = strlen(a);
	char *p = wz_arena_alloc(l->arena, n + b.len + 1);
	if (!p) {
		l->failed = true;
		return;
	}
	memcpy(p, a, n);
	if (b.len)
		memcpy(p + n, b.ptr, b.len);
	p[n + b.len] = 0;
	l->v[l->n++] = p;
}

/* DIR:DIR for a bind mount. A path with a colon cannot be said. */
static void add_bind(struct line *l, const char *option, const char *dir)
{
	size_t n = strlen(dir);
	char *p = wz_arena_alloc(l->arena, 2 * n + 2);
	if (!p) {
		l->failed = true;
		return;
	}
	(void)snprintf(p, 2 * n + 2, "%s:%s", dir, dir);
	add(l, option);
	add(l, p);
}

static const char *find(const char *path, const char *name, struct wz_arena *arena)
{
	struct wz_str rest = wz_str(path);
	while (rest.ptr && rest.len) {
		struct wz_str dir = wz_str_split(&rest, ':');
		char full[PATH_MAX_];
		int n = snprintf(full, sizeof full, "%.*s/%s", (int)dir.len, dir.ptr, name);
		if (dir.len == 0 || n < 0 || n >= (int)sizeof full || access(full, X_OK) < 0)
			continue;
		char *p = wz_arena_alloc(arena, (size_t)n + 1);
		if (p)
			memcpy(p, full, (size_t)n + 1);
		return p;
	}
	return NULL;
}

static bool owned_by_image(struct wz_str name)
{
	for (unsigned i = 0; images_own[i]; i++) {
		if (wz_str_eq(name, wz_str(images_own[i])))
			return true;
	}
	return false;
}

static void podman(struct line *l, const struct wz_image_job *j)
{
	add(l, "run");
	add(l, "--rm");
	add(l, "--replace");
	add2(l, "--name=", wz_str(j->name));
	add(l, "--cgroups=disabled"); /* it stays in the attempt's */
	add(l, "--sig-proxy=false"); /* the shim signals everything in it */
	add(l, "--network=host");
	add(l, "--ipc=host");
	add(l, "--security-opt=label=disable");
	if (!j->root)
		add(l, "--userns=keep-id");
	if (j->pty) {
		add(l, "--interactive");
		add(l, "--tty");
	}
	for (uint32_t i = 0; i < j->n_devices; i++)
		add2(l, "--device=nvidia.com/gpu=", j->devices[i]);
	add_bind(l, "--volume", j->run_dir);
	if (strcmp(j->cwd, "/") != 0)
		add_bind(l, "--volume", j->cwd);
	add2(l, "--workdir=", wz_str(j->cwd));
	for (const char *const *e = j->env; *e; e++) { /* by name: values do not stand in a command line */
		struct wz_str value = wz_str(*e), name = wz_str_split(&value, '=');
		if (!owned_by_image(name))
			add2(l, "--env=", name);
	}
	add2(l, "", j->image);
}

static void apptainer(struct line *l, const struct wz_image_job *j)
{
	add(l, "exec");
	if (j->n_devices)
		add(l, "--nv"); /* which of them: CUDA_VISIBLE_DEVICES and the fence */
	add_bind(l, "--bind", j->run_dir);
	if (strcmp(j->cwd, "/") != 0)
		add_bind(l, "--bind", j->cwd);
	add(l, "--pwd");
	add(l, j->cwd);
	add2(l, "", j->image);
}

int wz_image_argv(const struct wz_image_job *j, const char *path, struct wz_arena *arena, const char ***ret,
        uint32_t *ret_n, struct wz_err *err)
{
	static const char *const fixed_path = "/usr/local/bin:/usr/bin:/bin";
	bool file = j->image.len && (j->image.ptr[0] == '/' || j->image.ptr[0] == '.');
	uint32_t n = FIXED + j->n_devices;
	struct line l = {.arena = arena};
	if (!path || !*path)
		path = fixed_path;
	if (j->image.len == 0 || j->image.ptr[0] == '-' || j->image.len > PATH_MAX_ || strchr(j->cwd, ':'))
		return wz_err_set(err, -EINVAL, "BadImage",
		        WZ_STR("an image has a name that does not begin with '-', and a working directory "
		               "without a colon"));
	for (const char *const *p = j->argv; *p; p++)
		n++;
	for (const char *const *p = j->env; *p; p++)
		n++;
	const char *pod = file ? NULL : find(path, "podman", arena),
	           *app = pod ? NULL : find(path, "apptainer", arena);
	if (!pod && !app)
		app = find(path, "singularity", arena);
	if (!pod && !app)
		return wz_err_set(err, -ENOENT, "NoContainerRuntime",
		        file ? WZ_STR("an image that is a file needs apptainer, which is not installed on this "
		                      "node")
		             : WZ_STR("neither podman nor apptainer is installed on this node"));
	l.v = wz_arena_alloc(arena, n * sizeof *l.v);
	if (!l.v)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	add(&l, pod ? pod : app);
	if (pod)
		podman(&l, j);
	else
		apptainer(&l, j);
	for (const char *const *p = j->argv; *p; p++)
		add(&l, *p);
	if (l.failed)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	l.v[l.n] = NULL;
	*ret = l.v;
	*ret_n = l.n;
	return 0;
}
