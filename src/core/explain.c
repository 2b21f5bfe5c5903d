/* SPDX-License-Identifier: Apache-2.0 */
/* Why a waiting job does not start: every node is asked for its first blocker, on the present state. A query: it leaves
 * no trace. For a gang that fits task by task, the transaction tells how many fit together. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/quant.h"

#include <string.h>

static const struct {
	const char *word, *text;
} reasons[WZ_REASON_COUNT_] = {
        [WZ_REASON_NONE] = {"None", "it can start"},
        [WZ_REASON_NO_NODES] = {"NoNodes", "there is no node"},
        [WZ_REASON_NOT_READY] = {"NotReady", "the node is down or not ready"},
        [WZ_REASON_CORDONED] = {"Cordoned", "the node takes no new work"},
        [WZ_REASON_MODEL] = {"Model", "no device of an allowed model"},
        [WZ_REASON_DEVICES] = {"Devices", "the node has fewer devices than asked"},
        [WZ_REASON_DEVICE_MEMORY] = {"DeviceMemory", "the devices have less memory than asked"},
        [WZ_REASON_BANDWIDTH] = {"Bandwidth", "the devices have less memory bandwidth than asked"},
        [WZ_REASON_LINK] = {"Link", "the devices are not joined as asked"},
        [WZ_REASON_CPU_CAPACITY] = {"CpuCapacity", "more CPU than the node has"},
        [WZ_REASON_MEM_CAPACITY] = {"MemoryCapacity", "more memory than the node has"},
        [WZ_REASON_CPU] = {"Cpu", "not enough CPU is free now"},
        [WZ_REASON_MEM] = {"Memory", "not enough memory is free now"},
        [WZ_REASON_TASKS] = {"Tasks", "the node's task limit is reached"},
        [WZ_REASON_BUSY] = {"Busy", "enough devices, but not free now"},
        [WZ_REASON_SHARE] = {"Share", "no device has so large a share free now"},
        [WZ_REASON_LIVE_MEMORY] = {"LiveMemory", "live free memory is below what is asked, or not known"},
        [WZ_REASON_POLICY] = {"Policy", "the placement policy refuses the node"},
        [WZ_REASON_GANG] = {"Gang", "single tasks fit, but not all that must start together"},
        [WZ_REASON_RESOURCES] = {"Resources", "no node has free all that is asked"},
        [WZ_REASON_HELD] = {"Held", "the job is held"},
        [WZ_REASON_WORK_BUDGET] = {"WorkBudget", "not looked at yet"},
        [WZ_REASON_QUEUE_LIMIT] = {"QueueLimit", "the queue has its limit"},
        [WZ_REASON_QUOTA_LIMIT] = {"QuotaLimit", "the queue has what it is guaranteed and may borrow"},
        [WZ_REASON_BORROWING] = {"Borrowing", "what is free is kept for the guarantees of other queues"},
        [WZ_REASON_USER_LIMIT] = {"UserLimit", "the user has the limit of the queue"},
        [WZ_REASON_USER_JOBS] = {"UserJobs", "the user runs as many jobs as the queue allows"},
        [WZ_REASON_JOB_LIMIT] = {"JobLimit", "more than the queue gives one job"},
        [WZ_REASON_BUDGET] = {"BudgetExceeded", "the budget of the queue is spent, or claimed by what runs"},
        [WZ_REASON_RESERVED] = {"Reserved", "what is free is promised to others before this job would end"},
        [WZ_REASON_ORDER] = {"Order", "others go first"},
        [WZ_REASON_PARTITION] = {"Partition", "a card has room for it, and must be cut first"},
        [WZ_REASON_LAUNCH_BACKOFF] = {"LaunchBackoff", "its launch failed; it is tried again after a pause"},
        [WZ_REASON_MAKING_ROOM] = {"MakingRoom", "room is being made, or is held, for it"},
        [WZ_REASON_NODE_AFFINITY] = {"NodeAffinity", "the node's labels are not those asked for"},
        [WZ_REASON_TAINT] = {"Taint", "the node has a taint that is not tolerated"},
        [WZ_REASON_HOST_PORT] = {"HostPort", "a task on the node holds the port"},
        [WZ_REASON_AFFINITY] = {"Affinity", "no task is there that it must be near"},
        [WZ_REASON_ANTI_AFFINITY] = {"AntiAffinity", "a task is there that must be apart from it"},
        [WZ_REASON_SPREAD] = {"Spread", "more of its kind are there than the spread allows"},
        [WZ_REASON_TOPOLOGY] = {"Topology", "no single place holds all that must stay together"},
};

const char *wz_reason_word(enum wz_reason r)
{
	return (unsigned)r < WZ_REASON_COUNT_ ? reasons[r].word : "Unknown";
}

const char *wz_reason_text(enum wz_reason r)
{
	return (unsigned)r < WZ_REASON_COUNT_ ? reasons[r].text : "unknown";
}

/* What a task would take there may be more than it takes at least: devices that are derived from the model, a model that is
 * counted for itself. */
