/* SPDX-License-Identifier: Apache-2.0 */
/* Two sorted tables made at build time (names, families) are searched by bisection; declared models are in a string
 * table beside them. All comparisons are of *normalised* names: ASCII lower case, without blanks, '-' and '_'. A model
 * and a family may share a name ("P100" of a trace is the PCIe card, `gpu-type=p100` means every P100): `find` asks
 * the models first, `match` the families. */
#include "core/catalogue.h"

#include "core/partition.h"

#include "base/check.h"

struct catalogue_name {
	const char *normal;
	uint16_t model;
};

struct catalogue_family {
	const char *normal, *spelling;
	uint16_t first, n; /* in catalogue_members */
};

#include "core/catalogue_data.inc"

#define N_BUILTIN WZ_ARRAY_LEN(catalogue_models)
#define NEAREST 3u

struct normal {
	char b[WZ_MODEL_NAME_MAX];
	uint32_t len;
};

/* False when empty or longer than any name. */
static bool normalise(struct wz_str name, struct normal *ret)
{
	ret->len = 0;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		if (c == ' ' || c == '-' || c == '_' || c == '\t')
			continue;
		if (ret->len == sizeof ret->b)
			return false;
		ret->b[ret->len++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	return ret->len > 0;
}

static struct wz_str normal_str(const struct normal *n)
{
	return (struct wz_str){n->b, n->len};
}

/* Model number, or WZ_NONE. */
static uint32_t find_model(const struct wz_catalogue *c, const struct normal *n)
{
	uint32_t lo = 0, hi = WZ_ARRAY_LEN(catalogue_names), id;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		int d = wz_str_cmp(wz_str(catalogue_names[mid].normal), normal_str(n));
		if (d == 0)
			return catalogue_names[mid].model;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	id = wz_strtab_find(&c->names, normal_str(n));
	return id == WZ_NONE ? WZ_NONE : wz_map_get(&c->by_name, id);
}

static const struct catalogue_family *find_family(const struct normal *n)
{
	uint32_t lo = 0, hi = WZ_ARRAY_LEN(catalogue_families);
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		int d = wz_str_cmp(wz_str(catalogue_families[mid].normal), normal_str(n));
		if (d == 0)
			return &catalogue_families[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Edit distance (Levenshtein, one row); a part of the other's name counts as one edit. */
static uint32_t distance(struct wz_str a, struct wz_str b)
{
	uint32_t row[WZ_MODEL_NAME_MAX + 1];
	wz_check(b.len <= WZ_MODEL_NAME_MAX);
	for (size_t i = 0; a.len > 1 && i + a.len <= b.len; i++)
		if (memcmp(b.ptr + i, a.ptr, a.len) == 0)
			return 1;
	for (uint32_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= a.len; i++) {
		uint32_t diagonal = row[0];
		row[0] = i;
		for (uint32_t j = 1; j <= b.len; j++) {
			uint32_t best = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b.len];
}

struct nearest {
	struct {
		uint32_t distance;
		const char *name;
	} at[NEAREST];
	uint32_t n;
};

static void consider(struct nearest *best, struct wz_str asked, struct wz_str normal, const char *name)
{
	uint32_t d = distance(asked, normal), i;
	if (d > 2 && d > asked.len / 3)
		return;
	for (i = 0; i < best->n; i++)
		if (best->at[i].name == name) {
			if (best->at[i].distance <= d)
				return;
			for (; i + 1 < best->n; i++)
				best->at[i] = best->at[i + 1];
			best->n--;
			break;
		}
	for (i = best->n; i > 0 && best->at[i - 1].distance > d; i--)
		if (i < NEAREST)
			best->at[i] = best->at[i - 1];
	if (i == NEAREST)
		return;
	best->at[i].distance = d;
	best->at[i].name = name;
	if (best->n < NEAREST)
		best->n++;
}

static int unknown(const struct wz_catalogue *c, struct wz_str name, struct wz_err *err)
{
	struct nearest best = {.n = 0};
	struct normal n;
	if (!err)
		return -ENOENT;
	if (normalise(name, &n)) {
		for (uint32_t i = 0; i < WZ_ARRAY_LEN(catalogue_families); i++)
			consider(&best, normal_str(&n), wz_str(catalogue_families[i].normal),
			        catalogue_families[i].spelling);
		for (uint32_t i = 0; i < WZ_ARRAY_LEN(catalogue_names); i++)
			consider(&best, normal_str(&n), wz_str(catalogue_names[i].normal),
			        catalogue_models[catalogue_names[i].model].name);
		for (uint32_t i = N_BUILTIN; i < c->n; i++) {
			struct normal m;
			if (normalise(wz_str(c->model[i].name), &m))
				consider(&best, normal_str(&n), normal_str(&m), c->model[i].name);
		}
	}
	if (name.len > WZ_MODEL_NAME_MAX)
		name.len = WZ_MODEL_NAME_MAX;
	return wz_err_set(err, -ENOENT, "UnknownModel", WZ_STR("no device model or family is called \""), name,
	        best.n ? WZ_STR("\"; nearest: ") : WZ_STR("\""), best.n > 0 ? wz_str(best.at[0].name) : WZ_STR(""),
	        best.n > 1 ? WZ_STR(", ") : WZ_STR(""), best.n > 1 ? wz_str(best.at[1].name) : WZ_STR(""),
	        best.n > 2 ? WZ_STR(", ") : WZ_STR(""), best.n > 2 ? wz_str(best.at[2].name) : WZ_STR(""));
}

int wz_catalogue_init(struct wz_catalogue *c, const struct wz_mem *mem)
{
	*c = (struct wz_catalogue){.mem = mem};
	wz_strtab_init(&c->names, mem);
	wz_map_init(&c->by_name, mem);
	wz_arena_init(&c->text, mem, 1024);
	if (wz_grow(mem, &c->model, &c->cap, N_BUILTIN, sizeof *c->model) < 0) {
		wz_catalogue_release(c);
		return -ENOMEM;
	}
	memcpy(c->model, catalogue_models, sizeof catalogue_models);
	c->n = N_BUILTIN;
	for (uint32_t i = 0; i < c->n; i++)
		c->model[i].geometry = wz_partition_geometry(wz_str(c->model[i].name));
	return 0;
}

void wz_catalogue_release(struct wz_catalogue *c)
{
	wz_arena_release(&c->text);
	wz_map_release(&c->by_name);
	wz_strtab_release(&c->names);
	wz_grow_free(c->mem, &c->model, &c->cap, sizeof *c->model);
	c->n = 0;
}

int wz_catalogue_find(const struct wz_catalogue *c, struct wz_str name, wz_model_id *ret, struct wz_err *err)
{
	const struct catalogue_family *f;
	struct normal n;
	uint32_t m;
	if (!normalise(name, &n))
		return unknown(c, name, err);
	m = find_model(c, &n);
	if (m == WZ_NONE) {
		f = find_family(&n);
		if (!f)
			return unknown(c, name, err);
		if (f->n > 1)
			return wz_err_set(err, -ENOENT, "AmbiguousModel", WZ_STR("\""), wz_str(f->spelling),
			        WZ_STR("\" is a family of several models, such as "),
			        wz_str(catalogue_models[catalogue_members[f->first]].name), WZ_STR(" and "),
			        wz_str(catalogue_models[catalogue_members[f->first + 1]].name));
		m = catalogue_members[f->first];
	}
	*ret = (wz_model_id){(uint16_t)m};
	return 0;
}

int wz_catalogue_match(
        const struct wz_catalogue *c, struct wz_str name, struct wz_model_set *set, struct wz_err *err)
{
	const struct catalogue_family *f;
	struct normal n;
	uint32_t m;
	if (!normalise(name, &n))
		return unknown(c, name, err);
	f = find_family(&n);
	m = find_model(c, &n);
	if (!f && m == WZ_NONE)
		return unknown(c, name, err);
	for (uint32_t i = 0; f && i < f->n; i++)
		wz_model_set_add(set, catalogue_members[f->first + i]);
	if (m != WZ_NONE)
		wz_model_set_add(set, m);
	return 0;
}

struct wz_str wz_catalogue_spelling(const struct wz_catalogue *c, struct wz_str name)
{
	const struct catalogue_family *f;
	struct normal n;
	uint32_t m;
	if (!normalise(name, &n))
		return WZ_STR("");
	f = find_family(&n);
	if (f)
		return wz_str(f->spelling);
	m = find_model(c, &n);
	return m == WZ_NONE ? WZ_STR("") : wz_str(c->model[m].name);
}

static bool name_ok(struct wz_str name)
{
	struct normal n;
	if (name.len >= WZ_MODEL_NAME_MAX || !normalise(name, &n))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char b = (unsigned char)name.ptr[i];
		if (b < 0x20 || b == 0x7f || b == ',' || b == '!' || b == '=' || b == '~' || b == '"' || b == '\'')
			return false;
	}
	return true;
}

static const char *keep(struct wz_catalogue *c, struct wz_str s)
{
	char *z = wz_arena_alloc(&c->text, s.len + 1);
	if (z && s.len)
		memcpy(z, s.ptr, s.len);
	return z;
}

static struct wz_model declared_facts(const struct wz_model *facts_or_null)
{
	struct wz_model m = facts_or_null ? *facts_or_null : (struct wz_model){.mem_bytes = 0};
	m.declared = 1;
	if (!m.class_g && m.mem_bytes)
		m.class_g = wz_memory_class_g(m.mem_bytes);
	if (!m.cu_milli)
		m.cu_milli = (uint32_t)((uint64_t)m.tflops_milli * 100000 / CATALOGUE_REFERENCE_TFLOPS_MILLI);
	return m;
}

int wz_catalogue_declare(struct wz_catalogue *c, struct wz_str name, const struct wz_model *facts_or_null,
        wz_model_id *ret, struct wz_err *err)
{
	struct wz_model m = declared_facts(facts_or_null);
	struct normal n;
	uint32_t id;
	name = wz_str_trim(name);
	if (wz_catalogue_find(c, name, ret, NULL) == 0)
		return 0;
	if (!name_ok(name) || !normalise(name, &n))
		return wz_err_set(err, -EINVAL, "BadModelName",
		        WZ_STR("a device model's name is 1 to 63 bytes without control characters and , ! = ~ \" "
		               "'"));
	if (c->n == WZ_MODELS_MAX)
		return wz_err_set(
		        err, -E2BIG, "TooManyModels", WZ_STR("more than 256 device models; cannot add "), name);
	m.vendor = keep(c, wz_str(m.vendor));
	m.name = keep(c, name);
	if (!m.vendor || !m.name || wz_grow(c->mem, &c->model, &c->cap, c->n + 1, sizeof *c->model) < 0 ||
	        wz_strtab_add(&c->names, normal_str(&n), &id) < 0 || wz_map_put(&c->by_name, id, c->n) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory for the device model "), name);
	c->model[c->n] = m;
	*ret = (wz_model_id){(uint16_t)c->n++};
	return 0;
}

uint32_t wz_memory_class_g(uint64_t bytes)
{
	uint64_t best_off = UINT64_MAX;
	uint32_t best = 0;
	for (uint32_t i = 0; i < WZ_ARRAY_LEN(catalogue_classes); i++) {
		uint64_t low = catalogue_classes[i] * 1000000000ULL, high = (uint64_t)catalogue_classes[i] << 30;
		uint64_t off = bytes < low ? low - bytes : bytes > high ? bytes - high : 0;
		if (off < best_off && off <= high / 25 * 3) {
			best_off = off;
			best = catalogue_classes[i];
		}
	}
	return best;
}

bool wz_memory_class_known(uint32_t g, uint32_t *ret_below, uint32_t *ret_above)
{
	uint32_t below = 0, above = 0;
	bool known = false;
	for (uint32_t i = 0; i < WZ_ARRAY_LEN(catalogue_classes); i++) {
		uint32_t class_g = catalogue_classes[i];
		known |= class_g == g;
		if (class_g < g)
			below = class_g;
		if (class_g > g && !above)
			above = class_g;
	}
	*ret_below = below;
	*ret_above = above;
	return known;
}

const char *wz_memory_class_example(uint32_t g)
{
	for (uint32_t i = 0; i < N_BUILTIN; i++)
		if (g && catalogue_models[i].class_g == g)
			return catalogue_models[i].name;
	return NULL;
}
