/* SPDX-License-Identifier: Apache-2.0 */
/* `wz trace workload`: the work that a daemon has seen, as a trace that `wz sim run` replays under another order, policy or
 * cluster, and whose recorded starts `wz sim validate` compares. Jobs that still run, or were cancelled, are as long as they
 * ran so far: their true length is not known. */
#include "cli/daemon.h"
#include "cli/trace.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"
#include "store/store.h"

struct args {
	struct wz_str state, out;
};
static const struct wz_opt opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "the daemon's state ($XDG_STATE_HOME/whalezen)",
                offsetof(struct args, state), 0},
        {"out", 'o', WZ_OPT_STRING, "FILE", "the trace (standard output)", offsetof(struct args, out), 0},
        WZ_OPT_END,
};

struct writing {
	struct wz_store *store;
	struct wz_buf *out;
	int64_t begin_us, now_us;
	int64_t ran_us; /* of the job that is written: by its attempts */
	uint32_t jobs, censored;
};

/* A name of spec/trace.md. */
static void put_name(struct wz_buf *b, struct wz_str name)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < name.len && i < 253; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		if (c > ' ' && c != 127 && !strchr("%,=|*:#", c)) {
			wz_buf_addc(b, (char)c);
		} else {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, hex[c >> 4]);
			wz_buf_addc(b, hex[c & 15]);
		}
	}
}

static void put_us(struct wz_buf *b, const char *key, int64_t us)
{
	wz_buf_addz(b, key);
	wz_buf_add_i64(b, (us > 0 ? us : 0) / 1000);
	wz_buf_addz(b, "ms");
}

static int attempt(void *ctx, const struct wz_attempt_row *r)
{
	struct writing *x = ctx;
	if (r->task == 0 && WZ_GIVEN(ATTEMPT, r, started_us))
		x->ran_us += (WZ_GIVEN(ATTEMPT, r, ended_us) ? r->ended_us : x->now_us) - r->started_us;
	return 0;
}

static int job(void *ctx, const struct wz_job_row *r)
{
	struct writing *x = ctx;
	struct wz_buf *b = x->out;
	bool ended = r->state == WZ_ROW_ENDED;
	if (!x->begin_us)
		x->begin_us = r->submitted_us;
	x->ran_us = 0;
	(void)wz_store_attempts(x->store, (uint64_t)r->job, attempt, x, NULL);
	if (x->ran_us <= 0)
		return 0; /* it never ran: nothing is known of its length */
	if (!ended || r->end == WZ_END_CANCELLED || r->end == WZ_END_TIMEOUT) {
		wz_buf_addz(
		        b, "# the next one was still running, or stopped by somebody: it is at least so long\n");
		x->censored++;
	}
	wz_buf_addz(b, "job j");
	wz_buf_add_i64(b, r->job);
	put_us(b, " submit=", r->submitted_us - x->begin_us);
	if (r->attempt == 1)
		put_us(b, " start=", r->started_us - x->begin_us);
	put_us(b, " run=", x->ran_us);
	if (r->user.len) {
		wz_buf_addz(b, " user=");
		put_name(b, r->user);
	}
	if (r->queue.len) {
		wz_buf_addz(b, " queue=");
		put_name(b, r->queue);
	}
	if (r->priority) {
		wz_buf_addz(b, " priority=");
		wz_buf_add_i64(b, r->priority);
	}
	if (r->name.len) {
		wz_buf_addz(b, " template=");
		put_name(b, r->name);
	}
	wz_buf_addz(b, " : ");
	wz_buf_add(b, r->profile);
	wz_buf_addc(b, '\n');
	x->jobs++;
	return 0;
}

static void put_device(struct wz_buf *b, const struct wz_core *c, const struct wz_device *d, uint32_t n)
{
	wz_buf_addz(b, " device=");
	if (n > 1) {
		wz_buf_add_u64(b, n);
		wz_buf_addc(b, '*');
	}
	put_name(b, wz_str(wz_core_catalogue_of(c)->model[d->model].name));
	if (d->mem) {
		wz_buf_addz(b, ",mem=");
		wz_buf_add_i64(b, d->mem);
	}
	if (d->link_domain) {
		wz_buf_addz(b, ",domain=");
		wz_buf_add_u64(b, d->link_domain);
	}
	if (d->numa) {
		wz_buf_addz(b, ",numa=");
		wz_buf_add_u64(b, d->numa);
	}
}

