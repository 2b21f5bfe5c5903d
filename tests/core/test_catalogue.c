/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalogue.h"

#include "base/buf.h"

#include "fault.h"
#include "tap.h"

static struct fault_mem memory;
static struct wz_catalogue cat;

static const char *found(const char *name)
{
	wz_model_id m;
	return wz_catalogue_find(&cat, wz_str(name), &m, NULL) < 0 ? "" : cat.model[m.v].name;
}

static void test_find(void)
{
	static const struct {
		const char *name, *model;
	} cases[] = {
	        {"A100-SXM4-80GB", "A100-SXM4-80GB"},
	        {"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
	        {"nvidia_a100 sxm4-80gb", "A100-SXM4-80GB"},
	        {"NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"},
	        {"Tesla T4", "T4"},
	        {"t4", "T4"},
	        {"V100M16", "V100-SXM2-16GB"}, /* openb */
	        {"V100M32", "V100-SXM2-32GB"},
	        {"P100", "P100-PCIe-16GB"},
	        {"A10", "A10"},
	        {"G2", ""},
	        {"G3", ""},
	        {"gh200", "GH200-96GB"}, /* a family of one */
	        {"a100", ""}, /* of several */
	        {"Ascend910B2", "Ascend-910B2"},
	        {"NVIDIA GeForce RTX 3090", "RTX-3090"},
	        {"", ""},
	        {" -_", ""},
	        {"a name that is longer than any name of a device model can be in this catalogue", ""},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(cases); i++)
		tap_eq_str(wz_str(found(cases[i].name)), wz_str(cases[i].model), "%s", cases[i].name);
}

static void test_every_name(void)
{
	for (uint32_t i = 0; i < cat.n; i++) {
		wz_model_id m = {0};
		char text[256];
		struct wz_buf b;
		tap_eq_i64(
		        wz_catalogue_find(&cat, wz_str(cat.model[i].name), &m, NULL), 0, "%s", cat.model[i].name);
		tap_eq_i64(m.v, i, "%s is found", cat.model[i].name);
		tap_eq_str(wz_catalogue_spelling(&cat, wz_str(cat.model[i].name)), wz_str(cat.model[i].name),
		        "canonical names are spelled as they are");
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_buf_addz(&b, cat.model[i].vendor);
		wz_buf_addc(&b, ' ');
		wz_buf_addz(&b, cat.model[i].name);
		tap_eq_i64(wz_catalogue_find(&cat, wz_buf_str(&b), &m, NULL), 0, "%s", wz_buf_z(&b));
		tap_ok(!strchr(cat.model[i].name, ' '), "%s has a blank", cat.model[i].name);
		if (cat.model[i].mem_bytes)
			tap_eq_i64(wz_memory_class_g(cat.model[i].mem_bytes), cat.model[i].class_g,
			        "the class of %s", cat.model[i].name);
	}
}

static unsigned count(const struct wz_model_set *s)
{
	unsigned n = 0;
	for (unsigned m = 0; m < WZ_MODELS_MAX; m++)
		n += wz_model_set_has(s, m);
	return n;
}

static void test_match(void)
{
	struct wz_model_set s = {{0}}, p = {{0}}, none = {{0}};
	struct wz_err err;
	wz_model_id m;
	tap_eq_i64(wz_catalogue_match(&cat, WZ_STR("A100"), &s, NULL), 0, "a family");
	tap_eq_i64(count(&s), 4, "four A100");
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("A100-PCIe-40GB"), &m, NULL), 0, "find");
	tap_ok(wz_model_set_has(&s, m.v), "the small one is of the family");
	tap_eq_i64(wz_catalogue_match(&cat, WZ_STR("V100"), &s, NULL), 0, "sets add up");
	tap_eq_i64(count(&s), 7, "A100 and V100");
	tap_eq_i64(wz_catalogue_match(&cat, WZ_STR("p100"), &p, NULL), 0, "a name and a family");
	tap_eq_i64(count(&p), 2, "match takes the family");
	tap_eq_i64(wz_catalogue_match(&cat, WZ_STR("nothing of ours"), &none, &err), -ENOENT, "unknown");
	tap_eq_i64(count(&none), 0, "the set is as it was");
}

