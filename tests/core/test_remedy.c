/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies come true: a job that is edited as one says starts in the next step; and a set of changes has none too many. */
#include "world.h"

#include "core/remedy.h"

static struct wz_remedies ask(struct world *w, uint64_t job, const char *asked)
{
	struct wz_remedies x;
	uint64_t before = wz_core_digest(w->c);
	int r = wz_remedies_ask(w->c, &w->f.mem, job, wz_str(asked), &x, &w->err);
	tap_eq_i64(r, 0, "asks: %s", r < 0 ? w->err.text : "");
	tap_ok(wz_core_digest(w->c) == before, "a question changes nothing");
	return x;
}

static bool has(const struct wz_remedies *x, const char *change)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (strcmp(x->remedy[i].change, change) == 0)
			return true;
	return false;
}

/* The profile with the changes. */
static void changed(const char *asked, const char *change, char ret[512])
{
	size_t n = 0;
	for (struct wz_str all = wz_str(asked); all.ptr && all.len;) {
		struct wz_str one = wz_str_split(&all, ' '), put = one;
		size_t k = 0;
		while (k < one.len && !strchr("=<>~", one.ptr[k]))
			k++;
		for (struct wz_str c = wz_str(change); c.ptr && c.len;) {
			struct wz_str word = wz_str_split(&c, ' ');
			if (wz_str_eq(word, WZ_STR("without"))) {
				word = wz_str_split(&c, ' ');
				if (wz_str_eq(word, (struct wz_str){one.ptr, k}))
					put.len = 0;
			} else if (word.len > k && word.ptr[k] == '=' && memcmp(word.ptr, one.ptr, k) == 0) {
				put = word;
			}
		}
		n += (size_t)snprintf(ret + n, 512 - n, "%.*s ", (int)put.len, put.len ? put.ptr : "");
	}
}

/* Each of them, in a world of its own. */
static void comes_true(void (*fill)(struct world *w), uint64_t job, const char *asked, const struct wz_remedies *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct world w;
		char text[512];
		fill(&w);
		changed(asked, x->remedy[i].change, text);
		struct wz_profile p = profile(&w, text);
		tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_EDITED,
		                                   .u.edit = {.job = job, .priority = 0, .profile = &p}}),
		        0, "%s: edits", x->remedy[i].change);
		run_step(&w);
		tap_ok(state_of(&w, job) != WZ_JOB_WAITING, "with %s it starts", x->remedy[i].change);
		world_free(&w);
	}
}

#define ASKED "gpus=4 gpu-type=a100 link=nvlink cpus=80 mem=16Gi"

/* Four A100 that are not joined, three of them free, and little CPU; four T4. */
static void fill(struct world *w)
{
	struct dev d[4] = {{.model = "A100-SXM4-80GB"}, {.model = "A100-SXM4-80GB"}, {.model = "A100-SXM4-80GB"},
	        {.model = "A100-SXM4-80GB"}};
	world_init(w);
	node_like(w, 0, 4, d, (struct wz_ev_node){.cpu_milli = 32000});
	node_of(w, 1, 4, "T4");
	submit(w, 1, "gpus=1 gpu-type=a100 cpus=8");
	run_step(w);
	submit(w, 2, "gpus=4 gpu-type=a100 cpus=8");
	submit(w, 3, ASKED);
	submit(w, 4, "gpus=2 gpu-type=a100 cpus=30");
	run_step(w);
}

static void test_alone(void)
{
	struct world w;
	fill(&w);
	struct wz_remedies x = ask(&w, 2, "gpus=4 gpu-type=a100 cpus=8");
	tap_ok(has(&x, "gpus=3"), "as many as are free");
	tap_ok(has(&x, "without gpu-type"), "or others: the T4 are idle");
	tap_eq_i64(x.n, 2, "that is all");
	comes_true(fill, 2, "gpus=4 gpu-type=a100 cpus=8", &x);
	x = ask(&w, 4, "gpus=2 gpu-type=a100 cpus=30");
	tap_ok(has(&x, "cpus=24"), "as much CPU as is free");
	comes_true(fill, 4, "gpus=2 gpu-type=a100 cpus=30", &x);
	world_free(&w);
}

static void test_together(void)
{
	struct world w;
	fill(&w);
	struct wz_remedies x = ask(&w, 3, ASKED);
	tap_eq_i64(x.n, 1, "one set: %s", x.n ? x.remedy[0].change : "none");
	tap_ok(!x.hopeless, "there is hope");
	if (x.n == 1) {
		comes_true(fill, 3, ASKED, &x);
		tap_ok(strstr(x.remedy[0].change, "mem=") == NULL, "memory is no blocker: %s", x.remedy[0].change);
	}
	world_free(&w);
}

static void no_room(struct world *w)
{
	world_init(w);
	node_of(w, 0, 1, "T4");
	node_ready(w, 0, false, false);
	submit(w, 1, "gpus=1");
	run_step(w);
}

static void test_hopeless(void)
{
	struct world w;
	no_room(&w);
	struct wz_remedies x = ask(&w, 1, "gpus=1 cpus=4");
	tap_ok(x.n == 0 && x.hopeless, "nothing that it could ask for helps while the node is down");
	tap_eq_i64(wz_remedies_ask(w.c, &w.f.mem, 9, WZ_STR("gpus=1"), &x, &w.err), -ENOENT, "no such job");
	tap_eq_i64(wz_remedies_ask(w.c, &w.f.mem, 1, WZ_STR("gpus=x"), &x, &w.err), -EINVAL, "a wrong profile");
	job_event(&w, WZ_EV_JOB_HELD, 1);
	tap_eq_i64(wz_remedies_ask(w.c, &w.f.mem, 1, WZ_STR("gpus=1"), &x, &w.err), -EINVAL, "a job that is held");
	world_free(&w);
}

int main(void)
{
	tap_run(test_alone);
	tap_run(test_together);
	tap_run(test_hopeless);
	return tap_done();
}
