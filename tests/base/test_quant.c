/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quant.h"

#include "base/check.h"
#include "base/rng.h"
#include "tap.h"

#include <errno.h>

typedef int parse_fn(struct wz_str s, uint64_t *ret, struct wz_err *err);
typedef void format_fn(struct wz_buf *b, uint64_t v);

struct row {
	const char *in;
	int rc;
	uint64_t want;
	const char *text; /* what the error text must contain */
};

static bool contains(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static void check_rows(const char *name, parse_fn *parse, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct wz_err e = {.reason = "untouched", .text = "untouched"};
		uint64_t v = 4242;
		int rc = parse(wz_str(rows[i].in), &v, &e);
		tap_eq_i64(rc, rows[i].rc, "%s(\"%s\"): %s", name, rows[i].in, e.text);
		tap_ok(v == (rows[i].rc ? 4242 : rows[i].want), "%s(\"%s\") gives %" PRIu64, name, rows[i].in, v);
		tap_eq_i64(parse(wz_str(rows[i].in), &v, NULL), rows[i].rc, "without err");
		if (rc == 0) {
			tap_eq_str(wz_str(e.text), WZ_STR("untouched"), "err is untouched on success");
			continue;
		}
		tap_eq_i64(e.code, rc, "code");
		tap_eq_str(wz_str(e.reason), rc == -ERANGE ? WZ_STR("QuantityTooLarge") : WZ_STR("InvalidQuantity"),
		        "%s(\"%s\"): reason", name, rows[i].in);
		tap_ok(!rows[i].text || contains(e.text, rows[i].text), "%s(\"%s\") says: %s", name, rows[i].in,
		        e.text);
	}
}

static void test_bytes(void)
{
	static const char form[] = "a number with a unit: 512Mi, 1.5Gi, 64G";
	static const struct row rows[] = {
	        {"0", 0, 0, NULL}, {"32768", 0, 32768, NULL}, {"512Mi", 0, 512 * WZ_MI, NULL},
	        {"1.5Gi", 0, 3 * WZ_GI / 2, NULL}, {"64G", 0, 64000000000, NULL}, {"0.5k", 0, 500, NULL},
	        {"0.5K", 0, 500, NULL}, {"7M", 0, 7000000, NULL}, {"1.000000000001T", 0, 1000000000001, NULL},
	        {"1P", 0, 1000000000000000, NULL}, {"3Ki", 0, 3072, NULL}, {"2Ti", 0, 2 * WZ_TI, NULL},
	        {"16383Pi", 0, 16383 * 1024 * WZ_TI, NULL},
	        {"16383.99999999999999911182158029987476766109466552734375Pi", 0, UINT64_MAX, NULL},
	        {"0.00000000000000088817841970012523233890533447265625Pi", 0, 1, NULL},
	        {"1.00000000000000000000000000000000000000000000000000000000000000000000Gi", 0, WZ_GI, NULL},
	        {"18446744073709551615", 0, UINT64_MAX, NULL}, {"000000000000000000000000000001Ki", 0, 1024, NULL},
	        {"1.0000000001Gi", -EINVAL, 0, "not a whole number of bytes"},
	        {"0.5", -EINVAL, 0, "not a whole number of bytes"},
	        {"0.0000000000000008881784197001252323389053344726562Pi", -EINVAL, 0, "not a whole number"},
	        {"18446744073709551616", -ERANGE, 0, "too large: at most 18446744073709551615 bytes"},
	        {"16384Pi", -ERANGE, 0, "\"16384Pi\": too large"},
	        {"99999999999999999999999999999999Ki", -ERANGE, 0, "too large"},
	        {"99999999999999999999999999999999", -ERANGE, 0, "too large"},
	        {"99999999999999999999999999999999X", -EINVAL, 0, form}, {"", -EINVAL, 0, "\"\": "},
	        {" ", -EINVAL, 0, form}, {" 1Gi", -EINVAL, 0, form}, {"1Gi ", -EINVAL, 0, form},
	        {"1 Gi", -EINVAL, 0, form}, {"1Gi\n", -EINVAL, 0, "\"1Gi?\""}, {"+1Gi", -EINVAL, 0, form},
	        {"-1Gi", -EINVAL, 0, form}, {"-0", -EINVAL, 0, form}, {"Gi", -EINVAL, 0, form},
	        {".5Gi", -EINVAL, 0, form}, {"1.Gi", -EINVAL, 0, form}, {"1..5Gi", -EINVAL, 0, form},
	        {"1.5.5Gi", -EINVAL, 0, form}, {"1,5Gi", -EINVAL, 0, form}, {"1gi", -EINVAL, 0, form},
	        {"1GI", -EINVAL, 0, form}, {"1GiB", -EINVAL, 0, form}, {"1ki", -EINVAL, 0, form},
	        {"1e3", -EINVAL, 0, form}, {"0x10", -EINVAL, 0, form}, {"inf", -EINVAL, 0, form},
	        {"nan", -EINVAL, 0, form}, {"１Gi", -EINVAL, 0, form}, /* a full-width digit */
	};
	check_rows("bytes", wz_bytes_parse, rows, WZ_ARRAY_LEN(rows));
}

