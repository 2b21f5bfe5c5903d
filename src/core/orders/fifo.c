/* SPDX-License-Identifier: Apache-2.0 */
/* First come, first served, by priority and then submission: with the head blocking (fifo), with others passing it when
 * they fit (fifo-skip), and with backfill (easy, conservative). Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995 (EASY);
 * Mu'alem and Feitelson, IEEE TPDS 2001. Backfill counts on predict_hi_us, else on the user's limit. */
#include "core/orders/orders.h"

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){-(int64_t)j->priority, j->submit_us};
}

const struct wz_order_rule wz_order_fifo = {
        .name = "fifo", .summary = "first come; nobody passes the head", .flags = WZ_ORDER_BLOCKS, .key = key};
const struct wz_order_rule wz_order_fifo_skip = {
        .name = "fifo-skip", .summary = "first come; whoever fits may pass", .key = key};
const struct wz_order_rule wz_order_easy = {.name = "easy",
        .summary = "first come, with backfill that does not delay the head",
        .flags = WZ_ORDER_BLOCKS | WZ_ORDER_EASY,
        .param = {{"depth", "waiting jobs looked at behind the head", 100000, 0, 100000000}},
        .key = key};
const struct wz_order_rule wz_order_conservative = {.name = "conservative",
        .summary = "first come, with backfill that delays nobody before it",
        .flags = WZ_ORDER_BLOCKS | WZ_ORDER_CONSERVATIVE,
        .param = {{"depth", "waiting jobs that get a reservation", 100000, 0, 100000000}},
        .key = key};
