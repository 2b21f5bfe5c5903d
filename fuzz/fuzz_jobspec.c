/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as a job file, as a script with #SBATCH and #WZ lines, and as each of the small grammars. Properties:
 * a fault says why in printable text; what parses can be asked of the daemon or is refused with a field; dependencies are
 * formatted and parse back; each index of a set is found in it; what is quoted is one word. */
#include "fuzz.h"

#include "base/check.h"
#include "jobspec/depend.h"
#include "jobspec/indices.h"
#include "jobspec/jobspec.h"
#include "jobspec/params.h"
#include "jobspec/retry.h"
#include "jobspec/words.h"
#include "os/mem.h"
#include "os/when.h"

static struct wz_catalogue cat;
static bool have_cat;

static void check_fault(int rc, const struct wz_err *err)
{
	if (rc == 0)
		return;
	wz_check(rc < 0 && err->reason && err->text[0]);
	for (const char *p = err->text; *p; p++)
		wz_check((unsigned char)*p >= 0x20 || *p == '\n');
}

static void check_spec(struct wz_jobspec *j, int rc, struct wz_err *err)
{
	const char *field = NULL;
	if (rc == 0)
		rc = wz_jobspec_finish(j, err);
	check_fault(rc, err);
	if (rc == 0)
		check_fault(wz_submit_check(&j->rq, j->arena, &field, err), err);
}

static void parts(struct wz_str text, struct wz_arena *a, struct wz_err *err)
{
	struct wz_depend d[64], again[64];
	struct wz_indices x;
	struct wz_retry_rule rule;
	struct wz_sweep s = {.n = 0};
	struct wz_buf b;
	struct wz_str *w;
	int64_t t;
	uint32_t n = 0, m = 0;
	wz_buf_init(&b, wz_os_mem(), 1 << 20);
	int rc = wz_depend_parse(text, d, 64, &n, err);
	check_fault(rc, err);
	if (rc == 0) {
		wz_depend_format(d, n, &b);
		wz_check(wz_depend_parse(wz_buf_str(&b), again, 64, &m, NULL) == 0 && m == n);
		for (uint32_t i = 0; i < n; i++)
			wz_check(
			        d[i].job == again[i].job && d[i].kind == again[i].kind && d[i].any == again[i].any);
	}
	rc = wz_indices_parse(text, &x, err);
	check_fault(rc, err);
	for (uint32_t k = 0; rc == 0 && k < x.count && k < 500; k++)
		wz_check(wz_indices_has(&x, wz_indices_at(&x, k)));
	check_fault(wz_retry_parse(text, &rule, err), err);
	check_fault(wz_when_parse(text, 1764590400000000, &t, err), err);
	rc = wz_sweep_add(&s, text, err);
	check_fault(rc, err);
	wz_buf_clear(&b);
	if (rc == 0)
		wz_sweep_params(&s, s.count - 1, &b);
	wz_buf_clear(&b);
	wz_params_expand(text, text, &b);
	check_fault(wz_words_split(text, true, a, &w, &n, err), err);
	if (text.len && memchr(text.ptr, 0, text.len) == NULL && text.len < 100000) {
		wz_buf_clear(&b);
		wz_words_quote(text, &b);
		wz_check(wz_words_split(wz_buf_str(&b), true, a, &w, &n, NULL) == 0 && n == 1 &&
		         wz_str_eq(w[0], text));
	}
	wz_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str text = {(const char *)data, size};
	static struct wz_jobspec j;
	struct wz_arena a;
	struct wz_err err = {0};
	if (!have_cat)
		wz_check(wz_catalogue_init(&cat, wz_os_mem()) == 0);
	have_cat = true;
	wz_arena_init(&a, wz_os_mem(), 65536);
	for (unsigned i = 0; i < 4; i++) {
		wz_jobspec_init(&j, &a, &cat, 1764590400000000);
		int rc = wz_jobspec_yaml(&j, text, "f", i, &err);
		if (rc == -ENOENT)
			break;
		check_spec(&j, rc, &err);
	}
	wz_jobspec_init(&j, &a, &cat, 1764590400000000);
	check_spec(&j, wz_jobspec_script(&j, text, "f", &err), &err);
	parts(text, &a, &err);
	wz_arena_release(&a);
	return 0;
}