static void test_milli(void)
{
	static const char form[] = "2, 0.5, 50%, 500m";
	static const struct row rows[] = {
	        {"1", 0, 1000, NULL},
	        {"0", 0, 0, NULL},
	        {"0.5", 0, 500, NULL},
	        {"0.125", 0, 125, NULL},
	        {"500m", 0, 500, NULL},
	        {"50%", 0, 500, NULL},
	        {"12.5%", 0, 125, NULL},
	        {"100.0%", 0, 1000, NULL},
	        {"250%", 0, 2500, NULL},
	        {"1.000", 0, 1000, NULL},
	        {"7.0m", 0, 7, NULL},
	        {"18446744073709551.615", 0, UINT64_MAX, NULL},
	        {"18446744073709551615m", 0, UINT64_MAX, NULL},
	        {"18446744073709551.616", -ERANGE, 0, "too large"},
	        {"18446744073709551616m", -ERANGE, 0, "too large"},
	        {"1844674407370955161.6%", -ERANGE, 0, "too large"},
	        {"0.0001", -EINVAL, 0, "finer than one thousandth"},
	        {"0.5000", -EINVAL, 0, "finer than one thousandth"},
	        {"12.55%", -EINVAL, 0, "finer than one thousandth"},
	        {"0.5m", -EINVAL, 0, "finer than one thousandth"},
	        {"", -EINVAL, 0, form},
	        {"%", -EINVAL, 0, form},
	        {"m", -EINVAL, 0, form},
	        {"-1", -EINVAL, 0, form},
	        {"+1", -EINVAL, 0, form},
	        {" 1", -EINVAL, 0, form},
	        {"1 %", -EINVAL, 0, form},
	        {"1%%", -EINVAL, 0, form},
	        {"1.", -EINVAL, 0, form},
	        {".5", -EINVAL, 0, form},
	        {"1M", -EINVAL, 0, form},
	        {"1e3", -EINVAL, 0, form},
	};
	check_rows("milli", wz_milli_parse, rows, WZ_ARRAY_LEN(rows));
}

#define S 1000000ULL
#define H (3600 * S)
#define D (24 * H)

