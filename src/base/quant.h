/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them. Every parser takes the whole view, and every formatter's output parses back to
 * the same value. No blanks, no signs, no rounding; digits on both sides of a point. Errors: -EINVAL (not of this form;
 * reason InvalidQuantity), -ERANGE (does not fit 64 bits; QuantityTooLarge); *err quotes the input and names what was
 * expected. *ret is written only on success. */
#ifndef WZ_BASE_QUANT_H
#define WZ_BASE_QUANT_H

#include "base/buf.h"
#include "base/err.h"

#define WZ_KI 1024ULL
#define WZ_MI (1024ULL * WZ_KI)
#define WZ_GI (1024ULL * WZ_MI)
#define WZ_TI (1024ULL * WZ_GI)

/* Bytes of host memory: "512Mi", "1.5Gi", "64G" (here G = 10^9), "32768" (bytes). Ki Mi Gi Ti Pi; k K M G T P.
 * Fractions must give a whole number of bytes. */
int wz_bytes_parse(struct wz_str s, uint64_t *ret, struct wz_err *err);
void wz_bytes_format(struct wz_buf *b, uint64_t bytes); /* the largest exact binary unit: "1536Mi", "7" */

/* Milli: "1" = 1000, "0.5" = 500, "500m" = 500, "50%" = 500. Finer than a milli, or more than three decimals even if
 * they are zeros: -EINVAL. */
int wz_milli_parse(struct wz_str s, uint64_t *ret, struct wz_err *err);
void wz_milli_format(struct wz_buf *b, uint64_t milli); /* "1", "0.5", "1.25" */
void wz_percent_format(struct wz_buf *b, uint64_t milli); /* 505 -> "50.5%" */

/* Durations in microseconds: "90s", "8h", "2h30m", "1.5h", "500ms", "1d12h"; units w d h m s ms us, each at most once,
 * the largest first. Clock forms: "1-12:00:00" (days-HH:MM:SS), "08:00:00", "100:00:00"; "30:00" is refused, since it
 * means minutes to some and hours to others. A bare number is refused (the error says which unit to add). */
int wz_duration_parse(struct wz_str s, uint64_t *ret_us, struct wz_err *err);
void wz_duration_format(struct wz_buf *b, uint64_t us); /* days and below, no zero parts: "2h30m", "14d", "0s" */

#endif
