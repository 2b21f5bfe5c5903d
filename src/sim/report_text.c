/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of the report. Numbers are written by hand: no locale, the same digits on every machine. */
#include "sim/report_int.h"

#include <math.h>

#define WZ_REP_TEXT(id, en, zh) {en, zh},
static const char *const text[WZ_T_COUNT][WZ_REP_LANGS] = {
#include "sim/report_text.inc"
};
#undef WZ_REP_TEXT

static const struct wz_str none = {"–", sizeof("–") - 1};

static bool writable(double v)
{
	return isfinite(v) && v > -1e12 && v < 1e12;
}

struct wz_str wz_rep_int(struct wz_rep_num *scratch, double v)
{
	struct wz_num digits;
	struct wz_buf b;
	struct wz_str s;

	if (!writable(v))
		return none;
	wz_buf_init_fixed(&b, scratch->b, sizeof(scratch->b));
	s = wz_str_u64(&digits, (uint64_t)((v < 0 ? -v : v) + 0.5));
	if (v <= -0.5)
		wz_buf_addz(&b, "−");
	for (size_t i = 0; i < s.len; i++) {
		if (i && (s.len - i) % 3 == 0)
			wz_buf_addc(&b, ',');
		wz_buf_addc(&b, s.ptr[i]);
	}
	return wz_buf_str(&b);
}

struct wz_str wz_rep_fix(struct wz_rep_num *scratch, double v, unsigned decimals)
{
	struct wz_buf b;
	double scale = 1;
	int64_t n;

	if (!writable(v))
		return none;
	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	n = (int64_t)((v < 0 ? -v : v) * scale + 0.5);
	wz_buf_init_fixed(&b, scratch->b, sizeof(scratch->b));
	if (v < 0 && n)
		wz_buf_addz(&b, "−");
	wz_buf_add_fixed(&b, n, decimals);
	return wz_buf_str(&b);
}

struct wz_str wz_rep_us(struct wz_rep_num *scratch, double ns)
{
	return wz_rep_fix(scratch, ns / 1e3, ns < 1e5 ? 2 : 1);
}

void wz_rep_z(struct wz_rep *p, const char *trusted)
{
	wz_buf_addz(p->b, trusted);
}

void wz_rep_text(struct wz_rep *p, struct wz_str s)
{
	wz_buf_add_html(p->b, s);
}

void wz_rep_fill(struct wz_rep *p, unsigned id, bool strong, const struct wz_str *arg, uint32_t n)
{
	const char *z = text[id][p->lang], *from = z;

	for (; *z; z++) {
		uint32_t i = (uint32_t)(z[0] == '{' ? z[1] - '1' : -1);
		if (i >= n || z[2] != '}')
			continue;
		wz_rep_text(p, (struct wz_str){from, (size_t)(z - from)});
		wz_rep_z(p, strong ? "<b>" : "");
		wz_rep_text(p, arg[i]);
		wz_rep_z(p, strong ? "</b>" : "");
		from = z + 3;
		z += 2;
	}
	wz_rep_text(p, (struct wz_str){from, (size_t)(z - from)});
}

void wz_rep_name(struct wz_rep *p, struct wz_str s, size_t chars)
{
	size_t n = 0, cut = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (((unsigned char)s.ptr[i] & 0xc0) == 0x80)
			continue;
		if (++n == chars)
			cut = i;
	}
	wz_rep_text(p, n > chars ? (struct wz_str){s.ptr, cut} : s);
	wz_rep_z(p, n > chars ? "…" : "");
}

void wz_rep_coord(struct wz_rep *p, double v)
{
	int64_t n;

	if (!writable(v))
		v = 0;
	n = (int64_t)(v < 0 ? v * 10 - 0.5 : v * 10 + 0.5);
	if (n % 10)
		wz_buf_add_fixed(p->b, n, 1);
	else
		wz_buf_add_i64(p->b, n / 10);
}

void wz_rep_attr(struct wz_rep *p, const char *name, double v)
{
	wz_buf_addc(p->b, ' ');
	wz_rep_z(p, name);
	wz_rep_z(p, "=\"");
	wz_rep_coord(p, v);
	wz_buf_addc(p->b, '"');
}
