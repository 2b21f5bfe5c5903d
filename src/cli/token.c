/* SPDX-License-Identifier: Apache-2.0 */
/* `wz token create|list|revoke`: the token file of the daemon (api/auth.h). It is edited as a whole, under a lock, by who
 * may write it; the daemon is then asked to read it again. A token is shown once, at its creation: the file holds its hash. */
#include "cli/daemon.h"

#include "cli/table.h"
#include "os/file.h"
#include "serve/config.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

struct args {
	struct wz_str file, role, socket;
};
#define FILE_OPT \
	{ \
		"tokens", 0, WZ_OPT_STRING, "FILE", "the token file (`tokens` of the configuration)", \
		        offsetof(struct args, file), 0 \
	}
static const struct wz_opt create_opts[] = {
        {"role", 0, WZ_OPT_STRING, "ROLE", "viewer, user or admin (user)", offsetof(struct args, role), 0},
        FILE_OPT,
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};
static const struct wz_opt other_opts[] = {
        FILE_OPT,
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

/* The file of the option, of the configuration, or /etc/whalezen/tokens. */
static int find_file(struct wz_cli *cli, const struct args *a, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	struct wz_config c;
	int rc = 0;
	if (a->file.len)
		return wz_daemon_state(a->file, ret, err);
	wz_config_init(&c, cli->mem);
	if (access(WZ_CONFIG_PATH, F_OK) == 0)
		rc = wz_config_read(&c, WZ_CONFIG_PATH, err);
	(void)snprintf(ret, WZ_DAEMON_PATH_MAX, "%s", rc == 0 && c.tokens ? c.tokens : "/etc/whalezen/tokens");
	wz_config_release(&c);
	return rc;
}

static int lock_file(const char *path, int *ret, struct wz_err *err)
{
	char lock[WZ_DAEMON_PATH_MAX + 8];
	(void)snprintf(lock, sizeof lock, "%s.lock", path);
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return wz_file_err(err, rc, "write", lock);
	}
	*ret = fd;
	return 0;
}

static int read_all(struct wz_cli *cli, const char *path, struct wz_file_text *text, struct wz_err *err)
{
	int rc = wz_file_read(path, FILE_MAX, cli->mem, text, err);
	return rc == -ENOENT || rc == -ENODATA ? 0 : rc;
}

static struct wz_str first_word(struct wz_str line)
{
	line = wz_str_trim(line);
	size_t n = 0;
	while (n < line.len && line.ptr[n] != ' ' && line.ptr[n] != '\t' && line.ptr[n] != '#')
		n++;
	return (struct wz_str){line.ptr, n};
}

static bool name_ok(struct wz_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z') ||
		            (s.ptr[i] >= '0' && s.ptr[i] <= '9') || memchr("._-@", s.ptr[i], 4)))
			return false;
	return s.len > 0 && s.len < WZ_WHO_NAME_MAX;
}

static void tell_daemon(struct wz_cli *cli, const struct args *a)
{
	struct wz_daemon d = {.cli = cli};
	struct wz_httpc_config c = {.server = d.socket, .connect_ms = 2000};
	struct wz_httpc_call call = {.method = "POST", .path = "/v1/reload", .total_ms = 10000};
	struct wz_httpc_reply r;
	struct wz_err err;
	bool told = false;
	if (wz_daemon_server(a->socket, d.socket, &err) == 0 && d.socket[0] == '/' &&
	        wz_httpc_new(&c, cli->mem, &d.http, &err) == 0 && wz_httpc_do(d.http, &call, &r, &err) == 0) {
		told = r.status == 200;
		wz_buf_release(&r.body);
	}
	wz_daemon_close(&d);
	if (!told)
		wz_cli_warn(WZ_STR("no daemon was told; `wz reload` makes it read the file"));
}

