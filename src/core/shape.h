/* SPDX-License-Identifier: Apache-2.0 */
/* A shape is the part of a profile that placement depends on, interned: jobs that ask the same share one shape, one
 * cached score per node, one waiting class. Shapes are never freed while their core lives (a site sees thousands, not
 * millions; WZ_SHAPES_MAX is checked). */
#ifndef WZ_CORE_SHAPE_H
#define WZ_CORE_SHAPE_H

#include "core/profile.h"

struct wz_shape {
	int64_t cpu; /* milli CPU */
	int64_t mem; /* host bytes */
	uint32_t count; /* devices; 0 none, or derived for each model from cu and total memory: wz_shape_need */
	int32_t milli; /* compute of each device: 1..1000; 0 when count is 0 */
	int64_t dev_mem; /* bytes of each device; 0: the same part of memory as of compute */
	uint32_t dev_class_g; /* marketing class at least; 0 any */
	int64_t dev_mem_total;
	int64_t cu_milli;
	uint32_t bw_gbps, free_pct, util_milli;
	uint16_t mig; /* an instance of the kind of that number's name; WZ_PARTITION_AUTO: the smallest that holds it; 0: none */
	uint8_t link, link_preferred, any_model;
	uint32_t local; /* id of the constraint on the node itself (between.h); 0 none */
	uint32_t plain; /* number of the shape that is the same but for `local`: what the demand counts */
	uint64_t local_hash; /* of the constraint's text */
	uint8_t special; /* asks for what only the careful path of fit checks: class, link, bandwidth, ... */
	struct wz_model_set allowed;
	struct wz_model_set first; /* models of the first preference; all when no order was given */
};

/* The devices that a shape takes on a given model, of each the compute, and the bytes that it must have; 0: only the
 * share of memory that goes with the compute. count 0 with ok: no devices asked. */
struct wz_need {
	uint32_t count;
	int32_t milli;
	int64_t mem;
	bool ok;
};

struct wz_shapes {
	const struct wz_mem *mem;
	struct wz_shape *shape;
	uint32_t n, cap;
	struct wz_map by_hash; /* hash -> first shape of that hash */
	uint32_t *next; /* chain of shapes with one hash */
	uint32_t next_cap;
};

void wz_shapes_init(struct wz_shapes *t, const struct wz_mem *mem);
void wz_shapes_release(struct wz_shapes *t);
/* Of a finished profile. Devices that are asked for without a number: see struct wz_profile. `allowed` and `first` hold
 * all 256 models where none was named. */
void wz_shape_of(const struct wz_profile *p, struct wz_shape *ret);
int wz_shapes_intern(struct wz_shapes *t, const struct wz_shape *s, wz_shape_id *ret); /* -ENOMEM, -E2BIG */
uint64_t wz_shape_hash(const struct wz_shape *s); /* of the content, not of the number: enters digests */

/* What `s` takes on `model` (facts from the catalogue, may be NULL; dev_mem_bytes is the device's own size, 0: that of the
 * model). cu: the fewest devices that deliver it, a share when a part of one does. Not ok when the amounts cannot be
 * had from 64 such devices, or CU or memory are asked and not known. Whether model, class, bandwidth, link and health
 * are right is for fit. O(1). */
struct wz_need wz_shape_need(const struct wz_shape *s, const struct wz_model *model, int64_t dev_mem_bytes);

/* Does it ask for what only the careful path of fit checks? Derived from the rest. */
static inline bool wz_shape_special(const struct wz_shape *s)
{
	return s->local || s->mig || s->cu_milli || s->dev_mem_total || s->dev_class_g || s->bw_gbps || s->free_pct ||
	       (s->count > 1 && s->link != WZ_LINK_NONE);
}

/* GPU demand in milli: count x milli (for shapes with a fixed count). */
static inline int64_t wz_shape_gpu_milli(const struct wz_shape *s) { return (int64_t)s->count * s->milli; }

#endif
