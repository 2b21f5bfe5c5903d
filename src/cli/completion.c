/* SPDX-License-Identifier: Apache-2.0 */
/* `wz completion bash|zsh|fish`: what a shell needs to complete `wz`, written from the verb table, so that it knows what the
 * program knows. Jobs and nodes are asked of the daemon, by `wz ps -q` and `wz nodes -q`. And `wz completion scd VERB`: the
 * source of a verb's manual page, from the same table (man/meson.build). */
#include "cli/cli.h"

#define DEPTH_MAX 4u

/* ---- the walk ---- */

typedef void visit_fn(struct wz_buf *b, const char *path, const struct wz_verb *v);

static void walk(struct wz_buf *b, const char *path, const struct wz_verb *v, unsigned depth, visit_fn *visit)
{
	char sub[200];
	visit(b, path, v);
	for (const struct wz_verb *const *s = v->sub; s && *s && depth < DEPTH_MAX; s++) {
		int n = snprintf(sub, sizeof sub, "%s%s%s", path, *path ? " " : "", (*s)->name);
		if (n > 0 && (size_t)n < sizeof sub)
			walk(b, sub, *s, depth + 1, visit);
	}
}

/* What operands are, by the usage: "JOB", "NODE", a verb, or files. */
static const char *operands(const struct wz_verb *v)
{
	return strstr(v->usage, " JOB") ? "job" : strstr(v->usage, " NODE") ? "node" : "file";
}

static bool takes_value(const struct wz_opt *o)
{
	return o->type != WZ_OPT_FLAG && o->type != WZ_OPT_GIVEN_FLAG;
}

static bool names_file(const struct wz_opt *o)
{
	return o->value &&
	       (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "DIR") == 0 || strcmp(o->value, "PATH") == 0);
}

/* ---- bash ---- */

static void bash_verb(struct wz_buf *b, const char *path, const struct wz_verb *v)
{
	wz_buf_addz(b, "\t\"");
	wz_buf_addz(b, path);
	wz_buf_addz(b, "\") words=\"");
	for (const struct wz_verb *const *s = v->sub; s && *s; s++) {
		wz_buf_addz(b, (*s)->name);
		wz_buf_addc(b, ' ');
	}
	wz_buf_addz(b, "\" opts=\"--help ");
	if (v->reads)
		wz_buf_addz(b, "--quiet --jsonl ");
	for (const struct wz_opt *o = v->opts; o && o->name; o++) {
		wz_buf_addz(b, "--");
		wz_buf_addz(b, o->name);
		wz_buf_addc(b, ' ');
	}
	wz_buf_addz(b, "\" values=\" ");
	for (const struct wz_opt *o = v->opts; o && o->name; o++)
		if (takes_value(o)) {
			wz_buf_addz(b, "--");
			wz_buf_addz(b, o->name);
			wz_buf_addc(b, ' ');
			if (o->alias) {
				wz_buf_addc(b, '-');
				wz_buf_addc(b, o->alias);
				wz_buf_addc(b, ' ');
			}
		}
	wz_buf_addz(b, "\" operands=");
	wz_buf_addz(b, v->sub ? "none" : operands(v));
	wz_buf_addz(b, " ;;\n");
}

static const char bash_head[] = "# bash completion of wz; made by `wz completion bash`\n"
                                "_wz_table() {\n"
                                "\twords= opts= values= operands=file\n"
                                "\tcase \"$1\" in\n";