static enum wz_reason quota_at(const struct wz_core *c, uint32_t slot, const struct wz_shape *s, uint32_t node)
{
	struct wz_charge k;
	struct wz_blocker b;

	if (c->queues.n == 0 || c->jobs.job[slot].account == WZ_ID_NONE)
		return WZ_REASON_NONE;
	wz_charge_on(c, slot, s, node, &k);
	return (enum wz_reason)wz_quota_check(c, slot, &k, &b);
}

static void look_at_nodes(
        struct wz_core *c, uint32_t slot, const struct wz_set *set, struct wz_explanation *x, bool *ret_possible)
{
	const struct wz_shape *s = &c->shapes.shape[set->shape];
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);
	struct wz_between_look asked;
	bool asks = wz_between_begin(c, set->between, &asked);
	int64_t preference;

	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		struct wz_scratch scratch;
		struct wz_view v;
		enum wz_reason why, idle;
		if (!(c->model.node[i].flags & WZ_NODE_PRESENT))
			continue;
		x->nodes++;
		why = wz_fit(c, s, i, &v, &scratch);
		if (why != WZ_REASON_NONE)
			why = wz_fit_why(c, s, i);
		else if (c->policy->score(c->policy_state, &ctx, s, &v) == WZ_SCORE_NONE)
			why = WZ_REASON_POLICY;
		else if (asks)
			why = wz_between_at(&asked, i, &preference);
		if (why == WZ_REASON_NONE)
			why = quota_at(c, slot, s, i);
		/* What the node lacks even when idle says more than that it is busy. */
		idle = wz_fit_idle(c, s, i);
		if (why > WZ_REASON_MEM_CAPACITY && idle != WZ_REASON_NONE &&
		        (idle <= WZ_REASON_MEM_CAPACITY || idle >= WZ_REASON_NODE_AFFINITY))
			why = idle;
		x->blocked[why]++;
		*ret_possible = *ret_possible || idle == WZ_REASON_NONE;
	}
}

static int make_room(struct wz_core *c)
{
	int r = wz_model_order(&c->model);

	if (r == 0)
		r = wz_grow(&c->mem, &c->rank_score, &c->rank_cap, c->model.n_ranked, sizeof(*c->rank_score));
	if (r == 0)
		r = wz_grow(&c->mem, &c->rank_node, &c->rank_node_cap, c->model.n_ranked, sizeof(*c->rank_node));
	return r;
}