static int edit(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	bool creating = strcmp(v->name, "create") == 0;
	struct args a = {.role = WZ_STR("user")};
	struct wz_file_text text = {0};
	struct wz_err err;
	struct wz_buf b;
	char path[WZ_DAEMON_PATH_MAX], token[WZ_TOKEN_TEXT_MAX] = "";
	bool found = false;
	int fd = -1, n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one name is expected");
	struct wz_str name = wz_str(argv[0]);
	enum wz_role role = wz_str_eq(a.role, WZ_STR("viewer"))  ? WZ_ROLE_VIEWER
	                    : wz_str_eq(a.role, WZ_STR("user"))  ? WZ_ROLE_USER
	                    : wz_str_eq(a.role, WZ_STR("admin")) ? WZ_ROLE_ADMIN
	                                                         : WZ_ROLE_NONE;
	if (!name_ok(name) || role == WZ_ROLE_NONE)
		return wz_cli_usage(
		        v, role ? "a name is letters, digits, and . _ - @" : "the role is viewer, user or admin");
	int rc = find_file(cli, &a, path, &err);
	if (rc == 0)
		rc = lock_file(path, &fd, &err);
	if (rc == 0)
		rc = read_all(cli, path, &text, &err);
	wz_buf_init(&b, cli->mem, FILE_MAX);
	for (struct wz_str rest = wz_file_text_str(&text); rc == 0 && rest.ptr && text.len;) {
		struct wz_str line = wz_str_split(&rest, '\n');
		bool same = wz_str_eq(first_word(line), name);
		found = found || same;
		if ((same && !creating) || (!rest.ptr && !line.len))
			continue;
		wz_buf_add(&b, line);
		wz_buf_addc(&b, '\n');
	}
	if (rc == 0 && creating && found)
		rc = wz_err_set(&err, -EEXIST, "Exists", WZ_STR("there is a token of the name "), name,
		        WZ_STR(" already; revoke it first"));
	if (rc == 0 && !creating && !found)
		rc = wz_err_set(&err, -ENOENT, "NotFound", WZ_STR("there is no token of the name "), name);
	if (rc == 0 && creating) {
		rc = wz_token_new(argv[0], role, token, &b);
		wz_buf_addc(&b, '\n');
	}
	if (rc == 0 && b.status < 0)
		rc = wz_err_set(&err, b.status, "TooLarge", WZ_STR("the token file would be larger than 1 MiB"));
	if (rc == 0)
		rc = wz_file_write(path, b.len ? wz_buf_str(&b) : WZ_STR("# no tokens\n"), 0600, &err);
	wz_buf_release(&b);
	wz_file_text_release(&text);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		return wz_cli_fail(&err);
	if (creating) {
		wz_buf_addz(&cli->out, token);
		wz_buf_addc(&cli->out, '\n');
	}
	tell_daemon(cli, &a);
	return WZ_EXIT_OK;
}

static int list_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.role = WZ_STR("")};
	struct wz_file_text text = {0};
	struct wz_err err;
	struct wz_table t;
	char path[WZ_DAEMON_PATH_MAX];
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int rc = find_file(cli, &a, path, &err);
	if (rc == 0)
		rc = read_all(cli, path, &text, &err);
	if (rc < 0)
		return wz_cli_fail(&err);
	wz_table_init(&t, cli->mem, 3, 0);
	wz_table_addz(&t, "NAME");
	wz_table_addz(&t, "ROLE");
	wz_table_addz(&t, "HASH");
	for (struct wz_str rest = wz_file_text_str(&text); rest.ptr && text.len;) {
		struct wz_str line = wz_str_split(&rest, '\n'), name = first_word(line);
		if (!name.len)
			continue;
		line = (struct wz_str){name.ptr + name.len, (size_t)(line.ptr + line.len - (name.ptr + name.len))};
		struct wz_str role = first_word(line);
		line = (struct wz_str){role.ptr + role.len, (size_t)(line.ptr + line.len - (role.ptr + role.len))};
		struct wz_str hash = first_word(line);
		wz_table_add(&t, name);
		wz_table_add(&t, role);
		wz_table_add(&t, hash.len > 12 ? (struct wz_str){hash.ptr, 12} : hash);
	}
	wz_table_print(&t, &cli->out);
	wz_table_release(&t);
	wz_file_text_release(&text);
	return WZ_EXIT_OK;
}

static const struct wz_verb create = {.name = "create",
        .summary = "make a token and show it, once",
        .usage = "wz token create [--role ROLE] [--tokens FILE] NAME",
        .examples = "wz token create --role viewer grafana\n",
        .opts = create_opts,
        .fn = edit,
        .more = "NAME is a user of the machine when the token is to submit work.\n"};
static const struct wz_verb list_verb = {.name = "list",
        .summary = "names, roles and the begin of each hash",
        .usage = "wz token list [--tokens FILE]",
        .opts = other_opts,
        .fn = list_fn,
        .reads = true};
static const struct wz_verb revoke_verb = {.name = "revoke",
        .summary = "take a token away",
        .usage = "wz token revoke [--tokens FILE] NAME",
        .examples = "wz token revoke grafana\n",
        .opts = other_opts,
        .fn = edit};
static const struct wz_verb *const subs[] = {&create, &list_verb, &revoke_verb, NULL};

const struct wz_verb wz_verb_token = {
        .name = "token",
        .summary = "tokens for who comes over the network",
        .usage = "wz token create|list|revoke [options]",
        .sub = subs,
};
