/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sheet.h"

#include "base/check.h"

#define SECOND_US INT64_C(1000000)

bool wz_sheet_sniff(struct wz_str text, const struct wz_sheet_column *column, uint32_t n)
{
	const char *end;
	uint32_t found = 0;

	if (wz_str_starts(text, WZ_STR("\xef\xbb\xbf")))
		text = (struct wz_str){text.ptr + 3, text.len - 3};
	end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
	if (end)
		text.len = (size_t)(end - text.ptr);
	while (text.ptr && text.len <= WZ_CSV_FIELD_MAX) {
		struct wz_str f = wz_str_trim(wz_str_split(&text, ','));
		if (f.len >= 2 && f.ptr[0] == '"' && f.ptr[f.len - 1] == '"')
			f = (struct wz_str){f.ptr + 1, f.len - 2};
		for (uint32_t c = 0; c < n; c++)
			if (column[c].required && wz_str_eq(f, wz_str(column[c].name)))
				found |= 1u << c;
	}
	for (uint32_t c = 0; c < n; c++)
		if (column[c].required && !(found >> c & 1))
			return false;
	return true;
}

static int at_line(struct wz_sheet *s, int rc, uint32_t line, uint32_t column)
{
	wz_csv_err_at(s->err, s->src->name, line, column);
	return rc;
}

int wz_sheet_at(struct wz_sheet *s, int rc, uint32_t c)
{
	return at_line(s, rc, s->csv.line, s->at[c] == WZ_NONE ? 1 : s->csv.field[s->at[c]].column);
}

int wz_sheet_bad(struct wz_sheet *s, uint32_t c, const char *expected)
{
	struct wz_str f = wz_sheet_field(s, c);

	f.len = f.len > 48 ? 48 : f.len;
	return wz_sheet_at(s,
	        wz_err_set(s->err, -EBADMSG, "BadField", wz_str(s->column[c].name), WZ_STR(" is \""), f,
	                WZ_STR("\"; expected "), wz_str(expected)),
	        c);
}

static int next_record(struct wz_sheet *s)
{
	int rc = wz_csv_next(&s->csv, s->err);
	return rc < 0 ? at_line(s, rc, s->csv.err_line, s->csv.err_column) : rc;
}

static int find_columns(struct wz_sheet *s)
{
	for (uint32_t c = 0; c < s->n_columns; c++) {
		s->at[c] = WZ_NONE;
		for (uint32_t f = 0; f < s->csv.n; f++)
			if (s->at[c] == WZ_NONE &&
			        wz_str_eq(wz_str_trim(s->csv.field[f].text), wz_str(s->column[c].name)))
				s->at[c] = f;
		if (s->at[c] == WZ_NONE && s->column[c].required)
			return at_line(s,
			        wz_err_set(s->err, -EBADMSG, "MissingColumn",
			                WZ_STR("the header lacks the column \""), wz_str(s->column[c].name),
			                WZ_STR("\"")),
			        s->csv.line, 1);
	}
	return 0;
}

int wz_sheet_open(struct wz_sheet *s, const struct wz_mem *mem, const struct wz_trace_source *src,
        const struct wz_sheet_column *column, uint32_t n, struct wz_err *err)
{
	int rc;

	wz_check(n <= WZ_SHEET_COLUMNS_MAX);
	*s = (struct wz_sheet){.src = src, .column = column, .n_columns = n, .err = err};
	wz_csv_init(&s->csv, mem, src->text);
	rc = next_record(s);
	if (rc == 0)
		return at_line(s,
		        wz_err_set(err, -EBADMSG, "EmptyTrace", WZ_STR("the file is empty; expected a CSV header")),
		        1, 1);
	s->n_fields = s->csv.n;
	return rc < 0 ? rc : find_columns(s);
}

void wz_sheet_close(struct wz_sheet *s)
{
	wz_csv_release(&s->csv);
}

int wz_sheet_next(struct wz_sheet *s)
{
	struct wz_num a, b;
	int rc = next_record(s);

	if (rc <= 0 || s->csv.n == s->n_fields)
		return rc;
	rc = wz_err_set(s->err, -EBADMSG, "FieldCount", WZ_STR("the record has "), wz_str_u64(&a, s->csv.n),
	        WZ_STR(" fields; expected "), wz_str_u64(&b, s->n_fields), WZ_STR(" as in the header"));
	return at_line(s, rc, s->csv.line, 1);
}

struct wz_str wz_sheet_field(const struct wz_sheet *s, uint32_t c)
{
	return s->at[c] == WZ_NONE ? WZ_STR("") : wz_str_trim(s->csv.field[s->at[c]].text);
}

/* ---- numbers ---- */

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* [0-9]+[.[0-9]*][e[+-]dd]: digits as an integer and the power of ten that they are worth. */
static int scan(struct wz_str s, uint64_t *ret, int *ret_power)
{
	size_t i = 0, digits = 0;
	uint64_t v = 0;
	int power = 0, e = 0;
	bool point = false, minus = false;

	for (; i < s.len && (digit(s.ptr[i]) || (s.ptr[i] == '.' && !point)); i++) {
		if (s.ptr[i] == '.') {
			point = true;
			continue;
		}
		digits++;
		if (v > (UINT64_MAX - 9) / 10) {
			power += !point; /* beyond 64 bits digits only weigh */
			continue;
		}
		v = v * 10 + (uint64_t)(s.ptr[i] - '0');
		power -= point;
	}
	if (digits == 0)
		return -EINVAL;
	if (i < s.len && (s.ptr[i] == 'e' || s.ptr[i] == 'E')) {
		i++;
		if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+'))
			minus = s.ptr[i++] == '-';
		if (i == s.len)
			return -EINVAL;
		for (; i < s.len && digit(s.ptr[i]) && e < 1000; i++)
			e = e * 10 + (s.ptr[i] - '0');
		power += minus ? -e : e;
	}
	*ret = v;
	*ret_power = power;
	return i == s.len ? 0 : -EINVAL;
}

