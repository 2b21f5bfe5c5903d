/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/formats.h"

#include "base/csv.h"
#include "base/near.h"
#include "os/file.h"
#include "sim/gunzip.h"

#include <glob.h>

const struct wz_trace_format *const wz_trace_formats[] = {&wz_format_dlrm, &wz_format_openb, &wz_format_wz,
        &wz_format_muri, &wz_format_elasticflow, &wz_format_chronus, &wz_format_tiresias, &wz_format_philly,
        &wz_format_helios, &wz_format_pai, &wz_format_spotjobs, &wz_format_genai, &wz_format_gavel,
        &wz_format_gavel_speeds, &wz_format_pollux, &wz_format_pollux_profile, &wz_format_swf, &wz_format_spot,
        &wz_format_kubernetes, NULL};

#define SOURCES_MAX 256u
#define SNIFF_BYTES 8192u

const struct wz_trace_format *wz_trace_format_find(struct wz_str name, struct wz_err *err)
{
	struct wz_near near;
	struct wz_buf b;
	char names[256];
	wz_near_init(&near, name);
	wz_buf_init_fixed(&b, names, sizeof names);
	for (const struct wz_trace_format *const *f = wz_trace_formats; *f; f++) {
		if (wz_str_eq(name, wz_str((*f)->name)))
			return *f;
		wz_near_offer(&near, wz_str((*f)->name));
		wz_buf_addz(&b, f == wz_trace_formats ? "" : ", ");
		wz_buf_addz(&b, (*f)->name);
	}
	(void)wz_err_set(err, -EINVAL, "UnknownFormat", WZ_STR("no trace format is called \""), name,
	        WZ_STR("\"; known: "), wz_buf_str(&b));
	return NULL;
}

/* Text has no NUL; a UTF-16 file shows up the same way. */
static bool is_binary(struct wz_str text, uint32_t *ret_line, uint32_t *ret_column)
{
	size_t n = text.len < SNIFF_BYTES ? text.len : SNIFF_BYTES;
	*ret_line = *ret_column = 1;
	for (size_t i = 0; i < n; i++) {
		if (text.ptr[i] == 0)
			return true;
		(*ret_column)++;
		if (text.ptr[i] == '\n') {
			(*ret_line)++;
			*ret_column = 1;
		}
	}
	return false;
}

int wz_trace_sniff(const struct wz_trace_source *src, const struct wz_trace_format *only,
        const struct wz_trace_format **ret_format, unsigned *ret_holds, struct wz_err *err)
{
	uint32_t line, column;
	int rc;
	if (is_binary(src->text, &line, &column)) {
		rc = wz_err_set(err, -EBADMSG, "Binary",
		        WZ_STR("a NUL byte: this file is binary (compressed?); expected a trace in text"));
		wz_csv_err_at(err, src->name, line, column);
		return rc;
	}
	for (const struct wz_trace_format *const *f = wz_trace_formats; *f; f++) {
		if (only && *f != only && !(*f)->read_facts) /* facts go with any format */
			continue;
		unsigned holds = (*f)->sniff(src->text);
		if (holds) {
			*ret_format = *f;
			*ret_holds = holds;
			return 0;
		}
	}
	if (wz_str_trim(src->text).len == 0)
		rc = wz_err_set(err, -EBADMSG, "EmptyTrace", WZ_STR("the file is empty; expected a trace"));
	else
		rc = wz_err_set(err, -EBADMSG, "UnknownFormat",
		        WZ_STR("the first line is of no known trace format; expected "),
		        WZ_STR("\"sn,cpu_milli,memory_mib,gpu,model\" (openb nodes), "
		               "\"name,cpu_milli,memory_mib,num_gpu,gpu_milli\" (openb pods) or "
		               "\"whalezen-trace 1\""));
	wz_csv_err_at(err, src->name, 1, 1);
	return rc;
}

int wz_trace_read(const struct wz_trace_source *src, uint32_t n, const struct wz_trace_format *only,
        struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	const struct wz_trace_format *format[SOURCES_MAX];
	unsigned holds[SOURCES_MAX];
	int rc;
	if (n > SOURCES_MAX)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("more than 64 trace files"));
	for (uint32_t i = 0; i < n; i++) {
		rc = wz_trace_sniff(&src[i], only, &format[i], &holds[i], err);
		if (rc < 0)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		rc = holds[i] & WZ_TRACE_NODES ? format[i]->read_nodes(&src[i], nodes, err) : 0;
		if (rc < 0)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		rc = holds[i] & WZ_TRACE_FACTS ? format[i]->read_facts(&src[i], tasks, err) : 0;
		if (rc < 0)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		rc = holds[i] & WZ_TRACE_TASKS ? format[i]->read_tasks(&src[i], nodes, tasks, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What glob finds for the companions of a format, in the folder of `path` and the one above; at most what is left of SOURCES_MAX. */
static void add_companions(const struct wz_trace_format *f, const char *path, glob_t *g)
{
	static const char *const where[] = {"", "../"};
	struct wz_str name = wz_str(path);
	size_t folder = name.len;
	char pattern[4096];
	struct wz_buf b;

	while (folder > 0 && path[folder - 1] != '/')
		folder--;
	for (const char *const *c = f->companions; c && *c; c++)
		for (int i = 0; i < 2; i++) {
			wz_buf_init_fixed(&b, pattern, sizeof pattern);
			wz_buf_add(&b, (struct wz_str){path, folder});
			wz_buf_addz(&b, where[i]);
			wz_buf_addz(&b, *c);
			size_t before = g->gl_pathc;
			int flags = before || g->gl_pathv ? GLOB_APPEND : 0;
			if (b.status == 0 && glob(wz_buf_z(&b), flags, NULL, g) == 0 && g->gl_pathc > before)
				break;
		}
}

int wz_trace_load(const char *const *path, uint32_t n, const struct wz_trace_format *only, const struct wz_mem *mem,
        struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_file_text text[SOURCES_MAX];
	struct wz_trace_source src[SOURCES_MAX];
	glob_t found = {0};
	uint32_t got = 0, given = n;
	int rc = 0;
	if (n > SOURCES_MAX)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("more than 64 trace files"));
	for (; got < n; got++) {
		const char *p = got < given ? path[got] : found.gl_pathv[got - given];
		const struct wz_trace_format *f;
		unsigned holds;
		rc = wz_file_read(p, WZ_TRACE_BYTES_MAX, mem, &text[got], err);
		if (rc < 0)
			break;
		if (wz_is_gzip(wz_file_text_str(&text[got])))
			rc = wz_gunzip(&text[got], WZ_TRACE_BYTES_MAX, p, err);
		if (rc < 0) {
			wz_file_text_release(&text[got]);
			break;
		}
		src[got] = (struct wz_trace_source){wz_str(p), wz_file_text_str(&text[got])};
		if (got < given && wz_trace_sniff(&src[got], only, &f, &holds, NULL) == 0 && f->companions) {
			add_companions(f, p, &found);
			n = given + (uint32_t)found.gl_pathc;
			n = n > SOURCES_MAX ? SOURCES_MAX : n;
		}
	}
	if (rc == 0)
		rc = wz_trace_read(src, n, only, nodes, tasks, err);
	for (uint32_t i = 0; i < got; i++)
		wz_file_text_release(&text[i]);
	if (found.gl_pathv)
		globfree(&found);
	return rc;
}
