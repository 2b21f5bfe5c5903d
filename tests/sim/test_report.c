/* SPDX-License-Identifier: Apache-2.0 */
/* The report: that it says what the packset says, escapes what users wrote, and bears whatever is missing. Results are
 * made up here (a run of the simulator is not what is tested), by a formula that gives each cell another value. */
#include "base/check.h"
#include "os/mem.h"
#include "sim/report.h"

#include "../tap.h"

#include <errno.h>
#include <math.h>

#define SEEDS_MAX 3

struct bench {
	struct wz_packset set;
	struct wz_pack_input in;
	struct wz_sim_nodes nodes; /* none: names of models are unknown then */
	struct wz_sim_tasks tasks;
	struct wz_catalogue catalogue;
	struct wz_pack_result *result;
	struct wz_report_set shown;
	struct wz_report report;
	struct wz_buf page;
};

static const char *const names[] = {"alpha", "beta", "gamma", "delta"};

static void make(struct bench *x, uint32_t placements, uint32_t seeds)
{
	const struct wz_mem *mem = wz_os_mem();

	*x = (struct bench){0};
	wz_check(wz_catalogue_init(&x->catalogue, mem) == 0);
	wz_sim_nodes_init(&x->nodes, mem, &x->catalogue);
	wz_sim_tasks_init(&x->tasks, mem);
	x->in = (struct wz_pack_input){.nodes = &x->nodes, .tasks = &x->tasks, .capacity_milli = 1000000};
	x->result = calloc((size_t)placements * seeds + 1, sizeof(*x->result));
	for (uint32_t i = 0; i < placements * seeds; i++) {
		struct wz_pack_result *r = &x->result[i];
		for (unsigned p = 0; p < WZ_PACK_PERCENT; p++) {
			double full = 91 + i / seeds + 0.137 * (i % seeds) + p / 1000.0;
			r->allocated[p] = p < full ? p : full;
			r->fragmented[p] = 14 - p / 20.0 + 0.31 * i;
			r->frag_ratio[p] = p / 2.0;
		}
		for (unsigned k = 0; k < WZ_PACK_CLASSES; k++) {
			r->arrived[k] = 1000 + k;
			r->rejected[k] = 10 * k + i;
		}
		r->decisions = 4000 + i;
		r->cpu_ns = r->decisions * (2000 + 100 * i);
		r->p50_ns = 1500 + i;
		r->p99_ns = 9000 + i;
		r->digest = 0xabc0000000000000 + i;
		r->idle_milli[3][WZ_IDLE_REMAINDER] = 5000 + i;
		r->idle_milli[3][WZ_IDLE_NO_CPU] = 700;
	}
	x->set = (struct wz_packset){.in = &x->in,
	        .trace = WZ_STR("list"),
	        .placement = names,
	        .n_placements = placements,
	        .seed_from = 42,
	        .seed_to = 42 + seeds - 1,
	        .result = x->result};
	x->shown.runs = &x->set;
	x->report = (struct wz_report){.set = &x->shown, .n_sets = 1};
	wz_buf_init(&x->page, mem, WZ_REPORT_BYTES_MAX);
}

static void done(struct bench *x)
{
	wz_buf_release(&x->page);
	free(x->result);
	wz_sim_nodes_release(&x->nodes);
	wz_sim_tasks_release(&x->tasks);
	wz_catalogue_release(&x->catalogue);
}

static const char *write_page(struct bench *x)
{
	wz_buf_clear(&x->page);
	wz_report_html(&x->report, &x->page);
	return wz_buf_z(&x->page);
}

static unsigned occurrences(const char *page, const char *needle)
{
	unsigned n = 0;

	for (const char *at = page; (at = strstr(at, needle)); at += strlen(needle))
		n++;
	return n;
}

