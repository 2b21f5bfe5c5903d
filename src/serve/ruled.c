/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and rules of the configuration, told to the core as events. What the configuration once set is kept in the settings
 * (`conf.queue.NAME`, `conf.rules`), so that a queue that was taken out of the file is removed, one that somebody made
 * otherwise is left alone, and nothing is told twice. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "core/queue.h"

#define PREFIX "conf.queue."

static int tell(struct serve *s, uint32_t kind, struct wz_str name, struct wz_str text, struct wz_err *err)
{
	struct wz_event e = {.kind = kind};
	if (kind == WZ_EV_RULES_SET) {
		e.u.rule_list.text = text;
	} else {
		e.u.rules.name = name;
		e.u.rules.text = text;
	}
	return serve_apply(s, &e, err);
}

static int keep(struct serve *s, const char *before, struct wz_str name, struct wz_str text)
{
	char key[128];
	struct wz_err err;
	(void)snprintf(key, sizeof key, "%s%.*s", before, (int)name.len, name.len ? name.ptr : "");
	int rc = wz_batch_kv(&s->batch, wz_str(key), text, &err);
	if (rc < 0)
		serve_fail(s, &err); /* the core has it and the settings do not */
	serve_soon(s);
	return rc;
}

/* Is this what was set the last time? */
static bool known(struct serve *s, const char *before, struct wz_str name, struct wz_str text)
{
	char key[128];
	struct wz_buf old;
	wz_buf_init(&old, s->mem, 65536);
	(void)snprintf(key, sizeof key, "%s%.*s", before, (int)name.len, name.len ? name.ptr : "");
	bool same = wz_store_kv(s->store, wz_str(key), &old, NULL) == 0 && wz_str_eq(wz_buf_str(&old), text);
	wz_buf_release(&old);
	return same;
}

int ruled_check(struct serve *s, const struct wz_config *c, struct wz_err *err)
{
	struct wz_queue_rules r;
	for (uint32_t i = 0; i < c->n_queues; i++) {
		int rc = wz_queue_rules_parse(wz_str(c->queue[i].rules), wz_core_catalogue(s->core), &r, err);
		if (rc < 0) {
			wz_err_prefix(err, WZ_STR(": "));
			wz_err_prefix(err, wz_str(c->queue[i].name));
			wz_err_prefix(err, WZ_STR("queues."));
			return rc;
		}
	}
	return 0;
}

struct gone {
	struct serve *s;
	const struct wz_config *c;
	char name[64][64];
	uint32_t n;
};

static int gone_row(void *ctx, const struct wz_kv_row *r)
{
	struct gone *g = ctx;
	struct wz_str name = {r->key.ptr + sizeof PREFIX - 1, r->key.len - (sizeof PREFIX - 1)};
	for (uint32_t i = 0; i < g->c->n_queues; i++)
		if (wz_str_eq(name, wz_str(g->c->queue[i].name)))
			return 0;
	if (!r->value.len || g->n == WZ_ARRAY_LEN(g->name) || name.len >= sizeof g->name[0])
		return 0;
	memcpy(g->name[g->n], name.ptr, name.len);
	g->name[g->n++][name.len] = 0;
	return 0;
}

static void complain(const char *name, const struct wz_err *err)
{
	char text[400];
	(void)snprintf(text, sizeof text, "%s: %s", name, err->text);
	serve_log("queue", text);
}

/* Below their parents first; rounds until none goes any more, since a file may say them in any order. */
static void remove_gone(struct serve *s, const struct wz_config *c)
{
	struct gone g = {.s = s, .c = c};
	struct wz_err err;
	bool more = true;
	if (wz_store_kv_all(s->store, WZ_STR(PREFIX), gone_row, &g, &err) < 0)
		complain("settings", &err);
	while (more) {
		more = false;
		for (uint32_t i = 0; i < g.n; i++) {
			if (!g.name[i][0])
				continue;
			int rc = tell(s, WZ_EV_QUEUE_REMOVED, wz_str(g.name[i]), WZ_STR(""), &err);
			if (rc < 0 && rc != -ENOENT)
				continue;
			(void)keep(s, PREFIX, wz_str(g.name[i]), WZ_STR(""));
			g.name[i][0] = 0;
			more = true;
		}
	}
	for (uint32_t i = 0; i < g.n; i++)
		if (g.name[i][0])
			complain(g.name[i], &err); /* it has jobs: the next reload tries again */
}

void ruled_apply(struct serve *s, const struct wz_config *c)
{
	bool done[WZ_CONFIG_QUEUES_MAX] = {false}, more = true;
	struct wz_err err = {0};
	struct wz_str rules = wz_str(c->rules ? c->rules : "");
	while (more) { /* parents first, in whatever order they stand */
		more = false;
		for (uint32_t i = 0; i < c->n_queues; i++) {
			struct wz_str name = wz_str(c->queue[i].name), text = wz_str(c->queue[i].rules);
			/* an empty setting is one that is gone, so what is kept begins with '=' */
			char kept[WZ_CONFIG_RULES_MAX + 2];
			(void)snprintf(kept, sizeof kept, "=%s", c->queue[i].rules);
			if (done[i] || (done[i] = known(s, PREFIX, name, wz_str(kept))))
				continue;
			if (tell(s, WZ_EV_QUEUE_SET, name, text, &err) < 0)
				continue;
			(void)keep(s, PREFIX, name, wz_str(kept));
			done[i] = more = true;
		}
	}
	for (uint32_t i = 0; i < c->n_queues; i++)
		if (!done[i])
			complain(c->queue[i].name, &err);
	remove_gone(s, c);
	if (rules.len && !known(s, "conf.rules", WZ_STR(""), rules)) {
		if (tell(s, WZ_EV_RULES_SET, WZ_STR(""), rules, &err) < 0)
			complain("rules", &err);
		else
			(void)keep(s, "conf.rules", WZ_STR(""), rules);
	}
}
