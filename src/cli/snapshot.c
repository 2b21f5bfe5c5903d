/* SPDX-License-Identifier: Apache-2.0 */
/* Code as it is now, in one tar file. git: the tree of the index that `git add` would make of the files here, in a throw-away
 * index, so nothing of the repository's own changes but that it has a few more objects; the archive of a commit with fixed
 * dates, so the same tree gives the same bytes and is brought once. copy: the directory, whatever it holds. */
#include "cli/submit.h"

#include "os/file.h"
#include "os/proc.h"

#include <openssl/evp.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARCHIVE_MAX ((size_t)256 << 20)
#define PIECE (3u << 20) /* bytes of one call; a multiple of 3 */
#define TIME_MS 120000u

struct pack {
	const struct wz_mem *mem;
	struct wz_jobspec *j;
	char top[WZ_DAEMON_PATH_MAX], prefix[WZ_DAEMON_PATH_MAX], head[80], tree[80], date[64], commit[80];
	char index[64]; /* GIT_INDEX_FILE=... */
	struct wz_file_text tar;
};

static int fail(const char *what, const char *text)
{
	struct wz_err err;
	(void)wz_err_set(&err, -EIO, "SnapshotFailed", WZ_STR("snapshot: "), wz_str(what), wz_str(text));
	return wz_cli_fail(&err);
}

/* Runs; its output without the last line break into `to`. */
static int line_of(struct pack *p, const char *const *argv, char *to, size_t cap, const char *what)
{
	struct wz_file_text t = {.mem = p->mem};
	struct wz_err err;
	int status;
	if (wz_proc_capture(argv, TIME_MS, 65536, p->mem, &t, &status, &err) < 0)
		return wz_cli_fail(&err);
	while (t.len && t.data[t.len - 1] == '\n')
		t.len--;
	int code = !WIFEXITED(status) || WEXITSTATUS(status) ? fail(what, "")
	           : t.len >= cap                            ? fail(what, ": the answer is too long")
	                                                     : 0;
	if (code == 0) {
		if (t.len)
			memcpy(to, t.data, t.len);
		to[t.len] = 0;
	}
	wz_file_text_release(&t);
	return code;
}

#define RUN(p, to, what, ...) line_of((p), (const char *const[]){__VA_ARGS__, NULL}, (to), sizeof(to), (what))

static int archive(struct pack *p, const char *const *argv, const char *what)
{
	struct wz_err err;
	int status;
	p->tar.mem = p->mem;
	int rc = wz_proc_capture(argv, TIME_MS, ARCHIVE_MAX, p->mem, &p->tar, &status, &err);
	if (rc == -E2BIG)
		return fail(what, ": more than 256 MiB; leave data out of it");
	if (rc < 0)
		return wz_cli_fail(&err);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : fail(what, ": tar or git failed");
}

static int pack_git(struct pack *p, const char *cwd)
{
	char none[4096], when[96], whose[96], old[80];
	int fd, code;
	code = RUN(p, p->top, "this is no git repository", "git", "-C", cwd, "rev-parse", "--show-toplevel");
	if (code == 0)
		code = RUN(p, p->prefix, "git", "git", "-C", cwd, "rev-parse", "--show-prefix");
	if (code == 0)
		code = RUN(p, p->head, "the repository has no commit yet", "git", "-C", cwd, "rev-parse", "HEAD");
	if (code == 0)
		code = RUN(p, old, "git", "git", "-C", cwd, "rev-parse", "HEAD^{tree}");
	if (code == 0)
		code = RUN(p, p->date, "git", "git", "-C", cwd, "show", "-s", "--format=%ct", "HEAD");
	if (code)
		return code;
	(void)snprintf(p->index, sizeof p->index, "GIT_INDEX_FILE=/tmp/wz-index.XXXXXX");
	fd = mkstemp(p->index + strlen("GIT_INDEX_FILE="));
	if (fd < 0)
		return fail("/tmp cannot be written", "");
	close(fd);
	const char *file = p->index + strlen("GIT_INDEX_FILE=");
	(void)unlink(file); /* git wants to make it itself */
	code = RUN(p, none, "git read-tree", "env", p->index, "git", "-C", p->top, "read-tree", "HEAD");
	if (code == 0)
		code = RUN(p, none, "git add", "env", p->index, "git", "-C", p->top, "add",
		        p->j->untracked ? "-A" : "-u");
	if (code == 0)
		code = RUN(p, p->tree, "git write-tree", "env", p->index, "git", "-C", p->top, "write-tree");
	(void)unlink(file);
	(void)snprintf(when, sizeof when, "GIT_COMMITTER_DATE=%.40s +0000", p->date);
	(void)snprintf(whose, sizeof whose, "GIT_AUTHOR_DATE=%.40s +0000", p->date);
	if (code == 0)
		code = RUN(p, p->commit, "git commit-tree", "env", when, whose, "GIT_AUTHOR_NAME=wz",
		        "GIT_AUTHOR_EMAIL=wz", "GIT_COMMITTER_NAME=wz", "GIT_COMMITTER_EMAIL=wz", "git", "-C",
		        p->top, "commit-tree", p->tree, "-m", "wz submit --snapshot git");
	if (code == 0)
		code = archive(p,
		        (const char *const[]){"git", "-C", p->top, "archive", "--format=tar", p->commit, NULL},
		        "git archive");
	if (code == 0) {
		char *text = wz_arena_alloc(p->j->arena, 128);
		if (!text)
			return fail("out of memory", "");
		int n = snprintf(text, 128, "%.50s%s", p->head, strcmp(old, p->tree) == 0 ? "" : "-dirty");
		p->j->rq.git_commit = (struct wz_str){text, n > 0 ? (size_t)n : 0};
	}
	return code;
}