/* Every start tag has its end, in order; ids are not looked at. Attribute values hold no '<' or '>': both are escaped. */
static void check_nesting(const char *page)
{
	static const char *const alone[] = {"meta", "input", "!DOCTYPE"};
	char stack[64][16];
	unsigned depth = 0;

	for (const char *at = page; (at = strchr(at, '<')); at++) {
		bool end = at[1] == '/', single = false;
		const char *name = at + 1 + end, *close = strchr(at, '>');
		size_t n = strcspn(name, " >/\n");
		tap_require(close && n > 0 && n < 16, "a tag: %.20s", at);
		for (unsigned i = 0; i < sizeof(alone) / sizeof(*alone); i++)
			single = single || (n == strlen(alone[i]) && memcmp(name, alone[i], n) == 0);
		if (single || close[-1] == '/')
			continue;
		if (!end) {
			tap_require(depth < 64, "nested too deep");
			memcpy(stack[depth], name, n);
			stack[depth++][n] = 0;
			if (strcmp(stack[depth - 1], "style") == 0 || strcmp(stack[depth - 1], "script") == 0)
				at = strstr(at, "</") - 1;
			continue;
		}
		tap_require(depth && strlen(stack[depth - 1]) == n && memcmp(stack[depth - 1], name, n) == 0,
		        "closes %.*s in %s", (int)n, name, depth ? stack[depth - 1] : "nothing");
		depth--;
	}
	tap_eq_i64(depth, 0, "all tags closed");
}

static void check_page(struct bench *x)
{
	const char *page = write_page(x);

	tap_eq_i64(x->page.status, 0, "written");
	check_nesting(page);
	tap_ok(!strstr(page, "http://") && !strstr(page, "https://") && !strstr(page, "<img") &&
	                !strstr(page, "<link"),
	        "fetches nothing");
	tap_ok(!strstr(page, "nan") && !strstr(page, "inf\"") && !strstr(page, "-nan"), "no number of C's leaks");
	tap_eq_i64(occurrences(page, "<main"), 2, "two languages");
	tap_eq_i64(occurrences(page, "lang=\"zh-Hans\"><h1>"), 1, "one is Chinese");
}

static void test_numbers(void)
{
	static const unsigned points[] = {90, 95, 98, 100, 110, 120, 130};
	struct bench x;
	const char *at;

	make(&x, 4, 3);
	check_page(&x);
	at = strstr(wz_buf_z(&x.page), "aria-label=\"The numbers\"");
	tap_require(at, "the table of numbers");
	for (uint32_t rank = 0; rank < 4; rank++) { /* the last placement is the best, so rows are in reverse */
		uint32_t p = 3 - rank;
		double refused = 0, ns = 0, decisions = 0;
		char text[128];
		snprintf(text, sizeof(text), "</i>%s</th>", names[p]);
		at = strstr(at, text);
		tap_require(at, "a row of %s", names[p]);
		for (unsigned i = 0; i < 7; i++) {
			struct wz_spread s = wz_packset_point(&x.set, p, WZ_CURVE_ALLOCATED, points[i]);
			snprintf(text, sizeof(text), "<td>%.2f <small class=\"sd\">± %.2f</small></td>", s.mean,
			        s.sd);
			at = strstr(at, text);
			tap_require(at, "%s at %u: %s", names[p], points[i], text);
		}
		for (uint32_t i = 0; i < 3; i++) {
			const struct wz_pack_result *r = &x.result[p * 3 + i];
			for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
				refused += (double)r->rejected[k] / 3;
			ns += (double)r->cpu_ns;
			decisions += (double)r->decisions;
		}
		snprintf(text, sizeof(text), "<td>%.2f</td><td>%.0f</td><td>%.2f</td><td>12,0%02.0f</td></tr>",
		        wz_packset_point(&x.set, p, WZ_CURVE_FRAGMENTED, 100).mean, refused, ns / decisions / 1e3,
		        decisions - 12000);
		at = strstr(at, text);
		tap_require(at, "the rest of %s: %s", names[p], text);
	}
	done(&x);
}

static void test_finding(void)
{
	struct bench x;
	const char *page;

	make(&x, 2, 3); /* 91.237 and 92.237 of 1,000 GPUs at 100 % */
	page = write_page(&x);
	tap_ok(strstr(page, "<b>beta</b> leaves the fewest GPUs idle: it holds <b>922</b> of <b>1,000</b> when "
	                    "arrivals reach "
	                    "<b>100</b> % of capacity, <b>10</b> more than <b>alpha</b>"),
	        "the winner and by how much");
	tap_ok(strstr(page, "ahead of alpha with 3 of 3 seeds"), "seed by seed");
	tap_ok(strstr(page, "42\u2060–\u206044"), "the seeds");
	memcpy(&x.result[3], &x.result[0], 3 * sizeof(*x.result));
	page = write_page(&x);
	tap_ok(strstr(page, "<b>alpha</b> and <b>beta</b> are level"), "a tie is called one");
	done(&x);
}

