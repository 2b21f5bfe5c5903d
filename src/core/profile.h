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

enum wz_ack { WZ_ACK_NONE, WZ_ACK_FILE, WZ_ACK_SOCKET };

/* The checkpoint contract: preempt=signal:USR1,grace:60s,ack:file,interval:10m. Whoever gives one can be moved; a job
 * that restarts by itself without a word says preempt=movable. */
struct wz_preempt {
	char signal[WZ_PREEMPT_SIGNAL_MAX]; /* "USR1", without SIG; empty: none */
	uint64_t grace_us, interval_us; /* 0: not given */
	uint8_t ack; /* enum wz_ack */
	uint8_t movable; /* may be stopped and started elsewhere at all */
};

struct wz_profile {
	uint32_t given; /* keys set since init or finish, by position in the key table; 0 when finished */
	/* Devices of one task. With gpus and share_milli 0: derived from cu or gpu_mem_total when asked; else one device
	 * when anything else is asked of it (gpu-mem, gpu-type, free, bw); else none. wz_shape_of applies this. */
	uint32_t gpus; /* whole devices */
	uint32_t share_milli; /* part of one device's compute, 1..999, with gpus 0; finish makes 1000 one device */
	uint64_t gpu_mem_bytes; /* per device; 0 not asked */
	uint32_t gpu_mem_g; /* marketing class ("80G" of a whole device); then gpu_mem_bytes is 0 */
	uint64_t gpu_mem_total_bytes; /* over all devices of the task; 0 not asked */
	uint64_t cu_milli; /* compute units x 1000, from whatever delivers them; 0 not asked */
	uint32_t n_types; /* gpu-type: preference order */
	struct {
		struct wz_model_set set;
		char name[WZ_MODEL_NAME_MAX];
	} type[WZ_PROFILE_TYPES_MAX]; /* canonical */
	struct wz_model_set allowed; /* union of the types, or all 256, less the excluded ones */
	bool any_model; /* no gpu-type was given: `allowed` is not looked at */
	uint32_t n_excluded;
	char excluded[WZ_PROFILE_TYPES_MAX][WZ_MODEL_NAME_MAX];
	uint16_t gpu_mig; /* number of the first partition kind of that name, WZ_PARTITION_AUTO, or 0: not asked */
	enum wz_link link;
	bool link_preferred; /* link~nvlink */
	uint32_t free_pct; /* live free device memory, percent; 0 not asked */
	uint32_t bw_gbps; /* memory bandwidth at least */
	uint32_t util_milli; /* expected compute use; 0 unknown */
	/* host */
	uint64_t cpu_milli, mem_bytes;
	uint64_t time_us; /* time limit; 0 none */
	/* the job */
	uint32_t tasks_min, tasks_max; /* 1, 1 by default */
	enum wz_kind kind;
	struct wz_preempt preempt;
	uint64_t repair_us; /* a gang below its minimum waits so long for replacements; 0: it starts anew at once */
};

void wz_profile_init(struct wz_profile *p); /* the default: one task, nothing asked */

/* Parses a whole text and finishes it. -EINVAL with reason "BadProfile", "UnknownKey", "UnknownModel", "BadUnit" (a
 * quantity that cannot be read) or "Conflict"; the text is the message, a newline, the line (cut around the place when
 * long), a newline and a caret under the place. *ret is written only on success. `c` may be NULL where no gpu-type
 * can occur. O(text + types x catalogue). */
int wz_profile_parse(struct wz_str text, const struct wz_catalogue *c, struct wz_profile *ret, struct wz_err *err);

/* One key, as a CLI flag or YAML entry gives it; a list comma-separated, `link` preferred as "~nvlink". Errors as
 * above, the shown line is "key=value"; *p is unchanged then. A key given twice since init or finish is an error; after
 * wz_profile_finish a key may be given anew and replaces (flags over a job file). What spans keys (share and gpus both
 * given, link for one device, a class that no card has, ...) is checked by wz_profile_finish; its errors show no line. */
int wz_profile_set(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err);
int wz_profile_finish(struct wz_profile *p, const struct wz_catalogue *c, struct wz_err *err);

/* Canonical text of a finished profile, keys in table order, defaults left out. Appends to b. */
void wz_profile_format(const struct wz_profile *p, struct wz_buf *b);

/* The key table, from which help, docs and completion come. */
struct wz_profile_key {
	const char *name, *value, *help;
}; /* "gpus", "N", one line */
extern const struct wz_profile_key wz_profile_keys[];
extern const unsigned wz_profile_keys_n;

#endif