static int pack_copy(struct pack *p, const char *cwd)
{
	p->prefix[0] = 0;
	return archive(p,
	        (const char *const[]){"tar", "-C", cwd, "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
	                "--format=gnu", "-cf", "-", ".", NULL},
	        "tar");
}

static void name_of(struct wz_str bytes, char id[65])
{
	unsigned char sum[32];
	unsigned len = sizeof sum;
	(void)EVP_Digest(bytes.len ? bytes.ptr : "", bytes.len, sum, &len, EVP_sha256(), NULL);
	for (unsigned i = 0; i < sizeof sum; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", sum[i]);
}

static int ask(struct wz_daemon *d, const char *id, const struct pack *p, int64_t offset, struct wz_str piece,
        int64_t *ret_have, bool *ret_complete)
{
	struct wz_buf body, answer;
	size_t room = piece.len / 3 * 4 + 8;
	char head[256];
	wz_buf_init(&body, d->cli->mem, room + 512);
	int n = snprintf(head, sizeof head, "{\"id\":\"%s\",\"size\":%zu,\"offset\":%lld", id, p->tar.len,
	        (long long)offset);
	wz_buf_add(&body, (struct wz_str){head, n > 0 ? (size_t)n : 0});
	if (piece.len) {
		unsigned char *text = wz_mem_alloc(d->cli->mem, room);
		int len = text ? EVP_EncodeBlock(text, (const unsigned char *)piece.ptr, (int)piece.len) : 0;
		wz_buf_addz(&body, ",\"data\":\"");
		wz_buf_add(&body, (struct wz_str){(const char *)text, (size_t)len});
		wz_buf_addc(&body, '"');
		wz_mem_free(d->cli->mem, text, room);
	}
	wz_buf_addc(&body, '}');
	int code = body.status < 0 ? fail("out of memory", "")
	                           : wz_daemon_call(d, "POST", "/v1/snapshots", wz_buf_str(&body), NULL, &answer);
	wz_buf_release(&body);
	if (code)
		return code;
	json_t *j = json_loadb(answer.data ? answer.data : "", answer.len, 0, NULL);
	*ret_have = wz_daemon_int(j, "have");
	*ret_complete = json_is_true(json_object_get(j, "complete"));
	json_decref(j);
	wz_buf_release(&answer);
	return 0;
}

static int bring(struct wz_daemon *d, const struct pack *p, const char *id)
{
	struct wz_str all = wz_file_text_str(&p->tar);
	int64_t have = 0;
	bool complete = false;
	int code = ask(d, id, p, 0, (struct wz_str){NULL, 0}, &have, &complete);
	while (code == 0 && !complete) {
		if (have < 0 || (size_t)have >= all.len)
			have = 0;
		size_t n = all.len - (size_t)have;
		int64_t before = have;
		code = ask(
		        d, id, p, have, (struct wz_str){all.ptr + have, n < PIECE ? n : PIECE}, &have, &complete);
		if (code == 0 && !complete && have <= before)
			return fail("the daemon takes no more of it", "");
	}
	return code;
}

int wz_snapshot_take(struct wz_daemon *d, struct wz_jobspec *j, const char *cwd)
{
	struct pack p = {.mem = d->cli->mem, .j = j};
	char id[65];
	int code = j->snapshot == WZ_SNAPSHOT_GIT ? pack_git(&p, cwd) : pack_copy(&p, cwd);
	if (code == 0 && p.tar.len == 0)
		code = fail("there is nothing in it", "");
	if (code == 0) {
		name_of(wz_file_text_str(&p.tar), id);
		code = bring(d, &p, id);
	}
	if (code == 0) {
		size_t n = strlen(p.prefix);
		char *text = wz_arena_alloc(j->arena, 66 + n);
		if (text) {
			memcpy(text, id, 65);
			memcpy(text + 65, p.prefix, n + 1);
			j->rq.snapshot = (struct wz_str){text, 64};
			j->rq.snapshot_cwd = (struct wz_str){text + 65, n};
		} else {
			code = fail("out of memory", "");
		}
	}
	wz_file_text_release(&p.tar);
	return code;
}
