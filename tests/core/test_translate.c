/* SPDX-License-Identifier: Apache-2.0 */
#include "core/translate.h"

#include "fault.h"
#include "tap.h"

static struct fault_mem memory;
static struct wz_catalogue cat;

typedef int translate_fn(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err);

struct row {
	const char *entries, *want;
}; /* "key=value key=value", canonical profile or "!Reason" */

/* The i-th order of up to four entries. */
static void check_order(translate_fn *fn, const struct row *row, unsigned order)
{
	struct wz_str entry[4], rest = wz_str(row->entries);
	struct wz_profile p;
	struct wz_err err = {.code = 0};
	unsigned n = 0;
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_buf b;
	int rc = 1;
	while (rest.ptr && n < 4)
		entry[n++] = wz_str_split(&rest, ' ');
	wz_profile_init(&p);
	for (; n > 0 && rc >= 0; n--) {
		unsigned pick = order % n;
		struct wz_str value = entry[pick], key = wz_str_split(&value, '=');
		struct wz_profile before = p;
		order /= n;
		rc = fn(&p, key, value, &cat, &err);
		tap_ok(rc != 0, "%.*s is not known", (int)key.len, key.ptr);
		tap_ok(rc > 0 || memcmp(&p, &before, sizeof p) == 0, "a failure left a trace");
		for (unsigned i = pick; i + 1 < n; i++)
			entry[i] = entry[i + 1];
	}
	if (rc > 0)
		rc = wz_profile_finish(&p, &cat, &err);
	if (row->want[0] == '!') {
		tap_ok(rc < 0, "%s: no error", row->entries);
		tap_eq_str(wz_str(err.reason), wz_str(row->want + 1), "%s: %s", row->entries, err.text);
		return;
	}
	tap_ok(rc >= 0, "%s: %s", row->entries, err.text);
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_profile_format(&p, &b);
	tap_eq_str(wz_buf_str(&b), wz_str(row->want), "%s", row->entries);
}

/* In any order the same. */
static void check_rows(translate_fn *fn, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned entries = 1, orders = 1;
		for (const char *z = rows[i].entries; *z; z++)
			entries += *z == ' ';
		for (unsigned k = 2; k <= entries; k++)
			orders *= k;
		for (unsigned order = 0; order < orders; order++)
			check_order(fn, &rows[i], order);
	}
}

