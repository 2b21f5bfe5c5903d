/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profiles: entries, the place of an error, and what spans keys. The values are in profile_keys.c, the way
 * back in profile_format.c; all three are driven by the one list in profile_int.h.
 *
 * Everything is read into a copy, so a failure leaves no trace. An error first has its plain message; whoever knows
 * the text around adds the line and the caret. Columns count characters: of UTF-8 only the first byte. */
#include "base/check.h"
#include "core/profile_int.h"

#define SHOWN 60u /* characters of the line that an error shows */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool starts_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

void wz_profile_init(struct wz_profile *p)
{
	memset(p, 0, sizeof *p);
	p->any_model = true;
	p->tasks_min = p->tasks_max = 1;
}

/* Appends the line and a caret under line.ptr + at to the message in *err. */
static void point_at(struct wz_err *err, struct wz_str line, size_t at)
{
	char tail[2 * SHOWN + 16];
	uint32_t column = 0, total = 0, from, shown = 0;
	size_t n = 0, keep;
	for (size_t i = 0; i < line.len; i++)
		if (starts_char(line.ptr[i])) {
			total++;
			column += i < at;
		}
	from = total <= SHOWN || column < SHOWN / 2 ? 0 : column - SHOWN / 2;
	if (from && total - from < SHOWN)
		from = total - SHOWN;
	tail[n++] = '\n';
	for (size_t i = 0, seen = 0; i < line.len && shown < SHOWN; i++) {
		unsigned char c = (unsigned char)line.ptr[i];
		if (!starts_char(line.ptr[i]) || seen++ < from)
			continue;
		tail[n++] = (char)(c == '\t' ? ' ' : c < 0x20 || c >= 0x7f ? '?' : c);
		shown++;
	}
	tail[n++] = '\n';
	for (uint32_t i = from; i < column; i++)
		tail[n++] = ' ';
	tail[n++] = '^';
	keep = strlen(err->text);
	if (keep > sizeof err->text - 1 - n)
		for (keep = sizeof err->text - 1 - n; keep > 0 && !starts_char(err->text[keep]);)
			keep--;
	memcpy(err->text + keep, tail, n);
	err->text[keep + n] = 0;
}

static int find_key(struct wz_str name)
{
	for (unsigned i = 0; i < WZ_KEY_N; i++)
		if (wz_str_eq(name, wz_str(wz_profile_keys[i].name)))
			return (int)i;
	return -1;
}

/* A key that differs only in case, '-' and '_'; or that `name` begins. */
static const char *similar_key(struct wz_str name)
{
	for (unsigned k = 0; k < WZ_KEY_N; k++) {
		const char *z = wz_profile_keys[k].name;
		size_t i = 0;
		for (;;) {
			while (i < name.len && (name.ptr[i] == '-' || name.ptr[i] == '_'))
				i++;
			z += *z == '-';
			if (i == name.len || !*z || (name.ptr[i] | 0x20) != *z)
				break;
			i++;
			z++;
		}
		if (i == name.len && i >= 2)
			return wz_profile_keys[k].name;
	}
	return NULL;
}

static int unknown_key(struct wz_err *err, struct wz_str name)
{
	struct wz_str parts[3 + 2 * WZ_KEY_N] = {WZ_STR("no key \"")};
	const char *similar = similar_key(name);
	unsigned n = 1;
	parts[n++] = name.len > 40 ? (struct wz_str){name.ptr, 40} : name;
	if (similar) {
		parts[n++] = WZ_STR("\"; did you mean ");
		parts[n++] = wz_str(similar);
	} else {
		parts[n++] = WZ_STR("\"; the keys are ");
		for (unsigned i = 0; i < WZ_KEY_N; i++) {
			parts[n++] = wz_str(i ? ", " : "");
			parts[n++] = wz_str(wz_profile_keys[i].name);
		}
	}
	return wz_err_set_parts(err, -EINVAL, "UnknownKey", parts, n);
}

