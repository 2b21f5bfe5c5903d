/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a verb: one table, from which parsing, `--help` and the manual's list come.
 *
 *	struct args { uint64_t seed; bool json; struct wz_str out; };
 *	static const struct wz_opt opts[] = {
 *		{"seed", 's', WZ_OPT_U64, "N", "seed of all random draws", offsetof(struct args, seed), 0},
 *		{"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
 *		WZ_OPT_END
 *	};
 *
 * Accepted: --name value, --name=value, -n value, -nvalue, bundled flags (-ab), `--` ends the options, "-" is an operand.
 * An option given twice: the last one counts, lists add up. */
#ifndef WZ_CLI_OPT_H
#define WZ_CLI_OPT_H

#include "base/buf.h"
#include "base/err.h"

enum wz_opt_type {
	WZ_OPT_FLAG, /* bool */
	WZ_OPT_STRING, /* struct wz_str */
	WZ_OPT_U64, /* uint64_t, at most `max` (0: no limit) */
	WZ_OPT_RANGE, /* struct wz_range: "42-51" or "42", at most `max` */
	WZ_OPT_LIST, /* struct wz_list: comma-separated, repeatable */
	WZ_OPT_SIZE, /* uint64_t bytes: "512Mi" */
	WZ_OPT_DURATION, /* uint64_t microseconds: "90s" */
	WZ_OPT_GIVEN, /* struct wz_given: its name and value are added, in the order of the command line */
	WZ_OPT_GIVEN_FLAG, /* the same without a value */
};

#define WZ_LIST_MAX 256u
struct wz_range {
	uint64_t first, last;
};
struct wz_list {
	uint32_t n;
	struct wz_str item[WZ_LIST_MAX];
};

#define WZ_GIVEN_MAX 512u
struct wz_given {
	uint32_t n;
	struct {
		const char *name;
		struct wz_str value;
	} item[WZ_GIVEN_MAX];
};

struct wz_opt {
	const char *name;
	char alias; /* short form; 0: none */
	enum wz_opt_type type;
	const char *value, *help; /* value: the word in help, "N", "DIR", "openb|wz" */
	size_t offset; /* in the verb's arguments */
	uint64_t max;
};
#define WZ_OPT_END \
	{ \
		NULL, 0, WZ_OPT_FLAG, NULL, NULL, 0, 0 \
	}

/* Fills args; moves the operands to the front of argv and returns their number (argv[0] is the first operand, not the
 * program). -EINVAL, reasons "UnknownOption" (with the nearest), "MissingValue", "BadValue". Views point into argv. */
int wz_opt_parse(const struct wz_opt *table, void *args, int argc, char **argv, struct wz_err *err);

/* The lines of `options:` in a help text. */
void wz_opt_help(const struct wz_opt *table, struct wz_buf *b);

#endif