static void test_duration(void)
{
	static const char unit[] = "a duration needs a unit: 90s, 15m, 8h";
	static const char form[] = "a duration is like 90s, 15m, 8h, 2h30m";
	static const char clock[] = "hours or minutes? write 30m or 00:30:00";
	static const struct row rows[] = {
	        {"90s", 0, 90 * S, NULL},
	        {"15m", 0, 900 * S, NULL},
	        {"8h", 0, 8 * H, NULL},
	        {"2h30m", 0, 5 * H / 2, NULL},
	        {"1.5h", 0, 3 * H / 2, NULL},
	        {"500ms", 0, S / 2, NULL},
	        {"7us", 0, 7, NULL},
	        {"0.000001s", 0, 1, NULL},
	        {"1d12h", 0, 3 * D / 2, NULL},
	        {"2w", 0, 14 * D, NULL},
	        {"1w2d3h4m5s6ms7us", 0, 9 * D + 3 * H + 245 * S + 6007, NULL},
	        {"0s", 0, 0, NULL},
	        {"1h90m", 0, 5 * H / 2, NULL},
	        {"08:00:00", 0, 8 * H, NULL},
	        {"8:00:00", 0, 8 * H, NULL},
	        {"100:59:59", 0, 100 * H + 3599 * S, NULL},
	        {"1-12:00:00", 0, 3 * D / 2, NULL},
	        {"30-0:00:01", 0, 30 * D + S, NULL},
	        {"18446744073709551615us", 0, UINT64_MAX, NULL},
	        {"213503982d8h1m49s551ms615us", 0, UINT64_MAX, NULL},
	        {"213503982d8h1m49s551ms616us", -ERANGE, 0, "too large: at most 213503982 days"},
	        {"213503983d", -ERANGE, 0, "too large"},
	        {"99999999999999999999w", -ERANGE, 0, "too large"},
	        {"99999999999999999999w1x", -EINVAL, 0, "units"},
	        {"99999999999999999999:00:00", -ERANGE, 0, "too large"},
	        {"213503982-08:01:50", -ERANGE, 0, "too large"},
	        {"90", -EINVAL, 0, unit},
	        {"0", -EINVAL, 0, unit},
	        {"1.5", -EINVAL, 0, unit},
	        {"2h30", -EINVAL, 0, unit},
	        {"", -EINVAL, 0, form},
	        {" 8h", -EINVAL, 0, form},
	        {"8h ", -EINVAL, 0, form},
	        {"8 h", -EINVAL, 0, "units"},
	        {"2h 30m", -EINVAL, 0, form},
	        {"-8h", -EINVAL, 0, form},
	        {"+8h", -EINVAL, 0, form},
	        {"h", -EINVAL, 0, form},
	        {"8H", -EINVAL, 0, "the units of a duration are w, d, h, m, s, ms, us"},
	        {"8hours", -EINVAL, 0, "units"},
	        {"1y", -EINVAL, 0, "units"},
	        {"30m2h", -EINVAL, 0, "the largest first"},
	        {"1h1h", -EINVAL, 0, "once"},
	        {"0.0000001s", -EINVAL, 0, "not a whole number of microseconds"},
	        {"1.5us", -EINVAL, 0, "not a whole number of microseconds"},
	        {"30:00", -EINVAL, 0, clock},
	        {"1-12:00", -EINVAL, 0, clock},
	        {"1-12", -EINVAL, 0, "units"},
	        {"08:60:00", -EINVAL, 0, form},
	        {"08:00:60", -EINVAL, 0, form},
	        {"1-24:00:00", -EINVAL, 0, form},
	        {"8:0:00", -EINVAL, 0, form},
	        {"8:00:000", -EINVAL, 0, form},
	        {":00:00", -EINVAL, 0, form},
	        {"-8:00:00", -EINVAL, 0, form},
	        {"1-:00:00", -EINVAL, 0, form},
	        {"1-2-3:00:00", -EINVAL, 0, form},
	        {"8:00:00:00", -EINVAL, 0, form},
	        {"8:00:00s", -EINVAL, 0, form},
	        {"8: 0:00", -EINVAL, 0, form},
	        {"::", -EINVAL, 0, form},
	        {":", -EINVAL, 0, NULL},
	};
	check_rows("duration", wz_duration_parse, rows, WZ_ARRAY_LEN(rows));
}

static void check_format(format_fn *format, uint64_t v, const char *want)
{
	char space[64];
	struct wz_buf b;
	wz_buf_init_fixed(&b, space, sizeof space);
	format(&b, v);
	tap_eq_str(wz_buf_str(&b), wz_str(want), "format %" PRIu64, v);
}

static void test_format(void)
{
	check_format(wz_bytes_format, 0, "0");
	check_format(wz_bytes_format, 7, "7");
	check_format(wz_bytes_format, 1536 * WZ_MI, "1536Mi");
	check_format(wz_bytes_format, WZ_GI, "1Gi");
	check_format(wz_bytes_format, 1ULL << 63, "8192Pi");
	check_format(wz_bytes_format, 64000000000, "62500000Ki");
	check_format(wz_bytes_format, UINT64_MAX, "18446744073709551615");
	check_format(wz_milli_format, 1000, "1");
	check_format(wz_milli_format, 500, "0.5");
	check_format(wz_milli_format, 1250, "1.25");
	check_format(wz_milli_format, 10001, "10.001");
	check_format(wz_milli_format, 0, "0");
	check_format(wz_percent_format, 505, "50.5%");
	check_format(wz_percent_format, 1000, "100%");
	check_format(wz_percent_format, 0, "0%");
	check_format(wz_duration_format, 0, "0s");
	check_format(wz_duration_format, 5 * H / 2, "2h30m");
	check_format(wz_duration_format, 14 * D, "14d");
	check_format(wz_duration_format, S / 2, "500ms");
	check_format(wz_duration_format, UINT64_MAX, "213503982d8h1m49s551ms615us");
}

/* A formatter appends whole or not at all, also when the buffer is nearly full. */
static void test_format_is_whole(void)
{
	char space[64];
	struct wz_buf b;
	wz_buf_init_fixed(&b, space, 4);
	wz_buf_addz(&b, "=");
	wz_duration_format(&b, 5 * H / 2);
	tap_eq_str(wz_buf_str(&b), WZ_STR("="), "nothing of 2h30m");
	tap_eq_i64(b.status, -E2BIG, "and it says so");
}

