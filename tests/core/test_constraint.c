/* SPDX-License-Identifier: Apache-2.0 */
/* The text of constraints (spec/constraint.md): what is read, what is refused and how, what the operators mean. */
#include "world.h"

#include "core/constraint.h"

static struct fault_mem mem;
static struct wz_strtab names;

static const char *const good[] = {"", "  ", "node: a", "node:a=b", "node: a==b,c!=d,!e,f,g>1,h<-2",
        "node: a in (x)", "node: a in ( x , y ) , b notin (z) | c", "node~50: *", "node~: a; node: b; node~7: c",
        "tolerate: *", "tolerate: a, b=c, d=:NoExecute, *:NoSchedule", "ports: 80",
        "ports: 80/tcp, 53/udp@10.0.0.1, 1/sctp@::1", "near: a=b per zone", "apart~: * per node",
        "spread: a per zone skew 3 min 2;", "spread~9: in in (in) per per",
        "together: rack; together~: kubernetes.io/hostname", "node: a= , b in (,x)"};

static const struct {
	const char *text, *expected;
} bad[] = {{"nodes: a", "node, tolerate, ports, near, apart, spread or together is expected after \"\""},
        {"node a", ": is expected after \"node \""}, {"node: ", "a label's key is expected after \"node: \""},
        {"node: a;x", "node, tolerate, ports, near, apart, spread or together is expected after \"node: a;\""},
        {"node: a b", "; or the end is expected after \"node: a \""},
        {"node: a in b", "( and a list of values is expected after \"node: a in \""},
        {"node: a in (b", ", or ) is expected after \"node: a in (b\""},
        {"node: a>x", "an integer is expected after \"node: a>\""},
        {"node: a!b", "= is expected after \"node: a!\""},
        {"node: a; node: b", "a preferred entry (a second required \"node\" can never be meant) is expected after "
                             "\"node: a; node:\""},
        {"node~0: a", "a weight from 1 to 1000 is expected after \"node~\""},
        {"node~1001: a", "a weight from 1 to 1000 is expected after \"node~\""},
        {"tolerate: a:Never", "NoSchedule, PreferNoSchedule or NoExecute is expected after \"tolerate: a:\""},
        {"tolerate~: a", ": is expected after \"tolerate\""},
        {"ports: 0", "a port from 1 to 65535 is expected after \"ports: \""},
        {"ports: 65536", "a port from 1 to 65535 is expected after \"ports: \""},
        {"ports: 80/icmp", "tcp, udp or sctp is expected after \"ports: 80/\""},
        {"ports: 80@", "an address is expected after \"ports: 80@\""},
        {"near: a", "per and a topology key is expected after \"near: a\""},
        {"near: a per", "a topology key is expected after \"near: a per\""},
        {"spread: a per z skew", "a skew of 1 or more is expected after \"spread: a per z skew\""},
        {"spread: a per z skew 0", "a skew of 1 or more is expected after \"spread: a per z skew \""},
        {"spread: a per z min 0", "a number of domains of 1 or more is expected after \"spread: a per z min \""},
        {"near: a per z skew 1", "; or the end is expected after \"near: a per z \""},
        {"node~: a | b", "; or the end is expected after \"node~: a \""},
        {"node: \xe9\x01", "a label's key is expected after \"node: \""},
        {"\x01\x02: a", "node, tolerate, ports, near, apart, spread or together is expected after \"\""}};

static void test_texts(void)
{
	struct wz_err err;
	struct wz_constraint k;
	for (unsigned i = 0; i < WZ_ARRAY_LEN(good); i++) {
		int r = wz_constraint_parse(wz_str(good[i]), &names, &mem.mem, &k, &err);
		tap_ok(r == 0, "\"%s\": %s", good[i], err.text);
		if (r == 0)
			wz_constraint_release(&k);
	}
	for (unsigned i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		err = (struct wz_err){0};
		int r = wz_constraint_parse(wz_str(bad[i].text), &names, &mem.mem, &k, &err);
		tap_eq_i64(r, -EINVAL, "\"%s\" is refused", bad[i].text);
		tap_eq_str(wz_str(err.text), wz_str(bad[i].expected), "%s", bad[i].text);
	}
}

