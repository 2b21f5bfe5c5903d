/* SPDX-License-Identifier: Apache-2.0 */
/* `wz serve`: the daemon of one machine, in the foreground; `wz agent`: its hands, which it starts itself. */
#include "agent/agent.h"
#include "cli/daemon.h"
#include "serve/config.h"
#include "serve/serve.h"

#include <signal.h>
#include <unistd.h>

struct serve_args {
	struct wz_str config, state, socket, listen, cluster, provider, policy;
	bool no_cgroup, check;
};
static const struct wz_opt serve_opts[] = {
        {"config", 'c', WZ_OPT_STRING, "FILE",
                "read this (WZ_CONFIG, else /etc/whalezen/whalezen.yaml when root and it is there)",
                offsetof(struct serve_args, config), 0},
        {"check-config", 0, WZ_OPT_FLAG, NULL, "read the configuration, say what is wrong with it, and end",
                offsetof(struct serve_args, check), 0},
        {"state", 0, WZ_OPT_STRING, "DIR", "journal, logs, attempts ($XDG_STATE_HOME/whalezen)",
                offsetof(struct serve_args, state), 0},
        {"socket", 'S', WZ_OPT_STRING, "PATH", "of the API ($XDG_RUNTIME_DIR/whalezen.sock, or in the state)",
                offsetof(struct serve_args, socket), 0},
        {"listen", 0, WZ_OPT_STRING, "ADDRESS", "the dashboard and the API at 127.0.0.1:8765, beside the socket",
                offsetof(struct serve_args, listen), 0},
        {"cluster", 0, WZ_OPT_STRING, "FILE", "emulate this cluster on this machine",
                offsetof(struct serve_args, cluster), 0},
        {"provider", 0, WZ_OPT_STRING, "NAME", "of devices: emulated, nvidia-smi, none (the first that finds some)",
                offsetof(struct serve_args, provider), 0},
        {"policy", 0, WZ_OPT_STRING, "NAME", "placement policy of a new state", offsetof(struct serve_args, policy),
                0},
        {"no-cgroup", 0, WZ_OPT_FLAG, NULL, "jobs without cgroups and their limits",
                offsetof(struct serve_args, no_cgroup), 0},
        WZ_OPT_END,
};

static int absolute(struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	ret[0] = 0;
	return given.len ? wz_daemon_state(given, ret, err) : 0;
}

static const char *config_path(const struct serve_args *a, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	if (a->config.len)
		return absolute(a->config, ret, err) < 0 ? NULL : ret;
	const char *named = getenv("WZ_CONFIG"); /* empty: none, whatever is installed here */
	if (named)
		return absolute(wz_str(named), ret, err) < 0 ? NULL : ret;
	return geteuid() == 0 && access(WZ_CONFIG_PATH, F_OK) == 0 ? WZ_CONFIG_PATH : "";
}

struct effective {
	char config[WZ_DAEMON_PATH_MAX], state[WZ_DAEMON_PATH_MAX], socket[WZ_DAEMON_PATH_MAX],
	        cluster[WZ_DAEMON_PATH_MAX];
};

static struct wz_str either(struct wz_str option, const char *configured)
{
	return option.len ? option : wz_str(configured);
}

/* Options stand above the file. */
static int effective(const struct serve_args *a, struct wz_config *c, struct effective *e,
        struct wz_serve_options *o, struct wz_err *err)
{
	const char *path = config_path(a, e->config, err);
	int rc = !path ? -EINVAL : *path ? wz_config_read(c, path, err) : 0;
	/* As the service manager sets them up (StateDirectory=, RuntimeDirectory=). */
	struct wz_str given = wz_str(getenv("STATE_DIRECTORY")), run = wz_str(getenv("RUNTIME_DIRECTORY"));
	struct wz_str state = either(a->state, c->state ? c->state : given.ptr),
	              cluster = either(a->cluster, c->cluster);
	if (rc == 0)
		rc = wz_daemon_state(state, e->state, err);
	if (rc == 0)
		rc = wz_daemon_socket(either(a->socket, c->socket), state, e->socket, err);
	if (rc == 0 && run.len && run.ptr[0] == '/' && !a->socket.len && !c->socket) {
		(void)snprintf(e->socket, sizeof e->socket, "%.*s/wz.sock", (int)(run.len < 1000 ? run.len : 1000),
		        run.ptr);
	}
	if (rc == 0)
		rc = absolute(cluster, e->cluster, err);
	if (rc < 0)
		return rc;
	*o = (struct wz_serve_options){.config = c,
	        .config_file = *path ? path : NULL,
	        .state_dir = e->state,
	        .socket = e->socket,
	        .listen = a->listen.ptr,
	        .cluster_file = cluster.len ? e->cluster : NULL,
	        .provider = a->provider.len ? a->provider.ptr
	                    : c->provider   ? c->provider
	                    : cluster.len   ? "emulated"
	                                    : NULL,
	        .policy = a->policy.len ? a->policy.ptr : c->policy,
	        .version = wz_version,
	        .no_cgroup = a->no_cgroup || !c->cgroups};
	return 0;
}

