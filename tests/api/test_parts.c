/* SPDX-License-Identifier: Apache-2.0 */
/* The parts alone: tables, buckets, metrics; and memory that runs out. */
#include "fault.h"
#include "tap.h"

#include "api/hub.h"
#include "api/limit.h"
#include "api/metrics.h"
#include "api/route.h"
#include "base/check.h"
#include "base/rng.h"
#include "os/mem.h"

/* Every row of the table can be reached, and its types are sound. */
static void test_routes(void)
{
	for (uint32_t i = 0; i < wz_routes_n; i++) {
		const struct wz_route *r = &wz_routes[i];
		char path[100];
		size_t n = 0;
		uint32_t params = 0;
		for (const char *p = r->pattern; *p; p++) {
			if (*p == '{') {
				path[n++] = '7';
				p = strchr(p, '}');
				params++;
			} else {
				path[n++] = *p;
			}
		}
		struct wz_route_match m;
		wz_route_find(r->method, (struct wz_str){path, n}, &m);
		tap_ok(m.route == r && m.n_params == params, "%s %s", wz_http_method_name(r->method), r->pattern);
		uint32_t fields = 0;
		for (uint32_t k = 0; k < r->request->n; k++)
			fields += (r->request->fields[k].flags & WZ_FIELD_IN_PATH) != 0;
		tap_eq_i64(fields, params, "%s: a field for each parameter", r->pattern);
		tap_ok(!r->changes || r->method != WZ_HTTP_GET, "%s: a GET changes nothing", r->pattern);
		tap_ok(r->method == WZ_HTTP_GET || r->role >= WZ_ROLE_USER || !r->changes,
		        "%s: only users change things", r->pattern);
		tap_ok((r->reply != NULL) == (r->answer == WZ_ANSWER_ITEM || r->answer == WZ_ANSWER_LIST ||
		                                     r->answer == WZ_ANSWER_EVENTS),
		        "%s: a reply type when there is one", r->pattern);
	}
}

static void test_limit(void)
{
	static struct wz_limit l;
	const struct wz_limit_rate rate = {10, 5};
	int64_t now = 1000000;
	for (int i = 0; i < 5; i++)
		tap_eq_i64(wz_limit_take(&l, rate, 1, 1, now), 0, "the burst");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 1, now), 100000, "then a tenth of a second");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 3, now), 300000, "three cost three");
	tap_eq_i64(wz_limit_take(&l, rate, 2, 1, now), 0, "another identity");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 1, now + 99999), 1, "not yet");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 1, now + 100000), 0, "now");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 99, now + 3600000000ll * 1000), 0,
	        "more than the burst counts as the burst");
	tap_eq_i64(wz_limit_take(&l, (struct wz_limit_rate){0, 0}, 1, 1000000, now), 0, "no limit");
	tap_eq_i64(wz_limit_take(&l, rate, 1, 1, 0) != 0, 1, "a clock that goes back gives nothing");
	/* In the long run never more than the rate; small steps lose nothing. */
	struct wz_rng rng;
	wz_rng_seed(&rng, 5);
	static struct wz_limit m;
	const struct wz_limit_rate odd = {333, 7};
	int64_t t = 5, taken = 0;
	while (t < 20000000) {
		t += (int64_t)wz_rng_below(&rng, 700);
		taken += wz_limit_take(&m, odd, 9, 1, t) == 0;
	}
	tap_ok(taken <= 20 * 333 + 7 && taken >= 20 * 333 - 7, "333 a second for 20 seconds: %" PRId64, taken);
	/* A flood of identities forgets the oldest only. */
	for (uint64_t k = 100; k < 100000; k++)
		wz_limit_take(&m, odd, k, 1, t);
	tap_ok(1, "bounded by its type");
}