static const char bash_tail[] =
        "\t*) return 1 ;;\n"
        "\tesac\n"
        "}\n"
        "_wz() {\n"
        "\tlocal cur=${COMP_WORDS[COMP_CWORD]} path= i word words opts values operands previous=\n"
        "\tCOMPREPLY=()\n"
        "\t_wz_table \"\"\n"
        "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
        "\t\tword=${COMP_WORDS[i]}\n"
        "\t\tif [[ $word == -- ]]; then compopt -o default 2>/dev/null; return; fi\n"
        "\t\tif [[ -n $previous && $values == *\" $previous \"* ]]; then previous=; continue; fi\n"
        "\t\tprevious=$word\n"
        "\t\tif [[ $word != -* && \" $words\" == *\" $word \"* ]]; then path=${path:+$path }$word; _wz_table "
        "\"$path\"; fi\n"
        "\tdone\n"
        "\tif [[ -n $previous && $values == *\" $previous \"* ]]; then compopt -o default 2>/dev/null; return; fi\n"
        "\tif [[ $cur == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\"); return; fi\n"
        "\tcase $operands in\n"
        "\tnone) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
        "\tjob) mapfile -t COMPREPLY < <(compgen -W \"$(wz ps -q 2>/dev/null)\" -- \"$cur\") ;;\n"
        "\tnode) mapfile -t COMPREPLY < <(compgen -W \"$(wz nodes -q 2>/dev/null)\" -- \"$cur\") ;;\n"
        "\t*) compopt -o default 2>/dev/null ;;\n"
        "\tesac\n"
        "}\n"
        "complete -F _wz wz\n";

/* ---- zsh ---- */

static void quoted(struct wz_buf *b, const char *text, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'')
			wz_buf_addz(b, "'\\'");
		else if (strchr(also, *text))
			wz_buf_addc(b, '\\');
		wz_buf_addc(b, *text);
	}
}

static void zsh_verb(struct wz_buf *b, const char *path, const struct wz_verb *v)
{
	wz_buf_addz(b, "\t'");
	wz_buf_addz(b, path);
	wz_buf_addz(b, "')\n\t\toperands=");
	wz_buf_addz(b, v->sub ? "none" : operands(v));
	wz_buf_addz(b, "\n\t\twords=(");
	for (const struct wz_verb *const *s = v->sub; s && *s; s++) {
		wz_buf_addz(b, " '");
		wz_buf_addz(b, (*s)->name);
		wz_buf_addc(b, ':');
		quoted(b, (*s)->summary, ":");
		wz_buf_addc(b, '\'');
	}
	wz_buf_addz(b, " )\n\t\topts=( '--help:this help'");
	if (v->reads)
		wz_buf_addz(b, " '--quiet:the first column alone' '--jsonl:JSON, a line a record'");
	for (const struct wz_opt *o = v->opts; o && o->name; o++) {
		wz_buf_addz(b, " '--");
		wz_buf_addz(b, o->name);
		wz_buf_addc(b, ':');
		quoted(b, o->help, ":");
		wz_buf_addc(b, '\'');
	}
	wz_buf_addz(b, " )\n\t\t;;\n");
}

static const char zsh_head[] = "#compdef wz\n"
                               "# zsh completion of wz; made by `wz completion zsh`\n"
                               "_wz_table() {\n"
                               "\twords=() opts=() operands=file\n"
                               "\tcase $1 in\n";
static const char zsh_tail[] =
        "\t*) return 1 ;;\n"
        "\tesac\n"
        "}\n"
        "_wz() {\n"
        "\tlocal verb= operands i given=(\"${(@)words[2,CURRENT-1]}\") current=$words[CURRENT]\n"
        "\tlocal -a words opts items\n"
        "\t_wz_table ''\n"
        "\tfor i in $given; do\n"
        "\t\tif [[ $i == -- ]]; then _files; return; fi\n"
        "\t\tif (( ${words[(I)$i:*]} )); then verb=${verb:+$verb }$i; _wz_table $verb; fi\n"
        "\tdone\n"
        "\tif [[ $current == -* ]]; then _describe -o option opts; return; fi\n"
        "\tcase $operands in\n"
        "\tnone) _describe verb words ;;\n"
        "\tjob) items=(${(f)\"$(wz ps -q 2>/dev/null)\"}); compadd -a items ;;\n"
        "\tnode) items=(${(f)\"$(wz nodes -q 2>/dev/null)\"}); compadd -a items ;;\n"
        "\t*) _files ;;\n"
        "\tesac\n"
        "}\n"
        "_wz \"$@\"\n";