static void test_limits(void)
{
	char text[WZ_CONSTRAINT_TEXT_MAX + 2];
	struct wz_constraint k;
	struct wz_err err;
	struct wz_buf b;
	memset(text, ' ', sizeof text);
	tap_eq_i64(
	        wz_constraint_parse((struct wz_str){text, WZ_CONSTRAINT_TEXT_MAX + 1}, &names, &mem.mem, &k, &err),
	        -EINVAL, "too long");
	memset(text, 'a', sizeof text);
	memcpy(text, "node:", 5);
	tap_eq_i64(wz_constraint_parse(
	                   (struct wz_str){text, 5 + WZ_CONSTRAINT_WORD_MAX + 1}, &names, &mem.mem, &k, &err),
	        -EINVAL, "a long word");
	wz_buf_init_fixed(&b, text, sizeof text);
	for (unsigned i = 0; i <= WZ_CONSTRAINT_TERMS_MAX; i++)
		wz_buf_addz(&b, "near:a per b;");
	tap_eq_i64(wz_constraint_parse(wz_buf_str(&b), &names, &mem.mem, &k, &err), -E2BIG, "17 terms");
	tap_eq_str(wz_str(err.reason), WZ_STR("TooManyTerms"), "are told");
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, "node:a");
	for (unsigned i = 0; i < WZ_CONSTRAINT_PARTS_MAX; i++)
		wz_buf_addz(&b, ",a");
	tap_eq_i64(wz_constraint_parse(wz_buf_str(&b), &names, &mem.mem, &k, &err), -E2BIG, "1,025 expressions");
}

static uint32_t pair(const void *labels, uint32_t key)
{
	const uint32_t *l = labels;
	return l[0] == key ? l[1] : WZ_NONE;
}

/* Every operator on a label that is there, with this value or another, and on one that is not. */
static void test_operators(void)
{
	static const struct {
		const char *selector, *value;
		bool holds;
	} table[] = {{"k=v", "v", true}, {"k=v", "w", false}, {"k=v", NULL, false}, {"k!=v", "v", false},
	        {"k!=v", "w", true}, {"k!=v", NULL, true}, {"k in (u,v)", "v", true}, {"k in (u,v)", "w", false},
	        {"k notin (u,v)", "v", false}, {"k notin (u,v)", NULL, true}, {"k", "", true}, {"k", NULL, false},
	        {"!k", "v", false}, {"!k", NULL, true}, {"k>3", "4", true}, {"k>3", "3", false},
	        {"k>3", "x", false}, {"k>3", NULL, false}, {"k<3", "2", true}, {"k<3", "-9", true},
	        {"k<3", "3", false}, {"k<3", "2.5", false}, {"*", NULL, true}, {"k=v,k!=v", "v", false},
	        {"k>1,k<3", "2", true}, {"k=", "", true}};
	for (unsigned i = 0; i < WZ_ARRAY_LEN(table); i++) {
		struct wz_constraint k;
		uint32_t labels[2] = {WZ_NONE, WZ_NONE};
		tap_require(wz_selector_parse(wz_str(table[i].selector), &names, &mem.mem, &k, NULL) == 0, "%s",
		        table[i].selector);
		if (table[i].value)
			tap_ok(wz_strtab_add(&names, WZ_STR("k"), &labels[0]) == 0 &&
			                wz_strtab_add(&names, wz_str(table[i].value), &labels[1]) == 0,
			        "names");
		tap_ok(wz_selector_matches(&k, k.node[0].sel, &names, pair, labels) == table[i].holds, "%s of %s",
		        table[i].selector, table[i].value ? table[i].value : "nothing");
		wz_constraint_release(&k);
	}
}