static int serve_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct serve_args a = {.no_cgroup = false};
	struct wz_serve_options o;
	struct wz_config c;
	struct effective e;
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	wz_config_init(&c, cli->mem);
	int rc = effective(&a, &c, &e, &o, &err);
	if (rc == 0 && !a.check)
		rc = wz_serve_run(&o, &err);
	else if (rc == 0)
		wz_buf_addz(&cli->out,
		        o.config_file ? "the configuration is well formed\n" : "there is no configuration file\n");
	wz_config_release(&c);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_serve = {
        .name = "serve",
        .summary = "the daemon of one machine: a durable queue for its devices",
        .usage = "wz serve [--config FILE] [--check-config] [--state DIR] [--socket PATH] [--listen ADDRESS] "
                 "[--cluster FILE] "
                 "[--provider NAME] [--policy NAME] "
                 "[--no-cgroup]",
        .examples = "wz serve --cluster examples/cluster.yaml --listen 127.0.0.1:8765\n"
                    "wz serve --check-config --config /etc/whalezen/whalezen.yaml\n",
        .opts = serve_opts,
        .fn = serve_fn,
        .more = "Runs in the foreground until SIGTERM; SIGHUP (or `wz reload`) reads the configuration again. Jobs "
                "live on while it does not run; the next one adopts them. Options stand above the file.\n",
};

/* ---- the agent ---- */

struct agent_args {
	struct wz_str state, socket, cluster, provider;
	uint64_t fd;
	bool no_cgroup;
};
static const struct wz_opt agent_opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "attempts live here", offsetof(struct agent_args, state), 0},
        {"socket", 'S', WZ_OPT_STRING, "PATH", "of the server, connected to for ever; or",
                offsetof(struct agent_args, socket), 0},
        {"fd", 0, WZ_OPT_U64, "N", "an inherited connected socket", offsetof(struct agent_args, fd), 1000000},
        {"cluster", 0, WZ_OPT_STRING, "FILE", "emulate this cluster", offsetof(struct agent_args, cluster), 0},
        {"provider", 0, WZ_OPT_STRING, "NAME", "emulated, nvidia-smi, none", offsetof(struct agent_args, provider),
                0},
        {"no-cgroup", 0, WZ_OPT_FLAG, NULL, "use no cgroups", offsetof(struct agent_args, no_cgroup), 0},
        WZ_OPT_END,
};

static atomic_int stop;

static void on_signal(int signo)
{
	(void)signo;
	atomic_store(&stop, 1);
}

static int agent_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct agent_args a = {.fd = 0};
	struct sigaction sa = {.sa_handler = on_signal};
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	(void)cli;
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	if (!a.state.len || !a.socket.len == !a.fd)
		return wz_cli_usage(v, "--state, and one of --socket and --fd, are needed");
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGINT, &sa, NULL);
	struct wz_agent_options o = {.state_dir = a.state.ptr,
	        .socket = a.socket.len ? a.socket.ptr : NULL,
	        .fd = (int)a.fd,
	        .provider = a.provider.len ? a.provider.ptr : NULL,
	        .cluster_file = a.cluster.len ? a.cluster.ptr : NULL,
	        .cgroup_base = a.no_cgroup ? "" : NULL,
	        .version = wz_version};
	return wz_agent_run(&o, &stop, &err) < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_agent = {
        .name = "agent",
        .summary = "eyes and hands on one machine; wz serve starts its own",
        .usage = "wz agent --state DIR --socket PATH|--fd N [--cluster FILE] [--provider NAME] [--no-cgroup]",
        .examples = "wz agent --state /var/lib/whalezen/agent --socket /run/whalezen/agent.sock\n",
        .opts = agent_opts,
        .fn = agent_fn,
};