/* ---- fish ---- */

static void fish_condition(struct wz_buf *b, const char *path)
{
	wz_buf_addz(b, "complete -c wz -n '__wz_at \"");
	wz_buf_addz(b, path);
	wz_buf_addz(b, "\"'");
}

static void fish_text(struct wz_buf *b, const char *text)
{
	wz_buf_addz(b, " -d '");
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			wz_buf_addc(b, '\\');
		wz_buf_addc(b, *text);
	}
	wz_buf_addz(b, "'\n");
}

static void fish_verb(struct wz_buf *b, const char *path, const struct wz_verb *v)
{
	for (const struct wz_verb *const *s = v->sub; s && *s; s++) {
		fish_condition(b, path);
		wz_buf_addz(b, " -f -a ");
		wz_buf_addz(b, (*s)->name);
		fish_text(b, (*s)->summary);
	}
	for (const struct wz_opt *o = v->opts; o && o->name; o++) {
		fish_condition(b, path);
		wz_buf_addz(b, " -l ");
		wz_buf_addz(b, o->name);
		if (o->alias) {
			wz_buf_addz(b, " -s ");
			wz_buf_addc(b, o->alias);
		}
		if (takes_value(o))
			wz_buf_addz(b, names_file(o) ? " -r -F" : " -x");
		fish_text(b, o->help);
	}
	if (v->reads) {
		fish_condition(b, path);
		wz_buf_addz(b, " -l quiet -s q");
		fish_text(b, "the first column alone");
		fish_condition(b, path);
		wz_buf_addz(b, " -l jsonl");
		fish_text(b, "JSON, a line a record");
	}
	if (!v->sub && strcmp(operands(v), "file") != 0) {
		fish_condition(b, path);
		wz_buf_addz(b, strcmp(operands(v), "job") == 0 ? " -f -a '(wz ps -q 2>/dev/null)'\n"
		                                               : " -f -a '(wz nodes -q 2>/dev/null)'\n");
	}
}

static void fish_paths(struct wz_buf *b, const char *path, const struct wz_verb *v)
{
	(void)v;
	if (!*path)
		return;
	wz_buf_addz(b, " '");
	wz_buf_addz(b, path);
	wz_buf_addc(b, '\'');
}

static void fish(struct wz_buf *b)
{
	wz_buf_addz(b, "# fish completion of wz; made by `wz completion fish`\n"
	               "set -g __wz_paths");
	walk(b, "", &wz_verb_root, 0, fish_paths);
	wz_buf_addz(b, "\nfunction __wz_at\n"
	               "\tset -l at ''\n"
	               "\tfor word in (commandline -opc)[2..-1]\n"
	               "\t\tset -l next (string trim -- \"$at $word\")\n"
	               "\t\tif contains -- $next $__wz_paths\n"
	               "\t\t\tset at $next\n"
	               "\t\tend\n"
	               "\tend\n"
	               "\ttest \"$at\" = \"$argv[1]\"\n"
	               "end\n");
	walk(b, "", &wz_verb_root, 0, fish_verb);
}

/* ---- manual pages ---- */

/* scdoc's marks are text here. */
static void scd_text(struct wz_buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("*_\\[]#`~", *text))
			wz_buf_addc(b, '\\');
		wz_buf_addc(b, *text);
	}
}

static void scd_options(struct wz_buf *b, const struct wz_verb *v)
{
	for (const struct wz_opt *o = v->opts; o && o->name; o++) {
		wz_buf_addz(b, "*--");
		wz_buf_addz(b, o->name);
		wz_buf_addc(b, '*');
		if (o->alias) {
			wz_buf_addz(b, ", *-");
			wz_buf_addc(b, o->alias);
			wz_buf_addc(b, '*');
		}
		if (o->value) {
			wz_buf_addz(b, " ");
			scd_text(b, o->value);
		}
		wz_buf_addz(b, "\n\t");
		scd_text(b, o->help);
		wz_buf_addz(b, "\n\n");
	}
	if (v->reads)
		wz_buf_addz(b, "*--quiet*, *-q*\n\tThe first column alone, without a header.\n\n*--jsonl*\n\tJSON, "
		               "a line a record.\n\n");
}

