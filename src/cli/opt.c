/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opt.h"

#include "base/near.h"
#include "base/quant.h"

/* ---- values ---- */

static int bad_value(const struct wz_opt *o, struct wz_str v, const char *expected, struct wz_err *err)
{
	return wz_err_set(err, -EINVAL, "BadValue", WZ_STR("--"), wz_str(o->name), WZ_STR(": \""), v,
	        WZ_STR("\"; expected "), wz_str(expected));
}

static int get_u64(const struct wz_opt *o, struct wz_str v, uint64_t *ret, struct wz_err *err)
{
	struct wz_num n;
	uint64_t x;
	int rc = wz_str_parse_u64(v, &x);
	if (rc == 0 && (!o->max || x <= o->max)) {
		*ret = x;
		return 0;
	}
	if (rc == -EINVAL)
		return bad_value(o, v, "a whole number, 0 or more", err);
	return wz_err_set(err, -EINVAL, "BadValue", WZ_STR("--"), wz_str(o->name), WZ_STR(": "), v,
	        WZ_STR(" is too large; expected at most "), wz_str_u64(&n, o->max ? o->max : UINT64_MAX));
}

static int get_range(const struct wz_opt *o, struct wz_str v, struct wz_range *ret, struct wz_err *err)
{
	struct wz_str last = v, first = wz_str_split(&last, '-');
	struct wz_range r;
	if (wz_str_parse_u64(first, &r.first) == -EINVAL ||
	        (last.ptr && wz_str_parse_u64(last, &r.last) == -EINVAL))
		return bad_value(o, v, "a number or a range such as 42-51", err);
	int rc = get_u64(o, first, &r.first, err);
	r.last = r.first;
	if (rc == 0 && last.ptr)
		rc = get_u64(o, last, &r.last, err);
	if (rc == 0 && r.last < r.first)
		rc = bad_value(o, v, "the smaller number first", err);
	if (rc == 0)
		*ret = r;
	return rc;
}

static int get_list(const struct wz_opt *o, struct wz_str v, struct wz_list *l, struct wz_err *err)
{
	while (v.ptr) {
		struct wz_str item = wz_str_split(&v, ',');
		if (item.len == 0)
			return bad_value(o, item, "a comma-separated list without empty items", err);
		if (l->n == WZ_LIST_MAX)
			return wz_err_set(err, -EINVAL, "BadValue", WZ_STR("--"), wz_str(o->name),
			        WZ_STR(": more than 256 items"));
		l->item[l->n++] = item;
	}
	return 0;
}

static int add_given(const struct wz_opt *o, struct wz_str v, struct wz_given *g, struct wz_err *err)
{
	if (g->n == WZ_GIVEN_MAX)
		return wz_err_set(
		        err, -EINVAL, "BadValue", WZ_STR("--"), wz_str(o->name), WZ_STR(": more than 512 options"));
	g->item[g->n].name = o->name;
	g->item[g->n++].value = v;
	return 0;
}

static bool is_flag(const struct wz_opt *o)
{
	return o->type == WZ_OPT_FLAG || o->type == WZ_OPT_GIVEN_FLAG;
}

static int set_value(const struct wz_opt *o, void *args, struct wz_str v, struct wz_err *err)
{
	void *to = (char *)args + o->offset;
	uint64_t x;
	int rc;
	switch (o->type) {
	case WZ_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case WZ_OPT_STRING:
		*(struct wz_str *)to = v;
		return 0;
	case WZ_OPT_U64:
		return get_u64(o, v, to, err);
	case WZ_OPT_RANGE:
		return get_range(o, v, to, err);
	case WZ_OPT_LIST:
		return get_list(o, v, to, err);
	case WZ_OPT_GIVEN:
	case WZ_OPT_GIVEN_FLAG:
		return add_given(o, v, to, err);
	case WZ_OPT_SIZE:
	case WZ_OPT_DURATION:
		rc = o->type == WZ_OPT_SIZE ? wz_bytes_parse(v, &x, err) : wz_duration_parse(v, &x, err);
		if (rc < 0)
			return wz_err_set(err, -EINVAL, "BadValue", WZ_STR("--"), wz_str(o->name), WZ_STR(": "),
			        wz_str(err ? err->text : ""));
		*(uint64_t *)to = x;
		return 0;
	}
	return -EINVAL;
}

/* ---- the command line ---- */