static void test_tolerations(void)
{
	static const struct {
		const char *text;
		uint8_t effect;
		bool other_key, other_value, tolerated;
	} table[] = {{"tolerate: *", 1, true, true, true}, {"tolerate: k", 3, false, true, true},
	        {"tolerate: k", 1, true, false, false}, {"tolerate: k=v", 1, false, false, true},
	        {"tolerate: k=v", 1, false, true, false}, {"tolerate: k:NoSchedule", 1, false, false, true},
	        {"tolerate: k:NoSchedule", 3, false, false, false}, {"tolerate: *:NoExecute", 3, true, true, true},
	        {"node: a", 1, false, false, false}};
	uint32_t k, v, other;
	tap_ok(wz_strtab_add(&names, WZ_STR("k"), &k) == 0 && wz_strtab_add(&names, WZ_STR("v"), &v) == 0 &&
	                wz_strtab_add(&names, WZ_STR("o"), &other) == 0,
	        "names");
	for (unsigned i = 0; i < WZ_ARRAY_LEN(table); i++) {
		struct wz_constraint c;
		tap_require(wz_constraint_parse(wz_str(table[i].text), &names, &mem.mem, &c, NULL) == 0, "%s",
		        table[i].text);
		tap_ok(wz_constraint_tolerates(&c, table[i].other_key ? other : k, table[i].other_value ? other : v,
		               table[i].effect) == table[i].tolerated,
		        "%s, row %u", table[i].text, i);
		wz_constraint_release(&c);
	}
}

/* ---- in a core ---- */

static void test_preferences(void)
{
	struct world w;
	world_init(&w);
	node_labelled(&w, 0, 2, NULL, "disk=hdd,zone=a", NULL);
	node_labelled(&w, 1, 2, NULL, "disk=ssd,zone=b", NULL);
	node_labelled(&w, 2, 2, NULL, "disk=ssd,zone=c", "old=yes:2");
	for (uint64_t j = 1; j <= 2; j++) {
		submit_asking(&w, j, "gpus=1", "app=web", "node~: disk=ssd");
		run_step(&w);
		tap_eq_i64(place_of(&w, j, 0).node.v, 1,
		        "the one with the disk, and without a taint that says rather not");
	}
	submit_asking(&w, 3, "gpus=1", NULL, "node~: disk=ssd");
	run_step(&w);
	tap_eq_i64(place_of(&w, 3, 0).node.v, 2, "then the other one with the disk");
	submit(&w, 4, "gpus=1");
	run_step(&w);
	tap_eq_i64(place_of(&w, 4, 0).node.v, 0, "who asks nothing avoids the taint too");
	submit_asking(&w, 5, "cpus=1", NULL, "near~10: app=web per zone; node~5: zone=a");
	run_step(&w);
	tap_eq_i64(place_of(&w, 5, 0).node.v, 1, "weights are added up");
	submit_asking(&w, 6, "cpus=1", NULL, "apart~10: app=web per zone; node~5: zone=b; tolerate: old");
	run_step(&w);
	tap_ok(place_of(&w, 6, 0).node.v != 1, "and taken off");
	for (uint64_t j = 10; j < 16; j++) {
		submit_asking(&w, j, "cpus=1", "x=y", "spread~: x=y per zone; tolerate: *");
		run_step(&w);
	}
	uint32_t at[3] = {0};
	for (uint64_t j = 10; j < 16; j++)
		at[place_of(&w, j, 0).node.v]++;
	tap_ok(at[0] == 2 && at[1] == 2 && at[2] == 2, "evenly: %u %u %u", at[0], at[1], at[2]);
	world_free(&w);
}

static void reason_is(struct world *w, uint64_t job, enum wz_reason main, uint32_t nodes)
{
	struct wz_explanation x = why(w, job);
	tap_eq_i64(x.main, main, "job %" PRIu64 " waits for %s", job, wz_reason_word(main));
	tap_eq_i64(x.blocked[main], nodes, "%s on %u nodes", wz_reason_word(main), nodes);
}

