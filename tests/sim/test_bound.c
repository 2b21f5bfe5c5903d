/* SPDX-License-Identifier: Apache-2.0 */
/* The bound over lists of work: by hand, infeasible prefixes, faults; and the published numbers where the traces are. */
#include "sim/bound.h"

#include "fault.h"
#include "os/file.h"
#include "os/mem.h"
#include "sim/load.h"
#include "tap.h"

#include <math.h>

/* Two nodes of two devices; work for 60 devices, of which arrivals take what asks for 130 % of 4. */
#define NODES WZ_STR("sn,cpu_milli,memory_mib,gpu,model\nn0,8000,65536,2,T4\nn1,8000,65536,2,T4\n")
#define HEAD "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"

struct set {
	struct load l;
	struct wz_pack_input in;
	struct wz_err err;
};

static bool open_set(struct set *x, struct wz_str pods, const struct wz_mem *mem)
{
	return load_init(&x->l, mem) == 0 && load_texts(&x->l, NODES, &pods, &x->err) == 0 &&
	       wz_pack_input_make(&x->l.nodes, &x->l.tasks, mem, &x->in, &x->err) == 0;
}

static void close_set(struct set *x)
{
	wz_pack_input_release(&x->in);
	load_release(&x->l);
}

/* The bound when the tasks arrive in the order given. */
static int solve(struct set *x, uint32_t *order, uint32_t n, uint32_t percent, uint32_t hold, bool cpu_optional,
        struct wz_sim_bound *ret)
{
	struct wz_arrivals a = {.task = order, .n = n};
	struct wz_sim_bound_options o = {hold, cpu_optional};
	return wz_sim_bound_solve(&x->in, &a, percent, &o, wz_os_mem(), ret, &x->err);
}

#define NEED_LP() \
	do { \
		const char *what_; \
		if (!wz_bound_available(&what_)) \
			tap_skip(what_); \
	} while (0)

static void test_by_hand(void)
{
	struct set x = {0};
	struct wz_sim_bound b;
	/* a: whole device, 2 CPU. b: 0.6 of a device, 1 CPU. c: CPU only, 12. */
	tap_require(open_set(&x, WZ_STR(HEAD "a,2000,1,1,1000,\nb,1000,1,1,600,\nc,12000,1,0,0,\nd,20000,1,0,0,\n"),
	                    wz_os_mem()),
	        "%s", x.err.text);
	NEED_LP();
	tap_eq_i64(solve(&x, (uint32_t[]){0, 1, 1, 1, 1}, 5, 60, 0, false, &b), 0, "%s", x.err.text);
	tap_eq_i64(b.tasks, 4, "the shortest prefix that asks for 2.4 devices");
	tap_eq_i64(b.lp.bound_milli, 2800, "all of it fits");
	tap_eq_i64(solve(&x, (uint32_t[]){1, 1, 1, 1, 1}, 5, 75, 0, false, &b), 0, "%s", x.err.text);
	tap_eq_i64(b.lp.bound_milli, 2400, "one 600 a device");
	tap_eq_i64(solve(&x, (uint32_t[]){1, 1, 0, 0, 0}, 5, 100, 0, false, &b), 0, "%s", x.err.text);
	tap_eq_i64(b.lp.bound_milli, 3600, "refuses one 600 for a whole one");
	tap_eq_i64(solve(&x, (uint32_t[]){1, 1, 0, 0, 0}, 5, 100, 25, false, &b), 0, "%s", x.err.text);
	tap_eq_i64(b.held, 2, "two 600s reach 25 %%");
	tap_eq_i64(b.lp.bound_milli, 3200, "both are held");
	close_set(&x);
}

/* Infeasible is an answer. */
static void test_infeasible(void)
{
	struct set x = {0};
	struct wz_sim_bound b;
	/* two e fill the CPU of both nodes; f fits no node, so it is never forced */
	tap_require(open_set(&x, WZ_STR(HEAD "a,2000,1,1,600,\ne,6000,1,0,0,\nf,9000,1,0,0,\n"), wz_os_mem()), "%s",
	        x.err.text);
	NEED_LP();
	tap_eq_i64(solve(&x, (uint32_t[]){0, 0, 0, 0, 0}, 5, 70, 70, false, &b), 0, "%s", x.err.text);
	tap_ok(b.infeasible && isnan(wz_sim_bound_pct(&b)), "five 600s on four devices cannot be held");
	tap_eq_i64(solve(&x, (uint32_t[]){1, 1, 1, 0, 0}, 5, 30, 0, false, &b), 0, "%s", x.err.text);
	tap_ok(b.cpu_dropped && !b.infeasible,
	        "three CPU-only tasks of 6 on 16 CPU cannot all be served: optional");
	tap_eq_i64(b.lp.bound_milli, 1200, "then the devices");
	tap_eq_i64(solve(&x, (uint32_t[]){2, 1, 1, 0, 0}, 5, 30, 0, false, &b), 0, "%s", x.err.text);
	tap_eq_i64(b.lp.unfit_tasks, 1, "what fits no node is counted");
	tap_eq_i64(b.lp.bound_milli, 1200, "4 CPU are left beside 12: two shares");
	close_set(&x);
}