int wz_decimal_parse(struct wz_str s, int64_t unit, int64_t max, int64_t *ret)
{
	unsigned __int128 v;
	uint64_t digits = 0;
	int power = 0, rc = scan(s, &digits, &power);

	if (rc < 0)
		return rc;
	v = (unsigned __int128)digits * (uint64_t)unit;
	for (; power > 0 && v <= (unsigned __int128)INT64_MAX; power--)
		v *= 10;
	for (; power < 0 && v > 0; power++)
		v /= 10;
	if (v > (unsigned __int128)max)
		return -ERANGE;
	*ret = (int64_t)v;
	return 0;
}

int wz_sheet_decimal(struct wz_sheet *s, uint32_t c, int64_t unit, int64_t max, int64_t *ret)
{
	struct wz_str f = wz_sheet_field(s, c), shown = f;
	int rc;

	if (f.len == 0)
		return 1;
	rc = wz_decimal_parse(f, unit, max, ret);
	if (rc == 0)
		return 0;
	shown.len = shown.len > 48 ? 48 : shown.len;
	if (rc == -ERANGE)
		return wz_sheet_at(s,
		        wz_err_set(s->err, -ERANGE, "OutOfRange", wz_str(s->column[c].name), WZ_STR(" is "), shown,
		                WZ_STR(", too large")),
		        c);
	return wz_sheet_bad(s, c, "a number that is not negative");
}

/* ---- dates ---- */

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar (Hinnant, "days_from_civil"). */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
	int64_t era, yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool number_at(struct wz_str s, size_t at, size_t n, int64_t *ret)
{
	int64_t v = 0;

	if (at + n > s.len)
		return false;
	for (size_t i = at; i < at + n; i++) {
		if (!digit(s.ptr[i]))
			return false;
		v = v * 10 + (s.ptr[i] - '0');
	}
	*ret = v;
	return true;
}

static bool month_has(int64_t y, int64_t m, int64_t d)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	return m >= 1 && m <= 12 && d >= 1 && d <= days[m - 1] + (m == 2 && leap);
}

int wz_date_parse(struct wz_str s, int64_t *ret_us)
{
	int64_t y, mo, d, h = 0, mi = 0, sec = 0, frac = 0;
	size_t i = 10;

	if (!number_at(s, 0, 4, &y) || !number_at(s, 5, 2, &mo) || !number_at(s, 8, 2, &d) ||
	        (s.ptr[4] != '-' && s.ptr[4] != '/') || s.ptr[7] != s.ptr[4] || !month_has(y, mo, d) || y < 1970)
		return -EINVAL;
	if (i < s.len) {
		if (s.len < 19 || (s.ptr[10] != ' ' && s.ptr[10] != 'T') || s.ptr[13] != ':' || s.ptr[16] != ':' ||
		        !number_at(s, 11, 2, &h) || !number_at(s, 14, 2, &mi) || !number_at(s, 17, 2, &sec) ||
		        h > 23 || mi > 59 || sec > 60)
			return -EINVAL;
		i = 19;
		if (i < s.len && s.ptr[i] == '.') {
			int64_t unit = SECOND_US / 10;
			for (i++; i < s.len && digit(s.ptr[i]); i++, unit /= 10)
				frac += unit * (s.ptr[i] - '0');
		}
		if (i < s.len && s.ptr[i] == 'Z')
			i++;
		else if (s.len - i == 6 && wz_str_eq((struct wz_str){s.ptr + i, 6}, WZ_STR("+00:00")))
			i += 6;
		else if (s.len - i == 4 && wz_str_eq((struct wz_str){s.ptr + i, 4}, WZ_STR(" UTC")))
			i += 4;
	}
	if (i != s.len)
		return -EINVAL;
	*ret_us = (((days_of(y, mo, d) * 24 + h) * 60 + mi) * 60 + sec) * SECOND_US + frac;
	return 0;
}

int wz_sheet_date(struct wz_sheet *s, uint32_t c, int64_t *ret)
{
	struct wz_str f = wz_sheet_field(s, c);

	if (f.len == 0)
		return 1;
	if (wz_date_parse(f, ret) == 0 || wz_decimal_parse(f, SECOND_US, INT64_MAX / 4, ret) == 0)
		return 0;
	return wz_sheet_bad(s, c, "a time such as 2017-10-09 07:01:55, or seconds");
}

static void two(struct wz_buf *b, int64_t v)
{
	wz_buf_addc(b, (char)('0' + v / 10 % 10));
	wz_buf_addc(b, (char)('0' + v % 10));
}

void wz_date_format(struct wz_buf *b, int64_t us)
{
	int64_t s = us / SECOND_US, z = s / 86400 + 719468, era = z / 146097, doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365,
	        doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153, m = mp < 10 ? mp + 3 : mp - 9;

	wz_buf_add_i64(b, yoe + era * 400 + (m <= 2));
	wz_buf_addc(b, '-');
	two(b, m);
	wz_buf_addc(b, '-');
	two(b, doy - (153 * mp + 2) / 5 + 1);
	wz_buf_addc(b, ' ');
	two(b, s / 3600 % 24);
	wz_buf_addc(b, ':');
	two(b, s / 60 % 60);
	wz_buf_addc(b, ':');
	two(b, s % 60);
}
