/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges between two devices: when no room can be made for the one that waits by a few moves, remainders can still be
 * brought together, a share from here to there, or one for another, until a device is free. What a remainder is worth the
 * policy says (`worth`: 190 beside an 810 that nobody will ask for is worth nothing), else its size. The aim is the
 * sum over devices of w (1 + w) / 2, w what the remainder is worth: it grows when remainders are worth more, and when what is
 * worth something comes together. (Measured on openb's lists: w alone and w squared alone open fewer devices.)
 *
 * Devices that are alike (model, shares) are one pile; piles are compared, not devices. The exchange with the most gain a
 * move is taken, of equal ones the first; piles are numbered in the order of their first device by rank, so the result
 * is a function of the state. O(devices + piles^2 x shares^2) for each exchange. */
#include "core/repack.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"
#include "core/core_int.h"

#include <string.h>

#define PILES_MAX 512u
#define SLOTS 1024u /* more than piles; a power of two */
#define SHARES_MAX 6u /* on a device; others are left alone */
#define BEST_MAX 400u /* exchanges that are tried on devices, best first */
#define SIDES_MAX 400u /* devices of a pile that are looked at */

struct pile {
	uint16_t model;
	uint8_t n, milli_n; /* shares, distinct sizes */
	int16_t milli[SHARES_MAX]; /* ascending */
	int16_t size[SHARES_MAX]; /* distinct */
	int32_t free;
	int64_t value;
	uint32_t head, tail; /* devices, through next[] */
};

struct exchange {
	int64_t gain; /* a move, Q16 of devices squared */
	uint16_t from, to; /* piles */
	int16_t give, get; /* milli; 0: none */
};

struct side;
struct tidy {
	struct wz_core *c;
	struct wz_repack *x;
	struct pile *pile;
	uint32_t *next; /* by device */
	struct side *side; /* [2 x SIDES_MAX] */
	uint32_t n;
	uint16_t slot[SLOTS]; /* of a hash table: numbers of piles, PILES_MAX: none */
};

static int64_t value_of(const struct wz_core *c, int32_t free)
{
	int64_t w = c->policy->worth ? c->policy->worth(c->policy_state, free) : (int64_t)free * 65536 / WZ_WHOLE;

	return w > 0 ? w * (65536 + w) >> 17 : 0;
}

/* The shares of a device, ascending; false when it is not one for exchanges. */
static bool shares_of(const struct wz_core *c, uint32_t node, uint32_t i, struct pile *ret)
{
	const struct wz_node *n = &c->model.node[node];
	const struct wz_device *d = &c->model.dev[n->first_dev + i];

	*ret = (struct pile){.model = d->model, .free = c->model.dev_milli[n->first_dev + i]};
	if (d->health != WZ_HEALTH_OK || d->partition != WZ_PARTITION_WHOLE || d->n_tasks == 0 || ret->free <= 0)
		return false;
	for (uint32_t t = n->head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
		const struct wz_task *k = &c->jobs.task[t];
		uint32_t at = ret->n;
		if (!(k->devices >> i & 1))
			continue;
		if (k->dev_milli >= WZ_WHOLE || k->dev_mem >= 0 || ret->n == SHARES_MAX)
			return false;
		for (; at && ret->milli[at - 1] > k->dev_milli; at--)
			ret->milli[at] = ret->milli[at - 1];
		ret->milli[at] = (int16_t)k->dev_milli;
		ret->n++;
	}
	for (uint32_t a = 0; a < ret->n; a++)
		if (a == 0 || ret->milli[a] != ret->milli[a - 1])
			ret->size[ret->milli_n++] = ret->milli[a];
	return true;
}

/* The pile of devices like this one; a new one's number when there is none yet; PILES_MAX when there are too many. */
static uint32_t find_pile(struct tidy *k, const struct pile *p)
{
	uint64_t h = wz_mix64(p->model);

	for (uint32_t i = 0; i < p->n; i++)
		h = wz_hash_u64(h, (uint64_t)p->milli[i]);
	for (uint32_t at = (uint32_t)h & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
		const struct pile *q = &k->pile[k->slot[at]];
		if (k->slot[at] == PILES_MAX) {
			if (k->n < PILES_MAX)
				k->slot[at] = (uint16_t)k->n;
			return k->n;
		}
		if (q->model == p->model && q->n == p->n && memcmp(q->milli, p->milli, sizeof(p->milli)) == 0)
			return k->slot[at];
	}
}

static void pile_up(struct tidy *k)
{
	struct wz_core *c = k->c;

	k->n = 0;
	for (uint32_t i = 0; i < SLOTS; i++)
		k->slot[i] = PILES_MAX;
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		uint32_t node = c->model.by_rank[r];
		const struct wz_node *n = &c->model.node[node];
		if (!WZ_NODE_USABLE(n))
			continue;
		for (uint32_t i = 0; i < n->n_dev; i++) {
			struct pile p;
			uint32_t at;
			k->x->work++;
			if (!shares_of(c, node, i, &p))
				continue;
			at = find_pile(k, &p);
			if (at == PILES_MAX)
				continue;
			if (at == k->n) {
				p.value = value_of(c, p.free);
				p.head = WZ_ID_NONE;
				k->pile[k->n++] = p;
			}
			k->next[n->first_dev + i] = WZ_ID_NONE;
			if (k->pile[at].head == WZ_ID_NONE)
				k->pile[at].head = n->first_dev + i;
			else
				k->next[k->pile[at].tail] = n->first_dev + i;
			k->pile[at].tail = n->first_dev + i;
		}
	}
}

