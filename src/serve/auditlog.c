/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/auditlog.h"

#include "os/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_ 16384u

static int open_file(struct wz_auditlog *a, struct wz_err *err)
{
	struct stat st;
	a->fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->fd < 0 || fstat(a->fd, &st) < 0)
		return wz_file_err(err, -errno, "write", a->path);
	a->size = (uint64_t)st.st_size;
	return 0;
}

int wz_auditlog_open(struct wz_auditlog *a, const char *dir, uint64_t bytes, uint32_t files, struct wz_err *err)
{
	*a = (struct wz_auditlog){.fd = -1, .bytes = bytes, .files = files};
	int n = snprintf(a->path, sizeof a->path, "%s/audit.log", dir);
	if (n < 0 || (size_t)n >= sizeof a->path)
		return wz_err_set(err, -ENAMETOOLONG, "FileError", WZ_STR("the path is too long"));
	return open_file(a, err);
}

void wz_auditlog_close(struct wz_auditlog *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

/* audit.log.8 becomes audit.log.9, and so on up to audit.log; the last falls off. */
static void turn_over(struct wz_auditlog *a)
{
	char from[4200], to[4200];
	struct wz_err err;
	for (uint32_t i = a->files; i-- > 0;) {
		(void)snprintf(to, sizeof to, "%s.%u", a->path, i + 1);
		if (i)
			(void)snprintf(from, sizeof from, "%s.%u", a->path, i);
		else
			(void)snprintf(from, sizeof from, "%s", a->path);
		if (i + 1 >= a->files && a->files > 1)
			(void)unlink(from); /* beyond what is kept */
		else
			(void)rename(from, to);
	}
	wz_auditlog_close(a);
	(void)open_file(a, &err);
}

static void field(struct wz_buf *b, const char *name, struct wz_str v)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, name);
	wz_buf_addz(b, "\":");
	wz_buf_add_json(b, v);
}

void wz_auditlog_add(struct wz_auditlog *a, int64_t now_us, const struct wz_api_audit *line)
{
	char bytes[LINE_MAX_];
	struct wz_buf b;
	struct wz_str target = line->target.len > 1024 ? (struct wz_str){line->target.ptr, 1024} : line->target;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_buf_addz(&b, "{\"time_us\":");
	wz_buf_add_i64(&b, now_us);
	field(&b, "user", wz_str(line->who->name));
	wz_buf_addz(&b, ",\"uid\":");
	wz_buf_add_i64(&b, line->who->uid);
	field(&b, "role", wz_str(wz_role_word(line->who->role)));
	field(&b, "from", wz_str(line->who->address));
	field(&b, "via", line->who->token ? WZ_STR("token") : line->who->local ? WZ_STR("peer") : WZ_STR("none"));
	field(&b, "operation", wz_str(line->operation));
	field(&b, "method", wz_str(line->method));
	field(&b, "target", target);
	if (line->job) {
		wz_buf_addz(&b, ",\"job\":");
		wz_buf_add_u64(&b, line->job);
	}
	wz_buf_addz(&b, ",\"status\":");
	wz_buf_add_u64(&b, line->status);
	if (line->reason[0])
		field(&b, "reason", wz_str(line->reason));
	field(&b, "request", wz_str(line->request_id));
	wz_buf_addz(&b, "}\n");
	if (a->fd >= 0 && a->size + b.len > a->bytes && a->size)
		turn_over(a);
	if (a->fd < 0 || b.status < 0 || wz_fd_write_all(a->fd, wz_buf_str(&b)) < 0) {
		a->lost++;
		return;
	}
	a->size += b.len;
}
