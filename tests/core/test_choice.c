/* SPDX-License-Identifier: Apache-2.0 */
/* Choices in words, on clusters made by hand: jigsaw's sentences, and the core's frame around them. */
#include "world.h"

/* What is said of the start of `job`, which waits. */
static struct wz_str words(struct world *w, uint64_t job, char *scratch, size_t size)
{
	struct wz_buf b;
	uint64_t before;

	wz_buf_init_fixed(&b, scratch, size);
	decide_within(w, 0);
	before = wz_core_digest(w->c);
	for (uint32_t i = 0; i < w->plan.n; i++)
		if (w->plan.effect[i].kind == WZ_EF_START && w->plan.effect[i].job == job)
			tap_eq_i64(wz_core_explain_choice(w->c, &w->plan.effect[i], &b, &w->err), 0, "%s",
			        w->err.text);
	tap_ok(wz_core_digest(w->c) == before, "explaining changes nothing");
	for (uint32_t i = 0; i < w->plan.n; i++)
		apply_effect(w, &w->plan.effect[i]);
	return wz_buf_str(&b);
}

/* Work that comes and is withdrawn: it teaches the mix. */
static void teach(struct world *w, uint64_t first, uint32_t n, const char *text)
{
	for (uint32_t i = 0; i < n; i++) {
		submit(w, first + i, text);
		job_event(w, WZ_EV_JOB_CANCELLED, first + i);
	}
}

static void test_share(void)
{
	struct world w;
	char scratch[2048];

	world_init(&w);
	node_of(&w, 0, 2, "T4");
	teach(&w, 1000, 20, "gpu-share=50% cpus=2");
	submit(&w, 1, "gpu-share=50% cpus=2");
	tap_eq_str(words(&w, 1, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device, leaves 0.50 of device 0, no remainder below the smallest expected "
	               "share. No other node could take it. Nodes that could take it: 1."),
	        "the first half");
	submit(&w, 2, "gpu-share=50% cpus=2");
	tap_eq_str(words(&w, 2, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device, fills device 0 exactly. No other node could take it. Nodes that "
	               "could "
	               "take it: 1."),
	        "the second half");
	submit(&w, 3, "gpu-share=70% cpus=2");
	tap_eq_str(words(&w, 3, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device, leaves 0.30 of device 1, less than the smallest expected share. No "
	               "other node could take it. Nodes that could take it: 1."),
	        "0.3 is left");
	world_free(&w);
}

/* Two nodes of 8 devices that alone can hold tasks of 8, and two of 2. */
static void test_scarce(void)
{
	struct world w;
	char scratch[2048];

	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = "jigsaw:order=0"});
	node_of(&w, 0, 8, "V100-SXM2-16GB");
	node_of(&w, 1, 8, "V100-SXM2-16GB");
	node_of(&w, 2, 2, "T4");
	node_of(&w, 3, 2, "T4");
	teach(&w, 1000, 40, "gpus=8 cpus=32");
	submit(&w, 1, "gpus=1 cpus=4");
	tap_eq_str(words(&w, 1, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device. Not nAd: as good but for the order. Not nAb: worse by 0.61 devices: "
	               "scarcity 0.61; spares 2 nodes that alone can hold 8-device tasks with 32 CPU. Nodes that "
	               "could take it: 4."),
	        "a single device goes to a small node");
	world_free(&w);
}

/* A task without devices, beside devices that need the CPU. */
static void test_cpu_only(void)
{
	struct world w;
	char scratch[2048];

	world_init(&w);
	node_like(&w, 0, 2, (struct dev[]){{.model = "T4"}, {.model = "T4"}},
	        (struct wz_ev_node){.cpu_milli = 16000});
	node_like(&w, 1, 2, (struct dev[]){{.model = "T4"}, {.model = "T4"}},
	        (struct wz_ev_node){.cpu_milli = 96000});
	teach(&w, 1000, 20, "gpus=1 cpus=8");
	submit(&w, 1, "cpus=8");
	tap_eq_str(words(&w, 1, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device. Not nAa: worse by 3.23 devices: stranding 0.77, order 2.46; keeps "
	               "CPU "
	               "beside devices that can be sold. Nodes that could take it: 2."),
	        "to the node with CPU to spare");
	submit(&w, 2, "cpus=80");
	tap_eq_str(words(&w, 2, scratch, sizeof(scratch)),
	        WZ_STR("It leaves 1.23 devices more without CPU to sell them with. No other node could take it. "
	               "Nodes that could take it: 1."),
	        "where alone it fits");
	world_free(&w);
}

static void test_terms(void)
{
	struct world w;
	char scratch[2048];

	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = "jigsaw:order=0,power=1,price=1"});
	node_of(&w, 0, 2, "T4");
	node_of(&w, 1, 2, "V100-SXM2-16GB");
	submit(&w, 1, "gpus=1 cpus=4");
	tap_eq_str(words(&w, 1, scratch, sizeof(scratch)),
	        WZ_STR("It strands no device, draws 165 W more, costs 0.98 USD an hour more. Not nAb: worse by "
	               "4.07 "
	               "devices: power 2.10, price 1.97. Nodes that could take it: 2."),
	        "watts and dollars");
	world_free(&w);
}

static void test_errors(void)
{
	struct wz_effect e = {.kind = WZ_EF_START, .job = 1};
	struct world w;
	struct wz_buf b;
	char scratch[256];

	wz_buf_init_fixed(&b, scratch, sizeof(scratch));
	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = "fgd"});
	node_of(&w, 0, 2, "T4");
	tap_eq_i64(wz_core_explain_choice(w.c, &e, &b, &w.err), -ENOENT, "no such job");
	submit(&w, 1, "gpus=1 cpus=4");
	e.place.node.v = 7;
	tap_eq_i64(wz_core_explain_choice(w.c, &e, &b, &w.err), -ENOENT, "no such node");
	e.place.node.v = 0;
	tap_eq_i64(wz_core_explain_choice(w.c, &e, &b, &w.err), -EOPNOTSUPP, "fgd has no words");
	submit(&w, 2, "gpus=4 cpus=4");
	e.job = 2;
	tap_eq_i64(wz_core_explain_choice(w.c, &e, &b, &w.err), -ESTALE, "it does not fit");
	e.kind = WZ_EF_STOP;
	tap_eq_i64(wz_core_explain_choice(w.c, &e, &b, &w.err), -ENOENT, "not a start");
	tap_eq_i64(b.len, 0, "nothing was said");
	world_free(&w);
}

int main(void)
{
	tap_run(test_share);
	tap_run(test_scarce);
	tap_run(test_cpu_only);
	tap_run(test_terms);
	tap_run(test_errors);
	return tap_done();
}