static void test_errors(void)
{
	struct wz_err err;
	wz_model_id m;
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("RTX 3091"), &m, &err), -ENOENT, "a typo");
	tap_eq_str(wz_str(err.reason), WZ_STR("UnknownModel"), "reason");
	tap_eq_str(wz_str(err.text),
	        WZ_STR("no device model or family is called \"RTX 3091\"; nearest: RTX-3090, RTX-4090, RTX-5090"),
	        "the nearest, best first");
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("H10O"), &m, &err), -ENOENT, "a typo");
	tap_ok(strstr(err.text, "nearest: h100"), "%s", err.text);
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("zebra crossing"), &m, &err), -ENOENT, "nothing near");
	tap_ok(!strstr(err.text, "nearest"), "%s", err.text);
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("a100"), &m, &err), -ENOENT, "a family");
	tap_eq_str(wz_str(err.reason), WZ_STR("AmbiguousModel"), "reason");
}

static void test_facts(void)
{
	wz_model_id m = {0};
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("A100-SXM4-80GB"), &m, NULL), 0, "find");
	tap_eq_i64(cat.model[m.v].cu_milli, 100000, "100 CU by definition");
	tap_eq_i64(cat.model[m.v].class_g, 80, "class");
	tap_eq_i64(cat.model[m.v].idle_w, 50, "idle");
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("V100M32"), &m, NULL), 0, "find");
	tap_eq_i64(cat.model[m.v].cu_milli, 40064, "125 / 312");
	tap_eq_i64(wz_catalogue_find(&cat, WZ_STR("MLU590"), &m, NULL), 0, "find");
	tap_eq_i64(cat.model[m.v].cu_milli, 0, "unknown stays unknown");
	tap_eq_i64(cat.model[m.v].bw_gbps, 0, "unknown stays unknown");
}

static void test_declare(void)
{
	const struct wz_model facts = {.vendor = "ACME", .mem_bytes = 81559ULL << 20, .tflops_milli = 312000};
	struct fault_mem mem;
	struct wz_catalogue c;
	struct wz_model_set s = {{0}};
	struct wz_err err;
	wz_model_id g2 = {0}, again = {0}, a100 = {0}, known = {0};
	uint32_t builtin;
	fault_mem_init(&mem);
	tap_require(wz_catalogue_init(&c, &mem.mem) == 0, "init");
	builtin = c.n;
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("G2"), NULL, &g2, NULL), 0, "a new one");
	tap_eq_i64(g2.v, builtin, "after the compiled-in ones");
	tap_eq_i64(c.model[g2.v].mem_bytes, 0, "nothing is known");
	tap_eq_i64(c.model[g2.v].declared, 1, "declared");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR(" g-2"), &facts, &again, NULL), 0, "again");
	tap_eq_i64(again.v, g2.v, "the same one");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("Tesla T4"), &facts, &known, NULL), 0, "a known one");
	tap_eq_str(wz_str(c.model[known.v].name), WZ_STR("T4"), "stays as it is");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("A100"), &facts, &a100, NULL), 0, "the name of a family");
	tap_eq_i64(a100.v, builtin + 1, "is a new model");
	tap_eq_i64(c.model[a100.v].class_g, 80, "its class is derived");
	tap_eq_i64(c.model[a100.v].cu_milli, 100000, "its CU too");
	tap_eq_str(wz_str(c.model[a100.v].vendor), WZ_STR("ACME"), "vendor");
	tap_eq_i64(wz_catalogue_match(&c, WZ_STR("a100"), &s, NULL), 0, "match");
	tap_ok(wz_model_set_has(&s, a100.v) && count(&s) == 5, "and counts among the family");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR(" "), NULL, &again, &err), -EINVAL, "no name");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("a,b"), NULL, &again, &err), -EINVAL, "a comma");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("!x"), NULL, &again, &err), -EINVAL, "an exclamation mark");
	for (uint32_t i = c.n; i < WZ_MODELS_MAX; i++) {
		char name[] = "model 000";
		name[6] = (char)('0' + i / 100);
		name[7] = (char)('0' + i / 10 % 10);
		name[8] = (char)('0' + i % 10);
		tap_eq_i64(wz_catalogue_declare(&c, wz_str(name), NULL, &again, &err), 0, "%s", name);
	}
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("one more"), NULL, &again, &err), -E2BIG, "full");
	tap_eq_i64(wz_catalogue_declare(&c, WZ_STR("G2"), NULL, &again, &err), 0, "a known one is still found");
	tap_eq_str(wz_str(c.model[g2.v].name), WZ_STR("G2"), "names stay where they are");
	wz_catalogue_release(&c);
	tap_ok(fault_mem_clean(&mem), "nothing leaks");
}

