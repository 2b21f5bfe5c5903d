/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the profile's keys: one setter for each. What concerns several keys is in wz_profile_finish. */
#include "base/check.h"
#include "base/quant.h"
#include "core/profile_int.h"

#define BARE_BYTES_MIN 65536u /* a bare number below is a forgotten unit */
#define CLASS_MAX (1u << 20)
#define CU_MILLI_MAX 1000000000000ULL
#define BW_MAX 10000000u

const struct wz_profile_key wz_profile_keys[] = {
#define X(id, fn, name, value, help) {name, value, help},
        WZ_PROFILE_KEYS(X)
#undef X
};
const unsigned wz_profile_keys_n = WZ_KEY_N;

const char *const wz_profile_links[6] = {"none", "node", "numa", "pcie", "nvlink", "rack"};
const char *const wz_profile_acks[3] = {"none", "file", "socket"};

#define bad(x, where, reason, ...) ((x)->at = (where), wz_err_set((x)->err, -EINVAL, (reason), __VA_ARGS__))

/* After a parser of base failed: the same text under the profile's own reason. */
static int bad_quantity(struct wz_profile_ctx *x, struct wz_str v)
{
	x->at = v.ptr;
	if (x->err) {
		x->err->code = -EINVAL;
		x->err->reason = "BadUnit";
	}
	return -EINVAL;
}

static bool digits(struct wz_str v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] < '0' || v.ptr[i] > '9')
			return false;
	return v.len > 0;
}

static bool cut_suffix(struct wz_str *v, const char *suffix)
{
	struct wz_str s = wz_str(suffix);
	if (v->len <= s.len || !wz_str_eq((struct wz_str){v->ptr + v->len - s.len, s.len}, s))
		return false;
	v->len -= s.len;
	return true;
}

static int set_gpus(struct wz_profile_ctx *x, struct wz_str v)
{
	uint64_t milli;
	for (size_t i = 0; i < v.len; i++)
		if ((v.ptr[i] < '0' || v.ptr[i] > '9') && v.ptr[i] != '.')
			return bad(x, v.ptr + i, "BadUnit", WZ_STR("\""), v,
			        WZ_STR("\" is not a number of devices, such as 4 or 0.5"));
	if (wz_milli_parse(v, &milli, x->err) < 0)
		return bad_quantity(x, v);
	if (milli > WZ_WHOLE && milli % WZ_WHOLE)
		return bad(x, v.ptr, "BadProfile", WZ_STR("only less than one device can be a fraction"));
	if (milli > WZ_NODE_DEVICES_MAX * WZ_WHOLE)
		return bad(
		        x, v.ptr, "BadProfile", WZ_STR("a task has at most 64 devices; more make a gang: tasks=N"));
	x->p->gpus = (uint32_t)(milli / WZ_WHOLE);
	x->p->share_milli = (uint32_t)(milli % WZ_WHOLE);
	return 0;
}

static int set_share(struct wz_profile_ctx *x, struct wz_str v)
{
	uint64_t milli;
	if (wz_milli_parse(v, &milli, x->err) < 0)
		return bad_quantity(x, v);
	if (milli == 0)
		return bad(x, v.ptr, "BadProfile", WZ_STR("a share is more than nothing, at least 0.1%"));
	if (milli >= WZ_WHOLE)
		return bad(x, v.ptr, "BadProfile",
		        WZ_STR("a share is less than one device, such as 50%; for whole devices write gpus=N"));
	x->p->share_milli = (uint32_t)milli;
	x->p->gpus = 0;
	return 0;
}

/* Bytes with an optional B ("80GB", "80GiB", "512B"). A bare small number is a forgotten unit. */
static int parse_bytes(struct wz_profile_ctx *x, struct wz_str v, uint64_t *ret)
{
	struct wz_str number = v;
	bool marked = cut_suffix(&number, "B");
	if (wz_bytes_parse(number, ret, x->err) < 0)
		return bad_quantity(x, v);
	if (!marked && digits(v) && *ret && *ret < BARE_BYTES_MIN)
		return bad(x, v.ptr, "BadUnit", v, WZ_STR(" bytes? write "), v, WZ_STR("G or "), v, WZ_STR("Gi ("),
		        v, WZ_STR("B if bytes are meant)"));
	if (*ret > (uint64_t)WZ_BYTES_MAX)
		return bad(x, v.ptr, "BadProfile", WZ_STR("more than 64Pi"));
	return 0;
}

