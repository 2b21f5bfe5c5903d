/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar against spec/vectors/profile.txt, errors, layers of settings, and parse(format(p)) == p for random p. */
#include "core/profile.h"

#include "base/quant.h"
#include "base/rng.h"
#include "fault.h"
#include "tap.h"

static struct fault_mem memory;
static struct wz_catalogue cat;

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t cap = 1 << 20;
	if (!f)
		return NULL;
	text = malloc(cap);
	*ret_len = text ? fread(text, 1, cap, f) : 0;
	fclose(f);
	return text;
}

/* The column, from 1, of the caret in an error text; 0 when there is none. */
static uint64_t caret_column(const char *text)
{
	const char *last = strrchr(text, '\n');
	if (!last || last[strlen(last) - 1] != '^')
		return 0;
	return strlen(last) - 1;
}

static bool cut_at(struct wz_str s, struct wz_str mark, struct wz_str *ret_before, struct wz_str *ret_after)
{
	for (size_t i = 0; i + mark.len <= s.len; i++)
		if (memcmp(s.ptr + i, mark.ptr, mark.len) == 0) {
			*ret_before = wz_str_trim((struct wz_str){s.ptr, i});
			*ret_after = wz_str_trim((struct wz_str){s.ptr + i + mark.len, s.len - i - mark.len});
			return true;
		}
	return false;
}

static void check_good(struct wz_str in, struct wz_str want, unsigned line)
{
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_profile p, again;
	struct wz_err err = {.code = 0};
	struct wz_buf b;
	int rc = wz_profile_parse(in, &cat, &p, &err);
	tap_ok(rc == 0, "profile.txt:%u: %s", line, err.text);
	if (rc < 0)
		return;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_profile_format(&p, &b);
	tap_eq_str(wz_buf_str(&b), want, "profile.txt:%u", line);
	tap_eq_i64(wz_profile_parse(wz_buf_str(&b), &cat, &again, NULL), 0, "profile.txt:%u: canonical", line);
	tap_ok(memcmp(&p, &again, sizeof p) == 0, "profile.txt:%u: not the same after a round", line);
}

static void check_bad(struct wz_str in, struct wz_str want, unsigned line)
{
	struct wz_str rest = want, reason = wz_str_split(&rest, ' ');
	struct wz_profile p;
	struct wz_err err = {.code = 0};
	uint64_t column = 0;
	int rc;
	memset(&p, 0x5a, sizeof p);
	tap_ok(wz_str_parse_u64(rest, &column) == 0, "profile.txt:%u: no column", line);
	rc = wz_profile_parse(in, &cat, &p, &err);
	tap_eq_i64(rc, -EINVAL, "profile.txt:%u", line);
	if (rc == 0)
		return;
	tap_eq_i64(wz_profile_parse(in, &cat, &p, NULL), rc, "profile.txt:%u: without err", line);
	tap_eq_i64(err.code, rc, "profile.txt:%u: code", line);
	tap_eq_str(wz_str(err.reason), reason, "profile.txt:%u: %s", line, err.text);
	tap_ok(caret_column(err.text) == column, "profile.txt:%u: caret at %" PRIu64 ", want %" PRIu64 "\n%s", line,
	        caret_column(err.text), column, err.text);
	for (size_t i = 0; i < sizeof p; i++)
		if (((unsigned char *)&p)[i] != 0x5a) {
			tap_ok(false, "profile.txt:%u: a failure wrote a result", line);
			break;
		}
}