/* Does the job assemble, were its minimum `min`? Everything is rolled back to the mark. */
static int assembles(struct wz_core *c, uint32_t slot, uint32_t min, uint32_t mark, struct wz_plan *plan, bool *ret)
{
	uint32_t asked = c->jobs.job[slot].tasks_min;
	struct wz_rng rng;
	int r;

	wz_rng_seed(&rng, wz_hash_u64(c->seed, c->step));
	c->jobs.job[slot].tasks_min = min;
	*ret = wz_assemble(c, slot, plan, &rng, &r) == WZ_REASON_NONE;
	c->jobs.job[slot].tasks_min = asked;
	wz_ledger_rollback(c, mark);
	plan->n = 0;
	return r;
}

/* How many tasks fit together. Of a job of several sets it is only told whether all do. */
static int try_gang(struct wz_core *c, uint32_t slot, struct wz_explanation *x)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t lo = 0, hi = j->tasks_min, mark;
	struct wz_plan plan;
	struct wz_str name = {0};
	int r = make_room(c);

	if (r < 0)
		return r;
	wz_plan_init(&plan, &c->mem);
	mark = wz_ledger_mark(c);
	while (r == 0 && lo < hi) { /* the largest gang that assembles */
		uint32_t mid = j->gang ? hi : lo + (hi - lo + 1) / 2;
		bool fits = false;
		r = assembles(c, slot, mid, mark, &plan, &fits);
		if (fits)
			lo = mid;
		else
			hi = j->gang ? 0 : mid - 1;
	}
	x->tasks_fit = lo;
	if (r == 0 && lo < j->tasks_min)
		x->place_fits = wz_assemble_best_place(c, slot, &name, &r);
	for (size_t i = 0; i < name.len && i + 1 < sizeof(x->place); i++)
		x->place[i] = name.ptr[i];
	wz_plan_release(&plan);
	return r;
}

static enum wz_reason most_frequent(const struct wz_explanation *x)
{
	enum wz_reason best = WZ_REASON_NO_NODES;

	for (unsigned r = WZ_REASON_NO_NODES; r < WZ_REASON_COUNT_; r++)
		if (x->blocked[r] > x->blocked[best])
			best = (enum wz_reason)r;
	return best;
}

int wz_core_explain(struct wz_core *c, uint64_t job, struct wz_explanation *ret, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, job);
	struct wz_explanation x = {.job = job, .digest = wz_core_digest(c)};
	const struct wz_set *set;
	const struct wz_job *j;
	struct wz_set one;
	uint32_t n_sets;
	bool possible = false;
	enum wz_reason denied = WZ_REASON_NONE; /* by a rule, to the gang as a whole */
	int r;

	if (slot == WZ_ID_NONE)
		return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no live job of that number"));
	j = &c->jobs.job[slot];
	if (j->state != WZ_JOB_WAITING && j->state != WZ_JOB_HELD)
		return wz_err_set(err, -EINVAL, "NotWaiting", WZ_STR("the job is not waiting"));
	set = wz_job_sets(c, j, &one, &n_sets);
	wz_ledger_begin(c); /* what is held for it counts as free */
	r = wz_holds_lift(c, slot);
	for (uint32_t i = 0; r == 0 && i < n_sets;
	        i++) { /* the first set for which there is no node, else the last */
		memset(x.blocked, 0, sizeof(x.blocked));
		x.nodes = 0;
		possible = false;
		look_at_nodes(c, slot, &set[i], &x, &possible);
		if (!x.blocked[WZ_REASON_NONE])
			break;
	}
	x.never = !possible;
	x.tasks_needed = j->tasks_min;
	x.tasks_fit = x.blocked[WZ_REASON_NONE] ? 1 : 0;
	if (r == 0 && j->tasks_max > 1 && x.tasks_fit) {
		if (c->queues.n || c->reservations.n) { /* quota and promises hold for all of it together */
			r = wz_gate_begin(c, false);
			wz_gate_job(c, slot);
		}
		if (r == 0)
			r = try_gang(c, slot, &x);
		if (c->queues.n && x.tasks_fit < j->tasks_min)
			denied = (enum wz_reason)c->gate.denied.reason;
	}
	wz_ledger_end(c);
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory to explain"));
	x.n_rules = wz_quota_list(c, slot, x.rule, WZ_RULE_BLOCKERS_MAX);
	if (j->state == WZ_JOB_HELD)
		x.main = WZ_REASON_HELD;
	else if (j->backoff)
		x.main = WZ_REASON_LAUNCH_BACKOFF;
	else if (x.nodes == 0)
		x.main = WZ_REASON_NO_NODES;
	else if (x.n_rules && possible)
		x.main = x.rule[0].reason;
	else if (x.tasks_fit >= x.tasks_needed)
		x.main = c->order.cls[j->class_id].reason == WZ_REASON_RESERVED ? WZ_REASON_RESERVED
		                                                                : WZ_REASON_NONE;
	else if (denied)
		x.main = denied;
	else if (wz_holds_of(c, slot))
		x.main = WZ_REASON_MAKING_ROOM;
	else if (x.place[0])
		x.main = WZ_REASON_TOPOLOGY;
	else if (x.blocked[WZ_REASON_NONE])
		x.main = WZ_REASON_GANG;
	else
		x.main = most_frequent(&x);
	*ret = x;
	return 0;
}

