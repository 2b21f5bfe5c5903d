/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the board. */
#include "api/resource.h"

#define ALWAYS WZ_FIELD_ALWAYS
#define QUERY WZ_FIELD_IN_QUERY

#define T struct wz_api_piece
static const struct wz_api_field piece_fields[] = {
        WZ_F(T, job, U64, ALWAYS, "job number"),
        WZ_F(T, task, U32, ALWAYS, "its task"),
        WZ_F(T, compute_milli, I32, ALWAYS, "compute held, in thousandths of a device"),
        WZ_F(T, mem_bytes, I64, ALWAYS, "memory held"),
};
const struct wz_api_type wz_type_piece = WZ_TYPE("Piece", T, piece_fields, "What one task holds of one device.");
#undef T

static const char *const use_words[] = {"full", "free", "fragment", "closed", NULL};
#define T struct wz_api_board_device
static const struct wz_api_field device_fields[] = {
        WZ_F(T, index, U32, ALWAYS, "index within the node, in PCI bus order"),
        WZ_F(T, model, STR, ALWAYS, "catalogue name"),
        WZ_F(T, health, STR, ALWAYS, "ok, degraded, failed"),
        WZ_F(T, reason, STR, 0, "why it is not ok, or not free though nobody holds it"),
        WZ_F(T, mem_bytes, I64, ALWAYS, "memory"),
        WZ_F(T, mem_free_bytes, I64, ALWAYS, "memory that is not given out; negative: over-committed by facts"),
        WZ_F(T, compute_milli, I32, ALWAYS, "compute, in thousandths of a device"),
        WZ_F(T, compute_free_milli, I32, ALWAYS, "compute that is not given out"),
        WZ_F(T, link_domain, U32, 0, "devices of one node with the same number are joined"),
        WZ_F(T, numa, U32, 0, "NUMA node"),
        WZ_F(T, foreign, U32, 0, "processes on it that are not ours"),
        WZ_F_WORDS(T, use, ALWAYS, use_words,
                "what is free of it: full (nothing), free (an expected task fits), fragment (none does), closed"),
        WZ_F_RANGE(T, util_pct, I32, ALWAYS, -1, 100, "compute use in percent; -1: not known"),
        WZ_F_RANGE(T, mem_used_pct, I32, ALWAYS, -1, 100, "memory use as the driver sees it; -1: not known"),
        WZ_F(T, temp_c, I32, ALWAYS, "temperature; -1: not known"),
        WZ_F(T, power_mw, I64, ALWAYS, "power in milliwatts; -1: not known"),
        WZ_F_TYPE(T, pieces, LIST, ALWAYS, &wz_type_piece, "what tasks hold of it, by job and task"),
};
const struct wz_api_type wz_type_board_device = WZ_TYPE("BoardDevice", T, device_fields, "One tile of the board.");
#undef T

#define T struct wz_api_board_node
static const struct wz_api_field node_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "name"),
        WZ_F(T, rack, STR, 0, "its rack"),
        WZ_F(T, state, STR, ALWAYS, "ready, draining, drained, down"),
        WZ_F(T, cpu_milli, I64, ALWAYS, "CPU, in thousandths of a core"),
        WZ_F(T, cpu_free_milli, I64, ALWAYS, "CPU that is not given out"),
        WZ_F(T, mem_bytes, I64, ALWAYS, "host memory"),
        WZ_F(T, mem_free_bytes, I64, ALWAYS, "host memory that is not given out"),
        WZ_F_TYPE(T, devices, LIST, ALWAYS, &wz_type_board_device, "its devices"),
};
const struct wz_api_type wz_type_board_node = WZ_TYPE("BoardNode", T, node_fields, "One frame of the board.");
#undef T

#define T struct wz_api_board_job
static const struct wz_api_field job_fields[] = {
        WZ_F(T, id, U64, ALWAYS, "job number"),
        WZ_F(T, user, STR, 0, "owner"),
        WZ_F(T, queue, STR, 0, "queue"),
        WZ_F(T, name, STR, 0, "name"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "state"),
        WZ_F(T, priority, I32, ALWAYS, "priority"),
        WZ_F(T, tasks, U32, ALWAYS, "tasks, at most"),
        WZ_F(T, submit_us, TIME, 0, "when it was submitted"),
};
const struct wz_api_type wz_type_board_job = WZ_TYPE("BoardJob", T, job_fields, "A live job, for the board.");
#undef T

