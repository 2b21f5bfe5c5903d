/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a snapshot of a core; its checksum is made right first, so that the checks behind it are reached. Properties: it is
 * refused, or the core that comes of it exports to bytes that import again, and may decide without a trap. */
#include "fuzz.h"

#include "base/check.h"
#include "base/hash.h"
#include "core/core.h"
#include "os/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_core *c = NULL, *d = NULL;
	struct wz_plan plan;
	struct wz_event step = {.kind = WZ_EV_STEP};
	struct wz_err err = {0};
	struct wz_buf in, out, again;
	int r;
	if (size < 16 || size > 1 << 20)
		return 0;
	wz_buf_init(&in, wz_os_mem(), 2 << 20);
	wz_buf_init(&out, wz_os_mem(), 64 << 20);
	wz_buf_init(&again, wz_os_mem(), 64 << 20);
	wz_buf_add(&in, (struct wz_str){(const char *)data, size - 16});
	wz_buf_add_hex64(&in, wz_hash_str(0x57a7e, wz_buf_str(&in)));
	r = wz_core_import(wz_os_mem(), NULL, wz_buf_str(&in), &c, NULL, &err);
	if (r < 0) {
		wz_check(err.code == r && err.reason && err.text[0]);
	} else {
		wz_check(wz_core_export(c, &out, NULL) == 0);
		wz_check(wz_core_import(wz_os_mem(), NULL, wz_buf_str(&out), &d, NULL, &err) == 0);
		wz_check(wz_core_export(d, &again, NULL) == 0 && wz_str_eq(wz_buf_str(&out), wz_buf_str(&again)));
		wz_plan_init(&plan, wz_os_mem());
		step.time_us = wz_core_now(c);
		if (wz_core_apply(c, &step, NULL) == 0)
			(void)wz_core_decide(c, 1000, &plan, NULL);
		wz_plan_release(&plan);
	}
	wz_core_free(c);
	wz_core_free(d);
	wz_buf_release(&in);
	wz_buf_release(&out);
	wz_buf_release(&again);
	return 0;
}
