/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/figures.h"

#include <math.h>

double wz_student_975(uint32_t freedom)
{
	static const double t[31] = {0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	        2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
	        2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

	if (freedom <= 30)
		return t[freedom];
	return freedom < 40 ? 2.042 : freedom < 60 ? 2.021 : freedom < 120 ? 2.000 : 1.980;
}

void wz_sample_add(struct wz_sample *s, double v)
{
	double off = v - s->mean;

	if (isnan(v))
		return;
	s->n++;
	s->mean += off / s->n;
	s->sq += off * (v - s->mean);
}

struct wz_interval wz_sample_interval(const struct wz_sample *s)
{
	struct wz_interval x = {.n = s->n, .mean = (double)NAN, .half = (double)NAN};

	if (s->n)
		x.mean = s->mean;
	if (s->n > 1)
		x.half = wz_student_975(s->n - 1) * sqrt(s->sq / (s->n - 1) / s->n);
	return x;
}

void wz_fig_number(struct wz_buf *b, double v, unsigned decimals)
{
	double scale = 1;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	wz_buf_add_fixed(b, (int64_t)(v < 0 ? v * scale - 0.5 : v * scale + 0.5), decimals);
}

void wz_fig_json(struct wz_buf *b, const char *key, double v, unsigned decimals)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":");
	if (isnan(v))
		wz_buf_addz(b, "null");
	else
		wz_fig_number(b, v, decimals);
}

void wz_fig_pad(struct wz_buf *b, size_t from, size_t width)
{
	while (b->len - from < width && b->status == 0)
		wz_buf_addc(b, ' ');
}

void wz_fig_cell(struct wz_buf *b, double v, unsigned decimals, size_t width)
{
	char scratch[40];
	struct wz_buf t;

	wz_buf_init_fixed(&t, scratch, sizeof(scratch));
	if (isnan(v))
		wz_buf_addc(&t, '-');
	else
		wz_fig_number(&t, v, decimals);
	for (size_t i = t.len; i < width; i++)
		wz_buf_addc(b, ' ');
	wz_buf_add(b, wz_buf_str(&t));
}
