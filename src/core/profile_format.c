/* SPDX-License-Identifier: Apache-2.0 */
/* Profile -> canonical text. Each key writes its value, or nothing when it has its default. */
#include "base/quant.h"
#include "core/profile_int.h"

static void format_gpus(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->gpus)
		wz_buf_add_u64(b, p->gpus);
}

static void format_share(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->share_milli)
		wz_percent_format(b, p->share_milli);
}

/* A small number of bytes gets its B, since the parser takes a bare one for a forgotten unit. */
static void bytes(struct wz_buf *b, uint64_t v)
{
	if (!v)
		return;
	wz_bytes_format(b, v);
	if (v < 65536 && v % WZ_KI)
		wz_buf_addc(b, 'B');
}

static void format_gpu_mem(const struct wz_profile *p, struct wz_buf *b)
{
	uint64_t g = p->gpu_mem_g;
	if (p->share_milli && p->gpu_mem_bytes % 1000000000 == 0)
		g = p->gpu_mem_bytes / 1000000000;
	if (!g || g > 1u << 20) {
		bytes(b, p->gpu_mem_bytes);
		return;
	}
	wz_buf_add_u64(b, g);
	wz_buf_addc(b, 'G');
}

static void format_gpu_mem_total(const struct wz_profile *p, struct wz_buf *b)
{
	bytes(b, p->gpu_mem_total_bytes);
}

static void format_cu(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->cu_milli)
		wz_milli_format(b, p->cu_milli);
}

static void format_gpu_type(const struct wz_profile *p, struct wz_buf *b)
{
	for (uint32_t i = 0; i < p->n_types; i++) {
		if (i)
			wz_buf_addc(b, ',');
		wz_buf_addz(b, p->type[i].name);
	}
	for (uint32_t i = 0; i < p->n_excluded; i++) {
		wz_buf_addz(b, i || p->n_types ? ",!" : "!");
		wz_buf_addz(b, p->excluded[i]);
	}
}

static void format_gpu_mig(const struct wz_profile *p, struct wz_buf *b)
{
	const struct wz_partition_kind *k = wz_partition_find(p->gpu_mig);
	if (p->gpu_mig)
		wz_buf_addz(b, k ? k->name : "auto");
}

static void format_link(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->link)
		wz_buf_addz(b, wz_profile_links[p->link]);
}

static void format_free(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->free_pct)
		wz_percent_format(b, p->free_pct * 10ULL);
}

static void format_bw(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->bw_gbps)
		wz_buf_add_u64(b, p->bw_gbps);
}

static void format_util(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->util_milli)
		wz_percent_format(b, p->util_milli);
}

static void format_cpus(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->cpu_milli)
		wz_milli_format(b, p->cpu_milli);
}

static void format_mem(const struct wz_profile *p, struct wz_buf *b)
{
	bytes(b, p->mem_bytes);
}

static void format_time(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->time_us)
		wz_duration_format(b, p->time_us);
}

static void format_tasks(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->tasks_min == 1 && p->tasks_max == 1)
		return;
	wz_buf_add_u64(b, p->tasks_min);
	if (p->tasks_min == p->tasks_max)
		return;
	wz_buf_addz(b, "..");
	wz_buf_add_u64(b, p->tasks_max);
}

static void format_kind(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->kind == WZ_KIND_SERVICE)
		wz_buf_addz(b, "service");
}

static void contract_item(struct wz_buf *b, size_t start, const char *word)
{
	if (b->len > start)
		wz_buf_addc(b, ',');
	wz_buf_addz(b, word);
}

static void format_preempt(const struct wz_profile *p, struct wz_buf *b)
{
	const struct wz_preempt *t = &p->preempt;
	size_t start = b->len;
	if (!t->movable)
		return;
	if (t->signal[0]) {
		contract_item(b, start, "signal:");
		wz_buf_addz(b, t->signal);
	}
	if (t->grace_us) {
		contract_item(b, start, "grace:");
		wz_duration_format(b, t->grace_us);
	}
	if (t->ack) {
		contract_item(b, start, "ack:");
		wz_buf_addz(b, wz_profile_acks[t->ack]);
	}
	if (t->interval_us) {
		contract_item(b, start, "interval:");
		wz_duration_format(b, t->interval_us);
	}
	if (b->len == start)
		wz_buf_addz(b, "movable");
}

static void format_repair(const struct wz_profile *p, struct wz_buf *b)
{
	if (p->repair_us)
		wz_duration_format(b, p->repair_us);
}

wz_profile_format_fn *const wz_profile_format_fns[WZ_KEY_N] = {
#define X(id, fn, name, value, help) format_##fn,
        WZ_PROFILE_KEYS(X)
#undef X
};

void wz_profile_format(const struct wz_profile *p, struct wz_buf *b)
{
	size_t start = b->len;
	for (unsigned i = 0; i < WZ_KEY_N; i++) {
		char value[WZ_PROFILE_TEXT_MAX];
		struct wz_buf v;
		wz_buf_init_fixed(&v, value, sizeof value);
		wz_profile_format_fns[i](p, &v);
		if (v.len == 0)
			continue;
		if (b->len > start)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, wz_profile_keys[i].name);
		wz_buf_addc(b, i == WZ_KEY_LINK && p->link_preferred ? '~' : '=');
		wz_buf_add(b, wz_buf_str(&v));
	}
}