static void test_vectors(void)
{
	const char *root = getenv("WZ_SOURCE_ROOT");
	char path[512], *text;
	unsigned line = 0, n = 0;
	size_t len;
	struct wz_str rest;
	snprintf(path, sizeof path, "%s/spec/vectors/profile.txt", root ? root : ".");
	text = read_file(path, &len);
	tap_require(text, "%s: cannot be read", path);
	rest = (struct wz_str){text, len};
	while (rest.ptr) {
		struct wz_str l = wz_str_split(&rest, '\n'), in, want;
		line++;
		if (wz_str_trim(l).len == 0 || l.ptr[0] == '#')
			continue;
		n++;
		if (cut_at(l, WZ_STR("=> "), &in, &want) || cut_at(l, WZ_STR(" =>"), &in, &want))
			check_good(in, want, line);
		else if (cut_at(l, WZ_STR(" !! "), &in, &want))
			check_bad(in, want, line);
		else
			tap_ok(false, "profile.txt:%u: neither => nor !!", line);
	}
	tap_ok(n > 100, "only %u vectors", n);
	free(text);
}

static void expect_error(const char *in, const char *want)
{
	struct wz_profile p;
	struct wz_err err = {.code = 0};
	tap_eq_i64(wz_profile_parse(wz_str(in), &cat, &p, &err), -EINVAL, "%.60s", in);
	tap_eq_str(wz_str(err.text), wz_str(want), "%.60s", in);
}

static void test_error_texts(void)
{
	char longest[WZ_PROFILE_TEXT_MAX + 2];
	struct wz_profile p;
	struct wz_err err;
	expect_error("gpus=1 gpu-mem=81G cpus=4", "no card is sold as 81G; nearest: 80G (A100-PCIe-80GB), 94G "
	                                          "(H100-NVL-94GB); for exact bytes write 81Gi\n"
	                                          "gpus=1 gpu-mem=81G cpus=4\n"
	                                          "               ^");
	expect_error("gpus=1 gpumem=80G", "no key \"gpumem\"; did you mean gpu-mem\n"
	                                  "gpus=1 gpumem=80G\n"
	                                  "       ^");
	expect_error("gpus=1\ngpu-type=h100,rtx3091\ncpus=4",
	        "gpu-type: no device model or family is called \"rtx3091\"; nearest: RTX-3090, RTX-4090, RTX-5090\n"
	        "gpu-type=h100,rtx3091\n"
	        "              ^");
	expect_error("colour=red",
	        "no key \"colour\"; the keys are gpus, gpu-share, gpu-mem, gpu-mem-total, cu, gpu-type, gpu-mig, "
	        "link, free, bw, util, cpus, mem, time, tasks, kind, preempt, repair\n"
	        "colour=red\n"
	        "^");
	expect_error("gpus=\xe5\x85\xab cpus=x\xff",
	        "gpus: \"\xe5\x85\xab\" is not a number of devices, such as 4 or 0.5\n"
	        "gpus=? cpus=x?\n"
	        "     ^");
	/* far into a long line: what is around the place */
	expect_error("gpu-type=a100,h100,v100,p100,h200,h20,b200,gb200,l40s,l40,l4,t4,a10,a30,a40 cpus=ten mem=4Gi "
	             "time=8h",
	        "cpus: \"ten\": an amount is a number, a percentage or thousandths: 2, 0.5, 50%, 500m\n"
	        "00,gb200,l40s,l40,l4,t4,a10,a30,a40 cpus=ten mem=4Gi time=8h\n"
	        "                                         ^");
	memset(longest, ' ', sizeof longest);
	tap_eq_i64(
	        wz_profile_parse((struct wz_str){longest, WZ_PROFILE_TEXT_MAX}, &cat, &p, &err), 0, "4096 blanks");
	tap_eq_i64(wz_profile_parse((struct wz_str){longest, WZ_PROFILE_TEXT_MAX + 1}, &cat, &p, &err), -EINVAL,
	        "4097");
	memset(longest, 'x', sizeof longest);
	tap_eq_i64(wz_profile_parse((struct wz_str){longest, WZ_PROFILE_TEXT_MAX}, &cat, &p, &err), -EINVAL,
	        "a long word");
	tap_eq_i64(wz_profile_parse((struct wz_str){NULL, 0}, &cat, &p, &err), 0, "nothing");
}

