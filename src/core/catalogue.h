/* SPDX-License-Identifier: Apache-2.0 */
/* Device models: the facts of data/accelerators.csv (compiled in by tools/gen-catalogue) plus models that a trace or
 * an inventory declares at run time ("G2" of openb, a card newer than this release).
 *
 * Names are found without regard to case, blanks, '-' and '_', among canonical names and aliases as drivers print
 * them ("NVIDIA A100-SXM4-80GB"). A short name such as "a100" or "h100" is a *family* and stands for all its models.
 * A fact that is not known is 0: never assumed. Immutable facts are shared; a wz_catalogue holds what was declared.
 * Thread rule: as the core. Complexity: find is O(log n) over ~200 names. */
#ifndef WZ_CORE_CATALOGUE_H
#define WZ_CORE_CATALOGUE_H

#include "base/err.h"
#include "base/map.h"
#include "core/types.h"

#define WZ_MODEL_NAME_MAX 64u /* bytes of a name with its terminator */

struct wz_model {
	const char *vendor, *name; /* "NVIDIA", "H100-SXM5-80GB"; of declared models the catalogue's own strings */
	uint64_t mem_bytes; /* as the driver reports it */
	uint32_t class_g; /* marketing memory class in G: 80 for 81,559 MiB; 0 unknown */
	uint32_t bw_gbps; /* memory bandwidth, GB/s */
	uint32_t tflops_milli; /* dense fp16/bf16 TFLOPS x 1000 */
	uint32_t fp32_milli, fp8_milli;
	uint32_t link_gbps; /* NVLink and kin, per device, both directions, GB/s */
	uint32_t tdp_w, idle_w;
	uint32_t cu_milli; /* compute units x 1000: 100 CU = bf16 training throughput of an A100-80GB-SXM */
	uint16_t year;
	uint8_t mig; /* can be partitioned */
	uint8_t geometry; /* how (partition.h); 0: it cannot, or is not known */
	uint8_t declared; /* not of the compiled-in table */
};

struct wz_catalogue {
	const struct wz_mem *mem;
	struct wz_model *model; /* [n] */
	uint32_t n, cap;
	struct wz_strtab names; /* names of declared models, normalised */
	struct wz_map by_name; /* strtab id -> model */
	struct wz_arena text; /* owned strings of declared models: their addresses stay */
};

int wz_catalogue_init(struct wz_catalogue *c, const struct wz_mem *mem); /* with the compiled-in models; -ENOMEM */
void wz_catalogue_release(struct wz_catalogue *c);

/* One model by canonical name or alias, or by a family that has only one. 0, or -ENOENT: "UnknownModel" with the
 * nearest names in the error text, "AmbiguousModel" for a family of several. */
int wz_catalogue_find(const struct wz_catalogue *c, struct wz_str name, wz_model_id *ret, struct wz_err *err);
/* Adds to *set all models that `name` stands for: a family, else one model. -ENOENT "UnknownModel". A declared model
 * whose name is that of a family ("A100" of a trace) counts among the family. */
int wz_catalogue_match(
        const struct wz_catalogue *c, struct wz_str name, struct wz_model_set *set, struct wz_err *err);
/* How `name` is spelled in canonical text: the family, or the model's name; the empty view when it is unknown. Valid
 * while the catalogue lives. */
struct wz_str wz_catalogue_spelling(const struct wz_catalogue *c, struct wz_str name);

/* Declares a model, or returns the known one of that name (then the facts are not looked at). `name` and facts->vendor are
 * copied; a class or CU of 0 is derived from mem_bytes and tflops_milli. On failure nothing is declared: -E2BIG beyond
 * WZ_MODELS_MAX, -ENOMEM, -EINVAL "BadModelName" for a name that is empty, too long, or could not stand in a profile
 * (control characters, or one of , ! = ~ " '). */
int wz_catalogue_declare(struct wz_catalogue *c, struct wz_str name, const struct wz_model *facts_or_null,
        wz_model_id *ret, struct wz_err *err);

/* The marketing class of a memory size: 81,559 MiB -> 80. A class g of the catalogue covers g x 10^9 .. g x 2^30 bytes
 * (vendors count either way, and drivers keep some); the nearest range within 12 % of g x 2^30, the smaller class on a
 * tie; 0 if none. */
uint32_t wz_memory_class_g(uint64_t bytes);
/* Is `g` a class that some card has? If not, *ret_below / *ret_above are the nearest classes (0 if none). */
bool wz_memory_class_known(uint32_t g, uint32_t *ret_below, uint32_t *ret_above);
/* The first model of the compiled-in table with that class, for messages; NULL if none. */
const char *wz_memory_class_example(uint32_t g);

#endif
