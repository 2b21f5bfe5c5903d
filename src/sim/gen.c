/* SPDX-License-Identifier: Apache-2.0 */
/* Everything drawn comes from tables of whole numbers: rows with weights, and quantiles joined by straight lines. Nodes and
 * jobs draw from two generators, so that another number of nodes leaves the jobs as they are. */
#include "sim/gen_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/near.h"
#include "base/quant.h"
#include "base/rng.h"
#include "sim/life.h"

#define SECOND_US 1000000u
#define MINUTE_US (60ull * SECOND_US)
#define HOUR_US (60ull * MINUTE_US)
#define DAY_US (24ull * HOUR_US)

/* ---- drawing ---- */

/* Inverse of a distribution function: a straight line between two quantiles. The first row is 0, the last 1000. */
static uint64_t draw_quantile(struct wz_rng *rng, const struct wz_quantile *q)
{
	uint64_t u = wz_rng_below(rng, 1000000); /* in millionths */
	while (u >= q[1].permille * 1000ull)
		q++;
	uint64_t from = q[0].permille * 1000ull, width = q[1].permille * 1000ull - from;
	return q[0].value + (u - from) * (q[1].value - q[0].value) / width;
}

/* Exponential with mean 1024: -1024 ln(1 - i/32), the last bucket's end chosen so that the mean is exact. */
static const uint16_t exponential_q[33] = {0, 33, 66, 101, 137, 174, 213, 253, 295, 338, 384, 431, 481, 534, 589,
        648, 710, 776, 847, 922, 1004, 1093, 1191, 1299, 1420, 1556, 1714, 1901, 2129, 2424, 2839, 3549, 5434};

static uint64_t draw_gap(struct wz_rng *rng, uint64_t mean_us)
{
	uint64_t u = wz_rng_below(rng, 32u << 16);
	uint32_t i = (uint32_t)(u >> 16), rest = (uint32_t)(u & 0xffff);
	uint64_t x =
	        ((uint64_t)exponential_q[i] << 16) + (uint64_t)(exponential_q[i + 1] - exponential_q[i]) * rest;
	return wz_umuldiv(mean_us, x, 1024u << 16);
}

static uint64_t choose_weighted(struct wz_rng *rng, const uint32_t *weight, size_t stride, uint32_t n)
{
	uint64_t sum = 0, u;
	const char *p = (const char *)weight;
	for (uint32_t i = 0; i < n; i++)
		sum += *(const uint32_t *)(const void *)(p + i * stride);
	u = wz_rng_below(rng, sum);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t w = *(const uint32_t *)(const void *)(p + i * stride);
		if (u < w)
			return i;
		u -= w;
	}
	wz_check(false); /* u < sum */
	return 0;
}

/* "PREFIX0042": at least four digits. */
static struct wz_str numbered(char *to, size_t size, const char *prefix, uint32_t n)
{
	struct wz_buf b;
	wz_buf_init_fixed(&b, to, size);
	wz_buf_addz(&b, prefix);
	for (uint32_t ten = 1000; ten > 1 && n < ten; ten /= 10)
		wz_buf_addc(&b, '0');
	wz_buf_add_u64(&b, n);
	wz_check(b.status == 0);
	return wz_buf_str(&b);
}

static int out_of_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

/* ---- nodes of several types ---- */

struct node_type {
	const char *model;
	uint32_t gpus, cpus;
	uint64_t mem_mib;
	uint32_t count; /* in the original cluster: the weight */
	uint32_t card_gib; /* a card's memory, used when memories are told at all */
	bool nvlink;
};

#define TYPES_MAX 16u

/* Parts of `total` in proportion to the counts, by largest remainder; ties to the first. Exact when total is the sum. */
static void apportion(const struct node_type *type, uint32_t n, uint32_t total, uint32_t *part)
{
	uint64_t sum = 0, rest[TYPES_MAX];
	uint32_t given = 0;
	wz_check(n <= TYPES_MAX);
	for (uint32_t i = 0; i < n; i++)
		sum += type[i].count;
	for (uint32_t i = 0; i < n; i++) {
		part[i] = (uint32_t)((uint64_t)total * type[i].count / sum);
		rest[i] = (uint64_t)total * type[i].count % sum;
		given += part[i];
	}
	while (given < total) {
		uint32_t best = 0;
		for (uint32_t i = 1; i < n; i++)
			if (rest[i] > rest[best])
				best = i;
		part[best]++;
		rest[best] = 0;
		given++;
	}
}