static void test_many_types(void)
{
	static const char sixteen[] = "gpu-type=k80,m60,p4,p40,p100,v100,t4,t4g,a10,a10g,a2,a30,a40,a100,l4,l20";
	struct wz_profile p;
	struct wz_err err;
	char text[128];
	tap_eq_i64(wz_profile_parse(wz_str(sixteen), &cat, &p, &err), 0, "sixteen");
	tap_eq_i64(p.n_types, 16, "sixteen");
	snprintf(text, sizeof text, "%s,h100", sixteen);
	tap_eq_i64(wz_profile_parse(wz_str(text), &cat, &p, &err), -EINVAL, "seventeen");
}

static int set(struct wz_profile *p, const char *key, const char *value, struct wz_err *err)
{
	return wz_profile_set(p, wz_str(key), wz_str(value), &cat, err);
}

static void test_set(void)
{
	struct wz_profile p, before;
	struct wz_err err = {.code = 0};
	wz_profile_init(&p);
	tap_eq_i64(set(&p, "gpu-share", "50%", &err), 0, "share");
	tap_eq_i64(set(&p, "gpu-mem", "10G", &err), 0, "memory");
	tap_eq_i64(set(&p, "link", "~node", &err), 0, "preferred");
	tap_ok(p.link_preferred && p.link == WZ_LINK_NODE, "link~node");
	before = p;
	tap_eq_i64(set(&p, "gpu-mem", "20G", &err), -EINVAL, "twice");
	tap_eq_i64(set(&p, "gpu-type", "a100,h1oo", &err), -EINVAL, "unknown");
	tap_ok(strstr(err.text, "\ngpu-type=a100,h1oo\n              ^") != NULL, "%s", err.text);
	tap_eq_i64(set(&p, "colour", "red", &err), -EINVAL, "unknown key");
	tap_eq_i64(wz_profile_set(&p, (struct wz_str){NULL, 0}, (struct wz_str){NULL, 0}, &cat, &err), -EINVAL,
	        "no key");
	tap_eq_i64(wz_profile_set(&p, WZ_STR("cpus"), (struct wz_str){NULL, 0}, &cat, &err), -EINVAL, "no value");
	tap_ok(memcmp(&p, &before, sizeof p) == 0, "failures leave no trace");
	tap_eq_i64(wz_profile_finish(&p, &cat, &err), -EINVAL, "a link for one device");
	tap_ok(memcmp(&p, &before, sizeof p) == 0, "nor does a failed finish");
	tap_eq_i64(set(&p, "tasks", "2", &err), 0, "a gang");
	tap_eq_i64(wz_profile_finish(&p, &cat, &err), 0, "is fine");
	tap_eq_i64(p.gpu_mem_bytes, 10000000000, "of a share G is 10^9");
	tap_eq_i64(p.gpu_mem_g, 0, "not a class");
	tap_eq_i64(p.given, 0, "finished");
	/* a flag over the job file */
	tap_eq_i64(set(&p, "gpus", "4", &err), 0, "replaces the share");
	tap_eq_i64(set(&p, "gpu-mem", "40G", &err), 0, "replaces the memory");
	tap_eq_i64(wz_profile_finish(&p, &cat, &err), 0, "finish");
	tap_ok(p.gpus == 4 && p.share_milli == 0 && p.gpu_mem_g == 40 && p.gpu_mem_bytes == 0, "replaced");
	p.gpus = 0;
	p.share_milli = WZ_WHOLE;
	tap_eq_i64(wz_profile_finish(&p, &cat, &err), 0, "a whole share");
	tap_ok(p.gpus == 1 && p.share_milli == 0, "is a device");
}

static void test_set_long_value(void)
{
	char value[5000];
	struct wz_profile p;
	struct wz_err err;
	wz_profile_init(&p);
	for (size_t i = 0; i < sizeof value; i++)
		value[i] = i % 5 == 4 ? ',' : "h100"[i % 5];
	for (size_t n = 0; n < sizeof value; n += 7) {
		int rc = wz_profile_set(&p, WZ_STR("gpu-type"), (struct wz_str){value, n}, &cat, &err);
		tap_ok(rc == -EINVAL || n <= 4, "named twice, %zu", n);
		tap_ok(rc == 0 || strlen(err.text) < sizeof err.text, "text");
		wz_profile_init(&p);
	}
}

