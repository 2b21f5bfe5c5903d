/* SPDX-License-Identifier: Apache-2.0 */
/* `wz reserve add|list|remove`. The core knows moments; dates, time zones and weeks are made into moments here. */
#include "cli/daemon.h"

#include "cli/table.h"
#include "core/queue.h"
#include "os/calendar.h"

#include <time.h>

#define WEEKS_MAX 53u

struct args {
	struct wz_str socket, from, to, zone, nodes, type, queue, user;
	uint64_t length_us, gpus, weeks;
	bool json;
};
static const struct wz_opt add_opts[] = {
        {"from", 0, WZ_OPT_STRING, "TIME", "when it begins: 2026-03-26T14:00, in the time zone; Z at the end: UTC",
                offsetof(struct args, from), 0},
        {"to", 0, WZ_OPT_STRING, "TIME", "when it is over", offsetof(struct args, to), 0},
        {"for", 0, WZ_OPT_DURATION, "TIME", "or how long it is: 2h", offsetof(struct args, length_us), 0},
        {"nodes", 0, WZ_OPT_STRING, "NODE,...", "whole nodes", offsetof(struct args, nodes), 0},
        {"gpus", 0, WZ_OPT_U64, "N", "or so many devices", offsetof(struct args, gpus), 1u << 26},
        {"gpu-type", 0, WZ_OPT_STRING, "MODEL", "of this model", offsetof(struct args, type), 0},
        {"queue", 0, WZ_OPT_STRING, "QUEUE", "for jobs of this queue and those below", offsetof(struct args, queue),
                0},
        {"user", 0, WZ_OPT_STRING, "USER", "for jobs of this user", offsetof(struct args, user), 0},
        {"weeks", 0, WZ_OPT_U64, "N", "at the same time of day of so many weeks, as NAME.1, NAME.2, ...",
                offsetof(struct args, weeks), WEEKS_MAX},
        {"tz", 0, WZ_OPT_STRING, "ZONE", "time zone, such as Europe/Berlin (yours)", offsetof(struct args, zone),
                0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};
static const struct wz_opt list_opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};
static const struct wz_opt remove_opts[] = {WZ_DAEMON_OPT(struct args), WZ_OPT_END};

struct span {
	struct wz_civil from, to;
	bool from_utc, to_utc;
};

/* The moments of the week: the end is a time of day too, or as long after the begin. */
static int moments(
        const struct args *a, const struct span *s, int week, uint64_t *from, uint64_t *to, struct wz_err *err)
{
	char zone[80];
	if (a->zone.len >= sizeof zone)
		return wz_err_set(err, -ENOENT, "UnknownZone", WZ_STR("that is no time zone"));
	(void)snprintf(zone, sizeof zone, "%.*s", (int)a->zone.len, a->zone.ptr);
	int r = wz_calendar_us(s->from_utc ? "UTC" : zone, &s->from, 7 * week, from, err);
	if (r == 0 && a->length_us)
		*to = *from + a->length_us;
	else if (r == 0)
		r = wz_calendar_us(s->to_utc ? "UTC" : zone, &s->to, 7 * week, to, err);
	return r;
}

static void entry(struct wz_buf *b, const char *key, struct wz_str value)
{
	if (!value.len)
		return;
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, key);
	wz_buf_addc(b, '=');
	wz_buf_add(b, value);
}

static int put(struct wz_daemon *d, const char *name, const struct args *a, uint64_t from, uint64_t to)
{
	char path[160], rules[WZ_RULES_TEXT_MAX];
	struct wz_buf r, body, answer;
	struct wz_num n;
	wz_buf_init_fixed(&r, rules, sizeof rules);
	wz_buf_addz(&r, "from=");
	wz_buf_add_u64(&r, from);
	wz_buf_addz(&r, " to=");
	wz_buf_add_u64(&r, to);
	entry(&r, "nodes", a->nodes);
	entry(&r, "gpus", a->gpus ? wz_str_u64(&n, a->gpus) : WZ_STR(""));
	entry(&r, "gpu-type", a->type);
	entry(&r, "queue", a->queue);
	entry(&r, "user", a->user);
	if (r.status < 0) {
		struct wz_err err;
		(void)wz_err_set(&err, -E2BIG, "TooLong", WZ_STR("this reservation names too much"));
		return wz_cli_fail(&err);
	}
	wz_buf_init(&body, d->cli->mem, 65536);
	wz_buf_addz(&body, "{\"rules\":");
	wz_buf_add_json(&body, wz_buf_str(&r));
	wz_buf_addc(&body, '}');
	(void)snprintf(path, sizeof path, "/v1/reservations/%s", name);
	int code = wz_daemon_call(d, "PUT", path, wz_buf_str(&body), NULL, &answer);
	if (code == 0)
		wz_buf_release(&answer);
	wz_buf_release(&body);
	return code;
}

