/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec/depend.h"

#include "base/check.h"
#include "base/near.h"

static const char *const words[] = {"after", "afterok", "afternotok", "afterany", "aftercorr", "singleton"};

static int bad(struct wz_str item, struct wz_err *err, const char *why)
{
	return wz_err_set(
	        err, -EINVAL, "BadDependency", WZ_STR("dependency \""), item, WZ_STR("\": "), wz_str(why));
}

static int kind_of(struct wz_str word, struct wz_str item, uint8_t *ret, struct wz_err *err)
{
	struct wz_near near;
	wz_near_init(&near, word);
	for (unsigned i = 0; i < WZ_ARRAY_LEN(words); i++) {
		if (wz_str_eq(word, wz_str(words[i]))) {
			*ret = (uint8_t)i;
			return 0;
		}
		wz_near_offer(&near, wz_str(words[i]));
	}
	return wz_err_set(err, -EINVAL, "BadDependency", WZ_STR("dependency \""), item,
	        WZ_STR("\": expected after, afterok, afternotok, afterany, aftercorr or singleton"),
	        near.best.len ? WZ_STR("; did you mean ") : WZ_STR(""), near.best,
	        near.best.len ? WZ_STR("?") : WZ_STR(""));
}

/* "17", "17_3", "17+5" */
static int target(struct wz_str s, struct wz_depend *d)
{
	struct wz_str delay = s, id = wz_str_split(&delay, '+'), index = id, job = wz_str_split(&index, '_');
	uint64_t n;
	if (wz_str_parse_u64(job, &d->job) < 0 || d->job == 0 || d->job > INT64_MAX)
		return -EINVAL;
	if (index.ptr) {
		if (wz_str_parse_u64(index, &n) < 0 || n > UINT32_MAX || d->kind == WZ_AFTERCORR)
			return -EINVAL;
		d->task = true;
		d->index = (uint32_t)n;
	}
	if (delay.ptr) {
		if (d->kind != WZ_AFTER || wz_str_parse_u64(delay, &n) < 0 || n > 5256000)
			return -EINVAL;
		d->delay_us = n * 60000000;
	}
	return 0;
}

int wz_depend_parse(struct wz_str text, struct wz_depend *v, uint32_t max, uint32_t *n, struct wz_err *err)
{
	bool any = text.len && memchr(text.ptr, '?', text.len);
	struct wz_str rest = text;
	uint32_t at = *n;
	if (any && memchr(text.ptr, ',', text.len))
		return bad(text, err, "',' (all) and '?' (any) cannot be mixed");
	while (rest.ptr) {
		struct wz_str item = wz_str_trim(wz_str_split(&rest, any ? '?' : ',')), ids = item;
		struct wz_depend d = {.any = any};
		int rc = kind_of(wz_str_split(&ids, ':'), item, &d.kind, err);
		if (rc < 0)
			return rc;
		if (d.kind == WZ_SINGLETON ? ids.ptr != NULL : !ids.ptr)
			return bad(item, err,
			        d.kind == WZ_SINGLETON ? "singleton takes no job"
			                               : "a job number is missing, such as afterok:17");
		do {
			struct wz_depend one = d;
			if (d.kind != WZ_SINGLETON && target(wz_str_split(&ids, ':'), &one) < 0)
				return bad(
				        item, err, "expected job numbers such as 17 or 17_3 (after: 17+MINUTES)");
			if (at == max)
				return wz_err_set(err, -E2BIG, "TooManyDependencies",
				        WZ_STR("a job can wait for 1024 others at most"));
			v[at++] = one;
		} while (ids.ptr);
	}
	*n = at;
	return 0;
}

void wz_depend_format(const struct wz_depend *v, uint32_t n, struct wz_buf *b)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			wz_buf_addc(b, v[i].any ? '?' : ',');
		wz_buf_addz(b, words[v[i].kind]);
		if (v[i].kind == WZ_SINGLETON)
			continue;
		wz_buf_addc(b, ':');
		wz_buf_add_u64(b, v[i].job);
		if (v[i].task) {
			wz_buf_addc(b, '_');
			wz_buf_add_u64(b, v[i].index);
		}
		if (v[i].delay_us) {
			wz_buf_addc(b, '+');
			wz_buf_add_u64(b, v[i].delay_us / 60000000);
		}
	}
}
