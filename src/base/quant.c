/* SPDX-License-Identifier: Apache-2.0 */
/* All forms are `digits[.digits]` times a multiplier, exactly. The fraction is evaluated from its last digit: with F
 * the value so far in units of the result, F := (F + digit * multiplier) / 10. When the whole fraction is a whole
 * number of units, so is every such suffix (it differs from 10^i times the fraction by an integer multiple of the
 * multiplier), so a remainder at any digit means "not whole", and F stays below the multiplier however many digits
 * were written. No rounding anywhere, and no limit on digits is needed. */
#include "base/quant.h"

#include "base/check.h"

struct unit {
	const char *name;
	uint64_t mult;
};

struct number {
	uint64_t whole;
	struct wz_str frac; /* digits after the point; empty when none */
	bool over; /* whole part does not fit */
};

#define SHOWN_MAX 48u

/* Error text: the input (cut when long) in quotes, then what was expected. */
static int fail(struct wz_err *err, int code, struct wz_str s, const char *says)
{
	bool cut = s.len > SHOWN_MAX;
	if (cut)
		s.len = SHOWN_MAX;
	while (cut && s.len > SHOWN_MAX - 3 && (s.ptr[s.len] & 0xc0) == 0x80)
		s.len--;
	return wz_err_set(err, code, code == -ERANGE ? "QuantityTooLarge" : "InvalidQuantity", WZ_STR("\""), s,
	        cut ? WZ_STR("...\": ") : WZ_STR("\": "), wz_str(says));
}

static struct wz_str take_digits(struct wz_str *s)
{
	struct wz_str d = {s->ptr, 0};
	while (d.len < s->len && s->ptr[d.len] >= '0' && s->ptr[d.len] <= '9')
		d.len++;
	s->ptr += d.len;
	s->len -= d.len;
	return d;
}

/* Cuts `digits[.digits]` off *s. False when there is none. */
static bool take_number(struct wz_str *s, struct number *ret)
{
	struct wz_str whole;
	if (s->len == 0)
		return false;
	whole = take_digits(s);
	if (whole.len == 0)
		return false;
	ret->frac = (struct wz_str){NULL, 0};
	ret->over = wz_str_parse_u64(whole, &ret->whole) < 0;
	if (s->len == 0 || s->ptr[0] != '.')
		return true;
	s->ptr++;
	s->len--;
	ret->frac = take_digits(s);
	return ret->frac.len > 0;
}

/* number * mult: 0, -EINVAL when not whole, -ERANGE. mult <= 2^60. */
static int scale(const struct number *n, uint64_t mult, uint64_t *ret)
{
	uint64_t f = 0, v;
	for (size_t i = n->frac.len; i-- > 0;) {
		f += (uint64_t)(n->frac.ptr[i] - '0') * mult;
		if (f % 10)
			return -EINVAL;
		f /= 10;
	}
	if (n->over || __builtin_mul_overflow(n->whole, mult, &v) || __builtin_add_overflow(v, f, &v))
		return -ERANGE;
	*ret = v;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t n, struct wz_str name)
{
	for (size_t i = 0; i < n; i++)
		if (wz_str_eq(wz_str(units[i].name), name))
			return &units[i];
	return NULL;
}

static const struct unit byte_units[] = {
        {"", 1},
        {"Ki", WZ_KI},
        {"Mi", WZ_MI},
        {"Gi", WZ_GI},
        {"Ti", WZ_TI},
        {"Pi", 1024 * WZ_TI},
        {"k", 1000},
        {"K", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"T", 1000000000000},
        {"P", 1000000000000000},
};
#define BYTE_UNITS_BINARY 6u /* the first ones, ascending */