/* Applies one entry to x->p. *ret_at: where an error is, in key or value. */
static int set_entry(struct wz_profile_ctx *x, struct wz_str key, struct wz_str value, const char **ret_at)
{
	int k = find_key(key);
	int rc;
	*ret_at = key.ptr;
	if (k < 0)
		return unknown_key(x->err, key);
	if (x->p->given & 1u << k)
		return wz_err_set(x->err, -EINVAL, "BadProfile", key, WZ_STR(" is given twice"));
	*ret_at = value.ptr;
	if (value.len == 0)
		return wz_err_set(x->err, -EINVAL, "BadProfile", key, WZ_STR(" needs a value: "),
		        wz_str(wz_profile_keys[k].value));
	if (value.len > WZ_PROFILE_TEXT_MAX)
		return wz_err_set(x->err, -EINVAL, "BadProfile", key, WZ_STR(" is longer than 4096 bytes"));
	x->at = value.ptr;
	rc = wz_profile_set_fns[k](x, value);
	if (rc < 0) {
		*ret_at = x->at;
		wz_err_prefix(x->err, WZ_STR(": "));
		wz_err_prefix(x->err, key);
		return rc;
	}
	x->p->given |= 1u << k;
	return 0;
}

/* --- what spans keys --- */

struct finish {
	struct wz_profile *p;
	const struct wz_catalogue *c;
	struct wz_err *err;
	enum wz_profile_key_id key; /* which entry is to blame */
	bool value; /* its value, rather than its key */
};

#define conflict(f, id, ...) ((f)->key = WZ_KEY_##id, wz_err_set((f)->err, -EINVAL, "Conflict", __VA_ARGS__))

static bool given(const struct wz_profile *p, enum wz_profile_key_id k)
{
	return p->given >> k & 1;
}

static int finish_devices(struct finish *f)
{
	struct wz_profile *p = f->p;
	bool asked = p->gpu_mem_bytes || p->gpu_mem_g || p->gpu_mem_total_bytes || p->cu_milli || !p->any_model ||
	             p->free_pct || p->bw_gbps;
	if (given(p, WZ_KEY_GPUS) && given(p, WZ_KEY_SHARE))
		return conflict(f, SHARE, WZ_STR("gpus and gpu-share exclude each other"));
	if (p->share_milli == WZ_WHOLE) {
		p->share_milli = 0;
		p->gpus = p->gpus ? p->gpus : 1;
	}
	if (p->gpus && p->share_milli)
		return conflict(f, SHARE, WZ_STR("whole devices and a share exclude each other"));
	if (given(p, WZ_KEY_GPUS) && !p->gpus && !p->share_milli && asked)
		return conflict(f, GPUS, WZ_STR("gpus=0, but other keys ask for a device"));
	if (p->gpu_mig && (p->cu_milli || p->gpu_mem_total_bytes || p->bw_gbps || p->free_pct))
		return conflict(f, GPU_MIG,
		        WZ_STR("cu, gpu-mem-total, bw and free are of whole devices, not of a hard slice"));
	if (p->gpu_mig && p->gpu_mig != WZ_PARTITION_AUTO && (p->share_milli || p->gpu_mem_bytes || p->gpu_mem_g))
		return conflict(f, GPU_MIG,
		        WZ_STR("a hard slice that is named says its share and memory itself; gpu-mig=auto looks "
		               "for one that holds them"));
	if (p->gpu_mig == WZ_PARTITION_AUTO && (p->gpus || !(p->share_milli || p->gpu_mem_bytes || p->gpu_mem_g)))
		return conflict(f, GPU_MIG, WZ_STR("gpu-mig=auto needs gpu-share or gpu-mem, and no gpus"));
	if (p->share_milli && p->cu_milli)
		return conflict(f, CU, WZ_STR("cu finds the share by itself; leave gpu-share out"));
	if (p->share_milli && p->gpu_mem_total_bytes)
		return conflict(f, GPU_MEM_TOTAL, WZ_STR("a share is of one device; write gpu-mem"));
	return 0;
}

static int finish_link(struct finish *f)
{
	const struct wz_profile *p = f->p;
	bool one = p->gpus == 1 || p->share_milli;
	if (p->link == WZ_LINK_NONE || !one)
		return 0;
	if (p->link != WZ_LINK_NODE && p->link != WZ_LINK_RACK)
		return conflict(f, LINK, WZ_STR("link="), wz_str(wz_profile_links[p->link]),
		        WZ_STR(" joins the devices of one task, and there is only one"));
	if (p->tasks_max < 2)
		return conflict(f, LINK, WZ_STR("link="), wz_str(wz_profile_links[p->link]),
		        WZ_STR(" joins devices or tasks, and there is only one"));
	return 0;
}

