/* SPDX-License-Identifier: Apache-2.0 */
/* What would be if the cluster were another: today's plan of starts beside the plan after some edits, job by job. Both are
 * made on copies; the core that is asked changes nothing, not even its digest.
 *
 *	edits = edit { blank edit }
 *	edit  = "queue." NAME "." KEY "=" VALUE      a rule of a queue (core/queue.h), the others kept
 *	      | "add-nodes=" COUNT "x" MODEL         nodes like those that have the model; of a model that is nowhere: 8 devices each
 *	      | "remove-node=" NAME | "drain=" NAME
 *	      | "cancel=" JOB
 *	      | "policy=" NAME
 *
 * Starts are those of wz_core_plan_starts, so work that has not arrived is not in them. */
#ifndef WZ_CORE_WHATIF_H
#define WZ_CORE_WHATIF_H

#include "core/core.h"

#define WZ_WHATIF_EDITS_MAX 32u
#define WZ_WHATIF_TEXT_MAX 4096u
#define WZ_WHATIF_NODES_MAX 4096u /* added by one edit */

struct wz_whatif_start {
	uint64_t latest_us;          /* if every time limit is used up; UINT64_MAX: not known, or never */
	uint64_t from_us, to_us;     /* the likely band; UINT64_MAX: not drawn */
	bool known;                  /* it is among those that were planned */
};
struct wz_whatif_row {
	uint64_t job;
	struct wz_whatif_start now, then;
};
struct wz_whatif {
	const struct wz_mem *mem;
	struct wz_whatif_row *row;   /* jobs that wait now, by number; those whose start differs and those that do not */
	uint32_t n, cap;
	uint32_t earlier, later, gone; /* of them: start earlier, later; gone: cancelled by an edit, or unknown then */
	uint64_t gpu_milli_now, gpu_milli_then; /* capacity */
};

/* -EINVAL "BadEdit" (which, and what was expected), "UnknownModel", "UnknownKey", ...; -ENOENT "NoSuchQueue", "NoSuchNode",
 * "NoSuchJob"; -E2BIG; -ENOMEM. *ret is released by the caller also after an error. O(state + planning twice). */
int wz_whatif_ask(const struct wz_core *c, const struct wz_mem *mem, struct wz_str edits, const struct wz_starts_options *o,
                  struct wz_whatif *ret, struct wz_err *err);
void wz_whatif_release(struct wz_whatif *w); /* accepts a zeroed one */

#endif
