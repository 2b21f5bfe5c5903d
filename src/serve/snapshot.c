/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of code: snapshots/UID.SHA256, a tar file that belongs to its user and that nobody else can read, brought in pieces.
 * The name is checked against the content when the last piece has come; before that it is a .part file. The attempt
 * unpacks it itself, as the user and inside its own limits (task.c), so nothing of it is ever read by us. What no kept job
 * names goes with the retention. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#define SNAPSHOT_MAX ((int64_t)256 << 20)
#define OF_USER_MAX ((int64_t)4 << 30) /* all archives of one user */

void snapshot_path(const struct serve *s, int64_t uid, struct wz_str id, char to[4096])
{
	(void)snprintf(to, 4096, "%s/snapshots/%lld.%.*s", s->o->state_dir, (long long)uid, (int)id.len, id.ptr);
}

static int check_id(struct wz_str id, struct wz_err *err)
{
	bool ok = id.len == 64;
	for (size_t i = 0; ok && i < id.len; i++)
		ok = (id.ptr[i] >= '0' && id.ptr[i] <= '9') || (id.ptr[i] >= 'a' && id.ptr[i] <= 'f');
	return ok ? 0
	          : wz_err_set(err, -EINVAL, "BadField",
	                    WZ_STR("a snapshot is named by 64 lower-case hexadecimal digits"));
}

int snapshot_check(struct serve *s, int64_t uid, struct wz_str id, struct wz_err *err)
{
	char path[4096];
	int rc = check_id(id, err);
	if (rc < 0)
		return rc;
	snapshot_path(s, uid, id, path);
	return access(path, F_OK) == 0 ? 0
	                               : wz_err_set(err, -ENOENT, "NoSuchSnapshot",
	                                         WZ_STR("this snapshot was not brought: POST /v1/snapshots"));
}

static int64_t used_by(const struct serve *s, int64_t uid)
{
	char dir[4096], prefix[32];
	int64_t sum = 0;
	struct stat st;
	(void)snprintf(dir, sizeof dir, "%s/snapshots", s->o->state_dir);
	int n = snprintf(prefix, sizeof prefix, "%lld.", (long long)uid);
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, prefix, (size_t)n) == 0 &&
		        fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			sum += st.st_size;
	if (d)
		(void)closedir(d);
	return sum;
}

static bool is_content(int fd, struct wz_str id)
{
	unsigned char room[65536], sum[32];
	char hex[65];
	unsigned len = sizeof sum;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1 && lseek(fd, 0, SEEK_SET) == 0;
	ssize_t n = 0;
	while (ok && (n = read(fd, room, sizeof room)) > 0)
		ok = EVP_DigestUpdate(c, room, (size_t)n) == 1;
	ok = ok && n == 0 && EVP_DigestFinal_ex(c, sum, &len) == 1;
	EVP_MD_CTX_free(c);
	for (unsigned i = 0; i < sizeof sum; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return ok && wz_str_eq(id, wz_str(hex));
}

/* The last piece came. */
static int complete(struct serve *s, int fd, const char *part, const char *path, int64_t uid, int64_t gid,
        struct wz_str id, struct wz_err *err)
{
	if (!is_content(fd, id)) {
		(void)unlink(part);
		return wz_err_set(err, -EINVAL, "WrongContent",
		        WZ_STR("what came is not what its name says; bring it again"));
	}
	if ((geteuid() == 0 && fchown(fd, (uid_t)uid, (gid_t)gid) < 0) || fchmod(fd, 0400) < 0 || fsync(fd) < 0 ||
	        rename(part, path) < 0)
		return wz_file_err(err, -errno, "write", path);
	(void)s;
	return 0;
}

static int put(struct serve *s, const struct wz_api_who *who, const struct wz_api_snapshot_put *rq,
        int64_t *ret_have, struct wz_err *err)
{
	char dir[4096], path[4096], part[4104];
	struct stat st;
	unsigned char *bytes = NULL;
	size_t room = rq->data.len / 4 * 3 + 4;
	int n, rc = 0;
	(void)snprintf(dir, sizeof dir, "%s/snapshots", s->o->state_dir);
	snapshot_path(s, who->uid, rq->id, path);
	(void)snprintf(part, sizeof part, "%s.part", path);
	if (stat(path, &st) == 0) {
		*ret_have = st.st_size;
		return 1;
	}
	*ret_have = stat(part, &st) == 0 ? st.st_size : 0;
	if (rq->data.len == 0)
		return 0;
	if (rq->size > SNAPSHOT_MAX)
		return wz_err_set(
		        err, -EFBIG, "SnapshotTooLarge", WZ_STR("a snapshot has 256 MiB at most: leave out data"));
	if (rq->offset == 0 && used_by(s, who->uid) + rq->size > OF_USER_MAX)
		return wz_err_set(err, -EDQUOT, "TooManySnapshots", WZ_STR("your snapshots take more than 4 GiB"));
	if (rq->offset != *ret_have && rq->offset != 0)
		return wz_err_set(err, -ESTALE, "WrongOffset",
		        WZ_STR("the next piece does not begin there; ask what is there"));
	if (!(bytes = wz_mem_alloc(s->mem, room)))
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	n = rq->data.len % 4 ? -1 : EVP_DecodeBlock(bytes, (const unsigned char *)rq->data.ptr, (int)rq->data.len);
	for (size_t i = rq->data.len; n > 0 && i > rq->data.len - 2 && rq->data.ptr[i - 1] == '='; i--)
		n--;
	if (n <= 0 || rq->offset + n > rq->size)
		rc = wz_err_set(
		        err, -EINVAL, "BadField", WZ_STR("data is no base64, or more than the size that was said"));
	if (rc == 0) /* others' jobs reach their own archives through it; names cannot be listed */
		rc = wz_file_mkdirs(dir, 0711, err);
	if (rc == 0 && geteuid() == 0 && chmod(dir, 0711) < 0)
		rc = wz_file_err(err, -errno, "open to others", dir);
	int fd = rc < 0 ? -1
	                : open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (rq->offset ? 0 : O_TRUNC), 0600);
	if (rc == 0 && (fd < 0 || lseek(fd, rq->offset, SEEK_SET) < 0))
		rc = wz_file_err(err, -errno, "write", part);
	if (rc == 0 && (rc = wz_fd_write_all(fd, (struct wz_str){(const char *)bytes, (size_t)n})) < 0)
		rc = wz_file_err(err, rc, "write", part);
	*ret_have = rq->offset + n;
	if (rc == 0 && *ret_have == rq->size)
		rc = complete(s, fd, part, path, who->uid, who->gid, rq->id, err) < 0 ? -EINVAL : 1;
	if (fd >= 0)
		close(fd);
	wz_mem_free(s->mem, bytes, room);
	return rc;
}

