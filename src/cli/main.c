/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the verb, answers --help and --version, runs it, and writes what it printed. */
#include "base/near.h"
#include "cli/cli.h"
#include "cli/page.h"
#include "cli/table.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/tty.h"

#include <unistd.h>

#define OUT_MAX ((size_t)4 << 30)

static void to_stderr(struct wz_buf *b)
{
	(void)wz_fd_write_all(STDERR_FILENO, wz_buf_str(b));
	wz_buf_release(b);
}

static void say(const char *before, struct wz_str text, const char *after)
{
	struct wz_buf b;
	wz_buf_init(&b, wz_os_mem(), 65536);
	wz_buf_addz(&b, before);
	wz_buf_add(&b, text);
	wz_buf_addz(&b, after);
	to_stderr(&b);
}

int wz_cli_fail(const struct wz_err *err)
{
	say("wz: ", wz_str(err->text), "\n");
	static const struct {
		const char *reason;
		int code;
	} codes[] = {{"NotFound", WZ_EXIT_NOT_FOUND}, {"NotAllowed", WZ_EXIT_REFUSED},
	        {"DaemonUnreachable", WZ_EXIT_UNREACHABLE}};
	for (size_t i = 0; err->reason && i < sizeof codes / sizeof codes[0]; i++)
		if (strcmp(err->reason, codes[i].reason) == 0)
			return codes[i].code;
	return WZ_EXIT_FAILED;
}

int wz_cli_usage(const struct wz_verb *v, const char *text)
{
	say("wz: ", wz_str(text), "\n");
	say("usage: ", wz_str(v->usage), "\n");
	return WZ_EXIT_USAGE;
}

void wz_cli_warn(struct wz_str text)
{
	say("wz: warning: ", text, "\n");
}

int wz_cli_opts(const struct wz_verb *v, void *args, int argc, char **argv)
{
	struct wz_err err = {0};
	int n = wz_opt_parse(v->opts, args, argc, argv, &err);
	if (n >= 0)
		return n;
	(void)wz_cli_usage(v, err.text);
	return -1;
}

/* ---- help ---- */

static void heading(const struct wz_cli *cli, struct wz_buf *b, const char *text)
{
	wz_buf_addz(b, cli->colour ? "\n\033[1m" : "\n");
	wz_buf_addz(b, text);
	wz_buf_addz(b, cli->colour ? "\033[0m\n" : "\n");
}

static void help_verbs(struct wz_buf *b, const struct wz_verb *const *sub)
{
	size_t width = 14;
	for (const struct wz_verb *const *v = sub; *v; v++)
		width = strlen((*v)->name) + 4 > width ? strlen((*v)->name) + 4 : width;
	for (; *sub; sub++) {
		size_t start = b->len;
		wz_buf_addz(b, "  ");
		wz_buf_addz(b, (*sub)->name);
		while (b->status == 0 && b->len - start < width)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, (*sub)->summary);
		wz_buf_addc(b, '\n');
	}
}

static void help_examples(struct wz_buf *b, const char *lines)
{
	struct wz_str rest = wz_str(lines);
	while (rest.ptr) {
		struct wz_str line = wz_str_split(&rest, '\n');
		if (line.len == 0)
			continue;
		wz_buf_addz(b, "  ");
		wz_buf_add(b, line);
		wz_buf_addc(b, '\n');
	}
}

void wz_cli_help(const struct wz_cli *cli, const struct wz_verb *v, struct wz_buf *b)
{
	wz_buf_addz(b, v->summary);
	wz_buf_addz(b, "\n\nusage: ");
	wz_buf_addz(b, v->usage);
	wz_buf_addc(b, '\n');
	if (v->sub && v->sub[0]) {
		heading(cli, b, "verbs:");
		help_verbs(b, v->sub);
	}
	heading(cli, b, "options:");
	wz_opt_help(v->opts, b);
	if (v->reads)
		wz_buf_addz(b, "  -q, --quiet                 the first column alone, without a header\n"
		               "      --jsonl                 JSON, a line a record\n");
	if (v == &wz_verb_root)
		wz_buf_addz(b, "      --version               the version\n");
	if (v->more) {
		wz_buf_addc(b, '\n');
		wz_buf_addz(b, v->more);
	}
	if (v->examples) {
		heading(cli, b, "examples:");
		help_examples(b, v->examples);
	}
}

/* ---- finding the verb ---- */

