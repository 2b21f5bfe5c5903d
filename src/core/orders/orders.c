/* SPDX-License-Identifier: Apache-2.0 */
/* The table of orders, their names and parameters, and the arithmetic of levels. */
#include "core/orders/orders.h"

#include "base/fix.h"
#include "base/near.h"
#include "base/quant.h"

const struct wz_order_rule *const wz_order_rules[] = {&wz_order_levelled, &wz_order_fifo, &wz_order_fifo_skip,
        &wz_order_sjf, &wz_order_srtf, &wz_order_srsf, &wz_order_predicted, &wz_order_las2d, &wz_order_las2d_damped,
        &wz_order_gittins, &wz_order_qssf, &wz_order_easy, &wz_order_conservative, &wz_order_slurm,
        &wz_order_max_min, &wz_order_max_min_agnostic, &wz_order_finish_time, &wz_order_goodput, NULL};

static const struct wz_order_rule *find(struct wz_str name, struct wz_err *err)
{
	struct wz_near near;
	struct wz_buf b;
	char names[256];

	if (name.len == 0)
		return wz_order_rules[0];
	wz_near_init(&near, name);
	wz_buf_init_fixed(&b, names, sizeof(names));
	for (const struct wz_order_rule *const *r = wz_order_rules; *r; r++) {
		if (wz_str_eq(name, wz_str((*r)->name)))
			return *r;
		wz_near_offer(&near, wz_str((*r)->name));
		wz_buf_addz(&b, r == wz_order_rules ? "" : ", ");
		wz_buf_addz(&b, (*r)->name);
	}
	(void)wz_err_set(err, -ENOENT, "UnknownOrder", WZ_STR("no order is called \""), name,
	        near.best.len ? WZ_STR("\"; did you mean ") : WZ_STR("\"; known: "),
	        near.best.len ? near.best : wz_buf_str(&b));
	return NULL;
}

static int set_param(const struct wz_order_rule *r, struct wz_str part, int64_t *param, struct wz_err *err)
{
	struct wz_str value = part, name = wz_str_split(&value, '=');
	uint64_t v;

	for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && r->param[i].name; i++) {
		const struct wz_order_param *p = &r->param[i];
		if (!wz_str_eq(name, wz_str(p->name)))
			continue;
		if (!value.ptr || wz_milli_parse(value, &v, NULL) < 0)
			return wz_err_set(err, -EINVAL, "BadParameter", WZ_STR("the order's parameter "), name,
			        WZ_STR(" is \""), value, WZ_STR("\"; expected a number such as 4 or 0.5"));
		if (v > INT64_MAX || (int64_t)v < p->min || (int64_t)v > p->max) {
			char range[64];
			struct wz_buf b;
			wz_buf_init_fixed(&b, range, sizeof(range));
			wz_milli_format(&b, (uint64_t)p->min);
			wz_buf_addz(&b, "..");
			wz_milli_format(&b, (uint64_t)p->max);
			return wz_err_set(err, -ERANGE, "OutOfRange", WZ_STR("the order's parameter "), name,
			        WZ_STR(" is "), value, WZ_STR("; expected "), wz_buf_str(&b));
		}
		param[i] = (int64_t)v;
		return 0;
	}
	return wz_err_set(err, -ENOENT, "UnknownParameter", WZ_STR("the order "), wz_str(r->name),
	        WZ_STR(" has no parameter \""), name, WZ_STR("\""));
}

int wz_order_parse(struct wz_str text, const struct wz_order_rule **ret, int64_t ret_param[WZ_ORDER_PARAMS_MAX],
        struct wz_err *err)
{
	struct wz_str rest = text, name = wz_str_split(&rest, ':');
	const struct wz_order_rule *r = find(name, err);
	int64_t param[WZ_ORDER_PARAMS_MAX] = {0};

	if (!r)
		return -ENOENT;
	for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && r->param[i].name; i++)
		param[i] = r->param[i].usual;
	while (rest.ptr) {
		int rc = set_param(r, wz_str_split(&rest, ','), param, err);
		if (rc < 0)
			return rc;
	}
	memcpy(ret_param, param, sizeof(param));
	*ret = r;
	return 0;
}

void wz_order_format(const struct wz_order_rule *r, const int64_t *param, struct wz_buf *b)
{
	char sep = ':';

	wz_buf_addz(b, r->name);
	for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && r->param[i].name; i++) {
		if (param[i] == r->param[i].usual)
			continue;
		wz_buf_addc(b, sep);
		wz_buf_addz(b, r->param[i].name);
		wz_buf_addc(b, '=');
		wz_milli_format(b, (uint64_t)param[i]);
		sep = ',';
	}
}

int wz_order_init(struct wz_order *o, const struct wz_order_rule *r, const int64_t *param, uint64_t gpus,
        uint32_t users, const struct wz_mem *mem, struct wz_err *err)
{
	*o = (struct wz_order){.rule = r, .mem = mem, .gpus = gpus, .n_users = users};
	memcpy(o->param, param, sizeof(o->param));
	return r->init ? r->init(o, err) : 0;
}

void wz_order_release(struct wz_order *o)
{
	if (o->rule && o->rule->release)
		o->rule->release(o);
	o->rule = NULL;
}

void wz_order_steps(struct wz_order *o, int64_t first_gpu_us, int64_t base_milli, uint32_t n)
{
	int64_t s = first_gpu_us;

	for (o->n_steps = 0; o->n_steps < n; o->n_steps++) {
		o->step[o->n_steps] = s;
		s = wz_muldiv(s, base_milli, 1000);
	}
}

uint32_t wz_order_level(const struct wz_order *o, int64_t service)
{
	uint32_t k = 0;

	while (k < o->n_steps && service >= o->step[k])
		k++;
	return k;
}

int64_t wz_order_when(const struct wz_order_job *j, int64_t service, int64_t done_us, int64_t now)
{
	int64_t left = (service + j->gpus - 1) / j->gpus - done_us;

	return left <= 0 ? now + 1 : wz_sat_add(now, left);
}