void op_snapshot_put(void *ctx, struct wz_api_call *c, const struct wz_api_snapshot_put *rq)
{
	struct serve *s = ctx;
	const struct wz_api_who *who = wz_api_call_who(c);
	struct wz_api_snapshot a = {.id = rq->id};
	struct wz_err err;
	int rc = check_id(rq->id, &err);
	if (rc == 0 && who->uid < 0)
		rc = wz_err_set(
		        &err, -EPERM, "NoUser", WZ_STR("code belongs to a user of this machine, and you are none"));
	if (rc == 0)
		rc = put(s, who, rq, &a.have, &err);
	a.complete = rc == 1;
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		wz_api_reply_snapshot(c, &a);
}

/* ---- retention ---- */

struct naming {
	struct wz_map *kept; /* hash of what a job names */
	int rc;
};

static uint64_t name_key(int64_t uid, struct wz_str id)
{
	uint64_t h = (uint64_t)uid * 0x9e3779b97f4a7c15ull;
	for (size_t i = 0; i < id.len; i++)
		h = (h ^ (unsigned char)id.ptr[i]) * 0x100000001b3ull;
	return h;
}

static int name_row(void *ctx, const struct wz_job_row *r)
{
	struct naming *x = ctx;
	if (r->snapshot.len && wz_map_put(x->kept, name_key(r->uid, r->snapshot), 1) < 0)
		return x->rc = -ENOMEM;
	return 0;
}

/* Archives that no job of the tables names, and pieces that nobody went on with for a day. */
void snapshot_retain(struct serve *s)
{
	struct wz_map kept;
	struct naming x = {.kept = &kept};
	struct wz_job_query q = {.limit = UINT32_MAX};
	char dir[4096];
	struct stat st;
	time_t now = (time_t)(serve_now_us(s) / 1000000);
	(void)snprintf(dir, sizeof dir, "%s/snapshots", s->o->state_dir);
	DIR *d = opendir(dir);
	if (!d)
		return;
	wz_map_init(&kept, s->mem);
	int rc = wz_store_jobs(s->store, &q, name_row, &x, NULL);
	for (const struct dirent *e; rc == 0 && x.rc == 0 && (e = readdir(d));) {
		struct wz_str id = wz_str(e->d_name), uid = wz_str_split(&id, '.');
		int64_t u;
		if (e->d_name[0] == '.' || wz_str_parse_i64(uid, &u) < 0 ||
		        fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		/* younger than a day: its job may be on the way */
		if (wz_map_get(&kept, name_key(u, id)) == WZ_NONE && st.st_ctime < now - 86400)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	wz_map_release(&kept);
	(void)closedir(d);
}