/* Half of the cards as sold, a quarter with half the memory, a quarter with half as much again. */
static int64_t card_memory(struct wz_rng *rng, const struct node_type *t, bool told, bool unequal)
{
	static const uint8_t halves[4] = {2, 2, 1, 3};
	if (!told)
		return 0;
	return (int64_t)((uint64_t)t->card_gib * WZ_GI / 2 * (unequal ? halves[wz_rng_below(rng, 4)] : 2));
}

static int add_node(struct wz_rng *rng, const struct node_type *t, const char *prefix, uint32_t number,
        uint32_t rack_size, bool told, bool unequal, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX] = {0};
	char name[48], rack[48];
	struct wz_ev_node n = {
	        .name = numbered(name, sizeof name, prefix, number),
	        .cpu_milli = (int64_t)t->cpus * 1000,
	        .mem_bytes = (int64_t)(t->mem_mib * WZ_MI),
	        .n_devices = t->gpus,
	        .device = device,
	};
	wz_model_id id;
	int rc = wz_sim_nodes_model(nodes, wz_str(t->model), NULL, &id, err);
	if (rc < 0)
		return rc;
	if (rack_size)
		n.rack = numbered(rack, sizeof rack, "rack-", number / rack_size);
	for (uint32_t i = 0; i < t->gpus; i++)
		device[i] = (struct wz_device_facts){
		        .model = id,
		        .compute_milli = WZ_WHOLE,
		        .mem_bytes = card_memory(rng, t, told, unequal),
		        .link_domain = t->nvlink ? 1 : 0,
		        .numa = rack_size && i >= t->gpus / 2 ? 1 : 0,
		        .pcie = rack_size ? (uint8_t)(i / 2) : 0,
		};
	return wz_sim_nodes_add(nodes, &n, err);
}

/* `total` nodes, their types shuffled. */
static int add_mixed_nodes(const struct wz_gen_options *o, const struct node_type *type, uint32_t n,
        const char *prefix, bool told, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct wz_rng rng;
	uint32_t part[TYPES_MAX], *order, at = 0;
	int rc = 0;
	wz_rng_seed(&rng, o->seed);
	apportion(type, n, o->nodes, part);
	order = wz_mem_alloc(nodes->mem, o->nodes * sizeof *order);
	if (!order)
		return out_of_memory(err);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < part[i]; k++)
			order[at++] = i;
	wz_check(at == o->nodes);
	wz_rng_shuffle_u32(&rng, order, o->nodes);
	for (uint32_t i = 0; i < o->nodes && rc == 0; i++)
		rc = add_node(&rng, &type[order[i]], prefix, i, 0, told, o->unequal_mem, nodes, err);
	wz_mem_free(nodes->mem, order, o->nodes * sizeof *order);
	return rc;
}

/* ---- openb ---- */

/* The 15 node types of openb_node_list_gpu_node.csv (1,213 nodes, 6,212 GPUs). G2 and G3 are undisclosed; their card memory
 * is a guess that is used only with unequal_mem. */
static const struct node_type openb_nodes[] = {
        {"G2", 8, 96, 393216, 549, 40, false},
        {"T4", 2, 104, 524288, 387, 16, false},
        {"P100", 2, 16, 122880, 107, 16, false},
        {"G3", 8, 128, 786432, 39, 80, false},
        {"V100M16", 4, 32, 131072, 28, 16, false},
        {"P100", 2, 64, 262144, 22, 16, false},
        {"V100M32", 8, 96, 786432, 21, 32, false},
        {"V100M16", 1, 8, 32768, 19, 16, false},
        {"T4", 4, 96, 393216, 17, 16, false},
        {"V100M32", 4, 48, 376832, 9, 32, false},
        {"V100M16", 8, 64, 262144, 7, 16, false},
        {"P100", 1, 8, 61440, 3, 16, false},
        {"P100", 2, 8, 61440, 2, 16, false},
        {"A10", 1, 128, 1048576, 2, 24, false},
        {"V100M16", 8, 82, 344064, 1, 16, false},
};