static void scd_examples(struct wz_buf *b, const char *lines)
{
	wz_buf_addz(b, "# EXAMPLES\n\n");
	for (struct wz_str rest = wz_str(lines); rest.ptr;) {
		struct wz_str l = wz_str_split(&rest, '\n');
		if (!l.len)
			continue;
		wz_buf_addz(b, "```\n");
		wz_buf_add(b, l);
		wz_buf_addz(b, "\n```\n\n");
	}
}

static void scd(struct wz_buf *b, const char *name, const struct wz_verb *v)
{
	wz_buf_addz(b, "wz-");
	wz_buf_addz(b, name);
	wz_buf_addz(b, "(1) \"WhaleZEN\"\n\n# NAME\n\nwz-");
	wz_buf_addz(b, name);
	wz_buf_addz(b, " - ");
	scd_text(b, v->summary);
	wz_buf_addz(b, "\n\n# SYNOPSIS\n\n");
	scd_text(b, v->usage);
	wz_buf_addz(b, "\n\n");
	if (v->more) {
		wz_buf_addz(b, "# DESCRIPTION\n\n");
		scd_text(b, v->more);
		wz_buf_addc(b, '\n');
	}
	for (const struct wz_verb *const *s = v->sub; s && *s; s++) {
		wz_buf_addz(b, s == v->sub ? "# VERBS\n\n*" : "*");
		wz_buf_addz(b, (*s)->name);
		wz_buf_addz(b, "*\n\t");
		scd_text(b, (*s)->summary);
		wz_buf_addz(b, "++\n");
		scd_text(b, (*s)->usage);
		wz_buf_addz(b, "\n\n");
	}
	if (v->opts || v->reads) {
		wz_buf_addz(b, "# OPTIONS\n\n");
		scd_options(b, v);
	}
	if (v->examples)
		scd_examples(b, v->examples);
	wz_buf_addz(b, "# SEE ALSO\n\n*wz*(1), *wz-serve*(1)\n");
}

/* ---- the verb ---- */

static int completion_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wz_buf *b = &cli->out;
	int n = wz_cli_opts(v, NULL, argc, argv);
	if (n < 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "the name of a shell is expected");
	if (n == 2 && strcmp(argv[0], "scd") == 0) {
		for (const struct wz_verb *const *s = wz_verb_root.sub; *s; s++)
			if (strcmp((*s)->name, argv[1]) == 0) {
				scd(b, argv[1], *s);
				return WZ_EXIT_OK;
			}
		return wz_cli_usage(v, "there is no such verb");
	}
	if (n == 1 && strcmp(argv[0], "bash") == 0) {
		wz_buf_addz(b, bash_head);
		walk(b, "", &wz_verb_root, 0, bash_verb);
		wz_buf_addz(b, bash_tail);
	} else if (n == 1 && strcmp(argv[0], "zsh") == 0) {
		wz_buf_addz(b, zsh_head);
		walk(b, "", &wz_verb_root, 0, zsh_verb);
		wz_buf_addz(b, zsh_tail);
	} else if (n == 1 && strcmp(argv[0], "fish") == 0) {
		fish(b);
	} else {
		return wz_cli_usage(v, "bash, zsh or fish is expected");
	}
	return WZ_EXIT_OK;
}

const struct wz_verb wz_verb_completion = {
        .name = "completion",
        .summary = "completion of verbs, options, jobs and nodes for a shell",
        .usage = "wz completion bash|zsh|fish",
        .examples = "wz completion bash >/etc/bash_completion.d/wz\n"
                    "wz completion fish >~/.config/fish/completions/wz.fish\n",
        .fn = completion_fn,
        .more = "`make install` installs all three.\n",
};
