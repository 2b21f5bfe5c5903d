/* SPDX-License-Identifier: Apache-2.0 */
/* The book: what the body remembers of each open job beside the core, so that the core sees as ready only what is. A job may
 * wait for a person, a time, other jobs, a place among the tasks of its array, or the pause before a retry. While it waits
 * for any of these the core has it as held; when the last one clears, it is released. All of it can be made again from the
 * rows of open jobs, and is, at each start.
 *
 * book_settle, at the begin of each step, brings the core in line: times that passed, dependencies that were met or never can
 * be, places of arrays, deadlines. A dependency names a job of a lower number, always; so there are no circles, and one
 * pass in rising order settles whole cones. A job that ended stays in the book until its end is on the disk. */
#ifndef WZ_SERVE_BOOK_H
#define WZ_SERVE_BOOK_H

#include "base/map.h"
#include "jobspec/depend.h"
#include "jobspec/retry.h"

#include <stdbool.h>

struct serve;
struct wz_job_row;

#define SECRET_ID 33 /* 32 hex digits and a terminator */

enum book_wait {
	BOOK_USER = 1,
	BOOK_BEGIN = 2,
	BOOK_DEPEND = 4,
	BOOK_ARRAY = 8,
	BOOK_RETRY = 16,
	BOOK_NEVER = 32 /* a dependency that can no longer be met, and it was asked to be held then */
};

enum book_on_fail { BOOK_FAIL_CANCEL, BOOK_FAIL_HOLD, BOOK_FAIL_RUN };

/* Dependencies, shared by the tasks of an array. */
struct book_deps {
	uint32_t refs, n;
	struct wz_depend *dep;
	uint8_t *state; /* enum dep_state of each; of aftercorr unused: it is asked for each task */
};

/* What was asked once, for one job or for all tasks of an array. */
struct book_order {
	uint64_t id; /* the job's number, of an array that of its first task; 0: unused */
	uint64_t last; /* number of the last task */
	uint32_t kept, left, failed, unstarted,
	        active; /* tasks: in the book, not ended, ended badly, never seen running, let go */
	uint32_t throttle;
	uint64_t cursor; /* no task below waits for a place */
	int64_t uid;
	uint64_t name; /* hash, for singletons */
	uint64_t asked; /* hash of the request */
	uint32_t retry_max, n_rules;
	uint64_t retry_delay_us;
	struct wz_retry_rule rule[WZ_RETRY_RULES_MAX];
	uint8_t on_fail; /* enum book_on_fail */
	bool no_requeue, corr;
	char secrets[SECRET_ID];
	uint32_t next_free;
};

struct booked {
	uint64_t job; /* 0: unused */
	uint32_t order, wait; /* mask of enum book_wait */
	int64_t index; /* of an array's task; else -1 */
	int64_t begin_us, deadline_us, limit_us, retry_us, started_us;
	uint32_t retries;
	bool ended;
	bool noted; /* why it is being ended is in its row */
	uint8_t end; /* enum wz_end */
	struct book_deps *deps; /* NULL: none */
	uint32_t next_free;
};

struct book {
	struct wz_map by_job, by_order; /* job -> booked, id -> order */
	struct booked *v;
	struct book_order *order;
	uint64_t *depending; /* jobs with BOOK_DEPEND, rising */
	uint64_t *dirty; /* jobs whose waiting changed */
	uint32_t n, cap, free_v, n_orders, order_cap, free_order, n_depending, depending_cap, n_dirty, dirty_cap;
	bool moved; /* something started or ended: dependencies are to be looked at */
	bool gaps; /* a place in an array may be free */
	int64_t due_us; /* the next time that matters; INT64_MAX: none */
};

void book_init(struct serve *s);
void book_release(struct serve *s);
/* All open jobs of the store. Called once, after the restore. */
int book_load(struct serve *s, struct wz_err *err);

struct booked *book_find(struct serve *s, uint64_t job);
struct book_order *book_order_of(struct serve *s, const struct booked *b);
struct book_order *book_array(struct serve *s, uint64_t id); /* NULL: no open one */

/* Opens an order, then books each task. *ret_order: index. -ENOMEM, -E2BIG. */
int book_open(struct serve *s, const struct book_order *o, uint32_t *ret_order);
int book_add(
        struct serve *s, uint32_t order, const struct booked *b, struct book_deps *deps); /* deps: one more ref */

/* Parses, and refuses what names no earlier job of that user's sight, itself or a later one. *ret NULL for none. */
int book_deps_new(struct serve *s, const struct wz_str *text, uint32_t n, uint64_t self, uint32_t count,
        struct book_deps **ret, struct wz_err *err);
void book_deps_unref(struct serve *s, struct book_deps *d);

void book_wait(struct serve *s, struct booked *b, uint32_t set, uint32_t clear); /* and lets the core know, soon */
int book_depending(struct serve *s, uint64_t job); /* it is looked at when something moves; -ENOMEM */
/* The task of array `id` that has this index; `guess` is tried first. 0: none. */
uint64_t book_array_task(struct serve *s, uint64_t id, int64_t index, uint64_t guess);
void book_set_deps(struct serve *s, struct booked *b, struct book_deps *d); /* takes the reference */
void book_due(struct serve *s, int64_t us); /* look again then */

void book_started(struct serve *s, uint64_t job, int64_t us);
void book_ended(struct serve *s, uint64_t job, uint32_t end);
void book_noted(struct serve *s, uint64_t job);
bool book_is_noted(struct serve *s, uint64_t job);
void book_forget(struct serve *s, uint64_t job); /* its end is on the disk */
/* An attempt failed: shall it be tried again? Then the pause begins. */
bool book_retry(struct serve *s, uint64_t job, uint32_t end, int64_t code, int64_t signo);
bool book_may_requeue(struct serve *s, uint64_t job);

typedef void book_cancel(
        struct serve *s, const struct booked *b, uint32_t end, const char *word, struct wz_str text);
void book_settle(struct serve *s);
void book_settle_deps(struct serve *s, book_cancel *cancel); /* deps.c; of book_settle */
void book_timer(void *ctx);
static inline bool book_moved_(const struct book *k)
{
	return (k->moved && k->n_depending) || k->gaps;
}
#define book_moved(s) book_moved_(&(s)->book) /* another step has something to settle */

/* Why it waits, when it waits for something of the book: a stable word and a sentence. False: it does not. */
struct wz_buf;
bool book_why(struct serve *s, const struct booked *b, const char **ret_word, struct wz_buf *text);

#endif
