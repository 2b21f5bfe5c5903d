/* SPDX-License-Identifier: Apache-2.0 */
/* Runs files through a fuzzer without libFuzzer: replay_<name> PATH..., where a path is a file or a directory of
 * files. TAP; the name of a file is printed before it runs, so that a trap shows which one it was. No file at all is
 * a failure: a test that reads nothing would never fail. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

static unsigned count, failures;

static void result(bool ok, const char *path, const char *why)
{
	count++;
	failures += !ok;
	printf("%s %u - %s%s%s\n", ok ? "ok" : "not ok", count, path, why ? ": " : "", why ? why : "");
	fflush(stdout);
}

static void replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1); /* the exact size, so that ASan sees a read past the end */
	bool ok = f && data && fread(data, 1, size, f) == size;
	int err = errno;
	if (f)
		(void)fclose(f);
	if (ok) {
		printf("# %s\n", path);
		fflush(stdout);
		(void)LLVMFuzzerTestOneInput(data, size);
	}
	result(ok, path, ok ? NULL : strerror(err));
	free(data);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void replay_path(const char *path, int depth);

static void replay_dir(const char *path, int depth)
{
	struct dirent **entries;
	int n = scandir(path, &entries, visible, by_name);
	if (n <= 0)
		result(false, path, n < 0 ? strerror(errno) : "no files");
	for (int i = 0; i < n; i++) {
		char child[4096];
		int len = snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
		if (len > 0 && (size_t)len < sizeof child)
			replay_path(child, depth + 1);
		else
			result(false, entries[i]->d_name, "path too long");
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void replay_path(const char *path, int depth)
{
	struct stat st;
	if (stat(path, &st) < 0)
		result(false, path, strerror(errno));
	else if (S_ISDIR(st.st_mode) && depth < 4)
		replay_dir(path, depth);
	else if (S_ISREG(st.st_mode))
		replay_file(path, (size_t)st.st_size);
	else
		result(false, path, "neither a file nor a directory");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_path(argv[i], 0);
	if (count == 0)
		result(false, "usage", "replay_<name> PATH...");
	printf("1..%u\n", count);
	return failures ? 1 : 0;
}