/* True when every model that is left has less than the class that is asked. */
static bool class_beyond_types(const struct wz_profile *p, const struct wz_catalogue *c)
{
	for (uint32_t m = 0; m < c->n; m++)
		if (wz_model_set_has(&p->allowed, m) &&
		        (!c->model[m].class_g || c->model[m].class_g >= p->gpu_mem_g))
			return false;
	return true;
}

static int unknown_class(struct finish *f, uint32_t below, uint32_t above)
{
	const char *example[2] = {wz_memory_class_example(below), wz_memory_class_example(above)};
	struct wz_num asked, low, high;
	struct wz_str g = wz_str_u64(&asked, f->p->gpu_mem_g), part[2][4] = {{WZ_STR("")}, {WZ_STR("")}};
	uint32_t size[2] = {below, above};
	f->key = WZ_KEY_GPU_MEM;
	f->value = true;
	for (unsigned i = 0; i < 2; i++) {
		if (!example[i])
			continue;
		part[i][0] = wz_str_u64(i ? &high : &low, size[i]);
		part[i][1] = WZ_STR("G (");
		part[i][2] = wz_str(example[i]);
		part[i][3] = WZ_STR(")");
	}
	return wz_err_set(f->err, -EINVAL, "BadUnit", WZ_STR("no card is sold as "), g, WZ_STR("G; nearest: "),
	        part[0][0], part[0][1], part[0][2], part[0][3], below && above ? WZ_STR(", ") : WZ_STR(""),
	        part[1][0], part[1][1], part[1][2], part[1][3], WZ_STR("; for exact bytes write "), g,
	        WZ_STR("Gi"));
}

/* A share is an allotment of bytes, not a card with a class: there G is 10^9 bytes. */
static int finish_class(struct finish *f)
{
	struct wz_profile *p = f->p;
	uint32_t below, above;
	if (!p->gpu_mem_g)
		return 0;
	if (p->share_milli || p->gpu_mig) {
		p->gpu_mem_bytes = p->gpu_mem_g * 1000000000ULL;
		p->gpu_mem_g = 0;
		return 0;
	}
	if (!wz_memory_class_known(p->gpu_mem_g, &below, &above))
		return unknown_class(f, below, above);
	if (f->c && !p->any_model && class_beyond_types(p, f->c))
		return conflict(f, GPU_MEM, WZ_STR("no model of gpu-type has that much memory"));
	return 0;
}

static int finish_all(struct finish *f)
{
	int rc = finish_devices(f);
	if (rc == 0)
		rc = finish_link(f);
	if (rc == 0)
		rc = finish_class(f);
	if (rc == 0)
		f->p->given = 0;
	return rc;
}

int wz_profile_finish(struct wz_profile *p, const struct wz_catalogue *c, struct wz_err *err)
{
	struct wz_profile copy = *p;
	struct finish f = {.p = &copy, .c = c, .err = err};
	int rc = finish_all(&f);
	if (rc < 0)
		return rc;
	*p = copy;
	return 0;
}

int wz_profile_set(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err)
{
	struct wz_profile copy = *p;
	struct wz_profile_ctx x = {.p = &copy, .c = c, .err = err};
	char line[2 * SHOWN + 64];
	struct wz_buf b;
	const char *at;
	size_t skip = 0, column;
	int rc = set_entry(&x, key, value, &at);
	if (rc == 0) {
		*p = copy;
		return 0;
	}
	if (!err)
		return rc;
	/* "key=value", of a long value only what is around the place */
	wz_buf_init_fixed(&b, line, sizeof line);
	wz_buf_add(&b, (struct wz_str){key.ptr, key.len < 40 ? key.len : 40});
	wz_buf_addc(&b, '=');
	column = 0;
	if (at != key.ptr) {
		size_t in_value = value.ptr ? (size_t)(at - value.ptr) : 0;
		skip = in_value > SHOWN ? in_value - SHOWN : 0;
		column = b.len + in_value - skip;
	}
	if (value.len > skip) {
		size_t n = value.len - skip;
		wz_buf_add(&b, (struct wz_str){value.ptr + skip, n < 2 * SHOWN ? n : 2 * SHOWN});
	}
	point_at(err, wz_buf_str(&b), column);
	return rc;
}

