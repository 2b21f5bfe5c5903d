/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shape.h"

#include "base/quant.h"
#include "base/rng.h"
#include "fault.h"
#include "tap.h"

static struct fault_mem memory;
static struct wz_catalogue cat;

static struct wz_shape shape(const char *text)
{
	struct wz_profile p;
	struct wz_shape s;
	struct wz_err err = {.code = 0};
	wz_profile_init(&p);
	tap_ok(wz_profile_parse(wz_str(text), &cat, &p, &err) == 0, "%s: %s", text, err.text);
	memset(&s, 0x5a, sizeof s); /* padding differs between calls or not: nobody may care */
	wz_shape_of(&p, &s);
	return s;
}

static const struct wz_model *model(const char *name)
{
	wz_model_id m = {0};
	tap_ok(wz_catalogue_find(&cat, wz_str(name), &m, NULL) == 0, "%s", name);
	return &cat.model[m.v];
}

static void test_of(void)
{
	static const struct {
		const char *text;
		uint32_t count;
		int32_t milli;
		int special;
	} cases[] = {
	        {"", 0, 0, 0}, {"cpus=4 mem=1Gi", 0, 0, 0}, {"gpus=4", 4, 1000, 0}, {"gpu-share=50%", 1, 500, 0},
	        {"gpu-share=50% gpu-mem=10Gi", 1, 500, 0},
	        {"gpu-type=a100", 1, 1000, 0}, /* one device when nothing else is said */
	        {"gpu-mem=80G", 1, 1000, 1}, {"bw=900", 1, 1000, 1}, {"free=20%", 1, 1000, 1},
	        {"util=80%", 0, 0, 0}, /* an expectation asks for nothing */
	        {"cu=200", 0, 0, 1}, {"gpu-mem-total=320Gi", 0, 0, 1},
	        {"gpu-mem-total=320Gi gpu-type=a100", 0, 0, 1}, {"gpus=4 cu=200", 4, 1000, 1},
	        {"gpus=4 link=nvlink", 4, 1000, 1}, {"gpus=4 link~nvlink", 4, 1000, 1},
	        {"gpus=1 tasks=4 link=rack", 1, 1000, 0}, /* concerns the gang only */
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(cases); i++) {
		struct wz_shape s = shape(cases[i].text);
		tap_eq_i64(s.count, cases[i].count, "count of %s", cases[i].text);
		tap_eq_i64(s.milli, cases[i].milli, "milli of %s", cases[i].text);
		tap_eq_i64(s.special, cases[i].special, "special of %s", cases[i].text);
	}
}

static void test_models(void)
{
	struct wz_shape any = shape("gpus=1"), one = shape("gpus=1 gpu-type=h100,a100,!a100-40g"),
	                skipped = shape("gpus=1 gpu-type=A100-SXM4-40GB,a100,!a100-40g"),
	                without = shape("gpus=1 gpu-type=!t4");
	uint32_t h100 = (uint32_t)(model("H100-SXM5-80GB") - cat.model),
	         a100 = (uint32_t)(model("A100-SXM4-80GB") - cat.model),
	         small = (uint32_t)(model("A100-SXM4-40GB") - cat.model), t4 = (uint32_t)(model("T4") - cat.model);
	tap_ok(any.any_model && wz_model_set_has(&any.allowed, 255) && wz_model_set_has(&any.first, 255),
	        "any is all 256");
	tap_ok(wz_model_set_has(&one.allowed, h100) && wz_model_set_has(&one.allowed, a100), "both");
	tap_ok(!wz_model_set_has(&one.allowed, small), "not the excluded");
	tap_ok(wz_model_set_has(&one.first, h100) && !wz_model_set_has(&one.first, a100), "h100 first");
	tap_ok(wz_model_set_has(&skipped.first, a100) && !wz_model_set_has(&skipped.first, small),
	        "a preference of which nothing is left is passed over");
	tap_ok(!wz_model_set_has(&without.allowed, t4) && wz_model_set_has(&without.allowed, 255), "all but T4");
	tap_ok(!without.any_model, "looked at");
}

