/* SPDX-License-Identifier: Apache-2.0 */
/* The board is what the ledger says: pieces add up to what is given out, and each word for free room is true. */
#include "../core/world.h"

#include "api/board.h"

static struct wz_api_board board_of(struct world *w, struct wz_arena *a)
{
	struct wz_api_board b;
	tap_eq_i64(wz_board_make(w->c, NULL, a, &b), 0, "a board");
	return b;
}

static const struct wz_api_board_device *device(const struct wz_api_board *b, uint32_t node, uint32_t index)
{
	const struct wz_api_board_node *n = b->nodes.v;
	const struct wz_api_board_device *d = n[node].devices.v;
	return &d[index];
}

static void test_words(void)
{
	struct world w;
	struct wz_arena a;
	struct wz_api_board b;
	world_init(&w);
	wz_arena_init(&a, &w.f.mem, 4096);
	node_of(&w, 0, 2, "T4");
	node_of(&w, 1, 2, "T4");
	b = board_of(&w, &a);
	tap_eq_i64(b.nodes.n, 2, "two nodes");
	tap_eq_i64(device(&b, 0, 0)->use, WZ_BOARD_FREE, "free while nothing is expected");
	submit(&w, 1, "gpus=1");
	submit(&w, 2, "gpu-share=70%");
	submit(&w, 3, "gpus=1");
	run_step(&w);
	b = board_of(&w, &a);
	tap_eq_i64(b.jobs.n, 3, "three jobs");
	tap_eq_i64(b.expected.n, 2, "two kinds of work");
	uint32_t words[4] = {0};
	int64_t held = 0, given = 0;
	for (uint32_t n = 0; n < 2; n++)
		for (uint32_t i = 0; i < 2; i++) {
			const struct wz_api_board_device *d = device(&b, n, i);
			const struct wz_api_piece *p = d->pieces.v;
			words[d->use]++;
			given += d->compute_milli - d->compute_free_milli;
			for (uint32_t k = 0; k < d->pieces.n; k++)
				held += p[k].compute_milli;
		}
	tap_eq_i64(held, given, "pieces are what is given out");
	tap_eq_i64(held, 2700, "two and seven tenths");
	tap_eq_i64(words[WZ_BOARD_FULL], 2, "two full");
	tap_eq_i64(words[WZ_BOARD_FRAGMENT], 1, "three tenths are a fragment");
	tap_eq_i64(words[WZ_BOARD_FREE], 1, "one free");
	wz_arena_release(&a);
	world_free(&w);
}

/* What is whole and of a kind that nobody asks for is free; what is asked for and cannot be used is not. */
static void test_unwanted(void)
{
	struct world w;
	struct wz_arena a;
	world_init(&w);
	wz_arena_init(&a, &w.f.mem, 4096);
	node_of(&w, 0, 1, "T4");
	node_of(&w, 1, 1, "A10");
	submit(&w, 1, "gpu-share=60% gpu-type=t4 cpus=63");
	submit(&w, 2, "gpu-share=60% gpu-type=t4 cpus=2");
	run_step(&w);
	struct wz_api_board b = board_of(&w, &a);
	tap_eq_i64(device(&b, 1, 0)->use, WZ_BOARD_FREE, "nobody asks for an A10: it is free");
	tap_eq_i64(device(&b, 0, 0)->use, WZ_BOARD_FRAGMENT, "what is left of the T4 serves nobody");
	wz_arena_release(&a);
	world_free(&w);
}

static void test_closed(void)
{
	struct world w;
	struct wz_arena a;
	world_init(&w);
	wz_arena_init(&a, &w.f.mem, 4096);
	node_of(&w, 0, 1, "T4");
	node_ready(&w, 0, true, true);
	struct wz_api_board b = board_of(&w, &a);
	tap_eq_i64(device(&b, 0, 0)->use, WZ_BOARD_CLOSED, "a drained node's device");
	tap_eq_str(((const struct wz_api_board_node *)b.nodes.v)[0].state, WZ_STR("drained"), "drained");
	wz_arena_release(&a);
	world_free(&w);
}

int main(void)
{
	tap_run(test_words);
	tap_run(test_unwanted);
	tap_run(test_closed);
	return tap_done();
}
