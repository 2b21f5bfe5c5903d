/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fault.h"
#include "os/file.h"
#include "os/mem.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/wz-test-XXXXXX";
static struct wz_err err;

static const char *in_dir(const char *name)
{
	static char path[2][256];
	static unsigned turn;
	turn ^= 1;
	(void)snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static unsigned entries(const char *path)
{
	unsigned n = 0;
	DIR *d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static void expect(const char *name, size_t max, int code, const char *reason, const char *text)
{
	struct wz_file_text t = {0};
	tap_eq_i64(wz_file_read(name, max, wz_os_mem(), &t, &err), code, "%s", name);
	tap_eq_str(wz_str(err.reason), wz_str(reason), "%s: %s", name, err.text);
	tap_ok(strstr(err.text, name) && strstr(err.text, text), "%s", err.text);
	tap_ok(!t.data, "nothing is returned");
}

static void test_write_read(void)
{
	struct wz_file_text t;
	struct stat st;
	const char *path = in_dir("a");
	tap_eq_i64(wz_file_write(path, WZ_STR("one\n"), 0644, &err), 0, "%s", err.text);
	tap_eq_i64(wz_file_write(path, WZ_STR("two\nlines\n"), 0644, &err), 0, "%s", err.text);
	tap_eq_i64(wz_file_read(path, 10, wz_os_mem(), &t, &err), 0, "exactly the limit: %s", err.text);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("two\nlines\n"), "what was written last");
	wz_file_text_release(&t);
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644, "mode");
	tap_eq_i64(entries(dir), 1, "no temporary is left");
	expect(path, 9, -E2BIG, "TooLarge", "larger than 9 bytes");
}

static void test_errors(void)
{
	tap_eq_i64(wz_file_write(in_dir("empty"), WZ_STR(""), 0644, &err), 0, "%s", err.text);
	expect(in_dir("none"), 100, -ENOENT, "NotFound", "no such file");
	expect(dir, 100, -EISDIR, "IsDirectory", "is a directory");
	expect(in_dir("empty"), 100, -ENODATA, "EmptyFile", "empty");
	expect(in_dir("empty/x"), 100, -ENOTDIR, "NotADirectory", "not a directory");
	tap_eq_i64(wz_file_write(dir, WZ_STR("x"), 0644, &err), -EISDIR, "onto a directory");
	tap_eq_i64(wz_file_write(in_dir("none/x"), WZ_STR("x"), 0644, &err), -ENOENT, "into nowhere");
	tap_eq_i64(wz_file_write("/proc/x", WZ_STR("x"), 0644, &err), -ENOENT, "where nobody can");
}

/* A file without a size: read until the end, and the limit holds all the same. */
static void test_no_size(void)
{
	struct wz_file_text t;
	expect("/dev/zero", 100000, -E2BIG, "TooLarge", "larger than 100000");
	tap_eq_i64(wz_file_read("/proc/self/status", 1u << 20, wz_os_mem(), &t, &err), 0, "%s", err.text);
	tap_ok(t.len > 0, "of /proc");
	wz_file_text_release(&t);
}

static void test_mkdirs(void)
{
	tap_eq_i64(wz_file_mkdirs(in_dir("x/y/z"), 0755, &err), 0, "%s", err.text);
	tap_eq_i64(wz_file_mkdirs(in_dir("x/y/z/"), 0755, &err), 0, "again: %s", err.text);
	tap_eq_i64(wz_file_mkdirs("/", 0755, &err), 0, "the root: %s", err.text);
	tap_eq_i64(wz_file_write(in_dir("x/f"), WZ_STR("f"), 0644, &err), 0, "%s", err.text);
	tap_eq_i64(wz_file_mkdirs(in_dir("x/f"), 0755, &err), -EEXIST, "a file is there");
	tap_eq_i64(wz_file_mkdirs(in_dir("x/f/g"), 0755, &err), -ENOTDIR, "below a file");
}

static void test_out_of_memory(void)
{
	for (uint64_t n = 1; n < 100; n++) {
		struct fault_mem f;
		struct wz_file_text t;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = wz_file_read("/proc/self/maps", 1u << 20, &f.mem, &t, NULL);
		if (rc == 0)
			wz_file_text_release(&t);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "without a failure");
			return;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
	}
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	tap_run(test_write_read);
	tap_run(test_errors);
	tap_run(test_no_size);
	tap_run(test_mkdirs);
	tap_run(test_out_of_memory);
	(void)unlink(in_dir("a"));
	(void)unlink(in_dir("empty"));
	(void)unlink(in_dir("x/f"));
	(void)rmdir(in_dir("x/y/z"));
	(void)rmdir(in_dir("x/y"));
	(void)rmdir(in_dir("x"));
	(void)rmdir(dir);
	return tap_done();
}