static int set_gpu_mem(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_str number = v;
	uint64_t n;
	int rc;
	cut_suffix(&number, "B");
	if (cut_suffix(&number, "G") && digits(number)) {
		if (wz_str_parse_u64(number, &n) < 0 || n > CLASS_MAX)
			return bad(x, v.ptr, "BadProfile", WZ_STR("no device has that much memory"));
		x->p->gpu_mem_g = (uint32_t)n;
		x->p->gpu_mem_bytes = 0;
		return 0;
	}
	rc = parse_bytes(x, v, &n);
	if (rc < 0)
		return rc;
	x->p->gpu_mem_bytes = n;
	x->p->gpu_mem_g = 0;
	return 0;
}

static int set_gpu_mem_total(struct wz_profile_ctx *x, struct wz_str v)
{
	return parse_bytes(x, v, &x->p->gpu_mem_total_bytes);
}

static int set_cu(struct wz_profile_ctx *x, struct wz_str v)
{
	uint64_t milli;
	if (wz_milli_parse(v, &milli, x->err) < 0)
		return bad_quantity(x, v);
	if (milli > CU_MILLI_MAX)
		return bad(x, v.ptr, "BadProfile", WZ_STR("more than 1000000000 compute units"));
	x->p->cu_milli = milli;
	return 0;
}

/* The canonical spelling of a model or family, blanks as '-'. */
static void spell(const struct wz_catalogue *c, struct wz_str name, char out[WZ_MODEL_NAME_MAX])
{
	struct wz_str s = wz_catalogue_spelling(c, name);
	wz_check(s.len > 0 && s.len < WZ_MODEL_NAME_MAX);
	memset(out, 0, WZ_MODEL_NAME_MAX);
	for (size_t i = 0; i < s.len; i++)
		out[i] = (char)(s.ptr[i] == ' ' ? '-' : s.ptr[i]);
}

static int add_type(struct wz_profile_ctx *x, struct wz_str name, struct wz_model_set *excluded)
{
	struct wz_profile *p = x->p;
	bool exclude = name.len && name.ptr[0] == '!';
	struct wz_model_set set = {{0}};
	char spelled[WZ_MODEL_NAME_MAX];
	if (exclude)
		name = (struct wz_str){name.ptr + 1, name.len - 1};
	if (name.len == 0)
		return bad(x, name.ptr, "BadProfile", WZ_STR("a device model is missing here"));
	if (wz_catalogue_match(x->c, name, &set, x->err) < 0) {
		x->at = name.ptr;
		if (x->err)
			x->err->code = -EINVAL;
		return -EINVAL;
	}
	spell(x->c, name, spelled);
	for (uint32_t i = 0; i < p->n_types; i++)
		if (wz_str_eq(wz_str(p->type[i].name), wz_str(spelled)))
			return bad(x, name.ptr, "BadProfile", wz_str(spelled), WZ_STR(" is named twice"));
	for (uint32_t i = 0; i < p->n_excluded; i++)
		if (wz_str_eq(wz_str(p->excluded[i]), wz_str(spelled)))
			return bad(x, name.ptr, "BadProfile", wz_str(spelled), WZ_STR(" is named twice"));
	if ((exclude ? p->n_excluded : p->n_types) == WZ_PROFILE_TYPES_MAX)
		return bad(x, name.ptr, "BadProfile", WZ_STR("more than 16 device models"));
	if (exclude) {
		memcpy(p->excluded[p->n_excluded++], spelled, sizeof spelled);
		for (unsigned i = 0; i < WZ_ARRAY_LEN(set.w); i++)
			excluded->w[i] |= set.w[i];
		return 0;
	}
	p->type[p->n_types].set = set;
	memcpy(p->type[p->n_types++].name, spelled, sizeof spelled);
	return 0;
}

static int set_gpu_type(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_profile *p = x->p;
	struct wz_model_set excluded = {{0}};
	struct wz_str rest = v;
	uint64_t any = 0;
	wz_check(x->c);
	p->n_types = p->n_excluded = 0;
	memset(p->type, 0, sizeof p->type);
	memset(p->excluded, 0, sizeof p->excluded);
	while (rest.ptr) {
		int rc = add_type(x, wz_str_split(&rest, ','), &excluded);
		if (rc < 0)
			return rc;
	}
	p->any_model = false;
	for (unsigned w = 0; w < WZ_ARRAY_LEN(p->allowed.w); w++) {
		uint64_t named = p->n_types ? 0 : UINT64_MAX;
		for (uint32_t i = 0; i < p->n_types; i++)
			named |= p->type[i].set.w[w];
		p->allowed.w[w] = named & ~excluded.w[w];
		any |= p->allowed.w[w];
	}
	if (!any)
		return bad(x, v.ptr, "Conflict", WZ_STR("nothing is left of the models that are named"));
	return 0;
}

