/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables for people hold (spec/store.md): jobs, attempts, audit, settings. A body does not write rows; it journals
 * *notes*, each a patch of one row, and the writer makes the tables from them. So the tables are a function of the
 * journal and can be made again.
 *
 * A row struct serves both ways. Written: the bit of a member in `given` says that it is set; what is not given stays as
 * it was; nothing can be unset, only set to 0 or "". Read: `given` has the members that are not null. Texts are UTF-8. */
#ifndef WZ_STORE_ROWS_H
#define WZ_STORE_ROWS_H

#include "base/err.h"
#include "base/str.h"

/* X(member, kind): kind I is int64_t, T is struct wz_str. The order is that of the columns. */
#define WZ_JOB_COLUMNS(X)                                                                                           \
	X(job, I)          /* number, 1 to 2^63 - 1; always given */                                               \
	X(user, T)         /* who submitted it, by name; uid and gid by number */                                  \
	X(uid, I)                                                                                                   \
	X(gid, I)                                                                                                   \
	X(name, T)                                                                                                  \
	X(queue, T)                                                                                                 \
	X(array, I)        /* number of the array's first job; array_index: place in it */                         \
	X(array_index, I)                                                                                           \
	X(priority, I)                                                                                              \
	X(profile, T)      /* canonical text */                                                                    \
	X(tasks, I)        /* at most */                                                                           \
	X(spec, T)         /* all that was asked, JSON; the body's */                                              \
	X(env, T)          /* blob: the environment */                                                             \
	X(script, T)       /* blob */                                                                              \
	X(idem, T)         /* idempotency key, unique for the user */                                              \
	X(submitted_us, I)                                                                                          \
	X(state, I)        /* enum wz_row_state */                                                                  \
	X(reason, T)       /* why it waits, a word of spec/reasons.md, or a text */                                \
	X(attempt, I)      /* the present one */                                                                   \
	X(started_us, I)   /* of the present attempt */                                                            \
	X(ended_us, I)                                                                                              \
	X(end, I)          /* enum wz_end */                                                                       \
	X(exit_code, I)                                                                                             \
	X(signal, I)       /* that ended it */                                                                     \
	X(comment, T)                                                                                               \
	/* schema 2 */                                                                                              \
	X(template, T)     /* blob: `spec` of an array's tasks, kept once; then spec is empty */                   \
	X(params, T)       /* what differs between them: NAME=VALUE, one a line */                                 \
	X(asked, I)        /* hash of the request: a key that comes again with another one is a conflict */        \
	X(held, I)         /* 1: by a person; state tells nothing of it, since what waits for a time is held too */ \
	X(begin_us, I)     /* not before; 0: none. So deadline_us: not after */                                    \
	X(deadline_us, I)                                                                                           \
	X(after, T)        /* dependencies, comma-separated */                                                     \
	X(retries, I)      /* attempts that were tried again; retry_us: when the next one may start */             \
	X(retry_us, I)                                                                                              \
	X(word, T)         /* why it waits or how it ended, where state and end do not say it all */               \
	X(secrets, T)      /* file of its secrets; "" once they are gone */                                        \
	X(snapshot, T)     /* file of its code */

#define WZ_ATTEMPT_COLUMNS(X)                                                                                       \
	X(job, I)          /* always given, with attempt and task */                                               \
	X(attempt, I)                                                                                               \
	X(task, I)                                                                                                  \
	X(node, T)                                                                                                  \
	X(devices, T)      /* comma-separated: ordinals or UUIDs, as the body names them */                        \
	X(effect, I)       /* the START that it answers */                                                         \
	X(decided_us, I)                                                                                            \
	X(started_us, I)                                                                                            \
	X(ended_us, I)                                                                                              \
	X(end, I)          /* enum wz_end */                                                                       \
	X(exit_code, I)                                                                                             \
	X(signal, I)                                                                                                \
	X(log, T)          /* path */                                                                              \
	X(pid, I)          /* of the shim; pid_start: its start time in ticks, against reuse */                    \
	X(pid_start, I)                                                                                             \
	X(boot, T)         /* boot id of the node */                                                               \
	X(cgroup, T)                                                                                                \
	X(usage, T)        /* JSON: peak memory, CPU time, device use */

#define WZ_AUDIT_COLUMNS(X)                                                                                         \
	X(time_us, I)                                                                                               \
	X(uid, I)                                                                                                   \
	X(user, T)                                                                                                  \
	X(verb, T)         /* cancel, drain, ... */                                                                \
	X(target, T)       /* "job 17", "node a" */                                                                \
	X(outcome, T)      /* ok, or the reason word of the refusal */                                             \
	X(detail, T)

#define WZ_KV_COLUMNS(X)                                                                                            \
	X(key, T)          /* always given */                                                                      \
	X(value, T)

#define WZ_MEMBER_I(m) int64_t m;
#define WZ_MEMBER_T(m) struct wz_str m;
#define WZ_MEMBER(m, kind) WZ_MEMBER_##kind(m)
struct wz_job_row { uint64_t given; WZ_JOB_COLUMNS(WZ_MEMBER) };
struct wz_attempt_row { uint64_t given; WZ_ATTEMPT_COLUMNS(WZ_MEMBER) };
struct wz_audit_row { uint64_t given; WZ_AUDIT_COLUMNS(WZ_MEMBER) };
struct wz_kv_row { uint64_t given; WZ_KV_COLUMNS(WZ_MEMBER) };

/* Bits of `given`: WZ_JOB_state and so on. */
#define WZ_BIT_JOB(m, kind) WZ_JOB_AT_##m,
#define WZ_BIT_ATTEMPT(m, kind) WZ_ATTEMPT_AT_##m,
#define WZ_BIT_AUDIT(m, kind) WZ_AUDIT_AT_##m,
#define WZ_BIT_KV(m, kind) WZ_KV_AT_##m,
enum { WZ_JOB_COLUMNS(WZ_BIT_JOB) WZ_JOB_COLUMNS_N };
enum { WZ_ATTEMPT_COLUMNS(WZ_BIT_ATTEMPT) WZ_ATTEMPT_COLUMNS_N };
enum { WZ_AUDIT_COLUMNS(WZ_BIT_AUDIT) WZ_AUDIT_COLUMNS_N };
enum { WZ_KV_COLUMNS(WZ_BIT_KV) WZ_KV_COLUMNS_N };

/* Sets a member and its bit:  WZ_SET(JOB, &row, state, WZ_ROW_RUNNING); */
#define WZ_SET(TABLE, row, member, v) ((row)->member = (v), (row)->given |= 1ULL << WZ_##TABLE##_AT_##member)
#define WZ_GIVEN(TABLE, row, member) ((row)->given >> WZ_##TABLE##_AT_##member & 1)

/* States of a job in the tables: those of the core, and ended. */
enum wz_row_state { WZ_ROW_WAITING, WZ_ROW_HELD, WZ_ROW_STARTING, WZ_ROW_RUNNING, WZ_ROW_ENDING, WZ_ROW_ENDED };

#endif
