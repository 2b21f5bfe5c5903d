/* SPDX-License-Identifier: Apache-2.0 */
/* `wz top`: devices and jobs, live. The screen is drawn as a whole, by four escape sequences that every terminal knows, on
 * the alternate screen; where the output is no terminal, one picture is printed. */
#include "cli/daemon.h"

#include "base/quant.h"
#include "cli/table.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tty.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct args {
	struct wz_str socket, node, user;
	uint64_t every_us;
	bool json, once;
};
static const struct wz_opt opts[] = {
        {"every", 'd', WZ_OPT_DURATION, "TIME", "between two pictures (2s)", offsetof(struct args, every_us), 0},
        {"node", 0, WZ_OPT_STRING, "NODE", "this node alone", offsetof(struct args, node), 0},
        {"user", 'u', WZ_OPT_STRING, "NAME", "jobs of this user", offsetof(struct args, user), 0},
        {"once", '1', WZ_OPT_FLAG, NULL, "one picture", offsetof(struct args, once), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document: info, devices, jobs", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

struct picture {
	json_t *info, *devices, *jobs;
};

static void forget(struct picture *p)
{
	json_decref(p->info);
	json_decref(p->devices);
	json_decref(p->jobs);
	*p = (struct picture){NULL, NULL, NULL};
}

static int take(struct wz_daemon *d, const struct args *a, struct picture *ret)
{
	struct picture p = {NULL, NULL, NULL};
	struct wz_buf path;
	int code = wz_daemon_get(d, "/v1/info", false, &p.info);
	wz_buf_init(&path, d->cli->mem, 65536);
	wz_buf_addz(&path, "/v1/devices?");
	wz_daemon_query(&path, "node", a->node);
	if (code == 0)
		code = wz_daemon_get(d, wz_buf_z(&path), false, &p.devices);
	wz_buf_clear(&path);
	wz_buf_addz(&path, "/v1/jobs?state=active,waiting");
	wz_daemon_query(&path, "user", a->user);
	if (code == 0)
		code = wz_daemon_get(d, wz_buf_z(&path), false, &p.jobs);
	wz_buf_release(&path);
	if (code)
		forget(&p);
	*ret = p;
	return code;
}

/* "[#####.....]" of a percentage. */
static void bar(struct wz_table *t, int64_t pct)
{
	char text[32];
	struct wz_buf b;
	if (pct < 0) {
		wz_table_addz(t, "?");
		return;
	}
	if (pct > 100)
		pct = 100;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, pct < 10 ? "  " : pct < 100 ? " " : "");
	wz_buf_add_i64(&b, pct);
	wz_buf_addz(&b, "% ");
	for (int i = 0; i < 10; i++)
		wz_buf_addc(&b, i < (pct + 5) / 10 ? '|' : '.');
	wz_table_add(t, wz_buf_str(&b));
}

static void known(struct wz_table *t, int64_t v, int64_t scale, const char *unit)
{
	char text[32];
	if (v < 0)
		(void)snprintf(text, sizeof text, "?");
	else
		(void)snprintf(text, sizeof text, "%lld%s", (long long)(v / scale), unit);
	wz_table_addz(t, text);
}

static void device_rows(struct wz_buf *b, const struct wz_mem *mem, const json_t *list)
{
	static const char *const head[] = {
	        "NODE", "DEV", "MODEL", "USE", "MEMORY", "TEMP", "POWER", "FREE", "JOBS"};
	struct wz_table t;
	json_t *j, *x;
	size_t i, k;
	wz_table_init(&t, mem, 9, 1u << 1 | 1u << 5 | 1u << 6 | 1u << 7);
	for (i = 0; i < 9; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(list, i, j)
	{
		char jobs[256];
		struct wz_buf w;
		struct wz_str health = wz_daemon_text(j, "health");
		wz_buf_init_fixed(&w, jobs, sizeof jobs);
		if (!wz_str_eq(health, WZ_STR("ok"))) {
			wz_buf_add(&w, health);
			wz_buf_addc(&w, ' ');
		}
		json_array_foreach(json_object_get(j, "jobs"), k, x)
		{
			if (k)
				wz_buf_addc(&w, ',');
			wz_buf_add_i64(&w, json_integer_value(x));
		}
		if (wz_daemon_int(j, "foreign"))
			wz_buf_addz(&w, w.len ? " + foreign" : "foreign");
		wz_table_add(&t, wz_daemon_text(j, "node"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "index"));
		wz_table_add(&t, wz_daemon_text(j, "model"));
		bar(&t, json_object_get(j, "util_pct") ? wz_daemon_int(j, "util_pct") : -1);
		bar(&t, json_object_get(j, "mem_used_pct") ? wz_daemon_int(j, "mem_used_pct") : -1);
		known(&t, json_object_get(j, "temp_c") ? wz_daemon_int(j, "temp_c") : -1, 1, "C");
		known(&t, json_object_get(j, "power_mw") ? wz_daemon_int(j, "power_mw") : -1, 1000, "W");
		wz_table_add_fixed(&t, wz_daemon_int(j, "compute_free_milli"), 3);
		wz_table_add(&t, w.len ? wz_buf_str(&w) : WZ_STR("-"));
	}
	wz_table_print(&t, b);
	wz_table_release(&t);
}

static void job_rows(struct wz_buf *b, const struct wz_mem *mem, const json_t *list, int64_t now)
{
	static const char *const head[] = {"JOB", "USER", "NAME", "STATE", "TIME", "PRIO", "PROFILE", "REASON"};
	struct wz_table t;
	json_t *j;
	size_t i;
	wz_table_init(&t, mem, 8, 1u << 0 | 1u << 4 | 1u << 5);
	for (i = 0; i < 8; i++)
		wz_table_addz(&t, head[i]);
	for (unsigned pass = 0; pass < 2; pass++) { /* what runs first */
		json_array_foreach(list, i, j)
		{
			char text[64];
			struct wz_buf w;
			struct wz_num n;
			int64_t start = wz_daemon_int(j, "start_us");
			struct wz_str state = wz_daemon_text(j, "state");
			bool waits = wz_str_eq(state, WZ_STR("PENDING")) || wz_str_eq(state, WZ_STR("HELD"));
			if (waits != (pass == 1))
				continue;
			int64_t us = now - (start && !waits ? start : wz_daemon_int(j, "submit_us"));
			wz_buf_init_fixed(&w, text, sizeof text);
			wz_duration_format(&w, us > 0 ? (uint64_t)us / 1000000 * 1000000 : 0);
			wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "id"));
			wz_table_add(&t, wz_daemon_text(j, "user"));
			wz_table_add(&t, wz_daemon_text(j, "name"));
			wz_table_add(&t, state);
			wz_table_add(&t, wz_buf_str(&w));
			wz_table_add(&t, wz_str_i64(&n, wz_daemon_int(j, "priority")));
			wz_table_add(&t, wz_daemon_text(j, "profile"));
			wz_table_add(&t, wz_daemon_text(j, "reason"));
		}
	}
	wz_table_print(&t, b);
	wz_table_release(&t);
}

