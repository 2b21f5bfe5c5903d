/* SPDX-License-Identifier: Apache-2.0 */
/* The whole input goes to every parser of quantities. Properties: what parses, is formatted and parses back to the
 * same value; a failure says why in printable text and writes no value. */
#include "fuzz.h"

#include "base/check.h"
#include "base/quant.h"

static const struct {
	int (*parse)(struct wz_str s, uint64_t *ret, struct wz_err *err);
	void (*format)(struct wz_buf *b, uint64_t v);
} forms[] = {
        {wz_bytes_parse, wz_bytes_format},
        {wz_milli_parse, wz_milli_format},
        {wz_milli_parse, wz_percent_format},
        {wz_duration_parse, wz_duration_format},
};

#define UNTOUCHED 0xdeadbeefdeadbeefULL

static void check_failure(int rc, const struct wz_err *err, uint64_t v)
{
	wz_check(rc == -EINVAL || rc == -ERANGE);
	wz_check(err->code == rc && err->reason && err->text[0] == '"');
	wz_check(v == UNTOUCHED);
	for (const char *p = err->text; *p; p++)
		wz_check((unsigned char)*p >= 0x20 && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str s = {(const char *)data, size};
	for (size_t i = 0; i < WZ_ARRAY_LEN(forms); i++) {
		struct wz_err err;
		char space[64];
		struct wz_buf b;
		uint64_t v = UNTOUCHED, again = UNTOUCHED;
		int rc;
		memset(&err, 0, sizeof err);
		rc = forms[i].parse(s, &v, &err);
		wz_check(forms[i].parse(s, &again, NULL) == rc && again == v);
		if (rc < 0) {
			check_failure(rc, &err, v);
			continue;
		}
		wz_check(rc == 0 && !err.reason);
		wz_buf_init_fixed(&b, space, sizeof space);
		forms[i].format(&b, v);
		again = ~v;
		wz_check(b.status == 0 && forms[i].parse(wz_buf_str(&b), &again, NULL) == 0 && again == v);
	}
	return 0;
}