int wz_bytes_parse(struct wz_str s, uint64_t *ret, struct wz_err *err)
{
	struct wz_str rest = s;
	struct number n;
	const struct unit *u = NULL;
	int rc;
	if (take_number(&rest, &n))
		u = find_unit(byte_units, WZ_ARRAY_LEN(byte_units), rest);
	if (!u)
		return fail(err, -EINVAL, s, "an amount of memory is a number with a unit: 512Mi, 1.5Gi, 64G");
	rc = scale(&n, u->mult, ret);
	if (rc == -EINVAL)
		return fail(
		        err, rc, s, "not a whole number of bytes; an amount of memory is like 512Mi, 1.5Gi, 64G");
	if (rc == -ERANGE)
		return fail(err, rc, s, "too large: at most 18446744073709551615 bytes, about 16383Pi");
	return 0;
}

void wz_bytes_format(struct wz_buf *b, uint64_t bytes)
{
	unsigned i = bytes ? BYTE_UNITS_BINARY - 1 : 0;
	char text[WZ_NUM_MAX + 4];
	struct wz_buf one;
	while (bytes % byte_units[i].mult)
		i--;
	wz_buf_init_fixed(&one, text, sizeof text);
	wz_buf_add_u64(&one, bytes / byte_units[i].mult);
	wz_buf_addz(&one, byte_units[i].name);
	wz_buf_add(b, wz_buf_str(&one));
}

#define MILLI_DECIMALS 3u

static const struct unit milli_units[] = {{"", 1000}, {"m", 1}, {"%", 10}};

int wz_milli_parse(struct wz_str s, uint64_t *ret, struct wz_err *err)
{
	struct wz_str rest = s;
	struct number n;
	const struct unit *u = NULL;
	int rc;
	if (take_number(&rest, &n))
		u = find_unit(milli_units, WZ_ARRAY_LEN(milli_units), rest);
	if (!u)
		return fail(
		        err, -EINVAL, s, "an amount is a number, a percentage or thousandths: 2, 0.5, 50%, 500m");
	rc = n.frac.len > MILLI_DECIMALS ? -EINVAL : scale(&n, u->mult, ret);
	if (rc == -EINVAL)
		return fail(err, rc, s, "finer than one thousandth; an amount is like 2, 0.125, 12.5%, 125m");
	if (rc == -ERANGE)
		return fail(err, rc, s, "too large: at most 18446744073709551615 thousandths");
	return 0;
}

static void format_decimal(struct wz_buf *b, uint64_t v, unsigned decimals, const char *unit)
{
	char text[WZ_NUM_MAX + 8], frac[MILLI_DECIMALS + 1];
	struct wz_buf one;
	unsigned len = decimals;
	for (unsigned i = decimals; i-- > 0; v /= 10)
		frac[i] = (char)('0' + v % 10);
	while (len > 0 && frac[len - 1] == '0')
		len--;
	wz_buf_init_fixed(&one, text, sizeof text);
	wz_buf_add_u64(&one, v);
	if (len)
		wz_buf_addc(&one, '.');
	wz_buf_add(&one, (struct wz_str){frac, len});
	wz_buf_addz(&one, unit);
	wz_buf_add(b, wz_buf_str(&one));
}

void wz_milli_format(struct wz_buf *b, uint64_t milli)
{
	format_decimal(b, milli, 3, "");
}
void wz_percent_format(struct wz_buf *b, uint64_t milli)
{
	format_decimal(b, milli, 1, "%");
}

#define US_S 1000000ULL
#define US_M (60 * US_S)
#define US_H (60 * US_M)
#define US_D (24 * US_H)

/* Largest first: the order in which they must be written. */
static const struct unit time_units[] = {
        {"w", 7 * US_D},
        {"d", US_D},
        {"h", US_H},
        {"m", US_M},
        {"s", US_S},
        {"ms", 1000},
        {"us", 1},
};

static const char duration_form[] = "a duration is like 90s, 15m, 8h, 2h30m, 1d12h or 1-12:00:00";
static const char duration_range[] = "too large: at most 213503982 days";

/* A clock part: one or two digits (MM, SS: exactly two), below `limit`. */
static bool clock_part(struct wz_str s, size_t min_len, uint64_t limit, uint64_t *ret)
{
	return s.len >= min_len && s.len <= 2 && wz_str_parse_u64(s, ret) == 0 && *ret < limit;
}

