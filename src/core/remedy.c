/* SPDX-License-Identifier: Apache-2.0 */
#include "core/remedy.h"

#include "base/check.h"

#define SNAPSHOT_MAX ((size_t)1 << 32)
#define TEXT_MAX 2048u
#define ENTRIES_MAX 24u

/* One entry of the profile, and what it may become. */
struct entry {
	struct wz_str text, key;
	bool changed, without;
	char now[48]; /* when changed */
};

struct asking {
	struct wz_core *core; /* the copy */
	uint64_t job;
	struct entry e[ENTRIES_MAX];
	uint32_t n;
	struct wz_remedies *ret;
	int r; /* -ENOMEM ends it */
	struct wz_err *err;
};

static bool is(const struct entry *e, const char *key)
{
	return wz_str_eq(e->key, wz_str(key));
}

static int split(struct asking *x, struct wz_str profile)
{
	while (profile.ptr && profile.len) {
		struct wz_str one = wz_str_split(&profile, ' ');
		size_t k = 0;
		if (!one.len)
			continue;
		if (x->n == ENTRIES_MAX)
			return wz_err_set(x->err, -E2BIG, "TooMany", WZ_STR("the profile has too many entries"));
		while (k < one.len && one.ptr[k] != '=' && one.ptr[k] != '<' && one.ptr[k] != '>' &&
		        one.ptr[k] != '~')
			k++;
		x->e[x->n++] = (struct entry){.text = one, .key = {one.ptr, k}};
	}
	return 0;
}

/* Does the job start with the entries as they are now? */
static bool starts(struct asking *x)
{
	char room[TEXT_MAX];
	struct wz_buf b;
	struct wz_profile p;
	struct wz_explanation why;
	struct wz_event ev = {.kind = WZ_EV_JOB_EDITED, .time_us = wz_core_now(x->core)};
	struct wz_job_info info;
	if (x->r < 0 || wz_core_job(x->core, x->job, &info) < 0)
		return false;
	wz_buf_init_fixed(&b, room, sizeof room);
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->e[i].without)
			continue;
		wz_buf_add(&b, x->e[i].changed ? wz_str(x->e[i].now) : x->e[i].text);
		wz_buf_addc(&b, ' ');
	}
	if (b.status < 0 || wz_profile_parse(wz_buf_str(&b), wz_core_catalogue_of(x->core), &p, NULL) < 0)
		return false;
	ev.u.edit.job = x->job;
	ev.u.edit.priority = info.priority;
	ev.u.edit.profile = &p;
	x->ret->tried++;
	int r = wz_core_apply(x->core, &ev, NULL);
	if (r == 0)
		r = wz_core_explain(x->core, x->job, &why, NULL);
	x->r = r == -ENOMEM ? r : 0;
	return r == 0 && why.main == WZ_REASON_NONE;
}

static void tell(struct asking *x)
{
	struct wz_buf b;
	if (x->ret->n == WZ_REMEDIES_MAX)
		return;
	wz_buf_init_fixed(&b, x->ret->remedy[x->ret->n].change, WZ_REMEDY_TEXT_MAX);
	for (uint32_t i = 0; i < x->n; i++) {
		const struct entry *e = &x->e[i];
		if (!e->changed && !e->without)
			continue;
		wz_buf_addz(&b, b.len ? " " : "");
		if (e->without) {
			wz_buf_addz(&b, "without ");
			wz_buf_add(&b, e->key);
		} else {
			wz_buf_addz(&b, e->now);
		}
	}
	if (wz_buf_z(&b))
		x->ret->n++;
}

static void reset(struct asking *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		x->e[i].changed = x->e[i].without = false;
}

static void set_number(struct entry *e, uint64_t v, const char *unit)
{
	struct wz_buf b;
	wz_buf_init_fixed(&b, e->now, sizeof e->now);
	wz_buf_add(&b, e->key);
	wz_buf_addc(&b, '=');
	wz_buf_add_u64(&b, v);
	wz_buf_addz(&b, unit);
	e->changed = wz_buf_z(&b) != NULL;
}

/* ---- entries alone ---- */