static int add_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct span s = {.from_utc = false};
	struct wz_daemon d;
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one name is expected");
	if (!wz_queue_name_ok(wz_str(argv[0])) || strlen(argv[0]) > 58)
		return wz_cli_usage(v, "a reservation has a name of 1 to 58 letters, digits, '.', '_' and '-'");
	if (!a.from.len || !a.to.len == !a.length_us)
		return wz_cli_usage(v, "--from and either --to or --for are needed");
	if (wz_civil_parse(a.from, &s.from, &s.from_utc, &err) < 0 ||
	        (a.to.len && wz_civil_parse(a.to, &s.to, &s.to_utc, &err) < 0))
		return wz_cli_usage(v, err.text);
	int code = wz_daemon_open(&d, cli, a.socket);
	for (uint32_t week = 0; code == 0 && week < (a.weeks ? a.weeks : 1); week++) {
		char name[WZ_QUEUE_NAME_MAX + 8];
		uint64_t from = 0, to = 0;
		(void)snprintf(name, sizeof name, a.weeks ? "%s.%u" : "%s", argv[0], week + 1);
		if (moments(&a, &s, (int)week, &from, &to, &err) < 0)
			code = wz_cli_usage(v, err.text);
		else
			code = put(&d, name, &a, from, to);
	}
	wz_daemon_close(&d);
	return code;
}

static void time_cell(struct wz_table *t, int64_t us)
{
	char text[32] = "-";
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	if (localtime_r(&s, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm);
	wz_table_addz(t, text);
}

/* What follows from= and to=. */
static struct wz_str what_of(struct wz_str rules)
{
	(void)wz_str_split(&rules, ' ');
	(void)wz_str_split(&rules, ' ');
	return rules;
}

static int list_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	json_t *root = NULL, *r;
	size_t i;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, "/v1/reservations", a.json, &root);
	if (code == 0 && root) {
		static const char *const head[] = {"NAME", "STATE", "FROM", "TO", "WHAT"};
		struct wz_table t;
		wz_table_init(&t, cli->mem, 5, 0);
		for (i = 0; i < 5; i++)
			wz_table_addz(&t, head[i]);
		json_array_foreach(json_object_get(root, "reservations"), i, r)
		{
			wz_table_add(&t, wz_daemon_text(r, "name"));
			wz_table_add(&t, wz_daemon_text(r, "state"));
			time_cell(&t, wz_daemon_int(r, "start_us"));
			time_cell(&t, wz_daemon_int(r, "end_us"));
			wz_table_add(&t, what_of(wz_daemon_text(r, "rules")));
		}
		wz_table_print(&t, &cli->out);
		wz_table_release(&t);
	}
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

static int remove_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf answer;
	int worst = 0, n = wz_cli_opts(v, &a, argc, argv);
	if (n < 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "names of reservations are expected");
	for (int i = 0; i < n; i++)
		if (!wz_queue_name_ok(wz_str(argv[i])))
			return wz_cli_usage(v, "that is no name of a reservation");
	int code = wz_daemon_open(&d, cli, a.socket);
	for (int i = 0; code == 0 && i < n; i++) {
		char path[160];
		(void)snprintf(path, sizeof path, "/v1/reservations/%s", argv[i]);
		int one = wz_daemon_call(&d, "DELETE", path, WZ_STR(""), NULL, &answer);
		if (one == 0)
			wz_buf_release(&answer);
		else
			worst = one;
	}
	wz_daemon_close(&d);
	return code ? code : worst;
}

static const struct wz_verb verb_add = {
        .name = "add",
        .summary = "reserve nodes or devices for a time (admins)",
        .usage = "wz reserve add --from TIME --to TIME|--for TIME --nodes NODE,...|--gpus N [options] NAME",
        .examples = "# maintenance: nothing that could still run then starts on the node\n"
                    "wz reserve add --from 2026-03-26T22:00 --for 4h --nodes gpu-03 fans\n"
                    "# a class, every Thursday of a term, at 14:00 also after the clocks have changed\n"
                    "wz reserve add --from 2026-03-26T14:00 --for 2h --gpus 4 --gpu-type a100 --queue class "
                    "--weeks 14 --tz Europe/Berlin ml101\n",
        .opts = add_opts,
        .fn = add_fn,
        .more = "What already runs is not stopped. Jobs start on what is reserved for others only when they are "
                "over before it begins, by\n"
                "their time limit; those without one do not start there.\n",
};
static const struct wz_verb verb_list = {
        .name = "list",
        .summary = "reservations that are not over",
        .usage = "wz reserve list [--json]",
        .examples = "wz reserve list\n",
        .opts = list_opts,
        .fn = list_fn,
        .reads = true,
};
static const struct wz_verb verb_remove = {
        .name = "remove",
        .summary = "withdraw reservations (admins)",
        .usage = "wz reserve remove NAME...",
        .examples = "wz reserve remove fans\n",
        .opts = remove_opts,
        .fn = remove_fn,
};
static const struct wz_verb *const verbs[] = {&verb_add, &verb_list, &verb_remove, NULL};
const struct wz_verb wz_verb_reserve = {
        .name = "reserve",
        .summary = "capacity for somebody, or nobody, from a time to a time",
        .usage = "wz reserve add|list|remove",
        .sub = verbs,
};
