/* SPDX-License-Identifier: Apache-2.0 */
/* One table says which key of which system means what; one function for each meaning. */
#include "core/translate.h"

#include "base/check.h"
#include "base/quant.h"
#include "core/profile_int.h"

#define MEMORY_ONLY 1u /* milli: the share of work that claims memory but no compute */

enum how {
	COUNT, /* devices */
	ONE_SHARED, /* 1: a shared device, how much of it is said elsewhere */
	PERCENT, /* of a device; several hundred are several devices */
	FRACTION, /* 0.5 of a device */
	MEM_MIB,
	MEM_GIB,
	MEM_BYTES,
	TYPES, /* a list of models */
	NOT_TYPES,
	PRODUCT, /* one model, as the label nvidia.com/gpu.product says it */
	NUMA, /* "true" */
	MOVABLE, /* "true" */
	MIG, /* a count, of the hard slice that the key names */
	NOTHING, /* known, asks nothing of us */
	REFUSE,
	/* Slurm */
	GRES,
	GPUS, /* [type:]count */
	TASKS, /* 4 or 2-8 */
	CPUS,
	MEM_SLURM, /* MiB by default, K M G T binary */
	TIME_SLURM,
	SIGNAL, /* [B:]USR1[@seconds] */
};

/* X(origin, key, how, says); a key that ends with '*' stands for all that begin so. */
#define PODS(X) \
	X("device plugin", "nvidia.com/gpu", COUNT, "gpus=N") \
	X("device plugin", "amd.com/gpu", COUNT, "gpus=N") \
	X("device plugin", "gpu.intel.com/i915", COUNT, "gpus=N") \
	X("device plugin", "habana.ai/gaudi", COUNT, "gpus=N") \
	X("device plugin", "huawei.com/Ascend910", COUNT, "gpus=N") \
	X("device plugin", "huawei.com/Ascend310P", COUNT, "gpus=N") \
	X("device plugin", "nvidia.com/gpu.shared", REFUSE, "the size of a time slice is not known") \
	X("device plugin", "nvidia.com/mig-*", MIG, "gpu-mig=NAME gpus=N") \
	X("node label", "nvidia.com/gpu.product", PRODUCT, "gpu-type=MODEL") \
	X("HAMi", "nvidia.com/gpumem", MEM_MIB, "gpu-mem=NMi") \
	X("HAMi", "nvidia.com/gpumem-percentage", PERCENT, "gpu-share=N%") \
	X("HAMi", "nvidia.com/gpucores", PERCENT, "gpu-share=N%") \
	X("HAMi", "nvidia.com/use-gputype", TYPES, "gpu-type=A,B") \
	X("HAMi", "nvidia.com/nouse-gputype", NOT_TYPES, "gpu-type=!A,!B") \
	X("HAMi", "nvidia.com/use-gpuuuid", REFUSE, "a profile names no single device") \
	X("HAMi", "nvidia.com/nouse-gpuuuid", REFUSE, "a profile names no single device") \
	X("HAMi", "nvidia.com/numa-bind", NUMA, "link=numa for two devices or more") \
	X("HAMi", "nvidia.com/priority", NOTHING, "priority of kernels inside a card") \
	X("Volcano", "volcano.sh/vgpu-number", COUNT, "gpus=N") \
	X("Volcano", "volcano.sh/vgpu-memory", MEM_MIB, "gpu-mem=NMi") \
	X("Volcano", "volcano.sh/vgpu-memory-percentage", PERCENT, "gpu-share=N%") \
	X("Volcano", "volcano.sh/vgpu-cores", PERCENT, "gpu-share=N%") \
	X("Volcano", "volcano.sh/gpu-memory", MEM_MIB, "gpu-mem=NMi") \
	X("Volcano", "volcano.sh/gpu-number", COUNT, "gpus=N") \
	X("Volcano", "volcano.sh/preemptable", MOVABLE, "preempt=movable") \
	X("Volcano", "volcano.sh/vgpu-use-gpuuuid", REFUSE, "a profile names no single device") \
	X("Volcano", "volcano.sh/vgpu-nouse-gpuuuid", REFUSE, "a profile names no single device") \
	X("KAI", "gpu-fraction", FRACTION, "gpu-share=N%") \
	X("KAI", "gpu-memory", MEM_MIB, "gpu-mem=NMi") \
	X("KAI", "gpu-fraction-num-devices", ONE_SHARED, "only 1") \
	X("Koordinator", "koordinator.sh/gpu", PERCENT, "gpus=N/100 or gpu-share=N%") \
	X("Koordinator", "koordinator.sh/gpu-core", PERCENT, "gpus=N/100 or gpu-share=N%") \
	X("Koordinator", "koordinator.sh/gpu-memory-ratio", PERCENT, "gpus=N/100 or gpu-share=N%") \
	X("Koordinator", "koordinator.sh/gpu-memory", MEM_BYTES, "gpu-mem=N") \
	X("Koordinator", "koordinator.sh/gpu.shared", ONE_SHARED, "only 1") \
	X("gpushare", "aliyun.com/gpu-mem", MEM_GIB, "gpu-mem=NGi") \
	X("gpushare", "aliyun.com/gpu-count", COUNT, "gpus=N") \
	X("nvshare", "nvshare.com/gpu", COUNT, "gpus=N")