static int set_gpu_mig(struct wz_profile_ctx *x, struct wz_str v)
{
	const struct wz_partition_kind *k = wz_partition_named(v);
	if (!k && !wz_str_eq(v, WZ_STR("auto")))
		return bad(x, v.ptr, "UnknownPartition", WZ_STR("\""), v,
		        WZ_STR("\" is no hard slice of a card that is known, such as 1g.10gb or 3g.40gb, nor "
		               "auto"));
	x->p->gpu_mig = k ? k->number : WZ_PARTITION_AUTO;
	return 0;
}

static int set_link(struct wz_profile_ctx *x, struct wz_str v)
{
	bool preferred = x->preferred;
	if (!preferred && v.len > 1 && v.ptr[0] == '~') {
		preferred = true;
		v = (struct wz_str){v.ptr + 1, v.len - 1};
	}
	if (wz_str_eq_nocase(v, WZ_STR("hccs")) || wz_str_eq_nocase(v, WZ_STR("xgmi")))
		v = WZ_STR("nvlink");
	for (unsigned i = 0; i < WZ_ARRAY_LEN(wz_profile_links); i++)
		if (wz_str_eq_nocase(v, wz_str(wz_profile_links[i]))) {
			x->p->link = (enum wz_link)i;
			x->p->link_preferred = preferred && i != WZ_LINK_NONE;
			return 0;
		}
	return bad(x, v.ptr, "BadProfile", WZ_STR("\""), v,
	        WZ_STR("\" is not none, node, numa, pcie, nvlink (also hccs, xgmi) or rack"));
}

static int set_free(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_str number = v;
	uint64_t n;
	cut_suffix(&number, "%");
	if (wz_str_parse_u64(number, &n) < 0)
		return bad(
		        x, v.ptr, "BadUnit", WZ_STR("\""), v, WZ_STR("\" is not a whole percentage, such as 20%"));
	if (n > 100)
		return bad(x, v.ptr, "BadProfile", WZ_STR("more than 100%"));
	x->p->free_pct = (uint32_t)n;
	return 0;
}

static int set_bw(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_str number = v;
	uint64_t n;
	cut_suffix(&number, "GB/s");
	if (wz_str_parse_u64(number, &n) < 0)
		return bad(x, v.ptr, "BadUnit", WZ_STR("\""), v,
		        WZ_STR("\" is not a whole number of GB/s, such as 900 or 900GB/s"));
	if (n > BW_MAX)
		return bad(x, v.ptr, "BadProfile", WZ_STR("more than 10000000 GB/s"));
	x->p->bw_gbps = (uint32_t)n;
	return 0;
}

static int set_util(struct wz_profile_ctx *x, struct wz_str v)
{
	uint64_t milli;
	if (wz_milli_parse(v, &milli, x->err) < 0)
		return bad_quantity(x, v);
	if (milli == 0 || milli > WZ_WHOLE)
		return bad(x, v.ptr, "BadProfile", WZ_STR("expected use is 0.1% to 100% of a device"));
	x->p->util_milli = (uint32_t)milli;
	return 0;
}

static int set_cpus(struct wz_profile_ctx *x, struct wz_str v)
{
	uint64_t milli;
	if (wz_milli_parse(v, &milli, x->err) < 0)
		return bad_quantity(x, v);
	if (milli > (uint64_t)WZ_CPU_MILLI_MAX)
		return bad(x, v.ptr, "BadProfile", WZ_STR("more CPUs than any node has"));
	x->p->cpu_milli = milli;
	return 0;
}

static int set_mem(struct wz_profile_ctx *x, struct wz_str v)
{
	return parse_bytes(x, v, &x->p->mem_bytes);
}

static int parse_time(struct wz_profile_ctx *x, struct wz_str v, uint64_t *ret)
{
	if (wz_duration_parse(v, ret, x->err) < 0)
		return bad_quantity(x, v);
	if (*ret > INT64_MAX)
		return bad(x, v.ptr, "BadProfile", WZ_STR("too long: at most 106751991 days"));
	return 0;
}

static int set_time(struct wz_profile_ctx *x, struct wz_str v)
{
	return parse_time(x, v, &x->p->time_us);
}

static int set_tasks(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_str low = v, high = v;
	uint64_t min, max;
	for (size_t i = 0; i + 1 < v.len; i++)
		if (v.ptr[i] == '.' && v.ptr[i + 1] == '.') {
			low.len = i;
			high = (struct wz_str){v.ptr + i + 2, v.len - i - 2};
			break;
		}
	if (!digits(low) || !digits(high))
		return bad(x, digits(low) ? high.ptr : low.ptr, "BadUnit", WZ_STR("\""), v,
		        WZ_STR("\" is not a number of tasks, such as 8 or 2..8"));
	if (wz_str_parse_u64(low, &min) < 0 || min == 0 || min > WZ_JOB_TASKS_MAX)
		return bad(x, low.ptr, "BadProfile", WZ_STR("a job has 1 to 65536 tasks"));
	if (wz_str_parse_u64(high, &max) < 0 || max == 0 || max > WZ_JOB_TASKS_MAX)
		return bad(x, high.ptr, "BadProfile", WZ_STR("a job has 1 to 65536 tasks"));
	if (min > max)
		return bad(x, v.ptr, "BadProfile", WZ_STR("write the smaller number first: "), high, WZ_STR(".."),
		        low);
	x->p->tasks_min = (uint32_t)min;
	x->p->tasks_max = (uint32_t)max;
	return 0;
}