static int declare_work(const struct wz_mem *mem)
{
	struct wz_catalogue c;
	wz_model_id m;
	int rc = wz_catalogue_init(&c, mem);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 100 && rc == 0; i++) {
		char name[] = "declared model 00";
		uint32_t before = c.n;
		struct wz_model_set s = {{0}};
		name[15] = (char)('0' + i / 10);
		name[16] = (char)('0' + i % 10);
		rc = wz_catalogue_declare(&c, wz_str(name), NULL, &m, NULL);
		if (rc < 0) {
			tap_ok(c.n == before, "a failure declares nothing");
			tap_eq_i64(wz_catalogue_match(&c, wz_str(name), &s, NULL), -ENOENT, "nor a name");
			tap_eq_i64(
			        wz_catalogue_declare(&c, wz_str(name), NULL, &m, NULL), 0, "it can be tried again");
			tap_eq_i64(m.v, before, "and gets the same number");
		}
	}
	wz_catalogue_release(&c);
	return rc;
}

static void test_out_of_memory(void)
{
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		int rc;
		fault_mem_init(&f);
		f.fail_at = n;
		rc = declare_work(&f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "nothing failed");
			break;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
		tap_require(n < 1000, "no end");
	}
}

static void test_classes(void)
{
	static const struct {
		uint64_t mib;
		uint32_t g;
	} cases[] = {
	        {81559, 80},
	        {81920, 80},
	        {40960, 40},
	        {15109, 16},
	        {22919, 24},
	        {46068, 48},
	        {95830, 94},
	        {97871, 96},
	        {143771, 141},
	        {144384, 141},
	        {11441, 12},
	        {11264, 11},
	        {196608, 192},
	        {0, 0},
	        {1024, 0},
	        {400000, 0},
	};
	uint32_t below, above;
	for (size_t i = 0; i < WZ_ARRAY_LEN(cases); i++)
		tap_eq_i64(wz_memory_class_g(cases[i].mib << 20), cases[i].g, "%" PRIu64 " MiB", cases[i].mib);
	tap_ok(wz_memory_class_known(80, &below, &above), "80G is sold");
	tap_ok(!wz_memory_class_known(81, &below, &above), "81G is not");
	tap_eq_i64(below, 80, "below");
	tap_eq_i64(above, 94, "above");
	tap_ok(!wz_memory_class_known(1, &below, &above) && below == 0 && above == 8, "below all");
	tap_ok(!wz_memory_class_known(1000, &below, &above) && below == 288 && above == 0, "above all");
	tap_ok(wz_memory_class_example(80) && !wz_memory_class_example(81) && !wz_memory_class_example(0),
	        "examples");
}

int main(void)
{
	fault_mem_init(&memory);
	if (wz_catalogue_init(&cat, &memory.mem) < 0)
		return 1;
	tap_run(test_find);
	tap_run(test_every_name);
	tap_run(test_match);
	tap_run(test_errors);
	tap_run(test_facts);
	tap_run(test_declare);
	tap_run(test_out_of_memory);
	tap_run(test_classes);
	wz_catalogue_release(&cat);
	return tap_done();
}