#define SLURM(X) \
	X("Slurm", "gres", GRES, "gpus=N gpu-type=TYPE, gpu-share=N% of mps") \
	X("Slurm", "gpus-per-node", GPUS, "gpus=N gpu-type=TYPE") \
	X("Slurm", "gpus-per-task", GPUS, "gpus=N gpu-type=TYPE") \
	X("Slurm", "gpus", REFUSE, "say how many for each task: --gpus-per-task") \
	X("Slurm", "cpus-per-task", CPUS, "cpus=N") \
	X("Slurm", "mem", MEM_SLURM, "mem=NMi") \
	X("Slurm", "time", TIME_SLURM, "time=") \
	X("Slurm", "nodes", TASKS, "tasks=N or MIN..MAX") \
	X("Slurm", "ntasks", TASKS, "tasks=N") \
	X("Slurm", "requeue", MOVABLE, "preempt=movable") \
	X("Slurm", "signal", SIGNAL, "preempt=signal:USR1,grace:60s")

const struct wz_translation wz_translations[] = {
#define X(origin, key, how, says) {origin, key, says},
        PODS(X) SLURM(X)
#undef X
};
const unsigned wz_translations_n = WZ_ARRAY_LEN(wz_translations);

#define X(origin, key, how, says) +1
enum { N_PODS = 0 PODS(X), N_ALL = N_PODS SLURM(X) };
#undef X

static const uint8_t hows[N_ALL] = {
#define X(origin, key, how, says) how,
        PODS(X) SLURM(X)
#undef X
};

struct ctx {
	struct wz_profile *p;
	const struct wz_catalogue *c;
	struct wz_err *err;
	struct wz_str key, value;
};

static int bad(struct ctx *x, const char *says)
{
	return wz_err_set(
	        x->err, -EINVAL, "BadTranslation", x->key, WZ_STR("=\""), x->value, WZ_STR("\" "), wz_str(says));
}

static int refuse(struct ctx *x, const char *says)
{
	return wz_err_set(x->err, -EOPNOTSUPP, "Untranslatable", x->key, WZ_STR(": "), wz_str(says));
}

static int number(struct ctx *x, struct wz_str s, uint64_t max, uint64_t *ret)
{
	int rc = wz_str_parse_u64(s, ret);
	if (rc == -EINVAL)
		return bad(x, "is not a whole number");
	if (rc < 0 || *ret > max)
		return bad(x, "is too large");
	return 0;
}

static int add_count(struct ctx *x, uint64_t n)
{
	struct wz_profile *p = x->p;
	if (n > WZ_NODE_DEVICES_MAX)
		return bad(x, "is more than 64 devices");
	if (n == 0 || (n == 1 && p->share_milli))
		return 1;
	if (p->share_milli > MEMORY_ONLY && p->share_milli < WZ_WHOLE)
		return refuse(
		        x, "a share of several devices cannot be said; ask for whole devices, or one in each task");
	p->share_milli = 0;
	p->gpus = (uint32_t)n;
	return 1;
}

static int add_mig(struct ctx *x, struct wz_str name, uint64_t n)
{
	const struct wz_partition_kind *k = wz_partition_named(name);
	if (n == 0)
		return 1;
	if (!k)
		return refuse(x, "a hard slice that is not known");
	if (x->p->gpu_mig && x->p->gpu_mig != k->number)
		return refuse(x, "hard slices of two kinds cannot be said");
	if (x->p->share_milli)
		return refuse(x, "a share of a hard slice cannot be said");
	if (n > WZ_NODE_DEVICES_MAX)
		return bad(x, "is more than 64 devices");
	x->p->gpu_mig = k->number;
	x->p->gpus = (uint32_t)n;
	return 1;
}