static void test_need_fixed(void)
{
	struct wz_shape s = shape("gpus=4");
	struct wz_need n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 4 && n.milli == 1000 && n.mem == 0, "whole devices, of any size");
	n = wz_shape_need(&s, NULL, 0);
	tap_ok(n.ok && n.count == 4 && n.mem == 0, "of an unknown device nothing is known");
	s = shape("gpu-share=30%");
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 1 && n.milli == 300 && n.mem == 0, "memory goes with compute");
	s = shape("gpu-share=30% gpu-mem=10Gi");
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.milli == 300 && n.mem == 10 * (int64_t)WZ_GI, "memory as asked");
	tap_ok(!wz_shape_need(&s, model("P4"), 0).ok, "more than it has");
	s = shape("gpus=1 gpu-mem=40Gi");
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.mem == 40 * (int64_t)WZ_GI, "each must have that much");
	tap_ok(!wz_shape_need(&s, model("A100-SXM4-80GB"), 1000).ok, "the device's own size goes first");
	tap_ok(!wz_shape_need(&s, model("T4"), 0).ok, "too small");
	s = shape("gpus=2 cu=200");
	tap_ok(wz_shape_need(&s, model("A100-SXM4-80GB"), 0).ok, "two deliver 200");
	tap_ok(!wz_shape_need(&s, model("V100M32"), 0).ok, "two V100 do not");
	tap_ok(!wz_shape_need(&s, model("MLU590"), 0).ok, "unknown is not enough");
	s = shape("gpus=2 gpu-mem-total=100Gi");
	tap_ok(wz_shape_need(&s, model("A100-SXM4-80GB"), 0).ok && !wz_shape_need(&s, model("V100M32"), 0).ok,
	        "total");
	s = shape("cpus=4");
	n = wz_shape_need(&s, model("T4"), 0);
	tap_ok(n.ok && n.count == 0 && n.milli == 0 && n.mem == 0, "no device");
}

static void test_need_derived(void)
{
	struct wz_shape s = shape("cu=150");
	struct wz_need n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 2 && n.milli == 1000, "150 CU are two A100");
	n = wz_shape_need(&s, model("V100M32"), 0); /* 40.064 CU */
	tap_ok(n.ok && n.count == 4 && n.milli == 1000, "or four V100");
	n = wz_shape_need(&s, model("B200"), 0); /* 721 CU */
	tap_ok(n.ok && n.count == 1 && n.milli == 209, "or 20.9 %% of a B200, rounded up");
	tap_eq_i64(n.mem, 0, "with that share of its memory");
	tap_ok(!wz_shape_need(&s, model("MLU590"), 0).ok, "unknown CU");
	tap_ok(!wz_shape_need(&s, NULL, 0).ok, "unknown model");
	s = shape("cu=10000");
	tap_ok(!wz_shape_need(&s, model("T4"), 0).ok, "more than 64 devices");
	s = shape("gpu-mem-total=320Gi");
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 4 && n.milli == 1000, "320Gi are four A100");
	n = wz_shape_need(&s, model("H100-SXM5-80GB"), 0); /* 79.65Gi each */
	tap_ok(n.ok && n.count == 5, "but five H100, which have a little less");
	n = wz_shape_need(&s, NULL, 100LL * (int64_t)WZ_GI);
	tap_ok(n.ok && n.count == 4, "the size of the device is enough");
	tap_ok(!wz_shape_need(&s, NULL, 0).ok, "unknown size");
	s = shape("cu=50 gpu-mem-total=40Gi");
	tap_ok(!wz_shape_need(&s, NULL, 0).ok, "neither is known"); /* divided by no devices once */
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 1 && n.milli == 500 && n.mem == 40 * (int64_t)WZ_GI, "a share with its memory");
	s = shape("gpu-mem-total=20Gi");
	n = wz_shape_need(&s, model("A100-SXM4-80GB"), 0);
	tap_ok(n.ok && n.count == 1 && n.milli == 1000 && n.mem == 20 * (int64_t)WZ_GI,
	        "who asks no compute gets the device");
}

/* What is derived is enough, and one device or one milli less would not be. */
static void test_need_is_least(void)
{
	struct wz_rng r;
	wz_rng_seed(&r, 7);
	for (unsigned i = 0; i < 20000; i++) {
		const struct wz_model *m = &cat.model[wz_rng_below(&r, cat.n)];
		struct wz_shape s = shape("cu=1");
		struct wz_need n;
		s.cu_milli = 1 + (int64_t)wz_rng_below(&r, 2000000);
		if (wz_rng_below(&r, 2))
			s.dev_mem_total = 1 + (int64_t)wz_rng_below(&r, 1ULL << 40);
		n = wz_shape_need(&s, m, 0);
		if (!n.ok) {
			tap_ok(!m->cu_milli || !m->mem_bytes || s.cu_milli > 64LL * m->cu_milli ||
			                s.dev_mem_total > 64 * (int64_t)m->mem_bytes,
			        "%s could deliver", m->name);
			continue;
		}
		tap_ok((int64_t)n.count * n.milli * m->cu_milli >= s.cu_milli * 1000, "enough CU");
		tap_ok(n.count * n.mem >= s.dev_mem_total, "enough memory");
		if (n.count > 1)
			tap_ok((n.count - 1) * (int64_t)m->cu_milli < s.cu_milli ||
			                (n.count - 1) * (int64_t)m->mem_bytes < s.dev_mem_total,
			        "one less is too few");
		else
			tap_ok((int64_t)(n.milli - 1) * m->cu_milli < s.cu_milli * 1000,
			        "one milli less is too few");
	}
}

