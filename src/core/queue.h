/* SPDX-License-Identifier: Apache-2.0 */
/* The quota tree as others may see it: the rules of a queue and of a reservation, their text, and what is used of them.
 *
 * A queue is a node of a tree. Its root is "root", its leaves take jobs, and "default" is the leaf of jobs that name none.
 * Until the first rule is set there is no tree and nothing is counted: jobs start in the order of priority and submission.
 *
 *	rules   = entry { blank entry }          entry = key "=" value
 *	amounts = amount { "," amount }          amount = what ":" number
 *	what    = "gpu" | "cu" | "cpu" | "mem" | a device model or family of the catalogue
 *
 * wz_queue_rules_parse and _format are inverse on canonical text (spec/queues.md). Plain data: copy freely. */
#ifndef WZ_CORE_QUEUE_H
#define WZ_CORE_QUEUE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/catalogue.h"
#include "core/types.h"

#define WZ_RULES_TEXT_MAX 4096u
#define WZ_QUEUE_NAME_MAX 64u
#define WZ_QUEUES_MAX 4096u
#define WZ_QUEUE_DEPTH_MAX 8u
#define WZ_AMOUNTS_MAX 12u
#define WZ_AMOUNT_MAX ((int64_t)1 << 48)

enum wz_what { WZ_WHAT_GPU, WZ_WHAT_CU, WZ_WHAT_CPU, WZ_WHAT_MEM, WZ_WHAT_MODEL };

struct wz_amount {
	uint8_t what; /* enum wz_what */
	struct wz_model_set set; /* MODEL: the models that count */
	char name[WZ_MODEL_NAME_MAX]; /* MODEL: canonical */
	int64_t value; /* milli devices, CU, CPU; MiB; of a price: milli of the currency an hour */
};
struct wz_amounts {
	uint32_t n;
	struct wz_amount a[WZ_AMOUNTS_MAX];
};

enum wz_missing { WZ_MISSING_NOTHING, WZ_MISSING_REFUSE, WZ_MISSING_WARN, WZ_MISSING_FIXED };

struct wz_queue_rules {
	char parent[WZ_QUEUE_NAME_MAX]; /* empty: root */
	struct wz_amounts guaranteed, limit, borrow, lend, user_limit, job_limit, price;
	uint32_t weight_milli; /* 1000 */
	uint32_t user_running, user_waiting; /* jobs of one user; 0: no limit */
	int32_t priority_min, priority_max;
	bool preemptible;
	uint64_t budget_milli_hours; /* device-hours x 1000; 0: none */
	uint64_t budget_milli_money;
	uint32_t budget_epoch; /* another number: what was spent is forgotten */
	uint64_t checkpoint_over_us; /* jobs that may run longer need a checkpoint contract */
	uint8_t checkpoint_missing; /* enum wz_missing; NOTHING: the rule is off */
	/* of the root alone */
	uint64_t half_life_us; /* of what was used in the past; 0: only what is used now counts */
	uint32_t reserve; /* blocked jobs that get a promised start; 0: nobody waits for them */
};

void wz_queue_rules_init(struct wz_queue_rules *r); /* no limit anywhere; half-life 7 days, reserve 256 */
/* -EINVAL: "BadRules" (a value; the text names the key and what is expected), "UnknownKey", "UnknownModel", "Conflict". *ret
 * is written only on success. O(text x catalogue). */
int wz_queue_rules_parse(
        struct wz_str text, const struct wz_catalogue *c, struct wz_queue_rules *ret, struct wz_err *err);
void wz_queue_rules_format(
        const struct wz_queue_rules *r, struct wz_buf *b); /* canonical: what differs from init */
bool wz_queue_name_ok(
        struct wz_str name); /* letters, digits, '.', '_', '-'; 1 to 63; does not begin with '-' or '.' */

struct wz_rules_key {
	const char *name, *value, *help;
};
extern const struct wz_rules_key wz_queue_keys[], wz_reserve_keys[]; /* end with a NULL name */

/* A promise of capacity from..to: whole nodes (nobody starts there: maintenance, unless a queue or a user is named), or a
 * number of whole devices. */
#define WZ_RESERVE_NODES_MAX 256u
struct wz_reserve_rules {
	uint64_t from_us, to_us;
	uint32_t gpus; /* 0: whole nodes */
	uint32_t n_nodes; /* names are pieces of the parsed text */
	struct wz_str node[WZ_RESERVE_NODES_MAX];
	bool any_model;
	struct wz_model_set set;
	char type[WZ_MODEL_NAME_MAX];
	struct wz_str queue, user; /* who may use it; empty: any (of both empty: nobody) */
};
int wz_reserve_rules_parse(
        struct wz_str text, const struct wz_catalogue *c, struct wz_reserve_rules *ret, struct wz_err *err);
void wz_reserve_rules_format(const struct wz_reserve_rules *r, struct wz_buf *b);

#endif