static int add_share(struct ctx *x, uint64_t milli)
{
	struct wz_profile *p = x->p;
	if (milli == 0 || (milli == WZ_WHOLE && p->gpus > 1))
		return 1;
	if (milli > WZ_WHOLE)
		return bad(x, "is more than one device");
	if (p->gpus > 1 && milli > MEMORY_ONLY)
		return refuse(
		        x, "a share of several devices cannot be said; ask for whole devices, or one in each task");
	if (p->gpus > 1)
		return 1;
	p->gpus = 0;
	if (milli > p->share_milli)
		p->share_milli = (uint32_t)milli;
	return 1;
}

static int add_mem(struct ctx *x, uint64_t bytes)
{
	if (bytes == 0)
		return 1;
	if (bytes > (uint64_t)WZ_BYTES_MAX)
		return bad(x, "is too large");
	x->p->gpu_mem_bytes = bytes;
	x->p->gpu_mem_g = 0;
	return add_share(x, MEMORY_ONLY);
}

static int add_percent(struct ctx *x, uint64_t n)
{
	if (n <= 100)
		return add_share(x, n * 10);
	if (n % 100)
		return refuse(x, "a share of several devices cannot be said; above 100 only whole hundreds");
	return add_count(x, n / 100);
}

/* Adds one model to gpu-type, if it is not named yet. Names that end with what a device plugin appends are cut. */
static int add_type(struct ctx *x, struct wz_str name, bool exclude)
{
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_profile_ctx set = {.p = x->p, .c = x->c, .err = x->err};
	struct wz_str spelled = wz_catalogue_spelling(x->c, name);
	struct wz_buf b;
	for (uint32_t i = 0; i < x->p->n_types && !exclude; i++)
		if (wz_str_eq(wz_catalogue_spelling(x->c, wz_str(x->p->type[i].name)), spelled))
			return 1;
	for (uint32_t i = 0; i < x->p->n_excluded && exclude; i++)
		if (wz_str_eq(wz_catalogue_spelling(x->c, wz_str(x->p->excluded[i])), spelled))
			return 1;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_profile_format_fns[WZ_KEY_GPU_TYPE](x->p, &b);
	if (b.len)
		wz_buf_addc(&b, ',');
	if (exclude)
		wz_buf_addc(&b, '!');
	wz_buf_add(&b, name);
	if (b.status < 0)
		return bad(x, "is too long");
	return wz_profile_set_fns[WZ_KEY_GPU_TYPE](&set, wz_buf_str(&b)) < 0 ? -EINVAL : 1;
}

static int add_types(struct ctx *x, bool exclude)
{
	struct wz_str rest = x->value;
	while (rest.ptr) {
		int rc = add_type(x, wz_str_trim(wz_str_split(&rest, ',')), exclude);
		if (rc < 0)
			return rc;
	}
	return 1;
}

static int add_product(struct ctx *x)
{
	const struct wz_str shared = WZ_STR("-SHARED");
	struct wz_str v = x->value;
	for (size_t i = 0; i + 5 <= v.len; i++)
		if (wz_str_starts((struct wz_str){v.ptr + i, v.len - i}, WZ_STR("-MIG-")))
			return refuse(x, "hard slices are not part of a profile");
	if (v.len > shared.len && wz_str_eq((struct wz_str){v.ptr + v.len - shared.len, shared.len}, shared))
		v.len -= shared.len;
	return add_type(x, v, false);
}

/* --- Slurm --- */

static bool is_mig(struct wz_str type)
{
	for (size_t i = 0; i + 2 < type.len; i++)
		if (type.ptr[i] >= '1' && type.ptr[i] <= '9' && type.ptr[i + 1] == 'g' && type.ptr[i + 2] == '.')
			return true;
	return false;
}

/* [type:]count, [type] or nothing */
static int slurm_gpus(struct ctx *x, struct wz_str v)
{
	struct wz_str rest = v, first, last;
	uint64_t n = 1;
	if (!v.ptr)
		return add_count(x, 1);
	first = wz_str_split(&rest, ':');
	last = rest.ptr ? rest : first;
	if (last.len && last.ptr[0] >= '0' && last.ptr[0] <= '9' && wz_str_parse_u64(last, &n) == 0) {
		if (!rest.ptr)
			return add_count(x, n);
	} else if (rest.ptr) {
		return bad(x, "is not [TYPE:]COUNT");
	}
	if (is_mig(first))
		return add_mig(x, first, n);
	return add_type(x, first, false) < 0 ? -EINVAL : add_count(x, n);
}