/* What the 8,152 pods of openb_pod_list_default.csv ask, jointly. Of 151 combinations the 59 commonest of each class (CPU
 * only, share, 1, 2, 4, 8 GPUs); each rarer one was added to the nearest of its class, so the classes' counts are exact:
 * 1088, 3078, 3911, 16, 15, 44. Sums: 6,088.5 GPUs of demand (the list: 6,086.8), 85,499 vCPU (85,436). */
struct ask {
	uint32_t gpus, milli, cpu_milli, mem_mib, weight;
};
static const struct ask openb_asks[] = {
        {0, 0, 12500, 57344, 370},
        {0, 0, 32000, 49152, 290},
        {0, 0, 8000, 30517, 185},
        {0, 0, 15400, 51200, 120},
        {0, 0, 16500, 51200, 111},
        {0, 0, 11400, 57344, 12},
        {1, 810, 3152, 5600, 1047},
        {1, 470, 11908, 47104, 394},
        {1, 470, 8000, 30517, 363},
        {1, 650, 11908, 47104, 251},
        {1, 320, 4000, 22888, 118},
        {1, 230, 4000, 30517, 84},
        {1, 320, 4000, 15258, 78},
        {1, 590, 3152, 5600, 77},
        {1, 320, 8000, 30517, 74},
        {1, 550, 4152, 10600, 72},
        {1, 160, 4000, 15258, 76},
        {1, 460, 6000, 6144, 60},
        {1, 370, 4152, 10600, 53},
        {1, 320, 4000, 30517, 43},
        {1, 810, 4152, 10600, 31},
        {1, 460, 6000, 12288, 62},
        {1, 230, 4000, 22888, 42},
        {1, 220, 4000, 15258, 43},
        {1, 320, 1000, 2048, 23},
        {1, 160, 6000, 22888, 30},
        {1, 220, 8000, 30517, 37},
        {1, 480, 4000, 22888, 20},
        {1, 1000, 11300, 49152, 857},
        {1, 1000, 11400, 48128, 550},
        {1, 1000, 3152, 5600, 496},
        {1, 1000, 18708, 64512, 255},
        {1, 1000, 9810, 41560, 202},
        {1, 1000, 12000, 24576, 169},
        {1, 1000, 15700, 58368, 161},
        {1, 1000, 11908, 47104, 169},
        {1, 1000, 16000, 32768, 114},
        {1, 1000, 8000, 16384, 109},
        {1, 1000, 4000, 24576, 112},
        {1, 1000, 12000, 16384, 101},
        {1, 1000, 14200, 58368, 93},
        {1, 1000, 24200, 93184, 84},
        {1, 1000, 11400, 77824, 65},
        {1, 1000, 8000, 32768, 74},
        {1, 1000, 11900, 77824, 52},
        {1, 1000, 12000, 15360, 46},
        {1, 1000, 8200, 33792, 41},
        {1, 1000, 4000, 31250, 45},
        {1, 1000, 15200, 80896, 83},
        {1, 1000, 16000, 65536, 33},
        {2, 1000, 16200, 66560, 13},
        {2, 1000, 6000, 65536, 3},
        {4, 1000, 32200, 132096, 9},
        {4, 1000, 32000, 131072, 3},
        {4, 1000, 60200, 320512, 3},
        {8, 1000, 88000, 327680, 18},
        {8, 1000, 64200, 263168, 18},
        {8, 1000, 120000, 737280, 5},
        {8, 1000, 64000, 262144, 3},
};

static int openb_gen_nodes(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	return add_mixed_nodes(
	        o, openb_nodes, WZ_ARRAY_LEN(openb_nodes), "openb-node-", o->unequal_mem, nodes, err);
}

