/* SPDX-License-Identifier: Apache-2.0 */
/* The Gittins index of attained service, from the services of jobs that have ended (Gittins 1979; as Tiresias uses it):
 *
 *	G(a) = sup over d of P(S - a <= d | S > a) / E[min(S - a, d) | S > a]
 *
 * Larger first. It is tabulated on a grid of half octaves each time REBUILD more jobs have ended, on the last KEEP services;
 * before the first table all jobs are equal. Undamped unless given a quantum. */
#include "core/orders/orders.h"

#include "base/fix.h"
#include "base/fixlog.h"

enum { P_QUANTUM };
enum { KEEP = 1024, REBUILD = 64, GRID = 96, HORIZONS = 40 };

struct wz_order_state {
	int64_t sample[KEEP]; /* services in GPU-milliseconds, a ring */
	int64_t sorted[KEEP], before[KEEP + 1]; /* sums of the smaller ones */
	uint32_t n, at, since;
	int64_t key[GRID]; /* by half octave of attained GPU-milliseconds */
};

static uint32_t grid_of(int64_t gpu_us)
{
	int32_t g = gpu_us < 1000 ? 0 : wz_log2_q16((uint64_t)gpu_us / 1000) / (WZ_Q16 / 2);
	return g < GRID ? (uint32_t)g : GRID - 1;
}

static int64_t grid_floor_us(uint32_t g)
{
	return g == 0 ? 0 : g >= 80 ? INT64_MAX / 2 : (int64_t)wz_exp2_q16((int32_t)g * (WZ_Q16 / 2)) * 1000;
}

static int init(struct wz_order *o, struct wz_err *err)
{
	o->state = wz_mem_zalloc(o->mem, sizeof(*o->state));
	return o->state ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the order's table"));
}

static void release(struct wz_order *o)
{
	wz_mem_free(o->mem, o->state, sizeof(*o->state));
}

/* Insertion into the sorted copy would do; a shell sort keeps it short and without recursion. */
static void sort(int64_t *v, uint32_t n)
{
	for (uint32_t gap = n / 2; gap > 0; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			int64_t x = v[i];
			uint32_t k = i;
			for (; k >= gap && v[k - gap] > x; k -= gap)
				v[k] = v[k - gap];
			v[k] = x;
		}
}

/* The largest rate over horizons at attained service a (GPU-ms), as ends per 2^62 / 10^3 GPU-ms; 0 when no sample is longer. */
static int64_t index_at(const struct wz_order_state *s, int64_t a)
{
	uint32_t first = 0;
	int64_t best = 0;

	while (first < s->n && s->sorted[first] <= a)
		first++;
	for (uint32_t k = 1; k <= HORIZONS && first < s->n; k++) {
		uint32_t to = first + (uint32_t)((uint64_t)(s->n - first) * k / HORIZONS);
		int64_t ends, spent, b;
		if (to == first)
			continue;
		b = s->sorted[to - 1];
		while (to < s->n && s->sorted[to] == b)
			to++;
		ends = to - first;
		spent = s->before[to] - s->before[first] - a * ends + (b - a) * (int64_t)(s->n - to);
		b = wz_muldiv(ends, INT64_C(1) << 50, spent > 0 ? spent : 1);
		best = b > best ? b : best;
	}
	return best;
}

static void learn(struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	struct wz_order_state *s = o->state;

	(void)now;
	s->sample[s->at] = wz_order_service(j, j->done_us) / 1000;
	s->at = (s->at + 1) % KEEP;
	s->n += s->n < KEEP;
	if (++s->since < REBUILD)
		return;
	s->since = 0;
	memcpy(s->sorted, s->sample, sizeof(s->sorted));
	sort(s->sorted, s->n);
	for (uint32_t i = 0; i < s->n; i++)
		s->before[i + 1] = wz_sat_add(s->before[i], s->sorted[i]);
	for (uint32_t g = 0; g < GRID; g++)
		s->key[g] = -index_at(s, grid_floor_us(g) / 1000);
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	if (j->running && (j->fixed || now - j->start_us < o->param[P_QUANTUM] * 1000))
		return (struct wz_okey){WZ_ORDER_FIRST, j->submit_us};
	return (struct wz_okey){o->state->key[grid_of(wz_order_service(j, j->done_us))], j->submit_us};
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	uint32_t g = grid_of(wz_order_service(j, j->done_us));

	if (!j->running)
		return WZ_ORDER_NEVER;
	if (now - j->start_us < o->param[P_QUANTUM] * 1000)
		return j->start_us + o->param[P_QUANTUM] * 1000;
	return g + 1 >= 80 ? WZ_ORDER_NEVER : wz_order_when(j, grid_floor_us(g + 1) + 1000, j->done_us, now);
}

const struct wz_order_rule wz_order_gittins = {.name = "gittins",
        .summary = "Gittins index of attained service, learned from ended jobs; preempts",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_LEARNS,
        .param = {{"quantum", "seconds that a job runs at least", 0, 0, 86400000}},
        .init = init,
        .release = release,
        .key = key,
        .change = change,
        .learn = learn};