static int slurm_gres(struct ctx *x)
{
	struct wz_str rest = x->value;
	while (rest.ptr) {
		struct wz_str item = wz_str_trim(wz_str_split(&rest, ',')), name;
		uint64_t n;
		int rc;
		if (wz_str_starts(item, WZ_STR("gres/")) || wz_str_starts(item, WZ_STR("gres:")))
			item = (struct wz_str){item.ptr + 5, item.len - 5};
		name = wz_str_split(&item, ':');
		if (wz_str_eq(name, WZ_STR("gpu"))) {
			rc = slurm_gpus(x, item);
		} else if (wz_str_eq(name, WZ_STR("mps"))) {
			rc = number(x, item, 100, &n);
			rc = rc < 0 ? rc : add_share(x, n * 10);
		} else if (wz_str_eq(name, WZ_STR("shard"))) {
			rc = refuse(x, "the size of a shard is not known; ask for gpu-share and gpu-mem");
		} else {
			rc = bad(x, "is not gpu[:TYPE][:COUNT] or mps:PERCENT");
		}
		if (rc < 0)
			return rc;
	}
	return 1;
}

/* "N", "MIN-MAX" */
static int slurm_tasks(struct ctx *x)
{
	struct wz_str high = x->value, low = wz_str_split(&high, '-');
	uint64_t min, max;
	int rc = number(x, low, WZ_JOB_TASKS_MAX, &min);
	max = min;
	if (rc == 0 && high.ptr)
		rc = number(x, high, WZ_JOB_TASKS_MAX, &max);
	if (rc < 0)
		return rc;
	if (min == 0 || min > max)
		return bad(x, "is not a number of tasks");
	/* --nodes and --ntasks: the larger, since a task is what runs on one node or less */
	if (max > x->p->tasks_max) {
		x->p->tasks_min = (uint32_t)min;
		x->p->tasks_max = (uint32_t)max;
	}
	return 1;
}

static int slurm_mem(struct ctx *x)
{
	static const char units[] = "KMGT";
	struct wz_str v = x->value;
	unsigned unit = 1;
	uint64_t n;
	int rc;
	for (unsigned i = 0; v.len && i < 4; i++)
		if ((v.ptr[v.len - 1] & ~0x20) == units[i]) {
			unit = i;
			v.len--;
			break;
		}
	rc = number(x, v, (uint64_t)WZ_BYTES_MAX >> (10 * (unit + 1)), &n);
	if (rc < 0)
		return rc;
	x->p->mem_bytes = n << (10 * (unit + 1));
	return 1;
}

/* minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S */
static int slurm_time(struct ctx *x)
{
	struct wz_str rest = x->value, head = wz_str_split(&rest, '-');
	bool days = rest.ptr != NULL;
	uint64_t part[4] = {0}, n = 0, us; /* days, hours, minutes, seconds */
	unsigned at, count = 1;
	if (wz_str_eq_nocase(x->value, WZ_STR("UNLIMITED")) || wz_str_eq_nocase(x->value, WZ_STR("INFINITE"))) {
		x->p->time_us = 0;
		return 1;
	}
	if (days) {
		int rc = number(x, head, 1000000, &part[0]);
		if (rc < 0)
			return rc;
	} else {
		rest = x->value;
	}
	for (size_t i = 0; i < rest.len; i++)
		count += rest.ptr[i] == ':';
	if (count > 3)
		return bad(x, "is not a time of Slurm, such as 90, 1:30:00 or 2-12");
	for (at = days || count == 3 ? 1 : 2; rest.ptr; at++) {
		int rc = number(x, wz_str_split(&rest, ':'), 100000000, &n);
		if (rc < 0)
			return rc;
		part[at] = n;
	}
	us = ((part[0] * 24 + part[1]) * 60 + part[2]) * 60 + part[3];
	x->p->time_us = us * 1000000;
	return 1;
}

static int slurm_signal(struct ctx *x)
{
	struct wz_profile_ctx set = {.p = x->p, .c = x->c, .err = x->err};
	struct wz_str grace = x->value, name;
	char text[128];
	struct wz_buf b;
	if (wz_str_starts(grace, WZ_STR("B:")) || wz_str_starts(grace, WZ_STR("R:")))
		grace = (struct wz_str){grace.ptr + 2, grace.len - 2};
	name = wz_str_split(&grace, '@');
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, "signal:");
	wz_buf_add(&b, name);
	wz_buf_addz(&b, ",grace:");
	wz_buf_add(&b, grace.ptr ? grace : WZ_STR("60"));
	wz_buf_addc(&b, 's');
	if (b.status < 0)
		return bad(x, "is too long");
	return wz_profile_set_fns[WZ_KEY_PREEMPT](&set, wz_buf_str(&b)) < 0 ? -EINVAL : 1;
}

