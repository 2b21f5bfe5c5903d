/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's text files: mountinfo, cgroup, key-value files, stat. A job may name its process as it likes. */
#include "fuzz.h"

#include "base/check.h"
#include "os/cgroup.h"
#include "os/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str text = {(const char *)data, size}, rest = text;
	struct wz_cgroup_mount m;
	struct wz_proc_stat st;
	char path[64];
	uint64_t v;
	int sig;
	while (wz_cgroup_next_mount(&rest, &m))
		wz_check((m.version == 1 || m.version == 2) && strlen(m.mount) < WZ_CG_PATH_MAX);
	if (wz_cgroup_own_path(text, WZ_STR("memory"), path, sizeof path) == 0)
		wz_check(path[0] == '/' && strlen(path) < sizeof path);
	(void)wz_cgroup_own_path(text, WZ_STR(""), path, sizeof path);
	(void)wz_cgroup_key(text, WZ_STR("oom_kill"), &v);
	(void)wz_proc_stat_parse(text, &st);
	if (wz_proc_signal_parse(text, &sig) == 0)
		wz_check(sig > 0 && sig < 65);
	return 0;
}