static void test_declared_model(void)
{
	struct wz_profile p, again;
	struct wz_err err = {.code = 0};
	struct wz_buf b;
	char text[256];
	wz_model_id m;
	tap_require(wz_catalogue_declare(&cat, WZ_STR("Acme GPU One"), NULL, &m, &err) == 0, "declare");
	tap_eq_i64(
	        wz_profile_parse(WZ_STR("gpu-type=acme-gpu-one gpu-mem=80G"), &cat, &p, &err), 0, "%s", err.text);
	tap_ok(wz_model_set_has(&p.allowed, m.v), "allowed");
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_profile_format(&p, &b);
	tap_eq_str(wz_buf_str(&b), WZ_STR("gpu-mem=80G gpu-type=Acme-GPU-One"), "blanks become -");
	tap_eq_i64(wz_profile_parse(wz_buf_str(&b), &cat, &again, &err), 0, "and back");
	tap_ok(memcmp(&p, &again, sizeof p) == 0, "the same");
	/* What is excluded leaves models in that are declared later. */
	tap_eq_i64(wz_profile_parse(WZ_STR("gpu-type=!t4"), &cat, &p, &err), 0, "excluded");
	tap_require(wz_catalogue_declare(&cat, WZ_STR("Acme GPU Two"), NULL, &m, &err) == 0, "declare");
	tap_ok(wz_model_set_has(&p.allowed, m.v), "allowed");
}

static void test_keys(void)
{
	tap_eq_i64(wz_profile_keys_n, 18, "keys");
	for (unsigned i = 0; i < wz_profile_keys_n; i++) {
		tap_ok(wz_profile_keys[i].name[0] && wz_profile_keys[i].value[0] && wz_profile_keys[i].help[0],
		        "key %u", i);
		for (unsigned k = 0; k < i; k++)
			tap_ok(strcmp(wz_profile_keys[i].name, wz_profile_keys[k].name) != 0, "key %u is key %u", i,
			        k);
	}
}

/* --- property --- */

static uint64_t magnitude(struct wz_rng *r, unsigned bits)
{
	return wz_rng_next(r) >> (64 - 1 - wz_rng_below(r, bits));
}

static bool chance(struct wz_rng *r, unsigned percent)
{
	return wz_rng_below(r, 100) < percent;
}

static void random_types(struct wz_rng *r, struct wz_buf *b)
{
	static const char *const families[] = {"a100", "h100", "v100", "p100", "h200", "910b", "mi200"};
	uint32_t from = (uint32_t)wz_rng_below(r, 60), n = 1 + (uint32_t)wz_rng_below(r, 6);
	wz_buf_addz(b, "gpu-type=");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			wz_buf_addc(b, ',');
		if (chance(r, 30))
			wz_buf_addc(b, '!');
		wz_buf_addz(b, i == 0 && chance(r, 50) ? families[wz_rng_below(r, WZ_ARRAY_LEN(families))]
		                                       : cat.model[from + i].name);
	}
}

