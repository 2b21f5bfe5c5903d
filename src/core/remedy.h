/* SPDX-License-Identifier: Apache-2.0 */
/* What a waiting job could ask for instead, so that it starts now. Each change is tried on a copy of the state by the real
 * placement, quota and promises included; the core that is asked changes nothing.
 *
 * Of each entry of the profile alone: the least change that suffices. When none does alone: a set of entries that suffices
 * together and of which none can be kept as it was. */
#ifndef WZ_CORE_REMEDY_H
#define WZ_CORE_REMEDY_H

#include "core/core.h"

#define WZ_REMEDIES_MAX 16u
#define WZ_REMEDY_TEXT_MAX 256u

struct wz_remedy {
	char change[WZ_REMEDY_TEXT_MAX]; /* changed entries, "gpus=4"; one that is to go: "without link"; joined by blanks */
};
struct wz_remedies {
	struct wz_remedy remedy[WZ_REMEDIES_MAX];
	uint32_t n;
	uint32_t tried;  /* placements tried */
	bool hopeless;   /* not even all changes together let it start now */
};

/* `profile` is the text of what the job asks. -ENOENT, -EINVAL (it does not wait; the text is wrong), -ENOMEM.
 * O(state + tries x nodes); tries: some dozens. */
int wz_remedies_ask(const struct wz_core *c, const struct wz_mem *mem, uint64_t job, struct wz_str profile,
                    struct wz_remedies *ret, struct wz_err *err);

#endif