static const struct wz_opt *find_long(const struct wz_opt *table, struct wz_str name)
{
	for (const struct wz_opt *o = table; o && o->name; o++)
		if (wz_str_eq(name, wz_str(o->name)))
			return o;
	return NULL;
}

static const struct wz_opt *find_short(const struct wz_opt *table, char c)
{
	for (const struct wz_opt *o = table; o && o->name; o++)
		if (o->alias && o->alias == c)
			return o;
	return NULL;
}

static int unknown_option(const struct wz_opt *table, struct wz_str name, struct wz_err *err)
{
	struct wz_near near;
	wz_near_init(&near, name);
	for (const struct wz_opt *o = table; o && o->name; o++)
		wz_near_offer(&near, wz_str(o->name));
	wz_near_offer(&near, WZ_STR("help"));
	if (near.best.len)
		return wz_err_set(err, -EINVAL, "UnknownOption", WZ_STR("unknown option --"), name,
		        WZ_STR("; did you mean --"), near.best, WZ_STR("?"));
	return wz_err_set(err, -EINVAL, "UnknownOption", WZ_STR("unknown option --"), name, WZ_STR("; see --help"));
}

static int missing_value(const struct wz_opt *o, struct wz_err *err)
{
	return wz_err_set(err, -EINVAL, "MissingValue", WZ_STR("--"), wz_str(o->name), WZ_STR(" needs a value: "),
	        wz_str(o->value));
}

/* argv[*i] is "--name" or "--name=value". */
static int parse_long(const struct wz_opt *table, void *args, int argc, char **argv, int *i, struct wz_err *err)
{
	struct wz_str value = wz_str(argv[*i] + 2), name = wz_str_split(&value, '=');
	const struct wz_opt *o = find_long(table, name);
	if (!o)
		return unknown_option(table, name, err);
	if (is_flag(o)) {
		if (value.ptr)
			return bad_value(o, value, "no value", err);
		value = WZ_STR("");
	} else if (!value.ptr) {
		if (*i + 1 >= argc)
			return missing_value(o, err);
		value = wz_str(argv[++*i]);
	}
	return set_value(o, args, value, err);
}

/* argv[*i] is "-abc", "-n5" or "-n". */
static int parse_short(const struct wz_opt *table, void *args, int argc, char **argv, int *i, struct wz_err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct wz_opt *o = find_short(table, *p);
		if (!o)
			return wz_err_set(err, -EINVAL, "UnknownOption", WZ_STR("unknown option -"),
			        (struct wz_str){p, 1}, WZ_STR("; see --help"));
		if (is_flag(o)) {
			int rc = set_value(o, args, WZ_STR(""), err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (p[1])
			return set_value(o, args, wz_str(p + 1), err);
		if (*i + 1 >= argc)
			return missing_value(o, err);
		return set_value(o, args, wz_str(argv[++*i]), err);
	}
	return 0;
}

int wz_opt_parse(const struct wz_opt *table, void *args, int argc, char **argv, struct wz_err *err)
{
	int n = 0;
	bool options = true;
	for (int i = 0; i < argc; i++) {
		int rc = 0;
		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (!options || argv[i][0] != '-' || argv[i][1] == 0)
			argv[n++] = argv[i];
		else if (argv[i][1] == '-')
			rc = parse_long(table, args, argc, argv, &i, err);
		else
			rc = parse_short(table, args, argc, argv, &i, err);
		if (rc < 0)
			return rc;
	}
	return n;
}

#define HELP_COLUMN 30u

void wz_opt_help(const struct wz_opt *table, struct wz_buf *b)
{
	for (const struct wz_opt *o = table; o && o->name; o++) {
		size_t start = b->len;
		wz_buf_addz(b, "  ");
		if (o->alias) {
			wz_buf_addc(b, '-');
			wz_buf_addc(b, o->alias);
			wz_buf_addz(b, ", ");
		} else {
			wz_buf_addz(b, "    ");
		}
		wz_buf_addz(b, "--");
		wz_buf_addz(b, o->name);
		if (!is_flag(o)) {
			wz_buf_addc(b, ' ');
			wz_buf_addz(b, o->value);
		}
		if (b->len - start + 2 > HELP_COLUMN) {
			wz_buf_addc(b, '\n');
			start = b->len;
		}
		while (b->status == 0 && b->len - start < HELP_COLUMN)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, o->help);
		wz_buf_addc(b, '\n');
	}
	wz_buf_addz(b, "  -h, --help                  this help\n");
}
