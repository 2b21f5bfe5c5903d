/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster in a word: NODESxGPUS[:MODEL][,...], "8x8", "8x1:v100,16x1:p100". A model is a name of the catalogue, or any word
 * that a trace has throughputs for (declared without facts). The default is A100-SXM4-80GB. Nodes have 16 CPUs and 128 GiB for
 * each device, so that devices are what is scarce. */
#ifndef WZ_SIM_CLUSTERSPEC_H
#define WZ_SIM_CLUSTERSPEC_H

#include "sim/workload.h"

#define WZ_CLUSTERSPEC_MODEL "A100-SXM4-80GB"

/* Appends the nodes. -EINVAL "BadCluster" with what was expected; -E2BIG; -ENOMEM. */
int wz_clusterspec(struct wz_str text, struct wz_sim_nodes *nodes, struct wz_err *err);

#endif
