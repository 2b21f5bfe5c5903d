/* SPDX-License-Identifier: Apache-2.0 */
/* The support bundle. What goes in is named one by one; nothing is copied as a whole and cleaned afterwards, so that what
 * nobody thought of stays out. */
#include "cli/doctor.h"

#include "os/file.h"
#include "os/mem.h"
#include "os/proc.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PART_MAX ((size_t)64 << 20)
#define JOBS_MAX 20000u
#define RECORDS_MAX 20000u

struct making {
	struct wz_doctor *d;
	struct wz_store *s;
	char dir[64];
	bool commands;
	struct wz_buf part;
};

static int put(struct making *m, const char *name, struct wz_err *err)
{
	char path[200];
	(void)snprintf(path, sizeof path, "%s/%s", m->dir, name);
	int rc = m->part.status < 0 ? wz_err_set(err, m->part.status, "TooLarge", WZ_STR("the bundle is too large"))
	                            : wz_file_write(path, wz_buf_str(&m->part), 0600, err);
	wz_buf_clear(&m->part);
	return rc;
}

/* ---- what is secret in a configuration ---- */

/* Keys whose value is shown; the value of any other is "(left out)". */
static const char *const open_keys[] = {"version", "state", "path", "group", "group-only", "address", "local",
        "cluster", "provider", "cgroups", "policy", "profile", "jobs", "jobs-per-user", "admin", "user", "viewer",
        "nobody", "logs", "logs-size", "audit", "size", "files", "type", "format", "events", "every-job", "timeout",
        "tries", "plain-tokens", "open-metrics"};

/* Line by line, by shape alone, so that a file that cannot be parsed can be sent too: a line keeps its key, and its value
 * when the key is one of those above and the value holds no "{", "[", ":" or "//" (which could hold others). */
static void redact_line(struct wz_buf *b, struct wz_str text)
{
	size_t indent = 0;
	while (indent < text.len && (text.ptr[indent] == ' ' || text.ptr[indent] == '-'))
		indent++;
	struct wz_str rest = {text.ptr + indent, text.len - indent}, key = wz_str_split(&rest, ':');
	bool shown = false, word = key.len > 0;
	for (size_t i = 0; i < key.len; i++)
		word = word && ((key.ptr[i] >= 'a' && key.ptr[i] <= 'z') || key.ptr[i] == '-');
	for (unsigned i = 0; i < sizeof open_keys / sizeof open_keys[0]; i++)
		shown = shown || wz_str_eq(key, wz_str(open_keys[i]));
	wz_buf_add(b, (struct wz_str){text.ptr, indent});
	if (!word || !rest.ptr) {
		wz_buf_addz(b, wz_str_trim(key).len ? "(left out)\n" : "\n");
		return;
	}
	wz_buf_add(b, key);
	wz_buf_addc(b, ':');
	rest = wz_str_trim(rest);
	for (size_t i = 0; i < rest.len; i++)
		shown = shown && !memchr("{[:/#@", rest.ptr[i], 6);
	if (rest.len) {
		wz_buf_addc(b, ' ');
		wz_buf_add(b, shown ? rest : WZ_STR("(left out)"));
	}
	wz_buf_addc(b, '\n');
}

static int config(struct making *m, struct wz_err *err)
{
	struct wz_file_text t = {0};
	if (wz_file_read(WZ_CONFIG_PATH, WZ_CONFIG_BYTES_MAX, m->d->cli->mem, &t, err) < 0)
		return 0;
	for (struct wz_str rest = wz_file_text_str(&t); rest.ptr;)
		redact_line(&m->part, wz_str_split(&rest, '\n'));
	wz_file_text_release(&t);
	return put(m, "config.txt", err);
}

/* ---- the machine ---- */

static void output_of(struct making *m, const char *const *argv)
{
	struct wz_file_text t = {0};
	struct wz_err err;
	int status = 0;
	wz_buf_addz(&m->part, "$");
	for (unsigned i = 0; argv[i]; i++) {
		wz_buf_addc(&m->part, ' ');
		wz_buf_addz(&m->part, argv[i]);
	}
	wz_buf_addc(&m->part, '\n');
	if (wz_proc_capture(argv, 10000, 1u << 20, m->d->cli->mem, &t, &status, &err) < 0)
		wz_buf_addz(&m->part, err.text);
	else
		wz_buf_add(&m->part, wz_file_text_str(&t));
	wz_buf_addc(&m->part, '\n');
	wz_file_text_release(&t);
}