static void test_escapes(void)
{
	static const char evil[] = "<script>alert(1)</script>\"'&";
	const char *const placement[] = {evil, "beta"};
	struct wz_report_ref ref = {WZ_STR("<b>&ref"), 100, 95.5};
	struct bench x;
	const char *page;

	make(&x, 2, 2);
	x.set.placement = placement;
	x.set.trace = wz_str(evil);
	x.shown.ref = &ref;
	x.shown.n_refs = 1;
	x.report.title = x.report.how = x.report.version = x.report.when = wz_str(evil);
	check_page(&x);
	page = wz_buf_z(&x.page);
	tap_eq_i64(occurrences(page, "<script>"), 1, "one script: ours");
	tap_ok(!strstr(page, "<b>&ref") && strstr(page, "&lt;b&gt;&amp;ref"), "references");
	tap_ok(strstr(page, "<h1>&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;</h1>"), "the title");
	tap_ok(strstr(page, "%3Cscript%3E"), "the CSV link");
	done(&x);
}

static void test_csv(void)
{
	struct bench x;
	struct wz_buf csv;
	const char *at;
	bool same = true;

	make(&x, 3, 2);
	at = strstr(write_page(&x), "href=\"data:text/csv;charset=utf-8,");
	tap_require(at, "a link");
	at = strchr(at, ',') + 1;
	wz_buf_init(&csv, wz_os_mem(), 1 << 20);
	wz_packset_csv(&x.set, true, &csv);
	for (size_t i = 0; i < csv.len && same; i++) {
		char c = *at++;
		if (c == '%') {
			char hex[3] = {at[0], at[1], 0};
			c = (char)strtoul(hex, NULL, 16);
			at += 2;
		}
		same = c == csv.data[i];
	}
	tap_ok(same && *at == '"', "decodes to wz_packset_csv");
	wz_buf_release(&csv);
	done(&x);
}

static void test_one_of_each(void)
{
	struct bench x;
	const char *page;

	make(&x, 3, 1);
	check_page(&x);
	page = wz_buf_z(&x.page);
	tap_eq_i64(occurrences(page, " bd\""), 0, "one seed: no band");
	tap_eq_i64(occurrences(page, "class=\"whisk\""), 0, "no whisker");
	tap_eq_i64(occurrences(page, "class=\"sd\""), 0, "no deviation");
	tap_ok(strstr(page, "One seed only"), "and it says so");
	done(&x);
	make(&x, 1, 3);
	check_page(&x);
	page = wz_buf_z(&x.page);
	tap_ok(strstr(page, "<b>alpha</b> allocates <b>912</b> of <b>1,000</b> GPUs"),
	        "one placement: nothing to beat");
	tap_ok(!strstr(page, "GPUs ahead of") && strstr(page, " bd\""), "no lead, a band");
	done(&x);
}

static void test_empty(void)
{
	struct bench x;

	make(&x, 0, 1);
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "Nothing was simulated"), "no placement");
	x.set.n_placements = 2;
	x.set.result = NULL;
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "Nothing was simulated"), "never run");
	x.shown.runs = NULL;
	check_page(&x);
	x.report.n_sets = 0;
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "Nothing was simulated"), "no set");
	tap_ok(!strstr(wz_buf_z(&x.page), "data:text/csv"), "no numbers, no link");
	done(&x);
}