static bool alike(const struct wz_device *a, const struct wz_device *b)
{
	return a->model == b->model && a->mem == b->mem && a->link_domain == b->link_domain && a->numa == b->numa;
}

static void nodes(const struct wz_core *c, struct wz_buf *b)
{
	const struct wz_model_state *m = wz_core_model(c);
	bool seen[WZ_MODELS_MAX] = {false}; /* or known to everybody */
	struct wz_catalogue known;
	wz_model_id id;
	if (wz_catalogue_init(&known, wz_os_mem()) == 0) {
		for (uint32_t i = 0; i < wz_core_catalogue_of(c)->n && i < WZ_MODELS_MAX; i++)
			seen[i] = wz_catalogue_find(
			                  &known, wz_str(wz_core_catalogue_of(c)->model[i].name), &id, NULL) == 0;
		wz_catalogue_release(&known);
	}
	for (uint32_t i = 0; i < m->n_nodes; i++)
		for (uint32_t k = 0; m->node[i].flags & WZ_NODE_PRESENT && k < m->node[i].n_dev; k++) {
			uint16_t model = m->dev[m->node[i].first_dev + k].model;
			if (model >= WZ_MODELS_MAX || seen[model])
				continue;
			seen[model] = true;
			wz_buf_addz(b, "model ");
			put_name(b, wz_str(wz_core_catalogue_of(c)->model[model].name));
			wz_buf_addc(b, '\n');
		}
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		const struct wz_device *d = &m->dev[n->first_dev];
		if (!(n->flags & WZ_NODE_PRESENT))
			continue;
		wz_buf_addz(b, "node ");
		put_name(b, wz_strtab_get(&m->names, n->name - 1));
		wz_buf_addz(b, " cpus=");
		wz_buf_add_fixed(b, n->cpu, 3);
		wz_buf_addz(b, " mem=");
		wz_buf_add_i64(b, n->mem);
		if (n->rack != WZ_ID_NONE) {
			wz_buf_addz(b, " rack=");
			put_name(b, wz_strtab_get(&m->names, n->rack));
		}
		for (uint32_t k = 0, run; k < n->n_dev; k += run) {
			run = 1;
			while (k + run < n->n_dev && alike(&d[k], &d[k + run]))
				run++;
			put_device(b, c, &d[k], run);
		}
		wz_buf_addc(b, '\n');
	}
}

static int workload_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.state = {NULL, 0}};
	char dir[WZ_DAEMON_PATH_MAX];
	struct wz_store_options o = {.dir = dir, .read_only = true};
	struct wz_core_options fresh = {.seed = 1, .no_index = true};
	struct wz_job_query q = {.limit = UINT32_MAX};
	struct wz_restored got = {.core = NULL};
	struct wz_store *s = NULL;
	struct wz_buf b;
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	wz_buf_init(&b, cli->mem, (size_t)1 << 30);
	struct writing x = {.out = &b, .now_us = wz_clock_wall_us()};
	int rc = wz_daemon_state(a.state, dir, &err);
	if (rc == 0)
		rc = wz_store_open(&o, &s, &err);
	x.store = s;
	if (rc == 0)
		rc = wz_store_replay(s, cli->mem, &fresh, (uint64_t)x.now_us, &got, &err);
	if (rc == 0) {
		wz_buf_addz(&b, "whalezen-trace 2\n");
		nodes(got.core, &b);
		rc = wz_store_jobs(s, &q, job, &x, &err);
	}
	if (rc == 0 && b.status < 0)
		rc = wz_err_set(&err, b.status, "TooLarge", WZ_STR("the trace is too large"));
	if (rc == 0 && a.out.len)
		rc = wz_file_write(a.out.ptr, wz_buf_str(&b), 0644, &err);
	else if (rc == 0)
		wz_buf_add(&cli->out, wz_buf_str(&b));
	if (rc == 0)
		(void)fprintf(stderr, "%u jobs, %u of them of unknown length\n", x.jobs, x.censored);
	wz_core_free(got.core);
	wz_store_close(s);
	wz_buf_release(&b);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_trace_workload = {
        .name = "workload",
        .summary = "what a daemon has run, as a trace for wz sim run",
        .usage = "wz trace workload [--state DIR] [--out FILE]",
        .examples = "wz trace workload --out /tmp/mine.wz && wz sim run --trace /tmp/mine.wz --order levelled\n",
        .opts = opts,
        .fn = workload_fn,
        .more = "Nodes as they are now; jobs with their submissions, first starts and times run. Commands are not "
                "in it;\n"
                "names are (wz trace anon takes them out).\n",
};