#define T struct wz_api_expected
static const struct wz_api_field expected_fields[] = {
        WZ_F(T, devices, U32, ALWAYS, "devices of one task"),
        WZ_F(T, compute_milli, I32, ALWAYS, "compute of each, in thousandths"),
        WZ_F(T, mem_bytes, I64, 0, "memory of each; absent: its part of the device's"),
        WZ_F(T, cpu_milli, I64, 0, "CPU of one task"),
        WZ_F(T, weight_milli, U32, ALWAYS, "its part of what is expected, in thousandths"),
        WZ_F(T, nodes, U32, ALWAYS, "nodes that have room for one more such task"),
};
const struct wz_api_type wz_type_expected = WZ_TYPE("Expected", T, expected_fields, "A kind of task to expect.");
#undef T

#define T struct wz_api_board
static const struct wz_api_field board_fields[] = {
        WZ_F(T, at_us, TIME, ALWAYS, "the core's clock in this state"),
        WZ_F(T, digest, STR, ALWAYS, "digest of the state"),
        WZ_F_TYPE(T, nodes, LIST, ALWAYS, &wz_type_board_node, "nodes and their devices"),
        WZ_F_TYPE(T, jobs, LIST, ALWAYS, &wz_type_board_job, "jobs that wait or hold something, by number"),
        WZ_F_TYPE(T, expected, LIST, ALWAYS, &wz_type_expected, "the work to expect, heaviest first"),
};
const struct wz_api_type wz_type_board =
        WZ_TYPE("Board", T, board_fields, "All devices and the pieces of the jobs on them, at one moment.");
#undef T

#define T struct wz_api_board_query
static const struct wz_api_field board_query_fields[] = {
        WZ_F(T, at_us, TIME, QUERY, "the board of that moment, replayed from the journal; absent: now"),
};
const struct wz_api_type wz_type_board_query = WZ_TYPE("BoardQuery", T, board_query_fields, "Which moment.");
#undef T

#define T struct wz_api_span
static const struct wz_api_field span_fields[] = {
        WZ_F(T, job, U64, ALWAYS, "job number"),
        WZ_F(T, task, U32, ALWAYS, "its task"),
        WZ_F(T, attempt, U32, ALWAYS, "its attempt"),
        WZ_F(T, user, STR, 0, "owner"),
        WZ_F(T, name, STR, 0, "name of the job"),
        WZ_F(T, node, STR, ALWAYS, "where"),
        WZ_F(T, devices, NUMS, 0, "indices of the devices"),
        WZ_F(T, start_us, TIME, ALWAYS, "from"),
        WZ_F(T, end_us, TIME, 0, "to; absent: it still runs"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "RUNNING, or how it ended"),
        WZ_F(T, planned, BOOL, 0, "it has not begun: where and when it is expected to"),
};
const struct wz_api_type wz_type_span = WZ_TYPE("Span", T, span_fields, "One task of one attempt, in time.");
#undef T

#define T struct wz_api_timeline_query
static const struct wz_api_field timeline_query_fields[] = {
        WZ_F(T, since_us, TIME, QUERY, "what ran at that moment or later; absent: the past day"),
        WZ_F_RANGE(T, limit, U32, QUERY, 1, 20000, "how many at most (5000)"),
};
const struct wz_api_type wz_type_timeline_query =
        WZ_TYPE("TimelineQuery", T, timeline_query_fields, "How far back.");
#undef T

#define T struct wz_api_sample
static const struct wz_api_field sample_fields[] = {
        WZ_F(T, time_us, TIME, ALWAYS, "from this moment, for ten seconds or, when older than an hour, a minute"),
        WZ_F_RANGE(T, util_pct, I32, ALWAYS, -1, 100,
                "compute use; of the cluster: the mean over devices; -1: not known"),
        WZ_F_RANGE(T, mem_used_pct, I32, ALWAYS, -1, 100, "memory use as the driver sees it; -1: not known"),
        WZ_F_RANGE(T, held_pct, I32, ALWAYS, -1, 100, "compute that is given out"),
        WZ_F(T, power_mw, I64, ALWAYS, "power; -1: not known"),
};
const struct wz_api_type wz_type_sample = WZ_TYPE("Sample", T, sample_fields, "Readings of a moment.");
#undef T

