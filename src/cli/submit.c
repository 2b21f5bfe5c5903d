/* SPDX-License-Identifier: Apache-2.0 */
/* `wz submit`: a command, a job file or a script, and what it needs; prints the job's number. */
#include "cli/submit.h"

#include "base/json.h"
#include "jobspec/words.h"
#include "os/clock.h"
#include "os/file.h"

#include <sys/random.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 << 20)
#define ENV_MAX 4096u

#define A(m) offsetof(struct wz_submit_args, m)
const struct wz_opt wz_submit_opts[] = {
#define X(key, letter, what, text) \
	{key, letter, (const char *)(what) != NULL ? WZ_OPT_GIVEN : WZ_OPT_GIVEN_FLAG, what, text, A(given), 0},
        WZ_JOBSPEC_KEYS(X)
#undef X
                {"dry-run", 0, WZ_OPT_FLAG, NULL, "say where and when it would start, and do nothing", A(dry_run),
                        0},
        {"wait", 'W', WZ_OPT_FLAG, NULL, "until it has ended; 0 when all of it completed", A(wait), 0},
        {"follow", 'f', WZ_OPT_FLAG, NULL, "show its output and exit with its code, as wz run", A(follow), 0},
        {"quiet", 0, WZ_OPT_FLAG, NULL, "the number and no warnings", A(quiet), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", A(json), 0},
        WZ_DAEMON_OPT(struct wz_submit_args),
        WZ_OPT_END,
};
#undef A

int wz_submit_parse(const struct wz_verb *v, struct wz_submit_args *a, int argc, char **argv)
{
	int cut = 0, n;
	while (cut < argc && strcmp(argv[cut], "--") != 0)
		cut++;
	n = wz_cli_opts(v, a, cut, argv);
	if (n < 0)
		return -1;
	a->before = (uint32_t)n;
	for (int i = cut + 1; i < argc; i++)
		argv[n++] = argv[i];
	return n;
}

/* ---- documents ---- */

struct doc {
	struct wz_jobspec j;
	uint64_t id; /* once submitted */
};

struct submit {
	struct wz_daemon *d;
	const struct wz_verb *v;
	const struct wz_submit_args *a;
	struct wz_arena arena;
	struct wz_catalogue cat;
	struct wz_file_text file, script, lines;
	struct doc *doc;
	uint32_t n, cap;
	char cwd[WZ_DAEMON_PATH_MAX];
	struct wz_pair *env;
	uint32_t n_env;
	int64_t now_us;
	bool stdin_used;
};

static int fail(int code, const char *reason, struct wz_str what, const char *text)
{
	struct wz_err err;
	(void)wz_err_set(&err, code, reason, what, wz_str(text));
	return wz_cli_fail(&err);
}

static int no_memory(void)
{
	return fail(-ENOMEM, "OutOfMemory", WZ_STR(""), "out of memory");
}

static struct doc *add(struct submit *x)
{
	if (wz_grow(x->d->cli->mem, &x->doc, &x->cap, x->n + 1, sizeof *x->doc) < 0)
		return NULL;
	struct doc *d = &x->doc[x->n++];
	wz_jobspec_init(&d->j, &x->arena, &x->cat, x->now_us);
	return d;
}

static bool ends(struct wz_str s, const char *with)
{
	size_t n = strlen(with);
	return s.len > n && memcmp(s.ptr + s.len - n, with, n) == 0;
}

/* A script is what begins with #! or has lines for us; anything else that is named is a command. */
static bool is_script(struct wz_str text)
{
	if (wz_str_starts(text, WZ_STR("#!")))
		return wz_utf8_ok(text);
	for (struct wz_str rest = text; rest.ptr && wz_str_starts(rest, WZ_STR("#"));) {
		struct wz_str line = wz_str_split(&rest, '\n');
		if (wz_str_starts(line, WZ_STR("#SBATCH ")) || wz_str_starts(line, WZ_STR("#WZ ")))
			return true;
	}
	return false;
}

static int command(struct submit *x, struct wz_jobspec *j, int argc, char **argv)
{
	struct wz_str *args = wz_arena_alloc(&x->arena, ((size_t)argc + 1) * sizeof *args);
	struct wz_err err;
	if (!args)
		return no_memory();
	for (int i = 0; i < argc; i++) {
		args[i] = wz_str(argv[i]);
		if (!wz_utf8_ok(args[i]))
			return fail(
			        -EINVAL, "BadText", args[i], ": an argument that is not UTF-8 cannot be submitted");
	}
	return wz_jobspec_command(j, args, (uint32_t)argc, &err) < 0 ? wz_cli_fail(&err) : 0;
}

static int job_file(struct submit *x, const char *path, int argc, char **argv)
{
	struct wz_err err;
	if (wz_file_read(path, WZ_JOBSPEC_FILE_MAX, x->d->cli->mem, &x->file, &err) < 0)
		return wz_cli_fail(&err);
	for (unsigned i = 0;; i++) {
		struct doc *d = i < WZ_JOBSPEC_DOCS_MAX ? add(x) : NULL;
		if (!d)
			return i < WZ_JOBSPEC_DOCS_MAX
			               ? no_memory()
			               : fail(-E2BIG, "TooLarge", wz_str(path), ": more than 1024 documents");
		int rc = wz_jobspec_yaml(&d->j, wz_file_text_str(&x->file), path, i, &err);
		if (rc == -ENOENT && i) {
			x->n--;
			return 0;
		}
		if (rc < 0)
			return wz_cli_fail(&err);
		if (argc) { /* operands are more arguments */
			struct wz_jobspec_list own = d->j.argv;
			struct wz_str *all = wz_arena_alloc(&x->arena, (own.n + (size_t)argc) * sizeof *all);
			int code = all ? 0 : no_memory();
			for (uint32_t k = 0; code == 0 && k < own.n; k++)
				all[k] = own.v[k];
			for (int k = 0; code == 0 && k < argc; k++)
				all[own.n + (uint32_t)k] = wz_str(argv[k]);
			if (code || wz_jobspec_command(&d->j, all, own.n + (uint32_t)argc, &err) < 0)
				return code ? code : wz_cli_fail(&err);
		}
	}
}

static int script(struct submit *x, const char *path, int argc, char **argv)
{
	struct doc *d = add(x);
	struct wz_err err;
	const char *slash = strrchr(path, '/');
	if (!d)
		return no_memory();
	if (wz_jobspec_script(&d->j, wz_file_text_str(&x->file), path, &err) < 0)
		return wz_cli_fail(&err);
	if (!d->j.rq.name.len)
		d->j.rq.name = wz_str(slash ? slash + 1 : path);
	return command(x, &d->j, argc, argv);
}

/* What was named: a job file, a script, or a command. */
static int documents(struct submit *x, int argc, char **argv)
{
	struct wz_str first = argc ? wz_str(argv[0]) : WZ_STR("");
	if (x->a->before && (ends(first, ".yaml") || ends(first, ".yml")))
		return job_file(x, argv[0], argc - 1, argv + 1);
	if (x->a->before && wz_file_read(argv[0], WZ_API_BLOB_MAX, x->d->cli->mem, &x->file, NULL) == 0) {
		if (is_script(wz_file_text_str(&x->file)))
			return script(x, argv[0], argc - 1, argv + 1);
		wz_file_text_release(&x->file);
	}
	struct doc *d = add(x);
	return d ? command(x, &d->j, argc, argv) : no_memory();
}

/* ---- what only we can read ---- */

static int flags(struct submit *x, struct wz_jobspec *j)
{
	const struct wz_given *g = &x->a->given;
	struct wz_err err;
	for (uint32_t i = 0; i < g->n; i++)
		if (wz_jobspec_set(j, wz_str(g->item[i].name), g->item[i].value, &err) < 0)
			return wz_cli_fail(&err);
	return wz_jobspec_finish(j, &err) < 0 ? wz_cli_fail(&err) : 0;
}

static int named_script(struct submit *x, struct wz_jobspec *j)
{
	struct wz_err err;
	char path[WZ_DAEMON_PATH_MAX];
	if (!j->script.len)
		return 0;
	(void)snprintf(path, sizeof path, "%.*s", (int)j->script.len, j->script.ptr);
	if (j->rq.script.len)
		return fail(-EINVAL, "Conflict", WZ_STR(""), "give one script");
	if (!x->script.data && wz_file_read(path, WZ_API_BLOB_MAX, x->d->cli->mem, &x->script, &err) < 0)
		return wz_cli_fail(&err);
	struct wz_jobspec_list argv = j->argv;
	if (wz_jobspec_script(j, wz_file_text_str(&x->script), path, &err) < 0)
		return wz_cli_fail(&err);
	j->argv = argv;
	return 0;
}

static int line_file(struct submit *x, struct wz_jobspec *j)
{
	struct wz_err err;
	struct wz_str rest, *v;
	char path[WZ_DAEMON_PATH_MAX];
	uint32_t n = 0;
	if (!j->lines.len)
		return 0;
	(void)snprintf(path, sizeof path, "%.*s", (int)j->lines.len, j->lines.ptr);
	if (!x->lines.data && wz_file_read(path, (size_t)6 << 20, x->d->cli->mem, &x->lines, &err) < 0)
		return wz_cli_fail(&err);
	if (!(v = wz_arena_alloc(&x->arena, (x->lines.len / 2 + 2) * sizeof *v)))
		return no_memory();
	rest = wz_file_text_str(&x->lines);
	for (unsigned at = 1; rest.ptr; at++) { /* blank lines and comments are no jobs */
		struct wz_str line = wz_str_trim(wz_str_split(&rest, '\n'));
		struct wz_num num;
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (!wz_utf8_ok(line)) {
			(void)wz_err_set(&err, -EINVAL, "BadText", wz_str(path), WZ_STR(":"), wz_str_u64(&num, at),
			        WZ_STR(": a line that is not UTF-8"));
			return wz_cli_fail(&err);
		}
		v[n++] = line;
	}
	if (n == 0)
		return fail(-EINVAL, "BadText", wz_str(path), ": no line is a job");
	j->rq.lines = (struct wz_strs){v, n};
	return 0;
}

static int one_secret(struct submit *x, struct wz_str text, struct wz_pair *ret)
{
	struct wz_str source = text, name = wz_str_split(&source, '=');
	char z[WZ_DAEMON_PATH_MAX];
	struct wz_file_text t = {.mem = x->d->cli->mem};
	struct wz_err err;
	*ret = (struct wz_pair){name, {NULL, 0}};
	if (!source.ptr || wz_str_eq(source, WZ_STR("env"))) {
		(void)snprintf(z, sizeof z, "%.*s", (int)name.len, name.ptr);
		const char *value = getenv(z);
		if (!value)
			return fail(-ENOENT, "NotFound", name, ": no such variable to take the secret from");
		ret->value = wz_str(value);
		return 0;
	}
	(void)snprintf(z, sizeof z, "%.*s", (int)source.len, source.ptr);
	if (strcmp(z, "-") == 0 && x->stdin_used)
		return fail(-EINVAL, "Conflict", name, ": standard input is read for one secret alone");
	x->stdin_used = x->stdin_used || strcmp(z, "-") == 0;
	if (wz_file_read(z, 65537, x->d->cli->mem, &t, &err) < 0)
		return wz_cli_fail(&err);
	while (t.len && (t.data[t.len - 1] == '\n' || t.data[t.len - 1] == '\r'))
		t.len--;
	char *p = wz_arena_alloc(&x->arena, t.len + 1);
	if (p && t.len)
		memcpy(p, t.data, t.len);
	ret->value = (struct wz_str){p, t.len};
	wz_file_text_release(&t);
	if (!p)
		return no_memory();
	return wz_utf8_ok(ret->value) && !memchr(ret->value.ptr, 0, ret->value.len)
	               ? 0
	               : fail(-EINVAL, "BadText", name, ": a secret must be text without zero bytes");
}

static int secrets(struct submit *x, struct wz_jobspec *j)
{
	struct wz_pair *v = wz_arena_alloc(&x->arena, ((size_t)j->secrets.n + 1) * sizeof *v);
	int code = v ? 0 : no_memory();
	for (uint32_t i = 0; code == 0 && i < j->secrets.n; i++)
		code = one_secret(x, j->secrets.v[i], &v[i]);
	j->rq.secrets = (struct wz_pairs){v, j->secrets.n};
	return code;
}

/* Our whole environment less the secrets; the agent takes what may pass. What is no UTF-8 cannot be told and is left out. */
static int environment(struct submit *x, struct wz_jobspec *j)
{
	struct wz_pair *to = wz_arena_alloc(&x->arena, ENV_MAX * sizeof *to);
	uint32_t n = 0;
	if (!to)
		return no_memory();
	for (char **p = environ; *p && n < ENV_MAX; p++) {
		struct wz_str value = wz_str(*p), key = wz_str_split(&value, '=');
		bool secret = false;
		for (uint32_t i = 0; i < j->rq.secrets.n; i++)
			secret = secret || wz_str_eq(j->rq.secrets.v[i].key, key);
		if (key.len && value.ptr && !secret && wz_utf8_ok(key) && wz_utf8_ok(value))
			to[n++] = (struct wz_pair){key, value};
	}
	j->rq.env = (struct wz_pairs){to, n};
	return 0;
}

static struct wz_str absolute(struct submit *x, struct wz_str path)
{
	char *p;
	if (!path.len || path.ptr[0] == '/')
		return path;
	size_t n = strlen(x->cwd) + path.len + 2;
	if (!(p = wz_arena_alloc(&x->arena, n)))
		return path;
	int len = snprintf(p, n, "%s/%.*s", x->cwd, (int)path.len, path.ptr);
	return (struct wz_str){p, len > 0 ? (size_t)len : 0};
}

/* Names of earlier documents in dependencies become their numbers; 0 before they have one: then only the names are checked. */
static int resolve(struct submit *x, uint32_t which)
{
	struct wz_jobspec *j = &x->doc[which].j;
	struct wz_str *v = wz_arena_alloc(&x->arena, ((size_t)j->after.n + 1) * sizeof *v);
	if (!v)
		return no_memory();
	for (uint32_t i = 0; i < j->after.n; i++) {
		struct wz_str rest = j->after.v[i];
		size_t cap = rest.len * 24 + 64;
		char *room = wz_arena_alloc(&x->arena, cap);
		struct wz_buf b;
		if (!room)
			return no_memory();
		wz_buf_init_fixed(&b, room, cap);
		while (rest.len) { /* word by word, separators as they are */
			size_t n = 0;
			while (n < rest.len && !strchr(",?:", rest.ptr[n]))
				n++;
			struct wz_str word = {rest.ptr, n};
			bool target = b.len && room[b.len - 1] == ':',
			     known = !target || !n || (word.ptr[0] >= '0' && word.ptr[0] <= '9');
			for (uint32_t k = which; k-- > 0 && !known;)
				if (wz_str_eq(x->doc[k].j.rq.name, word)) {
					known = true;
					wz_buf_add_u64(&b, x->doc[k].id);
					word.len = 0;
				}
			if (!known)
				return fail(-ENOENT, "NotFound", word,
				        ": no job number, and no earlier job of this file has that name");
			wz_buf_add(&b, word);
			if (n < rest.len)
				wz_buf_addc(&b, rest.ptr[n++]);
			rest = (struct wz_str){rest.ptr + n, rest.len - n};
		}
		v[i] = wz_buf_str(&b);
	}
	j->rq.after = (struct wz_strs){v, j->after.n};
	return 0;
}

static int prepare(struct submit *x, uint32_t which)
{
	struct wz_jobspec *j = &x->doc[which].j;
	int code = named_script(x, j);
	if (code == 0)
		code = flags(x, j);
	if (code == 0 && (code = named_script(x, j)) == 0 && j->script.len)
		code = flags(x, j); /* flags over what its lines say */
	if (code == 0)
		code = line_file(x, j);
	if (code == 0 && !j->rq.argv.n && !j->rq.script.len && !j->rq.lines.n)
		return wz_cli_usage(x->v, "a command is missing");
	if (code == 0)
		code = secrets(x, j);
	if (code == 0)
		code = environment(x, j);
	if (x->a->pty) {
		j->rq.pty = true;
		j->rq.rows = x->a->rows;
		j->rq.cols = x->a->cols;
		if (!j->rq.terminal_keep_us)
			j->rq.terminal_keep_us = (int64_t)x->a->keep_us;
	}
	j->rq.cwd = j->rq.cwd.len ? absolute(x, j->rq.cwd) : wz_str(x->cwd);
	if (code == 0 && j->snapshot && !x->a->dry_run) {
		char dir[WZ_DAEMON_PATH_MAX];
		(void)snprintf(dir, sizeof dir, "%.*s", (int)j->rq.cwd.len, j->rq.cwd.ptr);
		code = wz_snapshot_take(x->d, j, dir);
	}
	if (code == 0)
		code = resolve(x, which);
	for (uint32_t i = 0; code == 0 && !x->a->quiet && i < j->warnings.n; i++)
		wz_cli_warn(j->warnings.v[i]);
	return code;
}

/* ---- sending ---- */

/* A random key: so that a call that is repeated after a lost answer is still one job. */
static int key_of(struct wz_jobspec *j, char ret[160])
{
	uint64_t r[2];
	if (j->key.len) {
		(void)snprintf(ret, 160, "%.*s", (int)j->key.len, j->key.ptr);
		return 0;
	}
	if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
		return fail(-EIO, "NoRandom", WZ_STR(""), "no random numbers to be had");
	(void)snprintf(ret, 160, "%016llx%016llx", (unsigned long long)r[0], (unsigned long long)r[1]);
	return 0;
}

static void body_of(const struct wz_jobspec *j, struct wz_buf *b)
{
	wz_json_write(b, &wz_type_submit, &j->rq, true);
	if (b->status < 0 || !j->rq.secrets.n)
		return;
	b->len--; /* a writer never writes secrets: they are put in here */
	wz_buf_addz(b, b->len > 1 ? ",\"secrets\":{" : "\"secrets\":{");
	for (uint32_t i = 0; i < j->rq.secrets.n; i++) {
		if (i)
			wz_buf_addc(b, ',');
		wz_buf_add_json(b, j->rq.secrets.v[i].key);
		wz_buf_addc(b, ':');
		wz_buf_add_json(b, j->rq.secrets.v[i].value);
	}
	wz_buf_addz(b, "}}");
}

static int send(struct submit *x, struct doc *doc, struct wz_submitted *ret)
{
	struct wz_buf body, answer;
	char key[160];
	int code = key_of(&doc->j, key);
	if (code)
		return code;
	wz_buf_init(&body, x->d->cli->mem, BODY_MAX);
	body_of(&doc->j, &body);
	code = body.status < 0 ? fail(body.status, "TooLarge", WZ_STR(""), "the job is too large to submit")
	                       : wz_daemon_call(x->d, "POST", x->a->dry_run ? "/v1/jobs?dry_run=true" : "/v1/jobs",
	                                 wz_buf_str(&body), key, &answer);
	wz_buf_release(&body);
	if (code)
		return code;
	json_t *j = json_loadb(answer.data ? answer.data : "", answer.len, 0, NULL);
	wz_buf_release(&answer);
	if (!j)
		return fail(-EPROTO, "BadAnswer", WZ_STR(""), "the daemon's answer is no JSON");
	doc->id = ret->job = (uint64_t)wz_daemon_int(j, "id");
	ret->count = (uint64_t)wz_daemon_int(j, "count");
	return json_array_append_new(ret->answers, j) < 0 ? no_memory() : 0;
}

int wz_submit(struct wz_daemon *d, const struct wz_verb *v, const struct wz_submit_args *a, int argc, char **argv,
        struct wz_submitted *ret)
{
	const struct wz_mem *mem = d->cli->mem;
	struct submit *x = wz_mem_zalloc(mem, sizeof *x);
	struct wz_submitted got = {.answers = json_array()};
	if (!x || !got.answers || wz_catalogue_init(&x->cat, mem) < 0) {
		wz_mem_free(mem, x, sizeof *x);
		json_decref(got.answers);
		return no_memory();
	}
	x->d = d;
	x->v = v;
	x->a = a;
	x->now_us = wz_clock_wall_us();
	x->file.mem = x->script.mem = x->lines.mem = mem;
	wz_arena_init(&x->arena, mem, 65536);
	int code = getcwd(x->cwd, sizeof x->cwd)
	                   ? documents(x, argc, argv)
	                   : fail(-ENOENT, "FileError", WZ_STR(""), "the working directory is gone");
	/* All of it is read and checked here before the first is sent. */
	for (uint32_t i = 0; code == 0 && i < x->n; i++)
		code = prepare(x, i);
	for (uint32_t i = 0; code == 0 && i < x->n; i++)
		if ((code = resolve(x, i)) == 0)
			code = send(x, &x->doc[i], &got);
	wz_file_text_release(&x->file);
	wz_file_text_release(&x->script);
	wz_file_text_release(&x->lines);
	wz_arena_release(&x->arena);
	wz_catalogue_release(&x->cat);
	wz_grow_free(mem, &x->doc, &x->cap, sizeof *x->doc);
	wz_mem_free(mem, x, sizeof *x);
	if (code)
		json_decref(got.answers);
	else
		*ret = got;
	return code;
}

/* ---- the verb ---- */

static void say_dry(struct wz_buf *b, const json_t *j)
{
	const json_t *n;
	size_t i;
	struct wz_str text = wz_daemon_text(j, "text");
	if (json_is_true(json_object_get(j, "would_start"))) {
		wz_buf_addz(b, "it would start now");
	} else {
		wz_buf_addz(b, "it would wait: ");
		wz_buf_add(b, text.len ? text : wz_daemon_text(j, "reason"));
		wz_buf_addz(b, "\n");
		wz_buf_addz(b, wz_daemon_int(j, "expected_start_us")
		                       ? "by the limits of what runs it would start at "
		                       : "when it would start cannot be said");
		wz_daemon_add_time(b, wz_daemon_int(j, "expected_start_us"));
	}
	json_array_foreach(json_object_get(j, "nodes"), i, n)
	{
		wz_buf_addz(b, i ? ", " : " on ");
		wz_buf_addz(b, json_string_value(n));
	}
	wz_buf_addc(b, '\n');
}

static void print(struct wz_cli *cli, const struct wz_submit_args *a, const struct wz_submitted *s)
{
	const json_t *j;
	size_t i;
	if (a->json) {
		char *text =
		        json_dumps(json_array_size(s->answers) == 1 ? json_array_get(s->answers, 0) : s->answers,
		                JSON_COMPACT | JSON_ENSURE_ASCII);
		wz_buf_addz(&cli->out, text ? text : "null");
		wz_buf_addc(&cli->out, '\n');
		free(text);
		return;
	}
	json_array_foreach(s->answers, i, j)
	{
		if (a->dry_run) {
			say_dry(&cli->out, j);
			continue;
		}
		wz_buf_add_u64(&cli->out, (uint64_t)wz_daemon_int(j, "id"));
		wz_buf_addc(&cli->out, '\n');
	}
}

static int submit_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wz_submit_args a = {.json = false};
	struct wz_daemon d;
	struct wz_submitted s;
	const json_t *j;
	size_t i;
	int n = wz_submit_parse(v, &a, argc, argv), worst = 0;
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (a.follow && (a.wait || a.dry_run))
		return wz_cli_usage(v, "--follow goes alone");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_submit(&d, v, &a, n, argv, &s);
	if (code) {
		wz_daemon_close(&d);
		return code;
	}
	if (a.follow) {
		code = s.count == 1 && json_array_size(s.answers) == 1
		               ? wz_job_follow(&d, s.job)
		               : wz_cli_usage(v, "--follow shows one job; for several: wz wait, wz logs");
	} else {
		print(cli, &a, &s);
		if (a.wait && !a.dry_run) {
			/* the number first, then the wait; and it is printed whatever the code will be */
			(void)wz_fd_write_all(STDOUT_FILENO, wz_buf_str(&cli->out));
			wz_buf_clear(&cli->out);
			json_array_foreach(s.answers, i, j) if (code == 0)
			{
				code = wz_daemon_wait_all(
				        &d, (uint64_t)wz_daemon_int(j, "id"), WZ_STR(""), 0, false);
				if (code == WZ_EXIT_FAILED) {
					worst = code;
					code = 0;
				}
			}
			code = code ? code : worst;
		}
	}
	json_decref(s.answers);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_submit = {
        .name = "submit",
        .summary = "queue a command, a script or a job file; prints the job's number",
        .usage = "wz submit [options] -- COMMAND [ARGUMENT...] | JOB.yaml | SCRIPT [ARGUMENT...]",
        .examples = "wz submit --gpus 1 --time 8h -- python train.py --lr 3e-4\n"
                    "wz submit --gpus 8 --tasks 2 --link nvlink -- ./gang.sh\n"
                    "wz submit --gpus 1 --sweep lr=0.1,0.01 --sweep seed=1..5 -- python train.py --lr {lr} --seed "
                    "{seed}\n"
                    "wz submit --array 0-99%8 -- ./one.sh\n"
                    "wz submit --after afterok:17 --retries 3 --retry-on exit:75,OOM -- ./next.sh\n"
                    "wz submit train.sh        # its #SBATCH and #WZ lines count\n"
                    "wz submit job.yaml\n",
        .opts = wz_submit_opts,
        .fn = submit_fn,
        .more = "The command is never given to a shell (but see --sh). It runs in the present directory, with a "
                "clean "
                "environment:\n"
                "PATH, VIRTUAL_ENV, CONDA_*, LANG, LC_* and TZ pass. Options over a file replace its keys.\n",
};
