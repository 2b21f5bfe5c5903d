/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the core: numbers that RULES_SET changes while it runs. A module that has one adds a row here and a name
 * to enum wz_param; a parameter that has its usual value is in no digest and in no snapshot. */
#include "core/core_int.h"

#include "base/hash.h"

#define SECOND_US INT64_C(1000000)
#define WEEK_US (7 * 86400 * SECOND_US)

const struct wz_param_row wz_params[WZ_PARAM_COUNT_] = {
        [WZ_PARAM_LAUNCH_BACKOFF_US] = {"launch-backoff-us", 5 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_LAUNCH_BACKOFF_MAX_US] = {"launch-backoff-max-us", 300 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_LAUNCH_FAILURES_MAX] = {"launch-failures-max", 10, 0, UINT32_MAX},
        [WZ_PARAM_PREEMPT_MARGIN_US] = {"preempt-margin-us", 30 * SECOND_US, SECOND_US, WEEK_US},
        [WZ_PARAM_FREEZE_TIMEOUT_US] = {"freeze-timeout-us", 30 * SECOND_US, SECOND_US, WEEK_US},
        [WZ_PARAM_EVICT_JOBS] = {"evict-jobs", 16, 0, 65536},
        [WZ_PARAM_EVICT_PER_HOUR] = {"evict-per-hour", 1000, 0, UINT32_MAX},
        [WZ_PARAM_PREEMPT_MAX] = {"preempt-max", 10, 0, UINT32_MAX},
        [WZ_PARAM_EVICT_WORK] = {"evict-work", 200000, 1, UINT32_MAX},
        [WZ_PARAM_EVICT_HOLD_US] = {"evict-hold-us", 300 * SECOND_US, SECOND_US, WEEK_US},
        [WZ_PARAM_EVICT_CHECKPOINT_US] = {"evict-checkpoint-us", 30 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_EVICT_RESTART_US] = {"evict-restart-us", 60 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_EVICT_WAIT_US] = {"evict-wait-us", 600 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_EVICT_UNFAIR_US] = {"evict-unfair-us", 600 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_REPACK_PER_HOUR] = {"repack-moves-per-hour", 0, 0, 1000000},
        [WZ_PARAM_REPACK_INTERVAL_US] = {"repack-interval-us", 10 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_REPACK_HORIZON_US] = {"repack-horizon-us", 1800 * SECOND_US, 0, 52 * WEEK_US},
        [WZ_PARAM_REPACK_RESTART_US] = {"repack-restart-us", 60 * SECOND_US, 0, WEEK_US},
        [WZ_PARAM_REPACK_WORK] = {"repack-work", 250000, 1, 100000000},
        [WZ_PARAM_REPACK_DEPTH] = {"repack-depth", 2, 1, 6},
        [WZ_PARAM_REPACK_GAIN] = {"repack-gain-ppm", 100, 0, 1000000},
        [WZ_PARAM_REPACK_VACATE] = {"repack-vacate", 1, 0, 1},
};

uint64_t wz_param_hash(uint32_t param, int64_t value)
{
	if (value == wz_params[param].usual)
		return 0;
	return wz_hash_u64(wz_hash_str(0x9a4a3, wz_str(wz_params[param].name)), (uint64_t)value);
}

void wz_params_init(struct wz_core *c)
{
	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		c->param[i] = wz_params[i].usual;
}

/* The parameter of that name, if the value is in its range. */
static int param_of(struct wz_str name, int64_t value, uint32_t *ret, struct wz_err *err)
{
	struct wz_num lo, hi;
	uint32_t i = 0;

	while (i < WZ_PARAM_COUNT_ && !wz_str_eq(name, wz_str(wz_params[i].name)))
		i++;
	if (i == WZ_PARAM_COUNT_)
		return wz_err_set(err, -ENOENT, "UnknownRule", WZ_STR("there is no rule '"), name, WZ_STR("'"));
	if (value < wz_params[i].min || value > wz_params[i].max)
		return wz_err_set(err, -ERANGE, "OutOfRange", name, WZ_STR(" goes from "),
		        wz_str_i64(&lo, wz_params[i].min), WZ_STR(" to "), wz_str_i64(&hi, wz_params[i].max));
	*ret = i;
	return 0;
}

static int read_rule(struct wz_str rule, uint32_t *ret_param, int64_t *ret_value, struct wz_err *err)
{
	struct wz_str value = rule, name = wz_str_split(&value, '=');

	if (!value.ptr || wz_str_parse_i64(value, ret_value) < 0)
		return wz_err_set(
		        err, -EINVAL, "BadRule", WZ_STR("a rule is NAME=NUMBER, not '"), rule, WZ_STR("'"));
	return param_of(name, *ret_value, ret_param, err);
}

static void change(struct wz_core *c, uint32_t param, int64_t value)
{
	c->sum += wz_param_hash(param, value) - wz_param_hash(param, c->param[param]);
	c->param[param] = value;
}

int wz_param_set(struct wz_core *c, struct wz_str name, int64_t value, struct wz_err *err)
{
	uint32_t param = 0;
	int r = param_of(name, value, &param, err);

	if (r == 0)
		change(c, param, value);
	return r;
}

int wz_params_set(struct wz_core *c, struct wz_str text, struct wz_err *err)
{
	int64_t next[WZ_PARAM_COUNT_];

	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		next[i] = c->param[i];
	for (struct wz_str rest = text; rest.ptr && rest.len;) {
		struct wz_str rule = wz_str_split(&rest, ' ');
		int64_t value = 0;
		uint32_t param = 0;
		int r = rule.len ? read_rule(rule, &param, &value, err) : 1;
		if (r < 0)
			return r;
		if (r == 0)
			next[param] = value;
	}
	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		change(c, i, next[i]);
	return 0;
}

int wz_core_rule(const struct wz_core *c, struct wz_str name, int64_t *ret)
{
	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		if (wz_str_eq(name, wz_str(wz_params[i].name))) {
			*ret = c->param[i];
			return 0;
		}
	return -ENOENT;
}
