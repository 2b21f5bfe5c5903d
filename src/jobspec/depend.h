/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies in Slurm's words:
 *
 *	after:ID[+MINUTES]  afterok:ID  afternotok:ID  afterany:ID  aftercorr:ID  singleton
 *
 * ID is a job, an array (all its tasks) or one task of it, 17_3; several of one kind: afterok:17:18. Items separated by
 * commas must all be met, those separated by '?' any one. aftercorr: task i waits for task i of the other array. Pure;
 * fuzzed. */
#ifndef WZ_JOBSPEC_DEPEND_H
#define WZ_JOBSPEC_DEPEND_H

#include "base/buf.h"
#include "base/err.h"

#define WZ_DEPENDS_MAX 1024u

enum wz_depend_kind { WZ_AFTER, WZ_AFTEROK, WZ_AFTERNOTOK, WZ_AFTERANY, WZ_AFTERCORR, WZ_SINGLETON };

struct wz_depend {
	uint8_t kind; /* enum wz_depend_kind */
	bool task; /* `index` of the array `job` alone */
	bool any; /* this one is enough (all of a list have the same) */
	uint32_t index;
	uint64_t job; /* 0 for a singleton */
	uint64_t delay_us; /* of after */
};

/* Parses "afterok:1,after:2+5" into v, at most max, and adds to *n. -EINVAL "BadDependency", -E2BIG "TooManyDependencies".
 * On an error *n is as it was. */
int wz_depend_parse(struct wz_str text, struct wz_depend *v, uint32_t max, uint32_t *n, struct wz_err *err);
void wz_depend_format(const struct wz_depend *v, uint32_t n, struct wz_buf *b); /* parses back to the same */

#endif