static void test_nan(void)
{
	double bound[WZ_PACK_PERCENT];
	struct wz_report_ref ref[] = {
	        {WZ_STR("bad"), 100, (double)NAN}, {WZ_STR("far"), 500, 90}, {WZ_STR("less"), 100, -3}};
	struct bench x;

	make(&x, 2, 2);
	for (unsigned p = 0; p < WZ_PACK_PERCENT; p++)
		bound[p] = (double)NAN;
	x.shown.bound = bound;
	x.shown.ref = ref;
	x.shown.n_refs = 3;
	for (uint32_t i = 0; i < 4; i++) { /* holes, and an end before 100 */
		for (unsigned p = 0; p < WZ_PACK_PERCENT; p++)
			if (p % 7 == 3 || p > 96)
				x.result[i].allocated[p] = x.result[i].fragmented[p] = x.result[i].frag_ratio[p] =
				        (double)NAN;
	}
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "arrivals reach <b>96</b> %"), "compared where all have arrived");
	tap_ok(!strstr(wz_buf_z(&x.page), ">bad") && !strstr(wz_buf_z(&x.page), ">far"),
	        "references that are none");
	bound[96] = 94.25;
	bound[130] = (double)INFINITY;
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "upper bound 94.25"), "a bound that is known at one point");
	for (uint32_t i = 0; i < 4; i++)
		for (unsigned p = 0; p < WZ_PACK_PERCENT; p++)
			x.result[i].allocated[p] = x.result[i].fragmented[p] = x.result[i].frag_ratio[p] =
			        (double)NAN;
	x.in.capacity_milli = 0;
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "No curve was measured"), "no curve at all");
	x.set.in = NULL;
	check_page(&x);
	done(&x);
}

static void test_same_bytes(void)
{
	struct bench x, y;

	make(&x, 4, 3);
	make(&y, 4, 3);
	write_page(&x);
	write_page(&y);
	tap_eq_str(wz_buf_str(&x.page), wz_buf_str(&y.page), "the same twice");
	done(&x);
	done(&y);
}

/* Any maximum below the size ends with -E2BIG, at any place of the page; the size itself is enough. */
static void test_limit(void)
{
	struct bench x;
	size_t size;

	make(&x, 2, 2);
	write_page(&x);
	size = x.page.len;
	for (size_t max = 0; max < size; max += size / 97 + 1) {
		struct wz_buf b;
		wz_buf_init(&b, wz_os_mem(), max);
		wz_report_html(&x.report, &b);
		tap_eq_i64(b.status, -E2BIG, "a maximum of %zu", max);
		tap_ok(b.len <= max, "no more than the maximum");
		wz_buf_release(&b);
	}
	x.page.max = size;
	write_page(&x);
	tap_eq_i64(x.page.len, size, "exactly enough");
	done(&x);
}

static void test_several_sets(void)
{
	struct wz_report_set set[2];
	struct wz_packset other;
	struct bench x;
	const char *page;

	make(&x, 4, 2);
	other = x.set;
	other.trace = WZ_STR("other");
	other.n_placements = 2;
	set[0] = x.shown;
	set[1] = (struct wz_report_set){.runs = &other};
	x.report.set = set;
	x.report.n_sets = 2;
	check_page(&x);
	page = wz_buf_z(&x.page);
	tap_ok(strstr(page, "href=\"#en-1-set\"") && strstr(page, "<h2 id=\"en-1-set\">other</h2>"), "linked");
	tap_eq_i64(occurrences(page, "trace,placement"), 1, "one header in the CSV");
	done(&x);
}

/* More placements than are shown: the best are, and the page counts the rest. */
static void test_many(void)
{
	const char *placement[WZ_REPORT_PLACEMENTS_MAX + 5];
	struct bench x;

	make(&x, WZ_REPORT_PLACEMENTS_MAX + 5, 1);
	for (uint32_t i = 0; i < WZ_REPORT_PLACEMENTS_MAX + 5; i++) {
		placement[i] = i == 0 ? "worst" : names[i % 4];
		for (unsigned p = 0; p < WZ_PACK_PERCENT; p++)
			x.result[i].allocated[p] = p < 60 + i ? p : 60 + i;
	}
	x.set.placement = placement;
	check_page(&x);
	tap_ok(strstr(wz_buf_z(&x.page), "5 more placements are only in the CSV."), "counted");
	tap_ok(!strstr(wz_buf_z(&x.page), "</i>worst</th>"), "the worst is left out");
	done(&x);
}

int main(void)
{
	tap_run(test_numbers);
	tap_run(test_finding);
	tap_run(test_escapes);
	tap_run(test_csv);
	tap_run(test_one_of_each);
	tap_run(test_empty);
	tap_run(test_nan);
	tap_run(test_same_bytes);
	tap_run(test_limit);
	tap_run(test_several_sets);
	tap_run(test_many);
	return tap_done();
}
