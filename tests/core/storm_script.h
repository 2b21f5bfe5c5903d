/* SPDX-License-Identifier: Apache-2.0 */
/* A storm's history as a script: lines of a word and a number, each of which carries all of its own chance. A script that
 * fails is made short by leaving lines out while it still fails (delta debugging: Zeller and Hildebrandt, "Simplifying and
 * Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002). */
#ifndef WZ_TESTS_STORM_SCRIPT_H
#define WZ_TESTS_STORM_SCRIPT_H

#include "base/err.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum storm_kind {
	OP_JOIN, OP_PLACE, OP_JOB, OP_END, OP_OBSERVE, OP_RULE, OP_QUEUE, OP_ACKS, OP_SUBMIT, OP_TIME, OP_CLOCK, OP_STEP, OP_LAST,
	OP_KINDS
};
static const char *const storm_words[] = {
        "join", "place", "job", "end", "observe", "rule", "queue", "acks", "submit", "time", "clock", "step", "last"};

#define STORM_OPS_MAX 2048u
struct storm_script {
	uint64_t seed; /* of the policy, the node order and the profiles */
	uint32_t n;
	struct storm_op { enum storm_kind kind; uint64_t r; } op[STORM_OPS_MAX];
};

static inline void storm_add(struct storm_script *x, enum storm_kind kind, uint64_t r)
{
	if (x->n < STORM_OPS_MAX)
		x->op[x->n++] = (struct storm_op){kind, r};
}

/* The history of a seed. Every third seed has queues. */
static inline void storm_draw(struct storm_script *x, uint64_t seed, uint32_t nodes, unsigned steps)
{
	static const enum storm_kind often[] = {OP_PLACE, OP_PLACE, OP_JOB, OP_END, OP_END, OP_END, OP_OBSERVE, OP_RULE, OP_ACKS,
	        OP_ACKS, OP_SUBMIT, OP_SUBMIT, OP_SUBMIT, OP_SUBMIT, OP_SUBMIT, OP_SUBMIT};
	struct wz_rng rng;
	wz_rng_seed(&rng, seed);
	x->seed = seed;
	x->n = 0;
	for (uint64_t n = wz_rng_below(&rng, nodes + 1); n-- > 0;)
		storm_add(x, OP_JOIN, (wz_rng_next(&rng) >> 8) * nodes + n);
	for (unsigned i = 0; i < steps; i++) {
		for (uint64_t n = wz_rng_below(&rng, 6); n; n--) {
			enum storm_kind kind = often[wz_rng_below(&rng, sizeof often / sizeof often[0])];
			bool rare = (kind == OP_RULE || kind == OP_OBSERVE) && wz_rng_below(&rng, 10) < (kind == OP_RULE ? 7 : 4);
			storm_add(x, rare ? OP_TIME : kind, wz_rng_next(&rng));
			if (wz_rng_below(&rng, 10) < 4)
				storm_add(x, OP_TIME, wz_rng_next(&rng));
			if (wz_rng_below(&rng, 100) < 2)
				storm_add(x, OP_CLOCK, wz_rng_next(&rng));
			if (seed % 3 == 0 && wz_rng_below(&rng, 10) == 0)
				storm_add(x, OP_QUEUE, wz_rng_next(&rng));
		}
		storm_add(x, OP_STEP, wz_rng_next(&rng));
	}
	/* All that waits on an acknowledgement has a deadline, and time alone brings it up again (I3). */
	storm_add(x, OP_LAST, wz_rng_next(&rng));
}

static inline void storm_print(const struct storm_script *x)
{
	printf("# seed %llu\n", (unsigned long long)x->seed);
	for (uint32_t i = 0; i < x->n; i++)
		printf("# %s %llu\n", storm_words[x->op[i].kind], (unsigned long long)x->op[i].r);
}

/* Reads what storm_print shows, with or without the "# ". -ENOENT, -EINVAL with the line. */
static inline int storm_read(const char *path, struct storm_script *x, struct wz_err *err)
{
	FILE *f = fopen(path, "re");
	char line[128], word[16];
	unsigned long long v;
	unsigned number = 0;
	x->n = 0;
	x->seed = 1;
	if (!f)
		return wz_err_set(err, -ENOENT, "NotFound", WZ_STR("there is no script "), wz_str(path));
	while (fgets(line, sizeof line, f)) {
		const char *at = line[0] == '#' ? line + 1 : line;
		unsigned kind = 0;
		struct wz_num num;
		number++;
		if (sscanf(at, "%15s %llu", word, &v) != 2)
			continue;
		if (strcmp(word, "seed") == 0) {
			x->seed = v;
			continue;
		}
		while (kind < OP_KINDS && strcmp(word, storm_words[kind]) != 0)
			kind++;
		if (kind == OP_KINDS) {
			(void)fclose(f);
			return wz_err_set(err, -EINVAL, "BadScript", wz_str(path), WZ_STR(":"), wz_str_u64(&num, number),
			        WZ_STR(": no such word: "), wz_str(word));
		}
		storm_add(x, (enum storm_kind)kind, v);
	}
	(void)fclose(f);
	return 0;
}

typedef bool storm_live(const struct storm_script *x, bool loud);

static inline bool storm_forked(const struct storm_script *x, storm_live *live, bool quiet)
{
	int status = 0;
	(void)fflush(stdout);
	pid_t p = fork();
	if (p == 0) {
		if (quiet && (!freopen("/dev/null", "we", stdout) || !freopen("/dev/null", "we", stderr)))
			_exit(3);
		(void)alarm(60); /* a hang is a failure too */
		bool held = live(x, false);
		(void)fflush(stdout);
		_exit(held ? 0 : 1);
	}
	return p > 0 && waitpid(p, &status, 0) == p && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
static inline bool storm_alone(const struct storm_script *x, storm_live *live) { return storm_forked(x, live, true); }
static inline bool storm_alone_loud(const struct storm_script *x, storm_live *live) { return storm_forked(x, live, false); }

/* Leaves out what is not needed for the failure: parts of halving size, until no single line can go. */
static inline void storm_shrink(struct storm_script *x, storm_live *live)
{
	static struct storm_script y;
	for (uint32_t part = x->n / 2; part >= 1;) {
		bool any = false;
		for (uint32_t at = 0; at < x->n;) {
			uint32_t n = x->n - at < part ? x->n - at : part;
			y.seed = x->seed;
			y.n = x->n - n;
			memcpy(y.op, x->op, at * sizeof *y.op);
			memcpy(y.op + at, x->op + at + n, (x->n - at - n) * sizeof *y.op);
			if (y.n && !storm_alone(&y, live)) {
				*x = y;
				any = true;
			} else {
				at += n;
			}
		}
		if (part == 1 && !any)
			break;
		part = part > 1 ? part / 2 : 1;
	}
}

#endif