/* A valid profile, or one that finish refuses. Sizes are not only round ones. */
static void random_profile(struct wz_rng *r, struct wz_profile *p)
{
	static const uint32_t classes[] = {16, 24, 32, 40, 80, 94, 141};
	char text[512];
	struct wz_buf b;
	wz_profile_init(p);
	wz_buf_init_fixed(&b, text, sizeof text);
	if (chance(r, 30))
		random_types(r, &b);
	if (wz_profile_parse(wz_buf_str(&b), &cat, p, NULL) < 0)
		wz_profile_init(p);
	if (chance(r, 50))
		p->gpus = (uint32_t)wz_rng_below(r, WZ_NODE_DEVICES_MAX + 1);
	else if (chance(r, 60))
		p->share_milli = 1 + (uint32_t)wz_rng_below(r, 999);
	if (chance(r, 40))
		p->gpu_mem_bytes = chance(r, 30) ? wz_rng_below(r, 100) * 1000000000 : magnitude(r, 55);
	else if (chance(r, 40))
		p->gpu_mem_g = classes[wz_rng_below(r, WZ_ARRAY_LEN(classes))];
	p->gpu_mem_total_bytes = chance(r, 20) ? magnitude(r, 55) : 0;
	p->cu_milli = chance(r, 20) ? wz_rng_below(r, 1000000) : 0;
	if (chance(r, 30)) {
		p->link = (enum wz_link)wz_rng_below(r, 6);
		p->link_preferred = p->link && chance(r, 50);
	}
	p->free_pct = chance(r, 20) ? (uint32_t)wz_rng_below(r, 101) : 0;
	p->bw_gbps = chance(r, 20) ? (uint32_t)wz_rng_below(r, 10000) : 0;
	p->util_milli = chance(r, 30) ? (uint32_t)wz_rng_below(r, 1001) : 0;
	p->cpu_milli = chance(r, 50) ? magnitude(r, 40) : 0;
	p->mem_bytes = chance(r, 50) ? magnitude(r, 55) : 0;
	p->time_us = chance(r, 50) ? magnitude(r, 62) : 0;
	p->tasks_min = chance(r, 30) ? 1 + (uint32_t)wz_rng_below(r, WZ_JOB_TASKS_MAX) : 1;
	p->tasks_max = chance(r, 30) ? p->tasks_min + (uint32_t)wz_rng_below(r, WZ_JOB_TASKS_MAX - p->tasks_min + 1)
	                             : p->tasks_min;
	p->kind = chance(r, 20) ? WZ_KIND_SERVICE : WZ_KIND_BATCH;
	if (chance(r, 30)) {
		p->preempt.movable = 1;
		p->preempt.ack = (uint8_t)wz_rng_below(r, 3);
		p->preempt.grace_us = chance(r, 50) ? magnitude(r, 40) : 0;
		p->preempt.interval_us = chance(r, 50) ? magnitude(r, 40) : 0;
		if (chance(r, 50))
			memcpy(p->preempt.signal, "USR1", 4);
	}
}

static void test_round_trip(void)
{
	const char *given = getenv("WZ_TEST_SEED");
	uint64_t seed = 1;
	struct wz_rng r;
	unsigned valid = 0;
	if (given)
		tap_require(wz_str_parse_u64(wz_str(given), &seed) == 0, "WZ_TEST_SEED is not a number");
	printf("# seed %" PRIu64 "\n", seed);
	wz_rng_seed(&r, seed);
	for (unsigned i = 0; i < 20000; i++) {
		struct wz_profile p, again;
		struct wz_err err = {.code = 0};
		struct wz_buf b;
		char text[WZ_PROFILE_TEXT_MAX];
		random_profile(&r, &p);
		if (wz_profile_finish(&p, &cat, NULL) < 0)
			continue;
		valid++;
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_profile_format(&p, &b);
		tap_ok(wz_profile_parse(wz_buf_str(&b), &cat, &again, &err) == 0, "round %u: %s", i, err.text);
		tap_ok(err.code || memcmp(&p, &again, sizeof p) == 0, "round %u: %.*s", i, (int)b.len, text);
	}
	tap_ok(valid > 10000, "only %u of 20000 were valid", valid);
}

int main(void)
{
	fault_mem_init(&memory);
	if (wz_catalogue_init(&cat, &memory.mem) < 0)
		return 1;
	tap_run(test_vectors);
	tap_run(test_error_texts);
	tap_run(test_many_types);
	tap_run(test_set);
	tap_run(test_set_long_value);
	tap_run(test_keys);
	tap_run(test_round_trip);
	tap_run(test_declared_model);
	wz_catalogue_release(&cat);
	return tap_done();
}