#define T struct wz_api_sample_query
static const struct wz_api_field sample_query_fields[] = {
        WZ_F_RANGE(T, node, STR, QUERY, 0, 256, "of a device of this node; absent: of the whole cluster"),
        WZ_F_RANGE(T, device, U32, QUERY, 0, 63, "index of the device"),
        WZ_F(T, since_us, TIME, QUERY, "from; a day is kept"),
};
const struct wz_api_type wz_type_sample_query =
        WZ_TYPE("SampleQuery", T, sample_query_fields, "Of what, since when.");
#undef T

#define T struct wz_api_change
static const struct wz_api_field change_fields[] = {
        WZ_F(T, job, U64, ALWAYS, "a job that waits"),
        WZ_F(T, user, STR, 0, "owner"),
        WZ_F(T, name, STR, 0, "name"),
        WZ_F(T, now_latest_us, TIME, 0, "today: start if every time limit is used up; absent: not known, or never"),
        WZ_F(T, now_from_us, TIME, 0, "today: begin of the likely band"),
        WZ_F(T, now_to_us, TIME, 0, "today: its end"),
        WZ_F(T, then_latest_us, TIME, 0, "after the edit: start if every time limit is used up"),
        WZ_F(T, then_from_us, TIME, 0, "after the edit: begin of the likely band"),
        WZ_F(T, then_to_us, TIME, 0, "after the edit: its end"),
        WZ_F(T, gone, BOOL, 0, "the edit cancels it, or it is too far back to be planned then"),
};
const struct wz_api_type wz_type_change = WZ_TYPE("Change", T, change_fields, "For whom a plan changes.");
#undef T

#define T struct wz_api_move
static const struct wz_api_field move_fields[] = {
        WZ_F(T, job, U64, ALWAYS, "a job that runs"),
        WZ_F(T, task, U32, ALWAYS, "its task"),
        WZ_F(T, from_node, STR, ALWAYS, "where it is"),
        WZ_F(T, from_devices, NUMS, 0, "on these devices"),
        WZ_F(T, to_node, STR, ALWAYS, "where it would go"),
        WZ_F(T, to_devices, NUMS, 0, "on these devices"),
        WZ_F(T, cost_us, I64, ALWAYS, "work that it loses, and the time to start again, microseconds"),
};
const struct wz_api_type wz_type_move = WZ_TYPE("Move", T, move_fields, "A running task that would be moved.");
#undef T

#define T struct wz_api_repack
static const struct wz_api_field repack_fields[] = {
        WZ_F_TYPE(T, moves, LIST, ALWAYS, &wz_type_move, "the moves; empty: there is nothing to gain now"),
        WZ_F(T, jobs, NUMS, ALWAYS, "jobs that wait and would start"),
        WZ_F(T, gain_milli, I64, ALWAYS, "compute that those jobs get, in thousandths of a device"),
        WZ_F(T, cost_us, I64, ALWAYS, "what all moves lose"),
        WZ_F(T, text, STR, ALWAYS, "in words"),
        WZ_F(T, applied, BOOL, ALWAYS, "the moves were allowed, and follow"),
};
const struct wz_api_type wz_type_repack = WZ_TYPE("Repack", T, repack_fields, "What repacking would do now.");
#undef T

#define T struct wz_api_repack_query
static const struct wz_api_field repack_query_fields[] = {
        WZ_F_RANGE(T, moves, U32, QUERY, 1, 64, "at most so many moves (16)"),
};
const struct wz_api_type wz_type_repack_query =
        WZ_TYPE("RepackQuery", T, repack_query_fields, "How far it may go.");
#undef T

#define T struct wz_api_repack_ask
static const struct wz_api_field repack_ask_fields[] = {
        WZ_F(T, apply, BOOL, 0, "let the moves be made; else only shown"),
        WZ_F_RANGE(T, moves, U32, 0, 1, 64, "at most so many moves (16)"),
};
const struct wz_api_type wz_type_repack_ask = WZ_TYPE("RepackAsk", T, repack_ask_fields, "What to do.");
#undef T

#define T struct wz_api_whatif_query
static const struct wz_api_field whatif_query_fields[] = {
        WZ_F_RANGE(T, edit, STR, QUERY | WZ_FIELD_REQUIRED, 0, 4096,
                "edits: queue.NAME.KEY=VALUE, add-nodes=COUNTxMODEL, remove-node=NAME, drain=NAME, cancel=JOB, "
                "policy=NAME"),
};
const struct wz_api_type wz_type_whatif_query = WZ_TYPE("WhatifQuery", T, whatif_query_fields, "What to change.");
#undef T