static void test_reasons(void)
{
	struct world w;
	world_init(&w);
	node_labelled(&w, 0, 2, NULL, "zone=a", NULL);
	node_labelled(&w, 1, 2, NULL, "zone=b", NULL);
	submit_asking(&w, 1, "cpus=1", "app=web", "ports: 80; spread: app=web per zone");
	submit_asking(&w, 2, "cpus=1", "app=web", "ports: 80; spread: app=web per zone");
	tap_eq_i64(run_step(&w), 2, "two start");
	submit_asking(&w, 3, "cpus=1", NULL, "node: zone=c");
	submit_asking(&w, 4, "cpus=1", NULL, "ports: 80@10.0.0.1");
	submit_asking(&w, 5, "cpus=1", NULL, "near: app=db per zone");
	submit_asking(&w, 6, "cpus=1", NULL, "apart: app=web per zone");
	submit_asking(&w, 7, "cpus=1", "app=web", "spread: app=web per zone min 3");
	tap_eq_i64(run_step(&w), 0, "nobody else");
	reason_is(&w, 3, WZ_REASON_NODE_AFFINITY, 2);
	tap_ok(why(&w, 3).never, "never, on this cluster");
	reason_is(&w, 4, WZ_REASON_HOST_PORT, 2);
	tap_ok(!why(&w, 4).never, "a port may become free");
	reason_is(&w, 5, WZ_REASON_AFFINITY, 2);
	reason_is(&w, 6, WZ_REASON_ANTI_AFFINITY, 2);
	reason_is(&w, 7, WZ_REASON_SPREAD, 2);
	node_labelled(&w, 0, 2, NULL, "zone=a", "only=ml:1");
	node_labelled(&w, 1, 2, NULL, "zone=b", "only=ml:3");
	submit(&w, 8, "gpus=1");
	tap_eq_i64(run_step(&w), 0, "tainted");
	reason_is(&w, 8, WZ_REASON_TAINT, 2);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "what runs stays");
	world_free(&w);
}

/* Work that we did not start is near and far, holds ports, and binds those who come later. */
static void test_observed(void)
{
	struct wz_label l[] = {{WZ_STR("app"), WZ_STR("foreign")}};
	struct world w;
	world_init(&w);
	node_labelled(&w, 0, 1, NULL, "zone=a", NULL);
	node_labelled(&w, 1, 1, NULL, "zone=b", NULL);
	tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_TASK_OBSERVED,
	                                   .u.observed = {.job = 1,
	                                           .place = {.node = {1}},
	                                           .n_labels = 1,
	                                           .label = l,
	                                           .constraint = WZ_STR("ports: 80; apart: app=web per zone")}}),
	        0, "observed");
	submit_asking(&w, 2, "cpus=1", NULL, "near: app=foreign per zone");
	submit_asking(&w, 3, "cpus=1", "app=web", NULL);
	submit_asking(&w, 4, "cpus=1", NULL, "ports: 80");
	tap_eq_i64(run_step(&w), 3, "three");
	tap_eq_i64(place_of(&w, 2, 0).node.v, 1, "near it");
	tap_eq_i64(place_of(&w, 3, 0).node.v, 0, "away from it, without having asked");
	tap_eq_i64(place_of(&w, 4, 0).node.v, 0, "where the port is free");
	world_restart(&w);
	submit_asking(&w, 5, "cpus=1", "app=web", "node: zone=b");
	tap_eq_i64(run_step(&w), 0, "still kept away");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(run_step(&w), 1, "until it is gone");
	world_free(&w);
}

static void test_refused_events(void)
{
	struct wz_label twice[] = {{WZ_STR("a"), WZ_STR("1")}, {WZ_STR("a"), WZ_STR("2")}},
	                odd[] = {{WZ_STR("a"), WZ_STR("b c")}};
	struct world w;
	world_init(&w);
	struct wz_profile p = profile(&w, "cpus=1");
	struct wz_event e = {
	        .kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = 1, .profile = &p, .n_labels = 2, .label = twice}};
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "a label twice");
	e.u.submit.n_labels = 1;
	e.u.submit.label = odd;
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "a value with a blank");
	e.u.submit.n_labels = 257;
	tap_eq_i64(world_apply(&w, &e), -E2BIG, "too many labels");
	tap_eq_i64(submit_asking(&w, 1, "cpus=1", NULL, "near: a"), -EINVAL, "a constraint that cannot be read");
	tap_eq_i64(node_labelled(&w, 0, 1, NULL, NULL, "a=b:0"), -EINVAL, "a taint of no effect");
	tap_eq_i64(node_labelled(&w, 0, 1, NULL, NULL, "a=b:4"), -EINVAL, "or of one that is not known");
	world_free(&w);
}

int main(void)
{
	fault_mem_init(&mem);
	wz_strtab_init(&names, &mem.mem);
	tap_run(test_texts);
	tap_run(test_limits);
	tap_run(test_operators);
	tap_run(test_tolerations);
	wz_strtab_release(&names);
	tap_run(test_preferences);
	tap_run(test_reasons);
	tap_run(test_observed);
	tap_run(test_refused_events);
	return tap_done();
}
