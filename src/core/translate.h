/* SPDX-License-Identifier: Apache-2.0 */
/* Other people's words: resources and annotations of HAMi, Volcano, KAI, Koordinator, gpushare, nvshare and the device
 * plugins, and options of Slurm, as entries of a profile. spec/profile.md has the table for people.
 *
 * Quantities may come in any order: of shares and memory percentages the largest holds, a count of one device goes
 * with a share of it. A share of the compute of several devices has no translation and says so. Memory alone (gpumem,
 * aliyun.com/gpu-mem, KAI gpu-memory) claims no compute in those systems; here it is the smallest share, 0.1 %, and of
 * several devices it takes them whole. Call wz_profile_finish at the end. Pure; a failed entry leaves *p unchanged. */
#ifndef WZ_CORE_TRANSLATE_H
#define WZ_CORE_TRANSLATE_H

#include "core/profile.h"

struct wz_translation {
	const char *origin, *key, *says;
};
extern const struct wz_translation wz_translations[];
extern const unsigned wz_translations_n;

/* A resource, annotation or node-selector entry of a pod. Returns 1 when it was translated (or is known to ask nothing
 * of us), 0 when it is not of the table, -EINVAL for a bad value, -EOPNOTSUPP "Untranslatable" for what a profile cannot
 * say (MIG slices, a list of device UUIDs, a share of several devices). Resources first, annotations after them. */
int wz_translate_entry(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err);

/* An option of sbatch, with or without "--"; a task is what runs on one node. The same returns. */
int wz_translate_slurm(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err);
/* "gpu:a100:2", "gpu:2", "gpu", "mps:50", a comma list, with or without "gres/" or "gres:" before an item. */
int wz_translate_slurm_gres(
        struct wz_profile *p, struct wz_str value, const struct wz_catalogue *c, struct wz_err *err);

#endif