/* The profile of a row; with unequal memories every other share also asks for memory, in GiB by its size. */
static int openb_profile(struct wz_rng *rng, uint32_t row, bool unequal, struct wz_sim_tasks *tasks, uint32_t *ret,
        struct wz_err *err)
{
	const struct ask *a = &openb_asks[row];
	uint64_t gib = 0;
	char key[64];
	struct wz_buf b;
	if (unequal && a->gpus && wz_rng_below(rng, 2) == 0)
		gib = a->milli < WZ_WHOLE ? 1 + a->milli * 15ull / WZ_WHOLE : 8ull << wz_rng_below(rng, 3);
	wz_buf_init_fixed(&b, key, sizeof key);
	wz_buf_add_u64(&b, row);
	wz_buf_addc(&b, '/');
	wz_buf_add_u64(&b, gib);
	*ret = wz_sim_tasks_find_profile(tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	struct wz_profile p;
	wz_profile_init(&p);
	p.cpu_milli = a->cpu_milli;
	p.mem_bytes = a->mem_mib * WZ_MI;
	p.gpus = a->milli == WZ_WHOLE ? a->gpus : 0;
	p.share_milli = a->milli == WZ_WHOLE ? 0 : a->milli;
	p.gpu_mem_bytes = gib * WZ_GI;
	return wz_sim_tasks_add_profile(tasks, wz_buf_str(&b), &p, ret, err);
}

static int openb_gen_jobs(
        const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_rng rng;
	uint64_t now = 0;
	int rc = 0;
	(void)nodes;
	wz_rng_seed(&rng, ~o->seed);
	for (uint32_t i = 0; i < o->jobs && rc == 0; i++) {
		char name[48];
		struct wz_sim_task t = {.name = numbered(name, sizeof name, "openb-pod-", i)};
		uint32_t row = (uint32_t)choose_weighted(
		        &rng, &openb_asks[0].weight, sizeof openb_asks[0], WZ_ARRAY_LEN(openb_asks));
		uint64_t run_s = draw_quantile(&rng, wz_openb_run_s);
		now += draw_gap(&rng, o->gap_us);
		/* The format knows whole seconds, and a run only as end - start; nothing waits in a generated trace. */
		t.submit_us = t.start_us = (int64_t)(now / SECOND_US * SECOND_US);
		t.run_us = (int64_t)(run_s * SECOND_US);
		t.end_us = t.start_us + t.run_us;
		rc = openb_profile(&rng, row, o->unequal_mem, tasks, &t.profile, err);
		if (rc == 0)
			rc = wz_sim_tasks_add(tasks, &t, err);
	}
	return rc;
}

/* ---- lab and llm: profiles as people write them ---- */

struct job_class {
	const char *profile; /* without time */
	const char *queue;
	uint32_t weight;
	uint32_t nodes; /* smallest cluster for which it makes sense */
	const struct wz_quantile *run_s; /* NULL: a service, no end */
};

/* Pretraining and fine-tuning gangs: hours to two weeks (proposed, not measured). */
static const struct wz_quantile gang_run_s[] = {
        {0, 600},
        {250, 7200},
        {500, 28800},
        {750, 86400},
        {900, 259200},
        {980, 604800},
        {1000, 1209600},
};

static const struct node_type lab_nodes[] = {
        {"RTX 4090", 4, 64, 262144, 2, 24, false},
        {"RTX 3090", 4, 48, 196608, 1, 24, false},
        {"A100-PCIe-80GB", 2, 64, 524288, 1, 80, false},
        {"RTX A6000", 2, 32, 131072, 1, 48, false},
};

static const struct job_class lab_classes[] = {
        {"gpu-share=20% gpu-mem=4Gi cpus=2 mem=8Gi", "", 14, 1, wz_philly_run_s},
        {"gpu-share=50% gpu-mem=10Gi cpus=4 mem=16Gi", "", 14, 1, wz_philly_run_s},
        {"gpus=1 cpus=8 mem=32Gi", "", 34, 1, wz_philly_run_s},
        {"gpus=1 gpu-mem=40Gi cpus=8 mem=64Gi", "", 9, 1, wz_philly_run_s},
        {"gpus=2 cpus=16 mem=64Gi", "", 12, 1, wz_philly_run_s},
        {"gpus=4 cpus=32 mem=128Gi", "", 5, 1, wz_philly_run_s},
        {"cpus=8 mem=16Gi", "", 10, 1, wz_philly_run_s},
        {"gpu-share=30% gpu-mem=8Gi cpus=2 mem=12Gi kind=service", "", 2, 1, NULL},
};

static const struct node_type llm_nodes[] = {
        {"H100-SXM5-80GB", 8, 192, 2097152, 3, 80, true},
        {"A100-SXM4-80GB", 8, 128, 1048576, 1, 80, true},
};

#define LLM_RACK 4u /* nodes under one switch */
#define CKPT " preempt=signal:USR1,grace:2m,ack:file,interval:30m"
static const struct job_class llm_classes[] = {
        {"gpus=1 cpus=16 mem=128Gi", "trial", 44, 1, wz_acme_run_s},
        {"gpus=8 cpus=120 mem=900Gi link=nvlink", "train", 16, 1, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=2 link=rack" CKPT, "train", 8, 2, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=4 link=rack" CKPT, "train", 6, 4, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=8" CKPT, "train", 3, 8, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=16" CKPT, "train", 2, 16, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=32" CKPT, "train", 1, 32, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=64" CKPT, "train", 1, 64, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=1..4" CKPT, "train", 4, 1, gang_run_s},
        {"gpus=8 cpus=120 mem=900Gi tasks=2..16" CKPT, "train", 2, 4, gang_run_s},
        {"gpus=1 cpus=12 mem=96Gi kind=service", "serve", 6, 1, NULL},
        {"gpus=2 cpus=24 mem=192Gi link=nvlink kind=service", "serve", 3, 1, NULL},
        {"gpus=4 cpus=48 mem=384Gi link=nvlink kind=service", "serve", 2, 1, NULL},
        {"gpus=8 cpus=96 mem=768Gi link=nvlink kind=service tasks=1..2", "serve", 1, 2, NULL},
};

/* A profile text, with the time limit that a careful user would write: the first of a few round ones that is half as long
 * again as the run. */
static int text_profile(const struct job_class *c, uint64_t run_us, const struct wz_catalogue *cat,
        struct wz_sim_tasks *tasks, uint32_t *ret, struct wz_err *err)
{
	static const uint64_t limits[] = {HOUR_US / 2, 4 * HOUR_US, DAY_US, 3 * DAY_US, 7 * DAY_US, 30 * DAY_US};
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_buf b;
	struct wz_profile p;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, c->profile);
	for (unsigned i = 0; c->run_s && i < WZ_ARRAY_LEN(limits); i++) {
		if (run_us + run_us / 2 > limits[i] && i + 1 < WZ_ARRAY_LEN(limits))
			continue;
		wz_buf_addz(&b, " time=");
		wz_duration_format(&b, limits[i]);
		break;
	}
	wz_check(b.status == 0);
	*ret = wz_sim_tasks_find_profile(tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	int rc = wz_profile_parse(wz_buf_str(&b), cat, &p, err);
	return rc < 0 ? rc : wz_sim_tasks_add_profile(tasks, wz_buf_str(&b), &p, ret, err);
}

static int class_jobs(const struct wz_gen_options *o, const struct job_class *class, uint32_t n, uint32_t users,
        struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_rng rng;
	uint32_t weight[32];
	uint64_t now = 0;
	int rc = 0;
	wz_check(n <= WZ_ARRAY_LEN(weight));
	for (uint32_t i = 0; i < n; i++)
		weight[i] = class[i].nodes <= o->nodes ? class[i].weight : 0;
	wz_rng_seed(&rng, ~o->seed);
	for (uint32_t i = 0; i < o->jobs && rc == 0; i++) {
		char name[48], user[48];
		const struct job_class *c = &class[choose_weighted(&rng, weight, sizeof weight[0], n)];
		/* The smaller of two draws: a few people submit most of the jobs. */
		uint64_t a = wz_rng_below(&rng, users), b = wz_rng_below(&rng, users);
		struct wz_sim_task t = {
		        .name = numbered(name, sizeof name, "job-", i),
		        .user = numbered(user, sizeof user, "user-", (uint32_t)(a < b ? a : b)),
		        .queue = wz_str(c->queue),
		        .start_us = -1,
		        .end_us = -1,
		        .run_us = c->run_s ? (int64_t)(draw_quantile(&rng, c->run_s) * SECOND_US) : -1,
		};
		now += draw_gap(&rng, o->gap_us);
		t.submit_us = (int64_t)(now / 1000 * 1000); /* whole milliseconds */
		rc = text_profile(
		        c, t.run_us < 0 ? 0 : (uint64_t)t.run_us, nodes->catalogue, tasks, &t.profile, err);
		if (rc == 0)
			rc = wz_sim_tasks_add(tasks, &t, err);
	}
	return rc;
}

static int lab_gen_nodes(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	return add_mixed_nodes(o, lab_nodes, WZ_ARRAY_LEN(lab_nodes), "box-", true, nodes, err);
}

static int lab_gen_jobs(
        const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	return class_jobs(o, lab_classes, WZ_ARRAY_LEN(lab_classes), 8, nodes, tasks, err);
}

/* Racks are of one type: three of four racks H100, the fourth A100, in that order. */
static int llm_gen_nodes(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct wz_rng rng;
	int rc = 0;
	wz_rng_seed(&rng, o->seed);
	for (uint32_t i = 0; i < o->nodes && rc == 0; i++) {
		const struct node_type *t = &llm_nodes[i / LLM_RACK % 4 == 3];
		rc = add_node(&rng, t, "hgx-", i, LLM_RACK, true, o->unequal_mem, nodes, err);
	}
	return rc;
}

static int llm_gen_jobs(
        const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	return class_jobs(o, llm_classes, WZ_ARRAY_LEN(llm_classes), 40, nodes, tasks, err);
}

/* ---- presets ---- */

const struct wz_gen_preset wz_gen_presets[] = {
        {"openb", "Alibaba's GPU-sharing cluster: 15 node types, shares and single GPUs", 1213, 8152,
                358ull * SECOND_US, openb_gen_nodes, openb_gen_jobs},
        {"lab", "a few boxes of mixed cards, small jobs with a heavy tail of run times", 4, 500, 900ull * SECOND_US,
                lab_gen_nodes, lab_gen_jobs},
        {"llm", "8-GPU NVLink nodes in racks: gangs of 8 to 512 GPUs, elastic jobs, services", 64, 2000,
                600ull * SECOND_US, llm_gen_nodes, llm_gen_jobs},
        {"jobs", "8-GPU nodes, templates that are run again and again, a service with a load curve", 16, 2000,
                500ull * SECOND_US, wz_gen_jobs_nodes, wz_gen_jobs_jobs},
        {NULL, NULL, 0, 0, 0, NULL, NULL},
};

const struct wz_gen_preset *wz_gen_find(struct wz_str name, struct wz_err *err)
{
	struct wz_buf b;
	char names[64];
	wz_buf_init_fixed(&b, names, sizeof names);
	for (const struct wz_gen_preset *p = wz_gen_presets; p->name; p++) {
		if (wz_str_eq(name, wz_str(p->name)))
			return p;
		wz_buf_addz(&b, p == wz_gen_presets ? "" : ", ");
		wz_buf_addz(&b, p->name);
	}
	(void)wz_err_set(err, -EINVAL, "UnknownPreset", WZ_STR("nothing to generate is called \""), name,
	        WZ_STR("\"; known: "), wz_buf_str(&b));
	return NULL;
}

int wz_gen(const struct wz_gen_preset *p, const struct wz_gen_options *o, struct wz_sim_nodes *nodes,
        struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_gen_options full = *o;
	struct wz_num n;
	full.nodes = o->nodes ? o->nodes : p->nodes;
	full.jobs = o->jobs ? o->jobs : p->jobs;
	full.gap_us = o->gap_us ? o->gap_us : p->gap_us;
	if (full.nodes > WZ_NODES_MAX)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("more nodes than "), wz_str_u64(&n, WZ_NODES_MAX));
	if (full.jobs > WZ_SIM_TASKS_MAX)
		return wz_err_set(
		        err, -E2BIG, "TooMany", WZ_STR("more jobs than "), wz_str_u64(&n, WZ_SIM_TASKS_MAX));
	int rc = p->nodes_fn(&full, nodes, err);
	return rc < 0 ? rc : p->jobs_fn(&full, nodes, tasks, err);
}
