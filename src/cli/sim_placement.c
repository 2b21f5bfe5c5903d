/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim_common.h"

#include "base/quant.h"

#include <string.h>

static bool has(struct wz_str s, char c)
{
	return s.len && memchr(s.ptr, c, s.len);
}

/* Parts of one argument lie side by side with a comma between. */
static void join_parameters(struct wz_list *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct wz_str s = l->item[i], *last = n ? &l->item[n - 1] : NULL;
		if (last && has(*last, ':') && has(s, '=') && !has(s, ':') && last->ptr + last->len + 1 == s.ptr)
			last->len += 1 + s.len;
		else
			l->item[n++] = s;
	}
	l->n = n;
}

static const char *canonical(struct wz_str text, struct wz_arena *arena, struct wz_err *err)
{
	char scratch[WZ_POLICY_TEXT_MAX], *copy;
	struct wz_variant v;
	struct wz_buf b;

	if (wz_variant_parse(text, &v, err) < 0)
		return NULL;
	wz_buf_init_fixed(&b, scratch, sizeof(scratch));
	wz_variant_format(&v, &b);
	copy = wz_arena_alloc(arena, b.len + 1);
	if (copy)
		memcpy(copy, b.data, b.len);
	else
		wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));
	return copy;
}

int wz_sim_placements(struct wz_list *placement, struct wz_arena *arena, const char *ret[WZ_LIST_MAX],
        uint32_t *ret_n, struct wz_err *err)
{
	struct wz_list all = {0};

	for (uint32_t i = 0; wz_policies[i]; i++)
		all.item[all.n++] = wz_str(wz_policies[i]->name);
	if (placement->n == 0)
		placement->item[placement->n++] = wz_str(wz_policies[0]->name);
	if (placement->n == 1 && wz_str_eq(placement->item[0], WZ_STR("all")))
		*placement = all;
	join_parameters(placement);
	for (*ret_n = 0; *ret_n < placement->n; ++*ret_n) {
		ret[*ret_n] = canonical(placement->item[*ret_n], arena, err);
		if (!ret[*ret_n])
			return -EINVAL;
	}
	return 0;
}

static void line(struct wz_buf *b, const char *indent, const char *name, const char *text)
{
	size_t from = b->len;

	wz_buf_addz(b, indent);
	wz_buf_addz(b, name);
	while (b->status == 0 && b->len - from < 22)
		wz_buf_addc(b, ' ');
	wz_buf_addz(b, text);
}

int wz_sim_list_policies(struct wz_cli *cli)
{
	struct wz_buf *b = &cli->out;

	for (uint32_t i = 0; wz_policies[i]; i++) {
		const struct wz_policy *p = wz_policies[i];
		line(b, "", p->name, p->summary);
		wz_buf_addc(b, '\n');
		for (uint32_t k = 0; k < p->n_params; k++) {
			line(b, "  :", p->param[k].name, "weight of ");
			wz_buf_addz(b, p->param[k].summary);
			wz_buf_addz(b, "; usually ");
			wz_milli_format(b, (uint64_t)p->param[k].usual);
			wz_buf_addc(b, '\n');
		}
	}
	return WZ_EXIT_OK;
}