static void put_amount(int64_t v, const struct wz_rule_blocker *r, struct wz_buf *b)
{
	if (r->mem)
		wz_bytes_format(b, (uint64_t)v << 20);
	else if (r->reason == WZ_REASON_USER_JOBS)
		wz_buf_add_i64(b, v);
	else
		wz_milli_format(b, (uint64_t)v);
}

void wz_rule_blocker_format(const struct wz_rule_blocker *r, struct wz_buf *b)
{
	wz_buf_addz(b, wz_reason_word(r->reason));
	wz_buf_addz(b, " of ");
	wz_buf_addz(b, r->queue);
	wz_buf_addz(b, ": ");
	put_amount(r->used, r, b);
	wz_buf_addz(b, " of ");
	put_amount(r->limit > 0 ? r->limit : 0, r, b);
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, r->what);
	wz_buf_addz(b, " used, ");
	put_amount(r->ask, r, b);
	wz_buf_addz(b, " more asked");
}

void wz_explanation_format(const struct wz_explanation *e, struct wz_buf *b)
{
	wz_buf_addz(b, wz_reason_word(e->main));
	wz_buf_addz(b, ": ");
	wz_buf_addz(b, wz_reason_text(e->main));
	if (e->main == WZ_REASON_GANG) {
		wz_buf_addz(b, " (");
		wz_buf_add_u64(b, e->tasks_fit);
		wz_buf_addz(b, " of ");
		wz_buf_add_u64(b, e->tasks_needed);
		wz_buf_addz(b, " fit)");
	}
	if (e->main == WZ_REASON_TOPOLOGY) {
		wz_buf_addz(b, " (the best, ");
		wz_buf_addz(b, e->place);
		wz_buf_addz(b, ", holds ");
		wz_buf_add_u64(b, e->place_fits);
		wz_buf_addz(b, " of ");
		wz_buf_add_u64(b, e->tasks_needed);
		wz_buf_addc(b, ')');
	}
	for (uint32_t i = 0; i < e->n_rules; i++) {
		wz_buf_addz(b, "; ");
		wz_rule_blocker_format(&e->rule[i], b);
	}
	for (unsigned r = WZ_REASON_NO_NODES; r < WZ_REASON_COUNT_; r++) {
		if (!e->blocked[r])
			continue;
		wz_buf_addz(b, "; ");
		wz_buf_add_u64(b, e->blocked[r]);
		wz_buf_addz(b, " of ");
		wz_buf_add_u64(b, e->nodes);
		wz_buf_addz(b, " nodes: ");
		wz_buf_addz(b, reasons[r].text);
	}
	if (e->never)
		wz_buf_addz(b, "; it can never start on this cluster as it is");
}