/* The largest value below what is asked that suffices: from above, since links and models make it jump. */
static void fewer(struct asking *x, struct entry *e, uint64_t asked, uint64_t step, const char *unit)
{
	for (uint64_t v = asked > step ? asked - step : 0; v >= step && v < asked; v -= step) {
		set_number(e, v, unit);
		if (starts(x)) {
			tell(x);
			return;
		}
		if (v == step)
			break;
	}
	e->changed = false;
}

/* The same for amounts of the host, of which less always suffices when more does. */
static void less(struct asking *x, struct entry *e, uint64_t asked, const char *unit)
{
	uint64_t lo = 0, hi = asked; /* lo suffices, hi does not */
	set_number(e, 0, unit);
	if (asked == 0 || !starts(x)) {
		e->changed = false;
		return;
	}
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		set_number(e, mid, unit);
		if (starts(x))
			lo = mid;
		else
			hi = mid;
	}
	set_number(e, lo, unit);
	tell(x);
}

static bool drops(const struct entry *e)
{
	return is(e, "gpu-type") || is(e, "link") || is(e, "gpu-mem") || is(e, "gpu-mem-total") || is(e, "cu") ||
	       is(e, "bw") || is(e, "free");
}

static void alone(struct asking *x, struct entry *e, const struct wz_profile *p)
{
	if (is(e, "gpus") && p->gpus > 1)
		fewer(x, e, p->gpus, 1, "");
	else if (is(e, "gpu-share") && p->share_milli > 50)
		fewer(x, e, (uint64_t)p->share_milli / 10, 5, "%");
	else if (is(e, "cpus"))
		less(x, e, p->cpu_milli / 1000, "");
	else if (is(e, "mem"))
		less(x, e, p->mem_bytes >> 30, "Gi");
	else if (drops(e)) {
		e->without = true;
		if (starts(x))
			tell(x);
	}
}

/* ---- together ---- */

static void relax(struct entry *e)
{
	if (is(e, "gpus"))
		set_number(e, 1, "");
	else if (is(e, "gpu-share"))
		set_number(e, 5, "%");
	else if (is(e, "cpus") || is(e, "mem"))
		set_number(e, 0, is(e, "mem") ? "Gi" : "");
	else
		e->without = drops(e);
}

/* All at once; then each is taken back that is not needed. */
static void together(struct asking *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		relax(&x->e[i]);
	if (!starts(x)) {
		x->ret->hopeless = x->r == 0;
		return;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		struct entry was = x->e[i];
		if (!was.changed && !was.without)
			continue;
		x->e[i].changed = x->e[i].without = false;
		if (!starts(x))
			x->e[i] = was;
	}
	tell(x);
}

int wz_remedies_ask(const struct wz_core *c, const struct wz_mem *mem, uint64_t job, struct wz_str profile,
        struct wz_remedies *ret, struct wz_err *err)
{
	struct wz_core_options o = {.no_index = true};
	struct asking x = {.job = job, .ret = ret, .err = err};
	struct wz_job_info info;
	struct wz_profile p;
	struct wz_buf bytes;
	*ret = (struct wz_remedies){.n = 0};
	if (wz_core_job(c, job, &info) < 0)
		return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no live job of that number"));
	if (info.state != WZ_JOB_WAITING)
		return wz_err_set(err, -EINVAL, "NotWaiting", WZ_STR("the job is not waiting"));
	int r = wz_profile_parse(profile, wz_core_catalogue_of(c), &p, err);
	if (r == 0)
		r = split(&x, profile);
	wz_buf_init(&bytes, mem, SNAPSHOT_MAX);
	if (r == 0)
		r = wz_core_export(c, &bytes, err);
	if (r == 0)
		r = wz_core_import(mem, &o, wz_buf_str(&bytes), &x.core, NULL, err);
	wz_buf_release(&bytes);
	for (uint32_t i = 0; r == 0 && x.r == 0 && i < x.n; i++) {
		reset(&x);
		alone(&x, &x.e[i], &p);
	}
	reset(&x);
	if (r == 0 && x.r == 0 && ret->n == 0)
		together(&x);
	wz_core_free(x.core);
	if (r == 0 && x.r < 0)
		r = wz_err_set(err, x.r, "OutOfMemory", WZ_STR("out of memory"));
	return r;
}