/* [D-]H:MM:SS. Hours go on above 23 when no day is given, as people and Slurm write "100:00:00". */
static int parse_clock(struct wz_str s, uint64_t *ret_us, struct wz_err *err)
{
	struct wz_str rest = s, days = {NULL, 0}, hours;
	uint64_t d = 0, h = 0, m, sec, us;
	bool has_days = false;
	int rc;
	for (size_t i = 0; i < s.len && !has_days; i++)
		has_days = s.ptr[i] == '-';
	if (has_days)
		days = wz_str_split(&rest, '-');
	hours = wz_str_split(&rest, ':');
	if (!rest.ptr)
		return fail(err, -EINVAL, s, duration_form);
	struct wz_str minutes = wz_str_split(&rest, ':');
	if (!rest.ptr)
		return fail(err, -EINVAL, s, "hours or minutes? write 30m or 00:30:00");
	if (!clock_part(minutes, 2, 60, &m) || !clock_part(rest, 2, 60, &sec))
		return fail(err, -EINVAL, s, duration_form);
	if (has_days && !clock_part(hours, 1, 24, &h))
		return fail(err, -EINVAL, s, duration_form);
	rc = wz_str_parse_u64(has_days ? days : hours, has_days ? &d : &h);
	if (rc == -EINVAL)
		return fail(err, rc, s, duration_form);
	if (rc < 0 || __builtin_mul_overflow(d, US_D, &d) || __builtin_mul_overflow(h, US_H, &h) ||
	        __builtin_add_overflow(d, h, &us) || __builtin_add_overflow(us, m * US_M + sec * US_S, &us))
		return fail(err, -ERANGE, s, duration_range);
	*ret_us = us;
	return 0;
}

static struct wz_str take_letters(struct wz_str *s)
{
	struct wz_str l = {s->ptr, 0};
	while (l.len < s->len && ((s->ptr[l.len] | 0x20) >= 'a' && (s->ptr[l.len] | 0x20) <= 'z'))
		l.len++;
	s->ptr += l.len;
	s->len -= l.len;
	return l;
}

int wz_duration_parse(struct wz_str s, uint64_t *ret_us, struct wz_err *err)
{
	struct wz_str rest = s;
	const struct unit *last = NULL;
	uint64_t us = 0, part;
	bool over = false;
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == ':')
			return parse_clock(s, ret_us, err);
	do {
		struct number n;
		const struct unit *u;
		int rc;
		if (!take_number(&rest, &n))
			return fail(err, -EINVAL, s, duration_form);
		if (rest.len == 0)
			return fail(err, -EINVAL, s, "a duration needs a unit: 90s, 15m, 8h");
		u = find_unit(time_units, WZ_ARRAY_LEN(time_units), take_letters(&rest));
		if (!u)
			return fail(err, -EINVAL, s, "the units of a duration are w, d, h, m, s, ms, us");
		if (last && u <= last)
			return fail(err, -EINVAL, s, "write each unit once, the largest first: 1d12h, 2h30m");
		last = u;
		rc = scale(&n, u->mult, &part);
		if (rc == -EINVAL)
			return fail(err, rc, s, "not a whole number of microseconds");
		over |= rc == -ERANGE || __builtin_add_overflow(us, part, &us);
	} while (rest.len);
	if (over)
		return fail(err, -ERANGE, s, duration_range);
	*ret_us = us;
	return 0;
}

void wz_duration_format(struct wz_buf *b, uint64_t us)
{
	char text[64];
	struct wz_buf one;
	wz_buf_init_fixed(&one, text, sizeof text);
	for (size_t i = 1; i < WZ_ARRAY_LEN(time_units); i++) { /* weeks are read, days are written */
		if (us < time_units[i].mult)
			continue;
		wz_buf_add_u64(&one, us / time_units[i].mult);
		wz_buf_addz(&one, time_units[i].name);
		us %= time_units[i].mult;
	}
	if (one.len == 0)
		wz_buf_addz(&one, "0s");
	wz_buf_add(b, wz_buf_str(&one));
}
