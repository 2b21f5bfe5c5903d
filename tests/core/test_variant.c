/* SPDX-License-Identifier: Apache-2.0 */
/* Policies with parameters: the text, the state, the digest, and the event. */
#include "world.h"

#include "base/check.h"
#include "core/draw.h"

static struct wz_str formatted(const char *text, char *scratch, size_t size, struct wz_err *err)
{
	struct wz_variant v;
	struct wz_buf b;

	wz_buf_init_fixed(&b, scratch, size);
	if (wz_variant_parse(wz_str(text), &v, err) < 0)
		return wz_str(err->text);
	wz_variant_format(&v, &b);
	return wz_buf_str(&b);
}

static void test_text(void)
{
	static const char *const same[][2] = {
	        {"", "jigsaw"},
	        {"jigsaw", "jigsaw"},
	        {"fgd@1", "fgd"},
	        {"jigsaw:", "a parameter is written NAME=VALUE, not \"\""},
	        {"jigsaw:order=2", "jigsaw"},
	        {"jigsaw@1:price=0.1,power=0.2", "jigsaw:power=0.2,price=0.1"},
	        {"jigsaw:waste=0", "jigsaw:waste=0"},
	        {"jigsaw:order-cpu=0.125", "jigsaw:order-cpu=0.125"},
	        {"jigsaw:power=20%", "jigsaw:power=0.2"},
	        {"jigsaww", "there is no policy named \"jigsaww\"; the nearest is jigsaw"},
	        {":power=1", "there is no policy named \"\""},
	        {"jigsaw@2", "jigsaw is version 1 here, not \"2\""},
	        {"jigsaw@", "jigsaw is version 1 here, not \"\""},
	        {"jigsaw:pwoer=1", "jigsaw has no parameter \"pwoer\"; the nearest is power"},
	        {"fgd:power=1", "fgd has no parameter \"power\""},
	        {"jigsaw:power", "a parameter is written NAME=VALUE, not \"power\""},
	        {"jigsaw:power=", "power takes a number such as 0.2, not \"\""},
	        {"jigsaw:power=-1", "power takes a number such as 0.2, not \"-1\""},
	        {"jigsaw:power=0.0001", "power takes a number such as 0.2, not \"0.0001\""},
	        {"jigsaw:power=10.001", "power must be 0 to 10, not 10.001"},
	        {"jigsaw:power=99999999999999999999999", "power must be 0 to 10, not 99999999999999999999999"},
	        {"jigsaw:power=1,waste=0,power=1", "power is given twice"},
	};
	char scratch[WZ_POLICY_TEXT_MAX];
	struct wz_err err = {0};

	for (size_t i = 0; i < WZ_ARRAY_LEN(same); i++)
		tap_eq_str(formatted(same[i][0], scratch, sizeof(scratch), &err), wz_str(same[i][1]), "%s",
		        same[i][0]);
}

/* The longest canonical text of every policy fits, and parses back. */
static void test_round_trip(void)
{
	for (uint32_t p = 0; wz_policies[p]; p++) {
		char scratch[WZ_POLICY_TEXT_MAX];
		struct wz_variant v, back;
		struct wz_buf b;
		wz_variant_usual(wz_policies[p], &v);
		tap_ok(wz_policies[p]->n_params <= WZ_POLICY_PARAMS_MAX, "%s: so many parameters",
		        wz_policies[p]->name);
		for (uint32_t i = 0; i < wz_policies[p]->n_params; i++)
			v.value[i] = wz_policies[p]->param[i].max - 1;
		wz_buf_init_fixed(&b, scratch, sizeof(scratch));
		wz_variant_format(&v, &b);
		tap_eq_i64(b.status, 0, "%s: the text fits", wz_policies[p]->name);
		tap_eq_i64(wz_variant_parse(wz_buf_str(&b), &back, NULL), 0, "%s", wz_policies[p]->name);
		tap_ok(memcmp(&v, &back, sizeof(v)) == 0, "%s: the same values", wz_policies[p]->name);
	}
}

static void test_scope(void)
{
	static uint64_t state[WZ_POLICY_STATE_MAX / 8];
	struct wz_variant v;

	tap_eq_i64(wz_variant_parse(WZ_STR("jigsaw:power=1"), &v, NULL), 0, "power");
	wz_variant_begin(&v, state);
	tap_eq_i64(wz_policy_scope(v.policy, state), WZ_SCOPE_NODE, "power is a fact of the node");
	tap_eq_i64(wz_variant_parse(WZ_STR("jigsaw:heat=0.1"), &v, NULL), 0, "heat");
	wz_variant_begin(&v, state);
	tap_eq_i64(wz_policy_scope(v.policy, state), WZ_SCOPE_LIVE, "heat is a live reading");
}