static void draw(struct wz_buf *b, const struct wz_mem *mem, const struct picture *p)
{
	int64_t now = wz_daemon_int(p->info, "now_us");
	wz_buf_add(b, wz_daemon_text(p->info, "host"));
	wz_buf_addz(b, "  devices ");
	wz_buf_add_i64(b, wz_daemon_int(p->info, "devices_busy"));
	wz_buf_addz(b, " of ");
	wz_buf_add_i64(b, wz_daemon_int(p->info, "devices"));
	wz_buf_addz(b, " busy  jobs ");
	wz_buf_add_i64(b, wz_daemon_int(p->info, "running"));
	wz_buf_addz(b, " running, ");
	wz_buf_add_i64(b, wz_daemon_int(p->info, "pending"));
	wz_buf_addz(b, " waiting\n\n");
	device_rows(b, mem, json_object_get(p->devices, "devices"));
	wz_buf_addc(b, '\n');
	job_rows(b, mem, json_object_get(p->jobs, "jobs"), now);
}

static void add_json(struct wz_cli *cli, const struct picture *p)
{
	json_t *all = json_pack("{s:O, s:O, s:O}", "info", p->info, "devices",
	        json_object_get(p->devices, "devices"), "jobs", json_object_get(p->jobs, "jobs"));
	char *text = json_dumps(all, JSON_COMPACT);
	wz_buf_addz(&cli->out, text ? text : "{}");
	wz_buf_addc(&cli->out, '\n');
	free(text);
	json_decref(all);
}

