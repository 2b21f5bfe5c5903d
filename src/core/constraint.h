/* SPDX-License-Identifier: Apache-2.0 */
/* What a task asks of the labels around it, as a text (spec/constraint.md):
 *
 *	node: zone in (a,b), gpu.count > 3 | pool=spare ; node~50: disk=ssd ; tolerate: dedicated=ml:NoSchedule
 *	ports: 8080, 53/udp@10.0.0.1
 *	near: app=cache per zone ; apart: app=web per node ; spread: app=web per zone skew 1 min 3 ; together: block
 *
 * `node`, `tolerate` and `ports` concern one node and what it is; the others concern the tasks that sit elsewhere. Each of
 * node, near, apart, spread and together may be preferred (~, with a weight) instead of required. The meaning of every
 * operator is that of Kubernetes. The parser is fuzzed (fuzz/fuzz_constraint.c). */
#ifndef WZ_CORE_CONSTRAINT_H
#define WZ_CORE_CONSTRAINT_H

#include "base/err.h"
#include "base/map.h"
#include "core/types.h"

#define WZ_CONSTRAINT_TEXT_MAX 16384u
#define WZ_CONSTRAINT_PARTS_MAX 1024u /* expressions, values, alternatives, tolerations, ports: of each */
#define WZ_CONSTRAINT_TERMS_MAX 16u /* near, apart, spread, together */
#define WZ_CONSTRAINT_WORD_MAX 512u /* bytes of a key or a value */
#define WZ_WEIGHT_MAX 1000
#define WZ_WEIGHT_USUAL 100
#define WZ_SKEW_MAX 1000000u

enum wz_select_op {
	WZ_SELECT_IN,
	WZ_SELECT_NOT_IN,
	WZ_SELECT_EXISTS,
	WZ_SELECT_ABSENT,
	WZ_SELECT_GT,
	WZ_SELECT_LT
};
enum wz_taint_effect { WZ_TAINT_ANY, WZ_TAINT_NO_SCHEDULE, WZ_TAINT_PREFER_NO, WZ_TAINT_NO_EXECUTE };
enum wz_term_kind { WZ_TERM_NEAR, WZ_TERM_APART, WZ_TERM_SPREAD, WZ_TERM_TOGETHER };

/* Texts are ids of the string table that the parser was given. */
struct wz_expr {
	uint32_t key;
	uint32_t value, n_values; /* in wz_constraint.value */
	int64_t number; /* GT, LT */
	uint8_t op; /* enum wz_select_op */
};
struct wz_selector {
	uint32_t expr, n;
}; /* all must hold; none: everything is selected */
struct wz_alternative {
	struct wz_selector sel;
	int32_t weight;
}; /* 0: required; one of the required ones must hold */
struct wz_toleration {
	uint32_t key, value; /* WZ_NONE: any key; any value */
	uint8_t effect; /* enum wz_taint_effect; ANY: every effect */
};
struct wz_port {
	uint32_t ip;
	uint16_t port;
	uint8_t protocol;
}; /* ip WZ_NONE: every address; 0 tcp, 1 udp, 2 sctp */
struct wz_term {
	uint8_t kind; /* enum wz_term_kind */
	int32_t weight; /* 0: required */
	uint32_t
	        topology; /* the key that nodes of one place share; "node", "rack" and "site" are facts of a node */
	struct wz_selector sel; /* over labels of tasks */
	uint32_t max_skew, min_domains;
};

struct wz_constraint {
	const struct wz_mem *mem;
	struct wz_expr *expr;
	uint32_t *value;
	struct wz_alternative *node;
	struct wz_toleration *toleration;
	struct wz_port *port;
	uint32_t n_expr, n_value, n_node, n_toleration, n_port, n_term;
	uint32_t expr_cap, value_cap, node_cap, toleration_cap, port_cap;
	struct wz_term term[WZ_CONSTRAINT_TERMS_MAX];
	bool local; /* asks something of the node: node, tolerate, ports */
	bool required; /* at least one alternative of `node` is required */
	bool prefers; /* a preferred alternative of `node` */
	bool together; /* a term of that kind */
	bool between; /* near, apart or spread */
};

/* Parses a whole text; names are interned in `names`. -EINVAL "BadConstraint" with the text up to the place and what was
 * expected there, -E2BIG "TooManyTerms", -ENOMEM. *ret is written only on success and then owns memory. O(text). */
int wz_constraint_parse(struct wz_str text, struct wz_strtab *names, const struct wz_mem *mem,
        struct wz_constraint *ret, struct wz_err *err);
/* A selector alone, as a disruption budget has it: it becomes the first required alternative of *ret. */
int wz_selector_parse(struct wz_str text, struct wz_strtab *names, const struct wz_mem *mem,
        struct wz_constraint *ret, struct wz_err *err);
void wz_constraint_release(struct wz_constraint *k);

/* Is the word one that keys and values may be: letters, digits and -_./ , at most WZ_CONSTRAINT_WORD_MAX bytes? */
bool wz_constraint_word(struct wz_str s);

/* The id of the value of a key, WZ_NONE when there is none. */
typedef uint32_t wz_label_find(const void *labels, uint32_t key);
/* Do the labels satisfy the selector? GT and LT compare decimal integers; a value that is none satisfies neither. */
bool wz_selector_matches(const struct wz_constraint *k, struct wz_selector s, const struct wz_strtab *names,
        wz_label_find *find, const void *labels);
/* Is a taint tolerated? */
bool wz_constraint_tolerates(const struct wz_constraint *k, uint32_t key, uint32_t value, uint8_t effect);
bool wz_ports_clash(const struct wz_port *a, const struct wz_port *b);

extern const char *const wz_taint_effects[4]; /* by enum wz_taint_effect; the first is empty */

#endif
