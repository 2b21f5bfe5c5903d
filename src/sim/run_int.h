/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the engine: run.c (events), run_decide.c (who runs), run_place.c (where), run_figures.c (results). */
#ifndef WZ_SIM_RUN_INT_H
#define WZ_SIM_RUN_INT_H

#include "sim/drive.h"
#include "sim/run.h"

/* A part of a running job on one node; on two lists. */
struct wz_run_piece {
	uint32_t job, node, gpus, next_of_job, next_on_node, prev_on_node;
	uint64_t devices; /* which of the node; 0: only their number is known */
};

struct wz_run_place {
	enum wz_run_placement kind;
	const struct wz_run_input *in;
	const struct wz_mem *mem;
	int64_t free_milli; /* of all nodes */
	uint32_t n_nodes;
	int64_t *free; /* [nodes] milli */
	bool *up; /* [nodes] */
	uint32_t *first_on; /* [nodes] pieces */
	uint32_t *first_of; /* [jobs] pieces */
	struct wz_run_piece *piece;
	uint32_t n_pieces, pieces_cap, spare;
	struct wz_drive drive; /* jigsaw */
	struct wz_typicals typical;
	uint64_t *number; /* [jobs] of the submission that runs, in the core */
	uint64_t next_number;
	uint32_t *chosen; /* scratch, [nodes] */
	bool *taken; /* scratch, [nodes] */
};

int wz_run_place_open(struct wz_run_place *p, enum wz_run_placement kind, const struct wz_run_input *in,
        uint64_t seed, const struct wz_mem *mem, struct wz_err *err);
void wz_run_place_close(struct wz_run_place *p);
/* 1: the job is placed; 0: no room; negative: an error. */
int wz_run_place_try(struct wz_run_place *p, uint32_t job, int64_t now, struct wz_err *err);
int wz_run_place_free(struct wz_run_place *p, uint32_t job, int64_t now, struct wz_err *err);
/* A node went away (nothing is on it) or came back. */
int wz_run_place_node(struct wz_run_place *p, uint32_t node, bool up, int64_t now, struct wz_err *err);
/* A device went away (nobody is on it) or came back. */
int wz_run_place_device(struct wz_run_place *p, uint32_t node, uint32_t index, bool up, int64_t now, struct wz_err *err);
void wz_run_place_empty(struct wz_run_place *p); /* yarn only: nothing is placed */
static inline int64_t wz_run_need(const struct wz_run_job *j)
{
	return (int64_t)j->gpus * j->milli;
}

/* Times of decisions: exact counts in buckets of a twelfth of an octave. */
#define WZ_RUN_BUCKETS 512u
struct wz_run_latency {
	uint64_t count[WZ_RUN_BUCKETS], n;
};
void wz_run_latency(struct wz_run_latency *l, uint64_t ns);
double wz_run_latency_us(const struct wz_run_latency *l, double quantile); /* upper end of the bucket */

/* One run. */
struct wz_run_state {
	const struct wz_run_input *in;
	const struct wz_run_options *o;
	const struct wz_mem *mem;
	struct wz_order order;
	struct wz_order_job *job; /* [n] */
	struct wz_run_outcome *out; /* [n] the result's */
	struct wz_run_live {
		int64_t finish_us, at_us; /* when it ends; its next event; WZ_ORDER_NEVER */
		int64_t done0_us, held0_us; /* before this attempt */
		int64_t delay_us; /* of this attempt, without progress */
		int64_t touch_us; /* last event, where all restart at each (see touch_all) */
		uint32_t heap; /* place in the heap of events, WZ_NONE */
		bool ended, arrived, dirty, granted, listed;
	} * live; /* [n] */
	uint32_t *heap, heap_n; /* jobs by (at_us, id) */
	struct wz_opool pool;
	wz_otree running, *waiting; /* waiting: [classes] */
	bool *failed; /* [classes] in this pass */
	uint32_t *active, n_active; /* classes with waiting jobs, unordered */
	uint32_t *active_at; /* [classes] */
	uint32_t *list, n_list; /* scratch: victims, settled */
	uint32_t *settle, n_settle; /* running jobs whose keys changed in this event */
	struct wz_run_place place;
	int64_t now;
	int64_t *queue_used;         /* [queues] milli that run; NULL without limits */
	bool touches; /* as published: every event restarts all that runs */
	bool rekeyed; /* some running job's key grew, or room came: worth deciding */
	struct wz_predict *history;
	struct wz_run_latency latency;
	uint64_t digest, events, failures, device_failures;
	uint64_t asked, known, covered; /* of the predictor; covered: by its 80 % band */
	double lost_gpu_us, held_gpu_us, window_gpu_us;
	/* backfill */
	struct wz_run_profile {
		int64_t at_us, free_milli;
	} * profile;
	uint32_t n_profile, profile_cap;
};

/* ---- run.c ---- */
void wz_run_sync(struct wz_run_state *s, uint32_t j); /* progress up to now */
void wz_run_touch(struct wz_run_state *s, uint32_t j); /* its next event changed */
int wz_run_start(struct wz_run_state *s, uint32_t j, struct wz_err *err); /* was placed; leaves its waiting set */
int wz_run_stop(struct wz_run_state *s, uint32_t j, struct wz_err *err); /* preempted; back to waiting */
void wz_run_wait(struct wz_run_state *s, uint32_t j); /* joins its waiting set with a fresh key */
void wz_run_unwait(struct wz_run_state *s, uint32_t j);

/* ---- run_decide.c ---- */
int wz_run_decide(struct wz_run_state *s, struct wz_err *err);

/* ---- run_backfill.c ---- */
int wz_run_backfill(struct wz_run_state *s, uint32_t head, struct wz_err *err);

/* ---- run_figures.c ---- */
int wz_run_figures(struct wz_run_state *s, struct wz_run_result *ret, struct wz_err *err);

/* ---- run_predict.c ---- */
int64_t wz_run_noise(const struct wz_run_options *o, const struct wz_run_job *j, uint32_t id); /* 0: unknown */
void wz_run_history_ask(struct wz_run_state *s, uint32_t j);
void wz_run_history_learn(struct wz_run_state *s, uint32_t j);

#endif