/* ---- the screen ---- */

static volatile sig_atomic_t over;

static void on_end(int sig)
{
	(void)sig;
	over = 1;
}

static void put(struct wz_buf *screen, const struct wz_buf *text)
{
	struct winsize w = {.ws_row = 24, .ws_col = 80};
	struct wz_str rest = wz_buf_str(text);
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	wz_buf_clear(screen);
	wz_buf_addz(screen, "\033[H");
	for (unsigned row = 0; row + 1 < w.ws_row; row++) {
		struct wz_str line = rest.ptr && rest.len ? wz_str_split(&rest, '\n') : WZ_STR("");
		size_t n = 0, columns = 0; /* whole characters, as many as fit */
		while (n < line.len && columns < w.ws_col) {
			n++;
			while (n < line.len && ((unsigned char)line.ptr[n] & 0xc0) == 0x80)
				n++;
			columns++;
		}
		wz_buf_add(screen, (struct wz_str){line.ptr, n});
		wz_buf_addz(screen, "\033[K\r\n");
	}
	wz_buf_addz(screen, "q: leave\033[J");
	(void)wz_fd_write_all(STDOUT_FILENO, wz_buf_str(screen));
}

static int live(struct wz_daemon *d, const struct args *a)
{
	struct termios was, raw;
	struct sigaction end = {.sa_handler = on_end};
	struct wz_buf text, screen;
	struct picture p;
	bool keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;
	int code = take(d, a, &p); /* before the screen is taken: an error is seen */
	if (code)
		return code;
	wz_buf_init(&text, d->cli->mem, (size_t)64 << 20);
	wz_buf_init(&screen, d->cli->mem, (size_t)64 << 20);
	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGTERM, &end, NULL);
	(void)sigaction(SIGHUP, &end, NULL);
	if (keys) {
		raw = was;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	(void)wz_fd_write_all(STDOUT_FILENO, WZ_STR("\033[?1049h"));
	while (code == 0 && !over) {
		struct pollfd in = {keys ? STDIN_FILENO : -1, POLLIN, 0};
		char key = 0;
		wz_buf_clear(&text);
		draw(&text, d->cli->mem, &p);
		forget(&p);
		put(&screen, &text);
		if (poll(&in, 1, (int)(a->every_us / 1000)) > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q'))
			break;
		if (!over)
			code = take(d, a, &p);
	}
	forget(&p);
	(void)wz_fd_write_all(STDOUT_FILENO, WZ_STR("\033[?1049l"));
	if (keys)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
	wz_buf_release(&text);
	wz_buf_release(&screen);
	return code;
}

static int top_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.every_us = 2000000};
	struct wz_daemon d;
	struct picture p = {NULL, NULL, NULL};
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	if (a.every_us < 100000 || a.every_us > 3600000000u)
		return wz_cli_usage(v, "--every: between 100ms and 1h");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0 && !a.json && !a.once && wz_tty_is(STDOUT_FILENO)) {
		code = live(&d, &a);
	} else if (code == 0 && (code = take(&d, &a, &p)) == 0) {
		if (a.json)
			add_json(cli, &p);
		else
			draw(&cli->out, cli->mem, &p);
	}
	forget(&p);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_top = {
        .name = "top",
        .summary = "devices and jobs, live",
        .usage = "wz top [--every TIME] [--node NODE] [--user NAME] [--once|--json]",
        .examples = "wz top\nwz top --once\n",
        .opts = opts,
        .fn = top_fn,
        .more = "q leaves. Where the output is no terminal, one picture is printed.\n",
};
