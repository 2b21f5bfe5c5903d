/* SPDX-License-Identifier: Apache-2.0 */
/* The inflation experiment: how much of a cluster a placement policy can allocate when work arrives one by one until
 * demand is 1.3 x capacity, nothing departs, and what does not fit is turned away (docs/internals/sim.md).
 *
 * One run is one core, driven exactly as any body drives it: events, a step, effects, acknowledgements. The input may be
 * shared by threads; a run is single-threaded and reproducible: the digest folds the core's digest after every arrival. */
#ifndef WZ_SIM_PACK_H
#define WZ_SIM_PACK_H

#include "sim/drive.h"

#include <stdatomic.h>

#define WZ_PACK_PERCENT 131 /* curve points: arrived 0..130 % of capacity */

enum wz_pack_class { WZ_PACK_CPU, WZ_PACK_SHARE, WZ_PACK_ONE, WZ_PACK_MULTI, WZ_PACK_CLASSES };
extern const char *const wz_pack_class_name[WZ_PACK_CLASSES]; /* "cpu", "share", "one", "multi" */

/* Where idle capacity is at the end, by model. */
enum wz_idle { WZ_IDLE_REMAINDER, WZ_IDLE_NO_CPU, WZ_IDLE_OPEN, WZ_IDLE_REASONS };
extern const char *const wz_idle_name[WZ_IDLE_REASONS]; /* "remainder", "no-cpu", "open" */

struct wz_pack_input {
	const struct wz_sim_nodes *nodes;
	const struct wz_sim_tasks *tasks;
	struct wz_typicals typical;
	uint64_t capacity_milli;
	int64_t typical_cpu; /* CPU that a typical one-GPU task takes: what an idle device needs beside it to be open */
};
/* -EINVAL: no devices, or no task asks for one. */
int wz_pack_input_make(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, const struct wz_mem *mem,
                       struct wz_pack_input *ret, struct wz_err *err);
void wz_pack_input_release(struct wz_pack_input *in);

struct wz_pack_options {
	const char *placement;
	uint64_t seed;
	bool no_index, no_curves;       /* no_curves: only what happens, no measuring between */
	bool check;                     /* all invariants after every arrival, and that what is refused fits nowhere: slow */
	struct wz_enact_options faults; /* zero: perfect hands */
	const struct wz_arrivals *arrivals; /* NULL: made from the seed */
	const atomic_int *stop;         /* -EINTR soon after it is not 0; may be NULL */
	enum wz_arrive_order order;     /* of those made */
	uint64_t *trail;                /* [arrivals] the digest of the run after each; NULL */
	const struct wz_sim_tasks *teach; /* work that the policy sees first: submitted in a shuffled order and cancelled */
	uint32_t repack_ppm;            /* paid moves per million placements that repacking may make; 0: none */
	const char *repack_rules;       /* parameters of repacking, as RULES_SET takes them; NULL: usual ones */
	bool draw;                      /* measure power and price too */
	uint32_t explain;               /* this many placements in words, */
	uint32_t explain_at;            /* from this percent of arrivals on */
	struct wz_core_watch watch;     /* of the core, for a journal; of one run */
	struct wz_buf *words;           /* appended to: a line each */
};

struct wz_pack_result {
	double allocated[WZ_PACK_PERCENT];  /* percent of capacity; NAN where nothing arrived near */
	double fragmented[WZ_PACK_PERCENT]; /* fragment amount, percent of capacity */
	double frag_ratio[WZ_PACK_PERCENT]; /* fragment amount, percent of what is idle */
	double power_w[WZ_PACK_PERCENT];    /* of all nodes (core/draw.h), and US dollars an hour of devices in use; */
	double price_usd[WZ_PACK_PERCENT];  /* NAN unless measured */
	uint64_t arrived[WZ_PACK_CLASSES], rejected[WZ_PACK_CLASSES];
	uint64_t rejected_milli[WZ_PACK_CLASSES];
	uint64_t decisions, cpu_ns, p50_ns, p99_ns;
	uint64_t evaluations, digest;
	uint64_t idle_milli[WZ_MODELS_MAX][WZ_IDLE_REASONS];
	double moves[WZ_PACK_PERCENT];      /* made until then; NAN unless repacking */
	uint64_t placements, moved, opened; /* tasks placed; moves; placements that moves made possible */
	uint64_t acks_lost, acks_twice, starts_refused;
};

/* Those of wz_variant_parse; -ENOMEM. -EUCLEAN when `check` found a broken invariant, or a task refused that fits
 * ("RefusedThoughFits"). */
int wz_pack_run(const struct wz_pack_input *in, const struct wz_pack_options *o, const struct wz_mem *mem,
                struct wz_pack_result *ret, struct wz_err *err);

#endif
