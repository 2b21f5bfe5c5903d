/* SPDX-License-Identifier: Apache-2.0 */
/* Trace formats: one file and one row of the table each (HACKING.md, "a trace format").
 *
 * A source is a text with the name that errors show. Errors read "NAME:LINE:COLUMN: what is wrong; expected what". Formats
 * hold nodes, tasks, or both in one file; `wz_trace_read` sorts that out, reads all nodes before any task (requests are
 * checked against the models that exist), and leaves nothing half-read: on an error the caller releases both structs. */
#ifndef WZ_SIM_FORMATS_H
#define WZ_SIM_FORMATS_H

#include "base/buf.h"
#include "sim/workload.h"

#define WZ_TRACE_BYTES_MAX ((size_t)2 << 30) /* of one file */

/* FACTS: what jobs of other files refer to, such as speeds; read before any job. */
enum wz_trace_holds { WZ_TRACE_NODES = 1, WZ_TRACE_TASKS = 2, WZ_TRACE_FACTS = 4 };

struct wz_trace_source {
	struct wz_str name; /* "pods.csv" */
	struct wz_str text; /* borrowed while reading */
};

struct wz_trace_format {
	const char *name, *summary;
	/* What the text holds (bits of wz_trace_holds), judged by its first line; 0: not this format. */
	unsigned (*sniff)(struct wz_str text);
	int (*read_nodes)(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err);
	int (*read_tasks)(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
	        struct wz_err *err);
	/* Appends the text of a file that holds `what` (both bits only when nodes_file and tasks_file are the same name).
	 * -EOPNOTSUPP names the first thing that the format cannot say; then `b` holds a part and is to be thrown away. */
	int (*write)(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
	        struct wz_buf *b, struct wz_err *err);
	const char *nodes_file, *tasks_file; /* usual names: "nodes.csv", "pods.csv" */
	int (*read_facts)(const struct wz_trace_source *src, struct wz_sim_tasks *tasks, struct wz_err *err);
	/* Files that wz_trace_load also reads when it finds them beside a file of this format, or a folder up; patterns of
	 * glob(3), ends with NULL. */
	const char *const *companions;
};

extern const struct wz_trace_format wz_format_openb, wz_format_wz;
extern const struct wz_trace_format wz_format_muri, wz_format_tiresias, wz_format_chronus, wz_format_elasticflow,
        wz_format_philly, wz_format_helios, wz_format_pai, wz_format_spotjobs, wz_format_dlrm, wz_format_genai; /* jobcsv.c */
extern const struct wz_trace_format wz_format_gavel, wz_format_gavel_speeds; /* gavel.c */
extern const struct wz_trace_format wz_format_pollux, wz_format_pollux_profile; /* pollux.c */
extern const struct wz_trace_format wz_format_swf;
extern const struct wz_trace_format wz_format_kubernetes, wz_format_spot; /* kubejson.c */

extern const struct wz_trace_format *const wz_trace_formats[]; /* ends with NULL */
const struct wz_trace_format *wz_trace_format_find(
        struct wz_str name, struct wz_err *err); /* NULL: err has the names */

/* The format of a text and what it holds. -EBADMSG: binary, or no format knows its first line. `only` NULL: any. */
int wz_trace_sniff(const struct wz_trace_source *src, const struct wz_trace_format *only,
        const struct wz_trace_format **ret_format, unsigned *ret_holds, struct wz_err *err);

/* Reads n sources. -EBADMSG, -ERANGE, -EEXIST, -ENOENT (unknown model), -E2BIG, -ENOMEM. */
int wz_trace_read(const struct wz_trace_source *src, uint32_t n, const struct wz_trace_format *only,
        struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err);

/* The same from files ("-": standard input); the texts are freed before it returns. Also the errors of os/file.h. */
int wz_trace_load(const char *const *path, uint32_t n, const struct wz_trace_format *only, const struct wz_mem *mem,
        struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err);

#endif