/* --- both --- */

static int yes(struct ctx *x)
{
	if (wz_str_eq_nocase(x->value, WZ_STR("true")) || x->value.len == 0)
		return 1;
	return wz_str_eq_nocase(x->value, WZ_STR("false")) ? 0 : bad(x, "is not true or false");
}

static int add_quantity(struct ctx *x, enum how how)
{
	struct wz_profile *p = x->p;
	uint64_t n;
	int rc;
	if (how == FRACTION)
		return wz_milli_parse(x->value, &n, NULL) < 0 ? bad(x, "is not a part of a device, such as 0.5")
		                                              : add_share(x, n);
	if (how == MEM_BYTES)
		return wz_bytes_parse(x->value, &n, NULL) < 0 ? bad(x, "is not an amount of memory, such as 8Gi")
		                                              : add_mem(x, n);
	rc = number(x, x->value, UINT32_MAX, &n);
	if (rc < 0)
		return rc;
	switch (how) {
	case COUNT:
		return add_count(x, n);
	case ONE_SHARED:
		return n <= 1 ? 1 : refuse(x, "a share of several devices cannot be said");
	case PERCENT:
		return add_percent(x, n);
	case MEM_MIB:
		return add_mem(x, n * WZ_MI);
	case MEM_GIB:
		return add_mem(x, n > 1u << 26 ? UINT64_MAX : n * WZ_GI);
	default:
		p->cpu_milli = n * 1000;
		return 1; /* CPUS */
	}
}

static int apply(struct ctx *x, enum how how, const char *says)
{
	struct wz_profile *p = x->p;
	uint64_t n;
	int rc;
	switch (how) {
	case TYPES:
	case NOT_TYPES:
		return add_types(x, how == NOT_TYPES);
	case PRODUCT:
		return add_product(x);
	case NUMA:
		rc = yes(x);
		if (rc == 1 && p->gpus > 1 && p->link == WZ_LINK_NONE)
			p->link = WZ_LINK_NUMA;
		return rc < 0 ? rc : 1;
	case MOVABLE:
		rc = yes(x);
		p->preempt.movable |= rc == 1;
		return rc < 0 ? rc : 1;
	case MIG:
		rc = number(x, x->value, UINT32_MAX, &n);
		return rc < 0 ? rc : add_mig(x, (struct wz_str){x->key.ptr + 15, x->key.len - 15}, n);
	case NOTHING:
		return 1;
	case REFUSE:
		return refuse(x, says);
	case GRES:
		return slurm_gres(x);
	case GPUS:
		return slurm_gpus(x, x->value);
	case TASKS:
		return slurm_tasks(x);
	case MEM_SLURM:
		return slurm_mem(x);
	case TIME_SLURM:
		return slurm_time(x);
	case SIGNAL:
		return slurm_signal(x);
	default:
		return add_quantity(x, how);
	}
}

static bool key_is(struct wz_str key, const char *z)
{
	struct wz_str want = wz_str(z);
	if (want.ptr[want.len - 1] != '*')
		return wz_str_eq(key, want);
	want.len--;
	return wz_str_starts(key, want);
}

static int translate(struct ctx *x, unsigned from, unsigned to)
{
	struct wz_profile copy = *x->p, *target = x->p;
	for (unsigned i = from; i < to; i++) {
		int rc;
		if (!key_is(x->key, wz_translations[i].key))
			continue;
		x->p = &copy;
		rc = apply(x, hows[i], wz_translations[i].says);
		if (rc > 0)
			*target = copy;
		return rc;
	}
	return 0;
}

int wz_translate_entry(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err)
{
	struct ctx x = {.p = p, .c = c, .err = err, .key = key, .value = wz_str_trim(value)};
	return translate(&x, 0, N_PODS);
}

int wz_translate_slurm(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err)
{
	struct ctx x = {.p = p, .c = c, .err = err, .key = key, .value = wz_str_trim(value)};
	if (wz_str_starts(key, WZ_STR("--")))
		x.key = (struct wz_str){key.ptr + 2, key.len - 2};
	return translate(&x, N_PODS, N_ALL);
}

int wz_translate_slurm_gres(
        struct wz_profile *p, struct wz_str value, const struct wz_catalogue *c, struct wz_err *err)
{
	return wz_translate_slurm(p, WZ_STR("gres"), value, c, err);
}