static const struct {
	const char *name;
	format_fn *format;
	parse_fn *parse;
	uint64_t unit;
} pairs[] = {
        {"bytes", wz_bytes_format, wz_bytes_parse, WZ_MI},
        {"milli", wz_milli_format, wz_milli_parse, 250},
        {"percent", wz_percent_format, wz_milli_parse, 10},
        {"duration", wz_duration_format, wz_duration_parse, 60 * S},
};

static void test_round_trip(void)
{
	struct wz_rng r;
	printf("# seed 41\n");
	wz_rng_seed(&r, 41);
	for (int i = 0; i < 200000; i++) {
		uint64_t v = wz_rng_next(&r) >> wz_rng_below(&r, 64);
		for (size_t k = 0; k < WZ_ARRAY_LEN(pairs); k++) {
			uint64_t in = i % 2 ? v : v / pairs[k].unit * pairs[k].unit, back = ~in;
			char space[64];
			struct wz_buf b;
			wz_buf_init_fixed(&b, space, sizeof space);
			pairs[k].format(&b, in);
			tap_ok(pairs[k].parse(wz_buf_str(&b), &back, NULL) == 0 && back == in,
			        "%s: %" PRIu64 " is written %.*s and read %" PRIu64, pairs[k].name, in, (int)b.len,
			        b.data, back);
		}
	}
}

/* Against __int128: up to 12 decimals and every unit of bytes. */
static void test_fraction_against_int128(void)
{
	static const struct {
		const char *unit;
		uint64_t mult;
	} units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {"Ki", WZ_KI}, {"Mi", WZ_MI},
	        {"Gi", WZ_GI}, {"Ti", WZ_TI}};
	struct wz_rng r;
	unsigned whole = 0;
	printf("# seed 42\n");
	wz_rng_seed(&r, 42);
	for (int i = 0; i < 200000; i++) {
		unsigned decimals = 1 + (unsigned)wz_rng_below(&r, 12), k = (unsigned)wz_rng_below(&r, 8);
		uint64_t scale = 1, a = wz_rng_below(&r, 5000), f, got = 0;
		unsigned __int128 num;
		char text[64];
		for (unsigned d = 0; d < decimals; d++)
			scale *= 10;
		f = wz_rng_below(&r, 2) ? wz_rng_below(&r, scale)
		                        : wz_rng_below(&r, 1 << decimals) * (scale >> decimals);
		num = ((unsigned __int128)a * scale + f) * units[k].mult;
		snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64 "%s", a, (int)decimals, f, units[k].unit);
		int rc = wz_bytes_parse(wz_str(text), &got, NULL);
		if (num % scale) {
			tap_eq_i64(rc, -EINVAL, "%s is not whole", text);
		} else {
			tap_ok(rc == 0 && got == (uint64_t)(num / scale), "%s: rc %d, %" PRIu64, text, rc, got);
			whole++;
		}
	}
	tap_ok(whole > 10000 && whole < 190000, "%u were whole", whole);
}

/* Long input is cut in the message, at a character, and the hint survives. */
static void test_long_input(void)
{
	struct wz_err e;
	char text[1000];
	uint64_t v;
	memset(text, '9', sizeof text);
	tap_eq_i64(wz_bytes_parse((struct wz_str){text, sizeof text}, &v, &e), -ERANGE, "a thousand nines");
	tap_ok(contains(e.text, "9...\": too large"), "%s", e.text);
	for (size_t i = 0; i + 3 <= sizeof text; i += 3)
		memcpy(text + i, "\xe9\xb2\xb8", 3);
	for (size_t at = 0; at < 3; at++) {
		tap_eq_i64(wz_milli_parse((struct wz_str){text, 900 + at}, &v, &e), -EINVAL, "whales");
		tap_ok(contains(e.text, "\xe9\xb2\xb8...\": an amount is"), "%s", e.text);
		memmove(text + 1, text, sizeof text - 1);
		text[0] = 'x';
	}
}

int main(void)
{
	tap_run(test_bytes);
	tap_run(test_milli);
	tap_run(test_duration);
	tap_run(test_format);
	tap_run(test_format_is_whole);
	tap_run(test_round_trip);
	tap_run(test_fraction_against_int128);
	tap_run(test_long_input);
	return tap_done();
}
