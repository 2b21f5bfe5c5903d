/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a node list, a line "---", and a pod list (either may be missing). Properties: what is accepted can be
 * written (as CSV, since CSV said it), and what was written reads back as the same facts; an error has a reason and a
 * place. */
#include "fuzz.h"

#include "base/check.h"
#include "os/mem.h"
#include "sim/formats.h"

struct load {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
};

static int load(struct load *l, struct wz_str a, struct wz_str b, struct wz_err *err)
{
	struct wz_trace_source src[2] = {{WZ_STR("a"), a}, {WZ_STR("b"), b}};
	wz_check(wz_catalogue_init(&l->catalogue, wz_os_mem()) == 0);
	wz_sim_nodes_init(&l->nodes, wz_os_mem(), &l->catalogue);
	wz_sim_tasks_init(&l->tasks, wz_os_mem());
	return wz_trace_read(src, b.ptr ? 2 : 1, &wz_format_openb, &l->nodes, &l->tasks, err);
}

static void unload(struct load *l)
{
	wz_sim_tasks_release(&l->tasks);
	wz_sim_nodes_release(&l->nodes);
	wz_catalogue_release(&l->catalogue);
}

static struct wz_str split_lists(struct wz_str *rest)
{
	static const char mark[] = "\n---\n";
	const char *p = rest->len ? memmem(rest->ptr, rest->len, mark, sizeof mark - 1) : NULL;
	struct wz_str first = *rest;
	if (p) {
		first.len = (size_t)(p - rest->ptr) + 1;
		*rest = (struct wz_str){p + sizeof mark - 1, rest->len - first.len - (sizeof mark - 2)};
	} else {
		*rest = (struct wz_str){NULL, 0};
	}
	return first;
}

static void write_again(const struct load *l)
{
	struct wz_buf text[2];
	struct load again;
	struct wz_err err = {0};
	uint64_t before = 0, after = 0;
	for (unsigned i = 0; i < 2; i++)
		wz_buf_init(&text[i], wz_os_mem(), 1u << 24);
	wz_check(wz_format_openb.write(&l->nodes, &l->tasks, WZ_TRACE_NODES, &text[0], &err) == 0);
	int rc = wz_format_openb.write(&l->nodes, &l->tasks, WZ_TRACE_TASKS, &text[1], &err);
	wz_check(rc == 0);
	wz_check(wz_sim_digest(&l->nodes, &l->tasks, &before) == 0);
	if (l->nodes.n && l->tasks.n) {
		rc = load(&again, wz_buf_str(&text[0]), wz_buf_str(&text[1]), &err);
		wz_check(rc == 0);
		wz_check(wz_sim_digest(&again.nodes, &again.tasks, &after) == 0 && before == after);
		unload(&again);
	}
	for (unsigned i = 0; i < 2; i++)
		wz_buf_release(&text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str rest = {(const char *)data, size}, first = split_lists(&rest);
	struct load l;
	struct wz_err err = {0};
	int rc = load(&l, first, rest, &err);
	if (rc == 0)
		write_again(&l);
	else
		wz_check(err.reason && err.code == rc &&
		         (wz_str_starts(wz_str(err.text), WZ_STR("a:")) ||
		                 wz_str_starts(wz_str(err.text), WZ_STR("b:"))));
	unload(&l);
	return 0;
}