static void test_hash(void)
{
	struct wz_shape a = shape("gpus=2 gpu-type=a100 cpus=4 mem=1Gi"),
	                b = shape("mem=1Gi cpus=4 gpus=2 gpu-type=A100");
	/* Every field counts, except the derived one. */
	struct wz_shape v[17];
	tap_ok(wz_shape_hash(&a) == wz_shape_hash(&b), "the same content");
	for (unsigned i = 0; i < WZ_ARRAY_LEN(v); i++)
		v[i] = a;
	v[0].cpu++;
	v[1].mem++;
	v[2].count++;
	v[3].milli--;
	v[4].dev_mem++;
	v[5].dev_class_g++;
	v[6].dev_mem_total++;
	v[7].cu_milli++;
	v[8].bw_gbps++;
	v[9].free_pct++;
	v[10].util_milli++;
	v[11].link++;
	v[12].link_preferred++;
	v[13].any_model ^= 1;
	v[14].allowed.w[3] ^= 1;
	v[15].first.w[0] ^= 1;
	for (unsigned i = 0; i < 16; i++) {
		tap_ok(wz_shape_hash(&v[i]) != wz_shape_hash(&a), "field %u does not count", i);
		for (unsigned k = 0; k < i; k++)
			tap_ok(wz_shape_hash(&v[i]) != wz_shape_hash(&v[k]), "fields %u and %u are mixed up", i, k);
	}
	v[16].special ^= 1;
	tap_ok(wz_shape_hash(&v[16]) == wz_shape_hash(&a), "a derived field counts");
	/* Digests of old journals depend on it: change it only with the version of the journal. */
	memset(&a, 0, sizeof a);
	tap_ok(wz_shape_hash(&a) == 0x87c1f9740f1bce02ULL, "frozen: got %016" PRIx64, wz_shape_hash(&a));
}

static void test_intern(void)
{
	struct wz_shapes t;
	struct fault_mem f;
	wz_shape_id id = {0}, again = {0};
	fault_mem_init(&f);
	wz_shapes_init(&t, &f.mem);
	for (uint32_t i = 0; i < 3000; i++) {
		struct wz_shape s = shape("gpus=1");
		s.cpu = i % 1000;
		tap_eq_i64(wz_shapes_intern(&t, &s, &id), 0, "intern");
		tap_eq_i64(id.v, i % 1000, "numbered by appearance");
	}
	tap_eq_i64(t.n, 1000, "one of each");
	/* Two shapes of one hash: the second is chained behind the first. */
	{
		struct wz_shape a = shape("gpus=2"), b = shape("gpus=3");
		tap_eq_i64(wz_map_put(&t.by_hash, wz_shape_hash(&b), 1000), 0, "forge a collision");
		tap_eq_i64(wz_shapes_intern(&t, &a, &id), 0, "the first");
		tap_eq_i64(wz_shapes_intern(&t, &b, &again), 0, "the second");
		tap_ok(id.v == 1000 && again.v == 1001, "are two");
		tap_eq_i64(wz_shapes_intern(&t, &b, &again), 0, "the second again");
		tap_eq_i64(again.v, 1001, "is found");
	}
	wz_shapes_release(&t);
	tap_ok(fault_mem_clean(&f), "nothing leaks");
}

static void test_out_of_memory(void)
{
	struct wz_shape base = shape("gpus=1");
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		struct wz_shapes t;
		wz_shape_id id = {0};
		int rc = 0;
		fault_mem_init(&f);
		f.fail_at = n;
		wz_shapes_init(&t, &f.mem);
		for (uint32_t i = 0; i < 200 && rc == 0; i++) {
			struct wz_shape s = base;
			s.cpu = i;
			rc = wz_shapes_intern(&t, &s, &id);
			if (rc < 0) {
				tap_eq_i64(t.n, i, "a failure adds nothing");
				tap_eq_i64(wz_shapes_intern(&t, &s, &id), 0, "it can be tried again");
				tap_eq_i64(id.v, i, "and gets the same number");
			}
		}
		wz_shapes_release(&t);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "nothing failed");
			break;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
		tap_require(n < 1000, "no end");
	}
}

int main(void)
{
	fault_mem_init(&memory);
	if (wz_catalogue_init(&cat, &memory.mem) < 0)
		return 1;
	tap_run(test_of);
	tap_run(test_models);
	tap_run(test_need_fixed);
	tap_run(test_need_derived);
	tap_run(test_need_is_least);
	tap_run(test_hash);
	tap_run(test_intern);
	tap_run(test_out_of_memory);
	wz_catalogue_release(&cat);
	return tap_done();
}
