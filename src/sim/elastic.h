/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that can change their number of devices and their batch: what Pollux (Qiao et al., OSDI 2021) measured of six
 * applications, and the goodput that follows. Memory is the struct's own; read only after reading. */
#ifndef WZ_SIM_ELASTIC_H
#define WZ_SIM_ELASTIC_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define WZ_ELASTIC_APPS_MAX 32u
#define WZ_ELASTIC_BATCHES_MAX 24u

struct wz_elastic;
int wz_elastic_new(const struct wz_mem *mem, struct wz_elastic **ret);
void wz_elastic_free(struct wz_elastic *e); /* accepts NULL */

/* The application of that name: found, or added. Index + 1. 0: too many, or out of memory. */
uint32_t wz_elastic_app(struct wz_elastic *e, struct wz_str name);
uint32_t wz_elastic_find(const struct wz_elastic *e, struct wz_str name); /* 0: none */

/* One measured step: placement as digits of GPUs on each node ("444"), local batch, seconds. nodes and gpus without a placement:
 * "". -ENOMEM. */
int wz_elastic_step(struct wz_elastic *e, uint32_t app, uint32_t nodes, uint32_t gpus, struct wz_str placement, uint32_t local, double step_s,
        double sync_s);
/* One epoch of a validation run at a batch size, in order. */
int wz_elastic_epoch(struct wz_elastic *e, uint32_t app, uint32_t batch, double progress, double iteration, double metric, double grad_sqr,
        double grad_var);
bool wz_elastic_ready(const struct wz_elastic *e, uint32_t app); /* has steps and epochs */
void wz_elastic_finish(struct wz_elastic *e);                    /* after all was added: sorts */

/* ---- the model ---- */
struct wz_elastic_limits { uint32_t init_batch, max_batch, min_local, max_local, epochs; };
struct wz_elastic_limits wz_elastic_limits(const struct wz_elastic *e, uint32_t app);
/* Seconds of a step with this local batch on `gpus` devices of `nodes` nodes, `gpus_per_node` each but the last; of that, synchronising. */
void wz_elastic_time(const struct wz_elastic *e, uint32_t app, const uint8_t *placement, uint32_t nodes, uint32_t local, double *ret_step,
        double *ret_sync);
/* Progress (in samples at the initial batch) that a step at this batch is worth, in epoch `epoch`. */
double wz_elastic_gain(const struct wz_elastic *e, uint32_t app, uint32_t batch, uint32_t epoch);
double wz_elastic_progress(const struct wz_elastic *e, uint32_t app, uint32_t epoch); /* at the end of so many epochs */
uint32_t wz_elastic_epochs(const struct wz_elastic *e, uint32_t app);                 /* to train */

#endif