/* --- a whole text --- */

struct entry {
	struct wz_str key, value;
	bool preferred;
};

/* Takes one entry off *rest, which begins with it. */
static int next_entry(struct wz_str *rest, struct entry *e, const char **ret_at, struct wz_err *err)
{
	struct wz_str word = {rest->ptr, 0};
	size_t k = 0, op = 1;
	while (word.len < rest->len && !is_blank(rest->ptr[word.len]))
		word.len++;
	*rest = (struct wz_str){rest->ptr + word.len, rest->len - word.len};
	while (k < word.len && word.ptr[k] != '=' && word.ptr[k] != '~' && word.ptr[k] != '>')
		k++;
	e->key = (struct wz_str){word.ptr, k};
	*ret_at = word.ptr;
	if (k == 0 || k == word.len)
		return wz_err_set(
		        err, -EINVAL, "BadProfile", WZ_STR("an entry is key=value without blanks inside"));
	*ret_at = word.ptr + k;
	e->preferred = word.ptr[k] == '~';
	if (word.ptr[k] == '>') {
		if (k + 1 == word.len || word.ptr[k + 1] != '=')
			return wz_err_set(err, -EINVAL, "BadProfile",
			        WZ_STR("\"more than\" is not an operator; >= is, and = means the same"));
		op = 2;
	}
	if (e->preferred && !wz_str_eq(e->key, WZ_STR("link")))
		return wz_err_set(err, -EINVAL, "BadProfile", WZ_STR("only link can be preferred with ~"));
	e->value = (struct wz_str){word.ptr + k + op, word.len - k - op};
	return 0;
}

static int parse_entries(
        struct wz_profile_ctx *x, struct wz_str rest, struct entry seen[WZ_KEY_N], const char **ret_at)
{
	for (;;) {
		struct entry e;
		int rc, k;
		while (rest.len && is_blank(rest.ptr[0]))
			rest = (struct wz_str){rest.ptr + 1, rest.len - 1};
		if (!rest.len)
			return 0;
		rc = next_entry(&rest, &e, ret_at, x->err);
		if (rc < 0)
			return rc;
		x->preferred = e.preferred;
		rc = set_entry(x, e.key, e.value, ret_at);
		if (rc < 0)
			return rc;
		k = find_key(e.key);
		wz_check(k >= 0);
		seen[k] = e;
	}
}

/* The line of `text` that contains `at`. */
static struct wz_str line_of(struct wz_str text, const char *at)
{
	const char *from = at, *to = at, *end = text.ptr + text.len;
	while (from > text.ptr && from[-1] != '\n')
		from--;
	while (to < end && *to != '\n')
		to++;
	return (struct wz_str){from, (size_t)(to - from)};
}

int wz_profile_parse(struct wz_str text, const struct wz_catalogue *c, struct wz_profile *ret, struct wz_err *err)
{
	struct wz_profile p;
	struct wz_profile_ctx x = {.p = &p, .c = c, .err = err};
	struct finish f = {.p = &p, .c = c, .err = err};
	struct entry seen[WZ_KEY_N] = {{.preferred = false}};
	const char *at = text.ptr;
	int rc;
	if (text.len > WZ_PROFILE_TEXT_MAX)
		return wz_err_set(err, -EINVAL, "BadProfile", WZ_STR("a profile is at most 4096 bytes long"));
	wz_profile_init(&p);
	rc = parse_entries(&x, text, seen, &at);
	if (rc == 0) {
		rc = finish_all(&f);
		at = f.value ? seen[f.key].value.ptr : seen[f.key].key.ptr;
	}
	if (rc == 0) {
		*ret = p;
		return 0;
	}
	if (err && at) {
		struct wz_str line = line_of(text, at);
		point_at(err, line, (size_t)(at - line.ptr));
	}
	return rc;
}
