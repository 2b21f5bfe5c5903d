/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of experiments: means with their intervals, and how they are written. Floating point is for reports only. */
#ifndef WZ_SIM_FIGURES_H
#define WZ_SIM_FIGURES_H

#include "base/buf.h"

/* Values added one by one (Welford's update); NAN is left out. */
struct wz_sample { double mean, sq; uint32_t n; };
void wz_sample_add(struct wz_sample *s, double v);

/* The mean, and half of the 95 % interval for it by Student's t (NAN when n < 2). */
struct wz_interval { double mean, half; uint32_t n; };
struct wz_interval wz_sample_interval(const struct wz_sample *s);
double wz_student_975(uint32_t freedom); /* the 97.5 % quantile; freedom > 0; between rows of the table, the safer one */

/* Rounded half away from zero; NAN is null in JSON and "-" in a cell. */
void wz_fig_number(struct wz_buf *b, double v, unsigned decimals);
void wz_fig_json(struct wz_buf *b, const char *key, double v, unsigned decimals); /* ,"key":v */
void wz_fig_pad(struct wz_buf *b, size_t from, size_t width); /* blanks until `width` past offset `from` */
void wz_fig_cell(struct wz_buf *b, double v, unsigned decimals, size_t width); /* aligned to the right */

#endif