static void keep(struct exchange *best, uint32_t *n, struct exchange e)
{
	uint32_t at = *n;

	if (*n == BEST_MAX && e.gain <= best[*n - 1].gain)
		return;
	if (*n == BEST_MAX)
		at--;
	else
		++*n;
	for (; at && best[at - 1].gain < e.gain; at--)
		best[at] = best[at - 1];
	best[at] = e;
}

/* The best exchanges between piles, by gain a move. */
static uint32_t compare(struct tidy *k, struct exchange *best)
{
	uint32_t n = 0, moves_left = k->x->moves_max - k->x->n;

	for (uint32_t p = 0; p < k->n; p++)
		for (uint32_t q = p; q < k->n; q++) {
			const struct pile *a = &k->pile[p], *b = &k->pile[q];
			k->x->work++;
			for (uint32_t i = 0; i <= a->milli_n; i++)
				for (uint32_t j = 0; j <= b->milli_n; j++) {
					int16_t give = i ? a->size[i - 1] : 0, get = j ? b->size[j - 1] : 0;
					int32_t d = get - give;
					uint32_t moves = (give != 0) + (get != 0);
					int64_t gain;
					if (d == 0 || d > a->free || -d > b->free || moves > moves_left)
						continue;
					gain = (value_of(k->c, a->free - d) + value_of(k->c, b->free + d) -
					               a->value - b->value) /
					       moves;
					if (gain >= k->x->gain_min)
						keep(best, &n,
						        (struct exchange){
						                gain, (uint16_t)p, (uint16_t)q, give, get});
				}
		}
	return n;
}

static bool moved_already(const struct wz_repack *x, uint32_t task)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->move[i].task == task)
			return true;
	return false;
}

static uint32_t task_on(const struct wz_core *c, const struct wz_repack *x, uint32_t dev, int16_t milli)
{
	const struct wz_device *d = &c->model.dev[dev];
	const struct wz_node *n = &c->model.node[d->node];

	for (uint32_t t = n->head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next)
		if ((c->jobs.task[t].devices >> (dev - n->first_dev) & 1) && c->jobs.task[t].dev_milli == milli &&
		        wz_repack_movable(c, t) && !moved_already(x, t))
			return t;
	return WZ_ID_NONE;
}

static bool may_be_on(const struct wz_core *c, uint32_t task, uint32_t dev)
{
	const struct wz_shape *s = &c->shapes.shape[c->jobs.job[c->jobs.task[task].job].shape];

	return !s->special && (s->any_model || wz_model_set_has(&s->allowed, c->model.dev[dev].model));
}

/* Both go, both come, for less than it is worth; or all is as it was. */
static bool carry_out(struct tidy *k, uint32_t x, uint32_t tx, uint32_t y, uint32_t ty, int64_t worth, int *ret_err)
{
	struct wz_core *c = k->c;
	uint32_t task[2] = {tx, ty}, dev[2] = {y, x}, mark = wz_ledger_mark(c), before = k->x->n;
	int64_t cost = k->x->cost;
	bool ok = true;

	*ret_err = wz_ledger_reserve(c, 4);
	if (*ret_err < 0)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		const struct wz_task *t = task[i] == WZ_ID_NONE ? NULL : &c->jobs.task[task[i]];
		if (!t)
			continue;
		k->x->move[k->x->n++] = (struct wz_move){.task = task[i],
		        .from = {.node = {t->node},
		                .devices = t->devices,
		                .cpu = t->cpu,
		                .mem = t->mem,
		                .dev_milli = t->dev_milli,
		                .dev_mem = t->dev_mem},
		        .cost = wz_repack_cost(c, task[i])};
		k->x->cost = wz_sat_add(k->x->cost, wz_repack_cost(c, task[i]));
		wz_ledger_give(c, task[i]);
	}
	for (uint32_t i = 0, m = before; ok && i < 2; i++) {
		struct wz_place to;
		if (task[i] == WZ_ID_NONE)
			continue;
		to = k->x->move[m].from;
		to.node.v = c->model.dev[dev[i]].node;
		to.devices = 1ULL << (dev[i] - c->model.node[to.node.v].first_dev);
		ok = wz_ledger_fits(c, &to);
		if (ok) {
			wz_ledger_take(c, task[i], &to);
			k->x->move[m++].to = to;
		}
	}
	if (ok && k->x->cost - cost < worth && wz_repack_allowed(c, k->x))
		return true;
	wz_ledger_rollback(c, mark);
	k->x->n = before;
	k->x->cost = cost;
	return false;
}