static void test_unsupported(void)
{
	struct set x = {0};
	struct wz_sim_bound b;
	const char *what;

	tap_require(open_set(&x, WZ_STR(HEAD "a,2000,1,1,600,\n"), wz_os_mem()), "%s", x.err.text);
	if (!wz_bound_available(&what)) {
		tap_eq_i64(solve(&x, (uint32_t[]){0}, 1, 10, 0, false, &b), -EOPNOTSUPP, "no solver");
		tap_eq_str(wz_str(x.err.reason), WZ_STR("NoLpSolver"), "says so");
	} else {
		struct wz_device_facts facts[2] = {x.l.nodes.node[0].device[0], x.l.nodes.node[0].device[1]};
		facts[1].compute_milli = 500;
		x.l.nodes.node[0].device = facts;
		tap_eq_i64(solve(&x, (uint32_t[]){0}, 1, 10, 0, false, &b), -EOPNOTSUPP, "half a device");
		tap_eq_str(wz_str(x.err.reason), WZ_STR("MixedNode"), "says so");
	}
	close_set(&x);
}

static void test_faults(void)
{
	struct set x = {0};
	tap_require(
	        open_set(&x, WZ_STR(HEAD "a,2000,1,1,600,\nb,2000,1,1,1000,\n"), wz_os_mem()), "%s", x.err.text);
	NEED_LP();
	for (uint64_t n = 1;; n++) {
		static const unsigned percent[] = {50, 100};
		struct wz_sim_bounds q = {
		        .in = &x.in, .seed_from = 1, .seed_to = 2, .percent = percent, .n_points = 2, .workers = 1};
		struct wz_sim_bound r[4];
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = wz_sim_bound_many(&q, &f.mem, r, &x.err);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "%s", x.err.text);
			break;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
	}
	close_set(&x);
}

/* Within 0.1 points of what others solved, at 100 % arrived; their draws of arrivals are others. */
static int one_published(struct wz_str list, double want, const char *traces)
{
	static const unsigned at[] = {100};
	char nodes[1024], pods[1024];
	const char *paths[2] = {nodes, pods};
	struct set x = {0};
	struct wz_sim_bound b = {0};
	int r;

	(void)snprintf(nodes, sizeof(nodes), "%s/openb_node_list_gpu_node.csv", traces);
	(void)snprintf(pods, sizeof(pods), "%s/openb_pod_list_%.*s.csv", traces, (int)list.len, list.ptr);
	r = load_init(&x.l, wz_os_mem());
	if (r == 0)
		r = wz_trace_load(paths, 2, NULL, wz_os_mem(), &x.l.nodes, &x.l.tasks, &x.err);
	if (r < 0) {
		load_release(&x.l);
		return r;
	}
	tap_eq_i64(wz_pack_input_make(&x.l.nodes, &x.l.tasks, wz_os_mem(), &x.in, &x.err), 0, "%s", x.err.text);
	struct wz_sim_bounds q = {
	        .in = &x.in, .seed_from = 42, .seed_to = 42, .percent = at, .n_points = 1, .workers = 1};
	tap_eq_i64(wz_sim_bound_many(&q, wz_os_mem(), &b, &x.err), 0, "%s", x.err.text);
	tap_ok(fabs(wz_sim_bound_pct(&b) - want) < 0.1, "%.*s: %.3f, published %.3f", (int)list.len, list.ptr,
	        wz_sim_bound_pct(&b), want);
	printf("# %-12.*s %.3f, published %.3f\n", (int)list.len, list.ptr, wz_sim_bound_pct(&b), want);
	close_set(&x);
	return 0;
}

static void test_published(void)
{
	const char *traces = getenv("TRACES");
	char near[512], table[512];
	struct wz_str all, line;
	struct wz_file_text text = {0};
	uint64_t found = 0;
	int r;

	NEED_LP();
	if (!traces)
		traces = source_path(near, sizeof(near), "../shared/traces/openb");
	r = wz_file_read(source_path(table, sizeof(table), "tests/data/bound_published.csv"), 65536, wz_os_mem(),
	        &text, NULL);
	tap_eq_i64(r, 0, "the table is there");
	all = wz_file_text_str(&text);
	wz_str_split(&all, '\n'); /* header */
	while ((line = wz_str_split(&all, '\n')).len) {
		struct wz_str name = wz_str_split(&line, ',');
		found += one_published(name, strtod(line.ptr, NULL), traces) == 0;
	}
	wz_file_text_release(&text);
	if (!found)
		tap_skip("no openb traces in $TRACES or ../shared/traces/openb");
}

int main(void)
{
	tap_run(test_by_hand);
	tap_run(test_infeasible);
	tap_run(test_unsupported);
	tap_run(test_faults);
	tap_run(test_published);
	return tap_done();
}
