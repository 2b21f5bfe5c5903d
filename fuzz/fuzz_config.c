/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an error has a place and a reason and leaves the defaults; what parses keeps every limit, differs in nothing
 * from itself, and takes any text as a job's wish. */
#include "fuzz.h"

#include "base/check.h"
#include "os/mem.h"
#include "serve/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_config c, again;
	struct wz_err err = {0};
	struct wz_buf a, b;
	struct wz_str text = {(const char *)data, size};
	wz_config_init(&c, wz_os_mem());
	int rc = wz_config_parse(&c, text, "f", &err);
	if (rc < 0) {
		wz_check(err.code < 0 && err.reason && err.text[0]);
		wz_check(c.n_listen == 0 && c.n_targets == 0 && !c.state && c.cgroups);
		wz_config_release(&c);
		return 0;
	}
	wz_check(c.n_listen <= WZ_CONFIG_LISTEN_MAX && c.n_targets <= WZ_CONFIG_TARGETS_MAX && c.audit_files > 0);
	wz_check(c.keep_jobs_us >= 0 && c.keep_logs_us >= 0 && c.local_role <= WZ_ROLE_USER);
	for (uint32_t i = 0; i < c.n_targets; i++) {
		wz_check(c.target[i].name && c.target[i].events && c.target[i].tries && c.target[i].timeout_us > 0);
		(void)wz_target_wants(&c.target[i], WZ_STR("me"), text);
	}
	(void)wz_config_check_notify(&c, WZ_STR("me"), text, NULL);
	wz_config_init(&again, wz_os_mem());
	wz_check(wz_config_parse(&again, text, "f", &err) == 0);
	wz_buf_init(&a, wz_os_mem(), 4096);
	wz_buf_init(&b, wz_os_mem(), 4096);
	wz_config_diff(&c, &again, &a, &b);
	wz_check(a.len == 0 && b.len == 0);
	wz_buf_release(&a);
	wz_buf_release(&b);
	wz_config_release(&c);
	wz_config_release(&again);
	return 0;
}