static void file_of(struct making *m, const char *path)
{
	struct wz_file_text t = {0};
	struct wz_err err;
	wz_buf_addz(&m->part, path);
	wz_buf_addz(&m->part, ":\n");
	if (wz_file_read(path, 1u << 20, m->d->cli->mem, &t, &err) < 0)
		wz_buf_addz(&m->part, err.text);
	else
		wz_buf_add(&m->part, wz_file_text_str(&t));
	wz_buf_addc(&m->part, '\n');
	wz_file_text_release(&t);
}

static int machine(struct making *m, struct wz_err *err)
{
	struct utsname u;
	wz_buf_addz(&m->part, "wz ");
	wz_buf_addz(&m->part, wz_version);
	if (uname(&u) == 0) {
		wz_buf_addz(&m->part, "\n");
		wz_buf_addz(&m->part, u.sysname);
		wz_buf_addz(&m->part, " ");
		wz_buf_addz(&m->part, u.release);
		wz_buf_addz(&m->part, " ");
		wz_buf_addz(&m->part, u.machine);
	}
	wz_buf_addz(&m->part, "\n\n");
	file_of(m, "/etc/os-release");
	file_of(m, "/proc/meminfo");
	file_of(m, "/proc/loadavg");
	file_of(m, "/proc/self/cgroup");
	output_of(m, (const char *[]){"df", "-h", m->d->state, NULL});
	output_of(
	        m, (const char *[]){"nvidia-smi", "--query-gpu=index,name,driver_version,memory.total,memory.used",
	                   "--format=csv", NULL});
	output_of(m, (const char *[]){"systemctl", "show", "whalezen.service", "-p",
	                     "ActiveState,SubState,NRestarts,ExecMainStatus,MemoryCurrent,Result", NULL});
	return put(m, "machine.txt", err);
}

/* ---- jobs, attempts, journal ---- */

static int attempt_line(void *ctx, const struct wz_attempt_row *r)
{
	struct making *m = ctx;
	char text[400];
	int n = snprintf(text, sizeof text,
	        "  attempt %lld task %lld node %.*s devices %.*s decided %lld started %lld ended %lld end %lld "
	        "exit %lld signal %lld\n",
	        (long long)r->attempt, (long long)r->task, (int)r->node.len, r->node.len ? r->node.ptr : "",
	        (int)r->devices.len, r->devices.len ? r->devices.ptr : "", (long long)r->decided_us,
	        (long long)r->started_us, (long long)r->ended_us, (long long)r->end, (long long)r->exit_code,
	        (long long)r->signal);
	wz_buf_add(&m->part, (struct wz_str){text, n > 0 && (size_t)n < sizeof text ? (size_t)n : 0});
	return 0;
}

static int job_line(void *ctx, const struct wz_job_row *r)
{
	struct making *m = ctx;
	struct wz_err err;
	char text[300];
	(void)snprintf(text, sizeof text,
	        "job %lld uid %lld state %lld attempt %lld priority %lld tasks %lld submitted %lld started %lld "
	        "ended %lld end %lld exit %lld signal %lld profile ",
	        (long long)r->job, (long long)r->uid, (long long)r->state, (long long)r->attempt,
	        (long long)r->priority, (long long)r->tasks, (long long)r->submitted_us, (long long)r->started_us,
	        (long long)r->ended_us, (long long)r->end, (long long)r->exit_code, (long long)r->signal);
	wz_buf_addz(&m->part, text);
	wz_buf_add(&m->part, r->profile);
	if (m->commands) {
		wz_buf_addz(&m->part, " name ");
		wz_buf_add_json(&m->part, r->name);
		wz_buf_addz(&m->part, " argv ");
		json_t *spec = json_loadb(r->spec.len ? r->spec.ptr : "", r->spec.len, 0, NULL);
		char *argv = json_dumps(json_object_get(spec, "argv"), JSON_COMPACT);
		wz_buf_addz(&m->part, argv ? argv : "[]");
		free(argv);
		json_decref(spec);
	}
	wz_buf_addc(&m->part, '\n');
	return wz_store_attempts(m->s, (uint64_t)r->job, attempt_line, m, &err) < 0 ? 1 : 0;
}

/* Texts in an event that people chose, which no replay needs. */
static const char *const private_keys[] = {"user", "queue", "name", "reason", "text", "comment", "labels"};