static int set_kind(struct wz_profile_ctx *x, struct wz_str v)
{
	if (wz_str_eq(v, WZ_STR("batch")))
		x->p->kind = WZ_KIND_BATCH;
	else if (wz_str_eq(v, WZ_STR("service")))
		x->p->kind = WZ_KIND_SERVICE;
	else
		return bad(x, v.ptr, "BadProfile", WZ_STR("\""), v, WZ_STR("\" is not batch or service"));
	return 0;
}

/* Signals that a program can catch and that mean "checkpoint" to someone. */
static int parse_signal(struct wz_profile_ctx *x, struct wz_str v, char out[WZ_PREEMPT_SIGNAL_MAX])
{
	static const char *const names[] = {
	        "HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "CONT", "TSTP", "URG", "WINCH"};
	struct wz_str bare = v;
	if (v.len > 3 && wz_str_eq_nocase((struct wz_str){v.ptr, 3}, WZ_STR("SIG")))
		bare = (struct wz_str){v.ptr + 3, v.len - 3};
	for (unsigned i = 0; i < WZ_ARRAY_LEN(names); i++)
		if (wz_str_eq_nocase(bare, wz_str(names[i]))) {
			memset(out, 0, WZ_PREEMPT_SIGNAL_MAX);
			memcpy(out, names[i], strlen(names[i]));
			return 0;
		}
	return bad(x, v.ptr, "BadProfile", WZ_STR("\""), v,
	        WZ_STR("\" is not HUP, INT, QUIT, USR1, USR2, ALRM, TERM, CONT, TSTP, URG or WINCH"));
}

static int parse_ack(struct wz_profile_ctx *x, struct wz_str v, uint8_t *ret)
{
	for (unsigned i = 1; i < WZ_ARRAY_LEN(wz_profile_acks); i++)
		if (wz_str_eq(v, wz_str(wz_profile_acks[i]))) {
			*ret = (uint8_t)i;
			return 0;
		}
	return bad(x, v.ptr, "BadProfile", WZ_STR("\""), v, WZ_STR("\" is not an acknowledgement: file or socket"));
}

static int preempt_item(struct wz_profile_ctx *x, struct wz_str item, unsigned *seen)
{
	static const char *const words[] = {"never", "movable", "signal", "grace", "ack", "interval"};
	struct wz_preempt *t = &x->p->preempt;
	struct wz_str rest = item, word = wz_str_split(&rest, ':');
	unsigned i = 0;
	while (i < WZ_ARRAY_LEN(words) && !wz_str_eq(word, wz_str(words[i])))
		i++;
	if (i == WZ_ARRAY_LEN(words) || (i < 2) != (rest.len == 0) || (i < 2 && rest.ptr))
		return bad(x, item.ptr, "BadProfile",
		        WZ_STR("the contract is never, movable, or of signal:USR1, grace:60s, ack:file, "
		               "interval:10m"));
	if (*seen & 1u << i)
		return bad(x, item.ptr, "BadProfile", word, WZ_STR(" is given twice"));
	*seen |= 1u << i;
	t->movable = i > 0;
	if (*seen & 1 && *seen != 1)
		return bad(x, item.ptr, "Conflict", WZ_STR("never goes with nothing else"));
	switch (i) {
	case 2:
		return parse_signal(x, rest, t->signal);
	case 3:
		return parse_time(x, rest, &t->grace_us);
	case 4:
		return parse_ack(x, rest, &t->ack);
	case 5:
		return parse_time(x, rest, &t->interval_us);
	default:
		return 0;
	}
}

static int set_preempt(struct wz_profile_ctx *x, struct wz_str v)
{
	struct wz_str rest = v;
	unsigned seen = 0;
	memset(&x->p->preempt, 0, sizeof x->p->preempt);
	while (rest.ptr) {
		int rc = preempt_item(x, wz_str_split(&rest, ','), &seen);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int set_repair(struct wz_profile_ctx *x, struct wz_str v)
{
	return parse_time(x, v, &x->p->repair_us);
}

wz_profile_set_fn *const wz_profile_set_fns[WZ_KEY_N] = {
#define X(id, fn, name, value, help) set_##fn,
        WZ_PROFILE_KEYS(X)
#undef X
};
