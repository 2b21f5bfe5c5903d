/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/edit.h"

#include "base/buf.h"
#include "base/hash.h"

/* A word that belongs to (seed, kind, text): equal for equal texts, without a way back but by trying. */
static struct wz_str hide(const struct wz_edit *e, char kind, struct wz_str s, char *to, size_t size)
{
	struct wz_buf b;

	if (s.len == 0)
		return s;
	wz_buf_init_fixed(&b, to, size);
	wz_buf_addc(&b, kind);
	wz_buf_add_hex64(&b, wz_hash_str(wz_hash_u64(wz_mix64(e->seed), (uint64_t)kind), s));
	return wz_buf_str(&b);
}

static bool chosen(const struct wz_edit *e, const struct wz_sim_task *t)
{
	return (e->queue.len == 0 || wz_str_eq(e->queue, t->queue)) &&
	       (t->submit_us < 0 || t->submit_us >= e->from_us) && (e->to_us == 0 || t->submit_us < e->to_us);
}

static void scale(int64_t *t, int64_t zero, int64_t milli)
{
	if (*t >= 0)
		*t = (int64_t)((__int128)(*t - zero) * milli / 1000);
}

static int add(const struct wz_sim_tasks *from, const struct wz_edit *e, const struct wz_sim_task *old,
        int64_t zero, struct wz_sim_tasks *to, struct wz_err *err)
{
	struct wz_sim_task t = *old;
	char key[WZ_PROFILE_TEXT_MAX], names[4][2 * WZ_SIM_NAME_MAX];
	struct wz_buf b;
	int r = 0;

	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_profile_format(wz_sim_task_profile(from, old), &b);
	if (b.status < 0)
		return wz_err_set(err, b.status, "TooLong", WZ_STR("a profile is too long"));
	t.profile = wz_sim_tasks_find_profile(to, wz_buf_str(&b));
	if (t.profile == WZ_NONE)
		r = wz_sim_tasks_add_profile(to, wz_buf_str(&b), wz_sim_task_profile(from, old), &t.profile, err);
	if (r < 0)
		return r;
	scale(&t.submit_us, zero, e->time_milli);
	scale(&t.run_us, 0, e->run_milli);
	if (t.start_us >= 0) { /* what was recorded holds no more once times are scaled */
		bool same = e->time_milli == 1000 && e->run_milli == 1000;
		t.start_us = same ? t.start_us - zero : -1;
		t.end_us = same && t.end_us >= 0 ? t.end_us - zero : -1;
	} else if (t.end_us >= 0) {
		t.end_us = -1;
	}
	t.speeds = 0;
	t.app = 0;
	if (e->anonymous) {
		t.name = hide(e, 'j', t.name, names[0], sizeof(names[0]));
		t.user = hide(e, 'u', t.user, names[1], sizeof(names[1]));
		t.queue = hide(e, 'q', t.queue, names[2], sizeof(names[2]));
		t.template_ = hide(e, 't', t.template_, names[3], sizeof(names[3]));
	} else if (e->prefix.len) {
		wz_buf_init_fixed(&b, names[0], sizeof(names[0]));
		wz_buf_add(&b, e->prefix);
		wz_buf_add(&b, t.name);
		t.name = wz_buf_str(&b);
	}
	return wz_sim_tasks_add(to, &t, err);
}

int wz_edit_tasks(
        const struct wz_sim_tasks *from, const struct wz_edit *e, struct wz_sim_tasks *to, struct wz_err *err)
{
	int64_t zero = INT64_MAX;
	uint32_t k = 0;
	int r = 0;

	for (uint32_t i = 0; i < from->n; i++)
		if (chosen(e, &from->task[i]) && from->task[i].submit_us >= 0 && from->task[i].submit_us < zero)
			zero = from->task[i].submit_us;
	zero = e->shift && zero != INT64_MAX ? zero : 0;
	for (uint32_t i = 0; r == 0 && i < from->n; i++) {
		if (!chosen(e, &from->task[i]))
			continue;
		if (k >= e->first && (e->last == 0 || k < e->last))
			r = add(from, e, &from->task[i], zero, to, err);
		k++;
	}
	if (to->epoch_us == 0 && from->epoch_us)
		to->epoch_us = e->anonymous ? 0 : from->epoch_us + zero;
	return r;
}
