/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `wz sim` share: a list of work with its cluster, read from --nodes and --pods, or --trace. */
#ifndef WZ_CLI_SIM_LIST_H
#define WZ_CLI_SIM_LIST_H

#include "cli/cli.h"
#include "sim/formats.h"
#include "sim/pack.h"

#define WZ_SIM_LISTS_MAX 64u

struct wz_sim_files {
	struct wz_list nodes, pods, trace;
};
/* The three rows of an option table; `in` is the member of `type` that holds the files. */
#define WZ_SIM_FILE_OPTS(type, in)                                                                                 \
	{"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes (any trace format)", offsetof(type, in.nodes), 0},           \
	{"pods", 'p', WZ_OPT_LIST, "FILE", "the pods; several: one experiment each", offsetof(type, in.pods), 0},   \
	{"trace", 't', WZ_OPT_LIST, "FILE", "one file with nodes and work, instead of the two", offsetof(type, in.trace), 0}

/* Complains as the verb and returns WZ_EXIT_USAGE, or 0 with the lists: one experiment each. */
int wz_sim_files_check(const struct wz_verb *v, const struct wz_sim_files *f, int operands, const struct wz_list **ret);

struct wz_sim_list {
	struct wz_str name; /* the file's, without folder, ".csv" and the openb prefix */
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_pack_input in;
	bool opened, ready;
};
/* Zeroed before; then releasable whatever it returns. */
int wz_sim_list_open(struct wz_sim_list *l, const struct wz_sim_files *f, struct wz_str path, const struct wz_mem *mem,
                     struct wz_err *err);
/* More work for the same cluster, read from one file: into a struct that was inited. */
int wz_sim_list_more(struct wz_sim_list *l, struct wz_str path, struct wz_sim_tasks *ret, struct wz_err *err);
void wz_sim_list_close(struct wz_sim_list *l);

#endif