static int record_line(void *ctx, const struct wz_journal_record *r)
{
	struct making *m = ctx;
	json_t *j;
	char *text;
	if (r->kind == WZ_RECORD_NOTE)
		return 0;
	j = json_loadb(r->line.ptr, r->line.len, 0, NULL);
	for (unsigned i = 0; i < sizeof private_keys / sizeof private_keys[0]; i++)
		if (json_object_get(j, private_keys[i]))
			(void)json_object_set_new(j, private_keys[i], json_string("(left out)"));
	text = json_dumps(j, JSON_COMPACT);
	wz_buf_add_u64(&m->part, r->seq);
	wz_buf_addc(&m->part, ' ');
	wz_buf_addz(&m->part, text ? text : "(not JSON)");
	wz_buf_addc(&m->part, '\n');
	free(text);
	json_decref(j);
	return 0;
}

static int history(struct making *m, struct wz_err *err)
{
	struct wz_job_query q = {.limit = JOBS_MAX, .newest_first = true};
	struct wz_store_status st;
	int rc = wz_store_jobs(m->s, &q, job_line, m, err);
	if (rc >= 0)
		rc = put(m, "jobs.txt", err);
	wz_store_status(m->s, &st);
	uint64_t last = st.appended_seq > st.durable_seq ? st.appended_seq : st.durable_seq;
	uint64_t from = last > RECORDS_MAX ? last - RECORDS_MAX : 1;
	if (rc >= 0 && wz_store_journal(m->s, from, RECORDS_MAX, record_line, m, err) == -ESTALE)
		wz_buf_addz(&m->part, "(older records are compacted)\n");
	return rc < 0 ? rc : put(m, "journal.txt", err);
}

static int daemon_parts(struct making *m, struct wz_err *err)
{
	static const struct {
		const char *path, *file;
	} parts[] = {{"/metrics", "metrics.txt"}, {"/v1/info", "info.json"}, {"/v1/devices", "devices.json"}};
	for (unsigned i = 0; m->d->daemon.http && i < sizeof parts / sizeof parts[0]; i++) {
		struct wz_httpc_call c = {.method = "GET", .path = parts[i].path, .total_ms = 10000};
		struct wz_httpc_reply r;
		if (wz_httpc_do(m->d->daemon.http, &c, &r, err) < 0)
			return 0; /* no daemon */
		wz_buf_add(&m->part, wz_buf_str(&r.body));
		wz_buf_release(&r.body);
		int rc = put(m, parts[i].file, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- the whole ---- */

static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (const struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	(void)closedir(dir);
	(void)rmdir(path);
}

static int pack(struct making *m, const char *path, struct wz_err *err)
{
	const char *argv[] = {"tar", "--owner=0", "--group=0", "-czf", path, "-C", m->dir, ".", NULL};
	struct wz_file_text t = {0};
	int status = 0;
	(void)umask(077);
	int rc = wz_proc_capture(argv, 60000, 65536, m->d->cli->mem, &t, &status, err);
	wz_file_text_release(&t);
	if (rc == 0 && status != 0)
		rc = wz_err_set(err, -EIO, "FileError", WZ_STR("tar could not write "), wz_str(path));
	return rc;
}

int wz_doctor_bundle(struct wz_doctor *d, struct wz_store *s, const char *path, bool commands, struct wz_err *err)
{
	struct making m = {.d = d, .s = s, .dir = "/tmp/wz-bundle-XXXXXX", .commands = commands};
	char target[WZ_DAEMON_PATH_MAX];
	int rc = wz_daemon_state(wz_str(path), target, err);
	if (rc < 0)
		return rc;
	if (!mkdtemp(m.dir))
		return wz_file_err(err, -errno, "create", m.dir);
	wz_buf_init(&m.part, d->cli->mem, PART_MAX);
	wz_buf_add(&m.part, wz_buf_str(&d->report));
	rc = put(&m, "doctor.txt", err);
	if (rc == 0)
		rc = machine(&m, err);
	if (rc == 0)
		rc = config(&m, err);
	if (rc == 0)
		rc = history(&m, err);
	if (rc == 0)
		rc = daemon_parts(&m, err);
	if (rc == 0)
		rc = pack(&m, target, err);
	wz_buf_release(&m.part);
	remove_dir(m.dir);
	if (rc == 0) {
		wz_buf_addz(&d->report, "wrote ");
		wz_buf_addz(&d->report, target);
		wz_buf_addc(&d->report, '\n');
	}
	return rc;
}