static void test_pods(void)
{
	static const struct row rows[] = {
	        {"nvidia.com/gpu=4", "gpus=4"},
	        {"nvidia.com/gpu=0", ""},
	        {"amd.com/gpu=8", "gpus=8"},
	        {"huawei.com/Ascend910=8", "gpus=8"},
	        {"nvidia.com/gpu=65", "!BadTranslation"},
	        {"nvidia.com/gpu=-1", "!BadTranslation"},
	        {"nvidia.com/gpu=1k", "!BadTranslation"},
	        {"nvidia.com/gpu=", "!BadTranslation"},
	        {"nvidia.com/mig-1g.5gb=1", "gpus=1 gpu-mig=1g.5gb"},
	        {"nvidia.com/mig-3g.40gb=2", "gpus=2 gpu-mig=3g.40gb"},
	        {"nvidia.com/mig-3g.40gb=0", ""},
	        {"nvidia.com/mig-9g.1tb=1", "!Untranslatable"},
	        {"nvidia.com/mig-1g.5gb=-1", "!BadTranslation"},
	        {"nvidia.com/gpu.shared=1", "!Untranslatable"},
	        {"nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB nvidia.com/gpu=2", "gpus=2 gpu-type=A100-SXM4-80GB"},
	        {"nvidia.com/gpu.product=Tesla-T4-SHARED", "gpu-type=T4"},
	        {"nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "!Untranslatable"},
	        {"nvidia.com/gpu.product=Abacus", "!UnknownModel"},
	        /* HAMi */
	        {"nvidia.com/gpu=1 nvidia.com/gpucores=30 nvidia.com/gpumem=3000", "gpu-share=30% gpu-mem=3000Mi"},
	        {"nvidia.com/gpu=1 nvidia.com/gpumem=3000", "gpu-share=0.1% gpu-mem=3000Mi"},
	        {"nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/gpumem=3000", "gpus=1 gpu-mem=3000Mi"},
	        {"nvidia.com/gpu=1 nvidia.com/gpucores=0", "gpus=1"},
	        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50 nvidia.com/gpucores=30", "gpu-share=50%"},
	        {"nvidia.com/gpu=2 nvidia.com/gpumem=3000", "gpus=2 gpu-mem=3000Mi"},
	        {"nvidia.com/gpu=2 nvidia.com/gpucores=100 nvidia.com/gpumem-percentage=100", "gpus=2"},
	        {"nvidia.com/gpu=2 nvidia.com/gpucores=50", "!Untranslatable"},
	        {"nvidia.com/use-gputype=A100,V100", "gpu-type=a100,v100"},
	        {"nvidia.com/nouse-gputype=T4 nvidia.com/use-gputype=A100", "gpu-type=a100,!T4"},
	        {"nvidia.com/use-gpuuuid=GPU-1", "!Untranslatable"},
	        {"nvidia.com/numa-bind=true nvidia.com/gpu=1", "gpus=1"},
	        {"nvidia.com/numa-bind=perhaps", "!BadTranslation"},
	        {"nvidia.com/priority=1", ""},
	        /* Volcano */
	        {"volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4096 volcano.sh/vgpu-cores=50",
	                "gpu-share=50% gpu-mem=4Gi"},
	        {"volcano.sh/vgpu-number=2", "gpus=2"},
	        {"volcano.sh/preemptable=true", "preempt=movable"},
	        {"volcano.sh/preemptable=false", ""},
	        /* KAI */
	        {"gpu-fraction=0.5", "gpu-share=50%"},
	        {"gpu-fraction=1", "gpus=1"},
	        {"gpu-fraction=0.5 gpu-fraction-num-devices=2", "!Untranslatable"},
	        {"gpu-fraction=1.5", "!BadTranslation"},
	        {"gpu-fraction=x", "!BadTranslation"},
	        {"gpu-memory=4000", "gpu-share=0.1% gpu-mem=4000Mi"},
	        /* Koordinator */
	        {"koordinator.sh/gpu=100", "gpus=1"},
	        {"koordinator.sh/gpu=200", "gpus=2"},
	        {"koordinator.sh/gpu=50", "gpu-share=50%"},
	        {"koordinator.sh/gpu=150", "!Untranslatable"},
	        {"koordinator.sh/gpu-core=50 koordinator.sh/gpu-memory=8Gi", "gpu-share=50% gpu-mem=8Gi"},
	        {"koordinator.sh/gpu-memory=8Q", "!BadTranslation"},
	        {"koordinator.sh/gpu-core=200 koordinator.sh/gpu-memory-ratio=200", "gpus=2"},
	        {"koordinator.sh/gpu.shared=1 koordinator.sh/gpu-core=50 koordinator.sh/gpu-memory-ratio=50",
	                "gpu-share=50%"},
	        /* gpushare, nvshare */
	        {"aliyun.com/gpu-mem=3", "gpu-share=0.1% gpu-mem=3Gi"},
	        {"aliyun.com/gpu-mem=4000000000", "!BadTranslation"},
	        {"nvshare.com/gpu=1", "gpus=1"},
	};
	check_rows(wz_translate_entry, rows, WZ_ARRAY_LEN(rows));
}

static void test_slurm(void)
{
	static const struct row rows[] = {
	        {"--gres=gpu:a100:2", "gpus=2 gpu-type=a100"},
	        {"gres=gpu:2", "gpus=2"},
	        {"gres=gpu", "gpus=1"},
	        {"gres=gpu:a100", "gpus=1 gpu-type=a100"},
	        {"gres=gres/gpu:v100:4", "gpus=4 gpu-type=v100"},
	        {"gres=gpu:tesla_v100-sxm2-16gb:1", "gpus=1 gpu-type=V100-SXM2-16GB"},
	        {"gres=gpu:1g.10gb:1", "gpus=1 gpu-mig=1g.10gb"},
	        {"gres=gpu:nvidia_a100_3g.20gb:1", "!Untranslatable"},
	        {"gres=gpu:a100:x", "!BadTranslation"},
	        {"gres=gpu:abacus:1", "!UnknownModel"},
	        {"gres=shard:4", "!Untranslatable"},
	        {"gres=mps:50", "gpu-share=50%"},
	        {"gres=craynetwork:1", "!BadTranslation"},
	        {"--gpus-per-node=h100:8 --nodes=4 --ntasks=4", "gpus=8 gpu-type=h100 tasks=4"},
	        {"--gpus=8", "!Untranslatable"},
	        {"nodes=2-8", "tasks=2..8"},
	        {"nodes=0", "!BadTranslation"},
	        {"nodes=8-2", "!BadTranslation"},
	        {"cpus-per-task=16 mem=64G", "cpus=16 mem=64Gi"},
	        {"mem=500", "mem=500Mi"},
	        {"mem=1t", "mem=1Ti"},
	        {"mem=lots", "!BadTranslation"},
	        {"time=90", "time=1h30m"},
	        {"time=1:30", "time=1m30s"},
	        {"time=1:30:00", "time=1h30m"},
	        {"time=2-12", "time=2d12h"},
	        {"time=2-12:30", "time=2d12h30m"},
	        {"time=2-12:30:15", "time=2d12h30m15s"},
	        {"time=UNLIMITED", ""},
	        {"time=1:2:3:4", "!BadTranslation"},
	        {"time=", "!BadTranslation"},
	        {"requeue=", "preempt=movable"},
	        {"signal=B:USR1@120", "preempt=signal:USR1,grace:2m"},
	        {"signal=TERM", "preempt=signal:TERM,grace:1m"},
	        {"signal=B:KILL@10", "!BadProfile"},
	};
	struct wz_profile p;
	wz_profile_init(&p);
	check_rows(wz_translate_slurm, rows, WZ_ARRAY_LEN(rows));
	tap_eq_i64(wz_translate_slurm_gres(&p, WZ_STR("gpu:a100:2"), &cat, NULL), 1, "gres by its own function");
	tap_ok(p.gpus == 2 && p.n_types == 1, "the same");
}

static void test_not_ours(void)
{
	struct wz_profile p, before;
	wz_profile_init(&p);
	before = p;
	tap_eq_i64(wz_translate_entry(&p, WZ_STR("cpu"), WZ_STR("4"), &cat, NULL), 0, "not of the table");
	tap_eq_i64(wz_translate_entry(&p, WZ_STR("gres"), WZ_STR("gpu:1"), &cat, NULL), 0, "an option of Slurm");
	tap_eq_i64(wz_translate_entry(&p, WZ_STR("nvidia.com/mig"), WZ_STR("1"), &cat, NULL), 0, "not the prefix");
	tap_eq_i64(
	        wz_translate_slurm(&p, WZ_STR("nvidia.com/gpu"), WZ_STR("1"), &cat, NULL), 0, "no option of Slurm");
	tap_eq_i64(wz_translate_slurm(&p, WZ_STR("--partition"), WZ_STR("x"), &cat, NULL), 0, "not of the table");
	tap_ok(memcmp(&p, &before, sizeof p) == 0, "nothing changed");
}

/* Users' own profile first, the resources of the pod after it. */
static void test_over_a_profile(void)
{
	struct wz_profile p;
	tap_require(wz_profile_parse(WZ_STR("gpu-mem=40G link=nvlink"), &cat, &p, NULL) == 0, "parse");
	tap_eq_i64(wz_translate_entry(&p, WZ_STR("nvidia.com/gpu"), WZ_STR("4"), &cat, NULL), 1, "count");
	tap_eq_i64(wz_profile_finish(&p, &cat, NULL), 0, "finish");
	tap_ok(p.gpus == 4 && p.gpu_mem_g == 40 && p.link == WZ_LINK_NVLINK, "both");
}

/* spec/profile.md names every word of the table. */
static void test_spec(void)
{
	const char *root = getenv("WZ_SOURCE_ROOT");
	char path[512], *text = calloc(1, 1 << 20);
	size_t len = 0;
	FILE *f;
	snprintf(path, sizeof path, "%s/spec/profile.md", root ? root : ".");
	f = fopen(path, "rb");
	if (f) {
		len = fread(text, 1, (1 << 20) - 1, f);
		fclose(f);
	}
	tap_ok(len > 0, "%s cannot be read", path);
	for (unsigned i = 0; i < wz_translations_n; i++)
		tap_ok(strstr(text, wz_translations[i].key), "spec/profile.md lacks %s", wz_translations[i].key);
	for (unsigned i = 0; i < wz_profile_keys_n; i++) {
		char quoted[64];
		snprintf(quoted, sizeof quoted, "`%s`", wz_profile_keys[i].name);
		tap_ok(strstr(text, quoted), "spec/profile.md lacks %s", quoted);
	}
	free(text);
}

int main(void)
{
	fault_mem_init(&memory);
	if (wz_catalogue_init(&cat, &memory.mem) < 0)
		return 1;
	tap_run(test_pods);
	tap_run(test_slurm);
	tap_run(test_not_ours);
	tap_run(test_over_a_profile);
	tap_run(test_spec);
	wz_catalogue_release(&cat);
	return tap_done();
}