/* A device of a pile with a share that could leave it, and what its host then has. */
struct side {
	uint32_t dev, task, node;
	int64_t cpu, mem; /* of the share */
	int64_t cpu_room, mem_room; /* of the node without it */
};

static uint32_t sides_of(struct tidy *k, const struct pile *p, int16_t milli, struct side *ret)
{
	const struct wz_core *c = k->c;
	uint32_t n = 0;

	for (uint32_t d = p->head; d != WZ_ID_NONE && n < SIDES_MAX; d = k->next[d]) {
		uint32_t t = milli ? task_on(c, k->x, d, milli) : WZ_ID_NONE;
		const struct wz_node *node = &c->model.node[c->model.dev[d].node];
		struct side *s = &ret[n];
		k->x->work++;
		if (milli && t == WZ_ID_NONE)
			continue;
		*s = (struct side){.dev = d,
		        .task = t,
		        .node = c->model.dev[d].node,
		        .cpu_room = node->cpu_free,
		        .mem_room = node->mem_free};
		if (milli) {
			s->cpu = c->jobs.task[t].cpu;
			s->mem = c->jobs.task[t].mem;
			s->cpu_room += s->cpu;
			s->mem_room += s->mem;
		}
		n++;
	}
	return n;
}

static bool match(const struct wz_core *c, const struct side *x, const struct side *y)
{
	if (x->dev == y->dev || (x->node != y->node && (y->cpu > x->cpu_room || x->cpu > y->cpu_room ||
	                                                       y->mem > x->mem_room || x->mem > y->mem_room)))
		return false;
	return (x->task == WZ_ID_NONE || may_be_on(c, x->task, y->dev)) &&
	       (y->task == WZ_ID_NONE || may_be_on(c, y->task, x->dev));
}

/* Devices of the two piles, and shares on them, for which the exchange is possible. */
static bool find_devices(struct tidy *k, const struct exchange *e, int *ret_err)
{
	int64_t moves = (e->give != 0) + (e->get != 0),
	        worth = wz_sat_mul(e->gain * moves * WZ_WHOLE / 65536, k->x->horizon_ms);
	uint32_t nx = sides_of(k, &k->pile[e->from], e->give, k->side), ny;
	struct side *other = k->side + SIDES_MAX;

	ny = sides_of(k, &k->pile[e->to], e->get, other);
	for (uint32_t i = 0; i < nx; i++)
		for (uint32_t j = 0; j < ny; j++) {
			const struct side *x = &k->side[i], *y = &other[j];
			if (!match(k->c, x, y))
				continue;
			if (carry_out(k, x->dev, x->task, y->dev, y->task, worth, ret_err) || *ret_err < 0)
				return *ret_err == 0;
		}
	return false;
}

#define TIDY_BYTES (PILES_MAX * sizeof(struct pile) + 2 * SIDES_MAX * sizeof(struct side))

bool wz_repack_tidy(struct wz_core *c, struct wz_repack *x, int *ret_err)
{
	struct tidy k = {.c = c, .x = x};
	struct exchange best[BEST_MAX];
	uint32_t n;

	wz_check(c->ledger.open);
	*ret_err = wz_grow(&c->mem, &c->tidy_next, &c->tidy_next_cap, c->model.n_devs + 1, sizeof(*c->tidy_next));
	if (*ret_err == 0 && !c->tidy_pile)
		c->tidy_pile = wz_mem_alloc(&c->mem, TIDY_BYTES);
	if (*ret_err == 0 && !c->tidy_pile)
		*ret_err = -ENOMEM;
	if (*ret_err < 0 || x->n >= x->moves_max)
		return false;
	k.next = c->tidy_next;
	k.pile = c->tidy_pile;
	k.side = (struct side *)(k.pile + PILES_MAX);
	pile_up(&k);
	n = compare(&k, best);
	for (uint32_t i = 0; i < n && *ret_err == 0; i++)
		if (find_devices(&k, &best[i], ret_err))
			return true;
	return false;
}

void wz_repack_release(struct wz_core *c)
{
	wz_grow_free(&c->mem, &c->repack_fits, &c->repack_fits_cap, sizeof(*c->repack_fits));
	wz_grow_free(&c->mem, &c->fruitless, &c->fruitless_cap, sizeof(*c->fruitless));
	wz_grow_free(&c->mem, &c->tidy_next, &c->tidy_next_cap, sizeof(*c->tidy_next));
	wz_mem_free(&c->mem, c->tidy_pile, TIDY_BYTES);
	c->tidy_pile = NULL;
}