static int unknown_verb(const struct wz_verb *group, const char *word)
{
	struct wz_near near;
	struct wz_err err = {0};
	wz_near_init(&near, wz_str(word));
	for (const struct wz_verb *const *s = group->sub; *s; s++)
		wz_near_offer(&near, wz_str((*s)->name));
	(void)wz_err_set(&err, -EINVAL, "UnknownVerb", WZ_STR("no verb \""), wz_str(word), WZ_STR("\""),
	        near.best.len ? WZ_STR("; did you mean \"") : WZ_STR("; see wz help"), near.best,
	        near.best.len ? WZ_STR("\"?") : WZ_STR(""));
	return wz_cli_usage(group, err.text);
}

/* Descends while words name verbs; *argc and *argv move along. NULL after having reported. */
static const struct wz_verb *find_verb(int *argc, char ***argv)
{
	const struct wz_verb *v = &wz_verb_root;
	while (v->sub && *argc && (*argv)[0][0] != '-') {
		const struct wz_verb *const *s = v->sub;
		while (*s && strcmp((*s)->name, (*argv)[0]) != 0)
			s++;
		if (!*s) {
			(void)unknown_verb(v, (*argv)[0]);
			return NULL;
		}
		v = *s;
		(*argc)--;
		(*argv)++;
	}
	return v;
}

static bool asks(int argc, char **argv, const char *longform, const char *shortform)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], longform) == 0 || (shortform && strcmp(argv[i], shortform) == 0))
			return true;
	return false;
}

static int help_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	if (argc && argv[0][0] == '-' && argv[0][1]) {
		int n = wz_cli_opts(v, NULL, argc, argv);
		if (n < 0)
			return WZ_EXIT_USAGE;
	}
	v = find_verb(&argc, &argv);
	if (!v)
		return WZ_EXIT_USAGE;
	wz_cli_help(cli, v, &cli->out);
	return WZ_EXIT_OK;
}

const struct wz_verb wz_verb_help = {
        .name = "help",
        .summary = "what a verb does, its options and examples",
        .usage = "wz help [VERB...]",
        .examples = "wz help trace gen\n",
        .fn = help_fn,
};

/* What every verb that reads has: taken out of argv, --jsonl becoming the verb's --json. */
static int common(struct wz_cli *cli, int *argc, char **argv)
{
	static char json[] = "--json";
	struct wz_table_look look = {.width = wz_page_width()};
	int n = 0;
	for (int i = 0; i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			while (i < *argc)
				argv[n++] = argv[i++];
			break;
		}
		if (strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "-q") == 0) {
			look.quiet = true;
			continue;
		}
		cli->jsonl = cli->jsonl || strcmp(argv[i], "--jsonl") == 0;
		argv[n++] = strcmp(argv[i], "--jsonl") == 0 ? json : argv[i];
	}
	*argc = n;
	cli->pages = true;
	wz_table_set_look(look);
	return look.quiet && cli->jsonl ? -EINVAL : 0;
}

static int run(struct wz_cli *cli, int argc, char **argv)
{
	const struct wz_verb *v = find_verb(&argc, &argv);
	if (!v)
		return WZ_EXIT_USAGE;
	if (asks(argc, argv, "--help", "-h")) {
		wz_cli_help(cli, v, &cli->out);
		return WZ_EXIT_OK;
	}
	if (v == &wz_verb_root && asks(argc, argv, "--version", NULL)) {
		wz_buf_addz(&cli->out, "wz ");
		wz_buf_addz(&cli->out, wz_version);
		wz_buf_addc(&cli->out, '\n');
		return WZ_EXIT_OK;
	}
	if (v->fn && v->reads && common(cli, &argc, argv) < 0)
		return wz_cli_usage(v, "--quiet and --jsonl are two forms: give one");
	if (v->fn)
		return v->fn(cli, v, argc, argv);
	if (argc && wz_cli_opts(v, NULL, argc, argv) < 0)
		return WZ_EXIT_USAGE;
	struct wz_buf b;
	wz_buf_init(&b, cli->mem, 65536);
	wz_buf_addz(&b, "wz: a verb is missing\n");
	wz_cli_help(&(struct wz_cli){.mem = cli->mem}, v, &b);
	to_stderr(&b);
	return WZ_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct wz_cli cli = {.mem = wz_os_mem(), .colour = wz_tty_colour(STDOUT_FILENO)};
	struct wz_err err = {0};
	wz_buf_init(&cli.out, cli.mem, OUT_MAX);
	int code = run(&cli, argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
	int rc = code != WZ_EXIT_OK   ? 0
	         : cli.out.status < 0 ? cli.out.status
	         : cli.pages          ? wz_page_out(wz_buf_str(&cli.out))
	                              : wz_fd_write_all(STDOUT_FILENO, wz_buf_str(&cli.out));
	if (rc < 0) {
		(void)wz_file_err(&err, rc, "write", "standard output");
		code = wz_cli_fail(&err);
	}
	wz_buf_release(&cli.out);
	return code;
}