static void test_metrics(void)
{
	static const double bounds[] = {1, 2.5};
	static const struct wz_metric table[] = {
	        {"a_total", "An a.", WZ_METRIC_COUNTER, {"x", "y"}, NULL, 0},
	        {"b_seconds", "A b.", WZ_METRIC_HISTOGRAM, {NULL}, bounds, 2},
	        {"c", "A c.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
	};
	struct wz_metrics *m;
	struct wz_buf b;
	wz_check(wz_metrics_new(wz_os_mem(), &m) == 0 && wz_metrics_add_table(m, table, 3) == 0);
	wz_buf_init(&b, wz_os_mem(), 10000);
	const struct wz_str one[] = {{"1", 1}, {"p", 1}}, two[] = {{"2", 1}, {"q", 1}};
	wz_metric_add(m, &table[0], one, 1);
	wz_metric_add(m, &table[0], two, 1);
	wz_metric_add(m, &table[0], one, 2);
	for (int i = 0; i < 4; i++)
		wz_metric_observe(m, &table[1], NULL, i);
	wz_metric_set(m, &table[2], NULL, 0.5);
	wz_metrics_write(m, &b);
	tap_eq_str(wz_buf_str(&b),
	        WZ_STR("# HELP a_total An a.\n# TYPE a_total counter\na_total{x=\"1\",y=\"p\"} "
	               "3\na_total{x=\"2\",y=\"q\"} 1\n"
	               "# HELP b_seconds A b.\n# TYPE b_seconds histogram\nb_seconds_bucket{le=\"1\"} 2\n"
	               "b_seconds_bucket{le=\"2.5\"} 3\nb_seconds_bucket{le=\"+Inf\"} 4\nb_seconds_sum "
	               "6\nb_seconds_count 4\n"
	               "# HELP c A c.\n# TYPE c gauge\nc 0.5\n"
	               "# HELP wz_metrics_dropped_total Values dropped for want of room.\n"
	               "# TYPE wz_metrics_dropped_total counter\nwz_metrics_dropped_total 0\n"),
	        "the text");
	wz_metric_clear(m, &table[2]);
	wz_buf_clear(&b);
	wz_metrics_write(m, &b);
	tap_ok(!memmem(b.data, b.len, "c 0.5", 5), "cleared");
	wz_buf_release(&b);
	wz_metrics_free(m);
}

static void test_json_rounds(void)
{
	static const char text[] = "{\"argv\":[\"a\",\"\\u00e4\\n\"],\"env\":{\"K\":\"v\"},\"name\":\"n\","
	                           "\"priority\":-5,\"held\":true,"
	                           "\"umask\":18}";
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		struct wz_arena a;
		struct wz_json_doc d = {NULL};
		struct wz_json_fault fl = {.field = ""};
		struct wz_api_submit s = {0};
		fault_mem_init(&f);
		f.fail_at = n;
		wz_arena_init(&a, &f.mem, 64);
		int rc = wz_json_parse(wz_str(text), &d, &fl);
		tap_eq_i64(rc, 0, "jansson has its own memory");
		if (rc == 0)
			rc = wz_json_read(&d, &wz_type_submit, &s, &a, &fl);
		if (rc == 0) {
			tap_ok(s.argv.n == 2 && wz_str_eq(s.argv.v[1], WZ_STR("\xc3\xa4\n")) && s.priority == -5 &&
			                s.held,
			        "read");
			tap_ok(s.env.n == 1 && wz_str_eq(s.env.v[0].key, WZ_STR("K")) && s.umask == 18, "read");
		}
		wz_json_release(&d);
		wz_arena_release(&a);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "%s", fl.err.text);
			break;
		}
		tap_eq_i64(rc, -ENOMEM, "out of memory at %" PRIu64, n);
	}
	/* Secrets are in no text. */
	struct wz_pair secret = {{"KEY", 3}, {"hunter2", 7}};
	struct wz_api_submit s = {.secrets = {&secret, 1}, .name = WZ_STR("x")};
	char room[4000];
	struct wz_buf b;
	wz_buf_init_fixed(&b, room, sizeof room);
	wz_json_write(&b, &wz_type_submit, &s, true);
	tap_eq_str(wz_buf_str(&b), WZ_STR("{\"name\":\"x\"}"), "what is empty or secret is left out");
}

int main(void)
{
	tap_run(test_routes);
	tap_run(test_limit);
	tap_run(test_metrics);
	tap_run(test_json_rounds);
	return tap_done();
}