static uint64_t digest_with(const char *policy)
{
	struct world w;
	uint64_t digest;
	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = policy});
	digest = wz_core_digest(w.c);
	world_free(&w);
	return digest;
}

static void test_digest(void)
{
	tap_ok(digest_with("jigsaw") == digest_with("jigsaw:order=2,power=0"), "the usual values are the policy");
	tap_ok(digest_with("jigsaw") != digest_with("jigsaw:order=2.001"), "another value is another policy");
	tap_ok(digest_with("jigsaw:power=1") != digest_with("jigsaw:price=1"), "and so is another parameter");
}

static void test_event(void)
{
	struct world w;
	struct wz_event e = {.kind = WZ_EV_POLICY_SET};

	world_init(&w);
	e.u.policy.name = WZ_STR("jigsaw:power=0.2,price=0.1");
	tap_eq_i64(world_apply(&w, &e), 0, "%s", w.err.text);
	tap_ok(wz_core_digest(w.c) == digest_with("jigsaw:price=0.1,power=0.2"), "as if it had begun so");
	e.u.policy.name = WZ_STR("jigsaw:power=11");
	tap_eq_i64(world_apply(&w, &e), -ERANGE, "out of range: nothing changes");
	e.u.policy.name = WZ_STR("firstfit:power=1");
	tap_eq_i64(world_apply(&w, &e), -ENOENT, "no such parameter");
	world_free(&w);
}

/* Where one T4 device goes when both nodes are free: the other has V100s. */
static uint32_t chosen(const char *policy, bool warm_first)
{
	struct world w;
	struct wz_place place = {0};

	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = policy});
	node_of(&w, 0, 4, "T4");
	node_of(&w, 1, 4, "V100-SXM2-16GB");
	for (uint32_t i = 0; i < 8; i++) {
		struct wz_event t = {.kind = WZ_EV_TELEMETRY};
		t.u.telemetry.node.v = i / 4;
		t.u.telemetry.index = i % 4;
		t.u.telemetry.temp_c = (i < 4) == warm_first ? 85 : 40;
		t.u.telemetry.util_pct = t.u.telemetry.free_mem_pct = 255;
		tap_eq_i64(world_apply(&w, &t), 0, "telemetry");
	}
	tap_eq_i64(submit(&w, 1, "gpus=1 cpus=1"), 0, "%s", w.err.text);
	decide_within(&w, 0);
	tap_eq_i64(w.plan.n, 1, "it starts");
	if (w.plan.n)
		place = w.plan.effect[0].place;
	world_free(&w);
	return place.node.v;
}

static void test_terms_decide(void)
{
	tap_eq_i64(chosen("jigsaw:power=10,order=0", false), 0, "a T4 draws 60 W more, a V100 270 W");
	tap_eq_i64(chosen("jigsaw:price=10,order=0", true), 0, "a T4 is cheaper");
	tap_eq_i64(chosen("jigsaw:heat=10,order=0", true), 1, "the first is warm");
	tap_eq_i64(chosen("jigsaw:heat=10,order=0", false), 0, "the second is warm");
}

static void test_draw(void)
{
	struct world w;
	struct wz_draw_sum d;

	world_init(&w);
	node_of(&w, 0, 2, "T4"); /* 64 CPU: two sockets */
	d = wz_draw_node(wz_core_catalogue(w.c), wz_core_model(w.c), 0);
	tap_eq_i64(d.watts, 2 * 10 + 2 * 15, "idle");
	tap_eq_i64(d.price_musd, 0, "nothing in use");
	struct wz_draw g2 = wz_draw_of(wz_core_catalogue(w.c), world_model(&w, "G2").v),
	               g3 = wz_draw_of(wz_core_catalogue(w.c), world_model(&w, "G3").v),
	               x = wz_draw_of(wz_core_catalogue(w.c), world_model(&w, "Mystery").v),
	               a = wz_draw_of(wz_core_catalogue(w.c), world_model(&w, "A100-SXM4-80GB").v);
	tap_ok(g2.idle_w == 30 && g2.full_w == 150 && g3.idle_w == 50 && g3.full_w == 400,
	        "declared models of openb");
	tap_ok(x.idle_w == 30 && x.full_w == 250 && x.price_musd == 4100, "nothing is known");
	tap_eq_i64(a.price_musd, 4100, "100 CU");
	tap_eq_i64(wz_sockets(1), 1, "a milli wakes a socket");
	tap_eq_i64(wz_sockets(32001), 2, "and another");
	world_free(&w);
}

int main(void)
{
	tap_run(test_text);
	tap_run(test_round_trip);
	tap_run(test_scope);
	tap_run(test_digest);
	tap_run(test_event);
	tap_run(test_terms_decide);
	tap_run(test_draw);
	return tap_done();
}
