/* SPDX-License-Identifier: Apache-2.0 */
/* The profile: what one task needs, and how many tasks. One grammar for CLI flags, YAML keys and annotations (DESIGN
 * section 5, spec/profile.md):
 *
 *	profile   = entry { blank entry }
 *	entry     = key op value            op: "=" ">=" (the same: what is named is a minimum) or "~" (preferred; link only)
 *
 * wz_profile_parse and wz_profile_format are inverse: format(parse(format(p))) = format(p) for every valid p. Text
 * errors point at the place with a caret. A profile is plain data without pointers: copy it freely. Only a `gpu-type`
 * needs the catalogue. Fuzzed (fuzz/fuzz_profile.c). */
#ifndef WZ_CORE_PROFILE_H
#define WZ_CORE_PROFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/catalogue.h"
#include "core/types.h"

#define WZ_PROFILE_TEXT_MAX 4096u
#define WZ_PROFILE_TYPES_MAX 16u
#define WZ_PREEMPT_SIGNAL_MAX 12u

enum wz_kind { WZ_KIND_BATCH, WZ_KIND_SERVICE };

/* The checkpoint contract: preempt=signal:USR1,grace:60s,ack:file,interval:10m */
struct wz_preempt {
	char signal[WZ_PREEMPT_SIGNAL_MAX]; /* "USR1"; empty: none */
	uint64_t grace_us, interval_us;     /* 0: not given */
	uint8_t ack;                        /* 0 none, 1 file, 2 socket */
	uint8_t movable;                    /* may be stopped and started elsewhere at all */
};

struct wz_profile {
	/* devices of one task */
	uint32_t gpus;           /* whole devices; 0 with share_milli == 0: none */
	uint32_t share_milli;    /* part of one device's compute: 1..999; then gpus is 0 */
	uint64_t gpu_mem_bytes;  /* per device; 0 not asked */
	uint32_t gpu_mem_g;      /* marketing class ("80G" of a whole device); then gpu_mem_bytes is 0 */
	uint64_t gpu_mem_total_bytes; /* over all devices of the task; 0 not asked */
	uint64_t cu_milli;       /* compute units x 1000, from whatever delivers them; 0 not asked */
	uint32_t n_types;        /* gpu-type: preference order */
	struct { struct wz_model_set set; char name[40]; } type[WZ_PROFILE_TYPES_MAX];
	struct wz_model_set allowed; /* union of the types, or all, less the excluded ones */
	bool any_model;          /* no gpu-type was given: `allowed` is not looked at */
	uint32_t n_excluded;
	char excluded[WZ_PROFILE_TYPES_MAX][40];
	enum wz_link link;
	bool link_preferred;     /* link~nvlink */
	uint32_t free_pct;       /* live free device memory, percent; 0 not asked */
	uint32_t bw_gbps;        /* memory bandwidth at least */
	uint32_t util_milli;     /* expected compute use; 0 unknown */
	/* host */
	uint64_t cpu_milli, mem_bytes;
	uint64_t time_us;        /* time limit; 0 none */
	/* the job */
	uint32_t tasks_min, tasks_max; /* 1, 1 by default */
	enum wz_kind kind;
	struct wz_preempt preempt;
};

void wz_profile_init(struct wz_profile *p); /* the default: one task, nothing asked */

/* Parses a whole annotation text. -EINVAL with reason "BadProfile" (or "UnknownKey", "UnknownModel", "BadUnit",
 * "Conflict"), the text shows the line and a caret: two lines after the message. *ret is written only on success. */
int wz_profile_parse(struct wz_str text, const struct wz_catalogue *c, struct wz_profile *ret, struct wz_err *err);

/* One key, as a CLI flag or YAML entry gives it. `value` of a list key may be given comma-separated. The job-level
 * consistency (share and gpus both given, link for one device, ...) is checked by wz_profile_finish. */
int wz_profile_set(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
                   struct wz_err *err);
int wz_profile_finish(struct wz_profile *p, const struct wz_catalogue *c, struct wz_err *err);

/* Canonical text, keys in table order, defaults left out. Appends to b. */
void wz_profile_format(const struct wz_profile *p, struct wz_buf *b);

/* The key table, from which help, docs and completion come. */
struct wz_profile_key { const char *name, *value, *help; };
extern const struct wz_profile_key wz_profile_keys[];
extern const unsigned wz_profile_keys_n;

#endif
