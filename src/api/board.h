/* SPDX-License-Identifier: Apache-2.0 */
/* The jigsaw board: every device with the pieces that tasks hold of it, and what is free as those expected to come see it.
 * A function of a core's state and of what the body adds, so that the board of a daemon and that of a replay of its
 * journal are the same text for the same state. */
#ifndef WZ_API_BOARD_H
#define WZ_API_BOARD_H

#include "api/resource.h"
#include "core/core.h"

#define WZ_BOARD_SHAPES_MAX 16u /* expected shapes that free room is judged by */

/* What free room of a device is good for. */
enum wz_board_use {
	WZ_BOARD_FULL,     /* nothing is free */
	WZ_BOARD_FREE,     /* an expected task would fit */
	WZ_BOARD_FRAGMENT, /* something is free, and no expected task fits: a fragment (DESIGN section 3) */
	WZ_BOARD_CLOSED,   /* free, but the node takes no work or the device has failed */
};

/* Answers of the body; each may be NULL. Strings live until wz_board_make returns and as long as its arena. */
struct wz_board_more {
	void *ctx;
	/* Who owns a job; leaves *ret as it is when it is not known. */
	void (*job)(void *ctx, struct wz_arena *a, uint64_t job, struct wz_api_board_job *ret);
	/* Live readings of a device. */
	void (*device)(void *ctx, uint32_t node, uint32_t index, struct wz_api_board_device *ret);
};

/* Fills *ret from the state; its lists are in the arena. -ENOMEM.
 * O(nodes x shapes + devices + tasks log tasks). */
int wz_board_make(const struct wz_core *c, const struct wz_board_more *more, struct wz_arena *a,
                  struct wz_api_board *ret);

#endif
