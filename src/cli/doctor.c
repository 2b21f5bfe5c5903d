/* SPDX-License-Identifier: Apache-2.0 */
/* `wz doctor`: is all well, beside a running daemon or without one: the journal's sums, the replay with every digest, the
 * tables against a rebuild, the directory, its disk, the daemon's own checks. And what helps when it is not: fix, backup,
 * restore, a bundle for who is asked for help. */
#include "cli/doctor.h"

#include "os/file.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define REPORT_MAX ((size_t)16 << 20)
#define DISK_LOW_BYTES ((uint64_t)1 << 30)

struct args {
	struct wz_str state, socket, backup, restore, bundle;
	bool check, fix, replace, commands;
};
static const struct wz_opt opts[] = {
        {"check", 0, WZ_OPT_FLAG, NULL, "check everything (the default)", offsetof(struct args, check), 0},
        {"fix", 0, WZ_OPT_FLAG, NULL, "make the tables anew from the journal; no daemon may run",
                offsetof(struct args, fix), 0},
        {"backup", 0, WZ_OPT_STRING, "FILE", "a consistent copy of the store, while the daemon runs or not",
                offsetof(struct args, backup), 0},
        {"restore", 0, WZ_OPT_STRING, "FILE", "put a backup into the state directory; no daemon may run",
                offsetof(struct args, restore), 0},
        {"replace", 0, WZ_OPT_FLAG, NULL, "with --backup and --restore: replace what is there",
                offsetof(struct args, replace), 0},
        {"bundle", 0, WZ_OPT_STRING, "FILE",
                "write a .tar.gz for who helps: no secrets, names, commands, or environments",
                offsetof(struct args, bundle), 0},
        {"with-commands", 0, WZ_OPT_FLAG, NULL, "with --bundle: names and command lines of jobs too",
                offsetof(struct args, commands), 0},
        {"state", 0, WZ_OPT_STRING, "DIR", "of the daemon (/var/lib/whalezen, or $XDG_STATE_HOME/whalezen)",
                offsetof(struct args, state), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void line(struct wz_doctor *d, const char *word, const char *what, const char *detail)
{
	d->bad += strcmp(word, "BAD  ") == 0;
	wz_buf_addz(&d->report, word);
	wz_buf_addz(&d->report, what);
	if (*detail) {
		wz_buf_addz(&d->report, ": ");
		wz_buf_addz(&d->report, detail);
	}
	wz_buf_addc(&d->report, '\n');
}

static void look_dir(struct wz_doctor *d)
{
	struct stat st;
	struct statvfs fs;
	struct statfs magic;
	char text[200];
	const char *name = "", *warning = NULL;
	if (stat(d->state, &st) < 0) {
		line(d, "BAD  ", "state directory", strerror(errno));
		return;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		line(d, "BAD  ", "state directory", "others can write to it; run: chmod go-w");
	else
		line(d, "ok   ", "state directory", d->state);
	if (statfs(d->state, &magic) == 0) {
		if (wz_store_judge_fs((unsigned long)magic.f_type, &name, &warning) < 0)
			line(d, "BAD  ", "file system: a network disk, on which no journal is safe", name);
		else
			line(d, warning ? "warn " : "ok   ", "file system", warning ? warning : "local");
	}
	if (statvfs(d->state, &fs) == 0) {
		uint64_t avail = (uint64_t)fs.f_bavail * fs.f_frsize;
		(void)snprintf(text, sizeof text, "%llu MiB free, %llu files free",
		        (unsigned long long)(avail >> 20), (unsigned long long)fs.f_favail);
		line(d, avail < DISK_LOW_BYTES || (fs.f_files && fs.f_favail < 10000) ? "warn " : "ok   ", "disk",
		        text);
	}
}

static void look_config(struct wz_doctor *d)
{
	struct wz_config c;
	struct wz_err err;
	if (access(WZ_CONFIG_PATH, F_OK) != 0)
		return;
	wz_config_init(&c, d->cli->mem);
	if (wz_config_read(&c, WZ_CONFIG_PATH, &err) < 0)
		line(d, "BAD  ", "configuration", err.text);
	else
		line(d, "ok   ", "configuration", WZ_CONFIG_PATH);
	wz_config_release(&c);
}

/* What only the daemon knows: its agent, its queue of writes, its invariants. */
static void look_daemon(struct wz_doctor *d)
{
	struct wz_httpc_call c = {.method = "GET", .path = "/v1/doctor", .total_ms = 30000};
	struct wz_httpc_reply r;
	struct wz_err err;
	json_t *root, *j;
	size_t i;
	if (!d->daemon.http || wz_httpc_do(d->daemon.http, &c, &r, &err) < 0) {
		line(d, "warn ", "daemon", "none is reachable");
		return;
	}
	root = json_loadb(r.body.data ? r.body.data : "", r.body.len, 0, NULL);
	if (r.status != 200)
		line(d, "warn ", "daemon", "runs, and tells its own checks to admins alone");
	json_array_foreach(json_object_get(root, "checks"), i, j)
	{
		struct wz_str result = wz_daemon_text(j, "result"), text = wz_daemon_text(j, "text"),
		              name = wz_daemon_text(j, "name"), remedy = wz_daemon_text(j, "remedy");
		char what[100], detail[600];
		(void)snprintf(what, sizeof what, "daemon, %.*s", (int)name.len, name.ptr);
		(void)snprintf(detail, sizeof detail, "%.*s%s%.*s", (int)text.len, text.ptr, remedy.len ? "; " : "",
		        (int)remedy.len, remedy.len ? remedy.ptr : "");
		line(d,
		        wz_str_eq(result, WZ_STR("fail"))   ? "BAD  "
		        : wz_str_eq(result, WZ_STR("warn")) ? "warn "
		                                            : "ok   ",
		        what, detail);
	}
	json_decref(root);
	wz_buf_release(&r.body);
}

void wz_doctor_look(struct wz_doctor *d)
{
	look_dir(d);
	look_config(d);
	look_daemon(d);
}

static int open_store(struct wz_doctor *d, bool read_only, struct wz_store **ret, struct wz_err *err)
{
	struct wz_store_options o = {.dir = d->state, .version = wz_version, .read_only = read_only};
	return wz_store_open(&o, ret, err);
}

/* Negative: could not look. */
static int examine(struct wz_doctor *d, const struct args *a, struct wz_err *err)
{
	struct wz_store *s = NULL;
	int rc = open_store(d, !a->fix, &s, err);
	if (rc == 0)
		rc = a->fix ? wz_store_fix(s, d->cli->mem, &d->report, err)
		            : wz_store_check(s, d->cli->mem, &d->report, err);
	if (rc >= 0) {
		d->bad += rc;
		wz_doctor_look(d);
	}
	if (rc >= 0 && a->bundle.len)
		rc = wz_doctor_bundle(d, s, a->bundle.ptr, a->commands, err);
	wz_store_close(s);
	return rc;
}

static int backup(struct wz_doctor *d, const struct args *a, struct wz_err *err)
{
	struct wz_store *s = NULL;
	char path[WZ_DAEMON_PATH_MAX];
	struct stat st;
	int rc = wz_daemon_state(a->backup, path, err);
	if (rc == 0)
		rc = open_store(d, true, &s, err);
	if (rc == 0)
		rc = wz_store_backup(s, path, a->replace, err);
	wz_store_close(s);
	if (rc == 0 && stat(path, &st) == 0) {
		wz_buf_addz(&d->cli->out, path);
		wz_buf_addz(&d->cli->out, ": ");
		wz_buf_add_u64(&d->cli->out, (uint64_t)st.st_size);
		wz_buf_addz(&d->cli->out, " bytes\n");
	}
	return rc;
}

static int restore(struct wz_doctor *d, const struct args *a, struct wz_err *err)
{
	struct wz_store_options o = {.dir = d->state, .version = wz_version};
	char path[WZ_DAEMON_PATH_MAX];
	int rc = wz_daemon_state(a->restore, path, err);
	if (rc == 0)
		rc = wz_store_restore_backup(&o, path, a->replace, err);
	if (rc == 0) {
		wz_buf_addz(&d->cli->out, "restored into ");
		wz_buf_addz(&d->cli->out, d->state);
		wz_buf_addz(&d->cli->out, "; jobs that were acknowledged after the backup are not in it\n");
	}
	return rc;
}

static int find_state(struct wz_cli *cli, struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	struct wz_config c;
	int rc = 0;
	if (given.len)
		return wz_daemon_state(given, ret, err);
	wz_config_init(&c, cli->mem);
	struct wz_str state = {NULL, 0};
	if (geteuid() == 0 && access(WZ_CONFIG_PATH, R_OK) == 0 && wz_config_read(&c, WZ_CONFIG_PATH, err) == 0)
		state = wz_str(c.state);
	if (!state.len && geteuid() == 0 && access(WZ_SYSTEM_STATE "/store.db", F_OK) == 0)
		state = WZ_STR(WZ_SYSTEM_STATE);
	rc = wz_daemon_state(state, ret, err);
	wz_config_release(&c);
	return rc;
}

static int doctor_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.check = false};
	struct wz_doctor d = {.cli = cli};
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	if ((a.fix || a.bundle.len) + (a.backup.len != 0) + (a.restore.len != 0) > 1)
		return wz_cli_usage(v, "one of --fix, --bundle, --backup and --restore at a time");
	wz_buf_init(&d.report, cli->mem, REPORT_MAX);
	int rc = find_state(cli, a.state, d.state, &err);
	struct wz_httpc_config hc = {.server = d.daemon.socket, .connect_ms = 2000};
	char beside[WZ_DAEMON_PATH_MAX];
	if (rc == 0 && a.state.len && !a.socket.len) { /* the daemon of that state, or none */
		rc = wz_daemon_socket(WZ_STR(""), wz_str(d.state), beside, &err);
		a.socket = wz_str(beside);
	}
	if (rc == 0 && wz_daemon_server(a.socket, d.daemon.socket, &err) == 0)
		(void)wz_httpc_new(&hc, cli->mem, &d.daemon.http, &err);
	if (rc == 0)
		rc = a.backup.len    ? backup(&d, &a, &err)
		     : a.restore.len ? restore(&d, &a, &err)
		                     : examine(&d, &a, &err);
	wz_daemon_close(&d.daemon);
	if (d.bad) /* what is bad goes where errors go */
		(void)wz_fd_write_all(STDERR_FILENO, wz_buf_str(&d.report));
	else
		wz_buf_add(&cli->out, wz_buf_str(&d.report));
	wz_buf_release(&d.report);
	if (rc < 0)
		return wz_cli_fail(&err);
	return d.bad ? WZ_EXIT_FAILED : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_doctor = {
        .name = "doctor",
        .summary = "check the daemon, its journal and its disk; fix, back up, restore, bundle",
        .usage = "wz doctor [--check|--fix|--backup FILE|--restore FILE|--bundle FILE] [--state DIR]",
        .examples = "wz doctor\n"
                    "wz doctor --backup /srv/backup/whalezen-$(date +%F).db\n"
                    "wz doctor --bundle /tmp/whalezen-support.tar.gz\n",
        .opts = opts,
        .fn = doctor_fn,
        .more = "Lines begin with ok, warn or BAD; the exit code is 1 when something is BAD.\n",
};
