/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file of `wz serve`, /etc/whalezen/whalezen.yaml: read strictly, whole or not at all (spec/config.md).
 * An error says FILE:LINE:COLUMN, the key, and what was expected; an unknown key names the nearest known one.
 *
 * Each top-level key is a *section*. Sections that are `live` take effect at a reload; a change of another needs a
 * restart, and wz_config_diff says so. Thread rule: a config is not changed once it was read. */
#ifndef WZ_SERVE_CONFIG_H
#define WZ_SERVE_CONFIG_H

#include "api/auth.h"
#include "api/limit.h"
#include "base/buf.h"

#define WZ_CONFIG_BYTES_MAX (1u << 20)
#define WZ_CONFIG_LISTEN_MAX 8u
#define WZ_CONFIG_NAMES_MAX 256u /* users or groups of a list */
#define WZ_CONFIG_TARGETS_MAX 32u
#define WZ_CONFIG_ARGS_MAX 64u
#define WZ_CONFIG_QUEUES_MAX 1024u
#define WZ_CONFIG_RULES_MAX 4096u

struct wz_names {
	const char *const *v;
	uint32_t n;
};

struct wz_config_listen {
	const char *address; /* "0.0.0.0:8443" */
	const char *cert, *key; /* NULL: plain HTTP */
};

/* What may be told about a job: bits. */
enum wz_notice {
	WZ_NOTICE_STARTED = 1u << 0,
	WZ_NOTICE_ENDED = 1u << 1, /* however */
	WZ_NOTICE_FAILED = 1u << 2, /* ended, and not as COMPLETED or CANCELLED */
	WZ_NOTICE_PREEMPTED = 1u << 3,
	WZ_NOTICE_REQUEUED = 1u << 4,
};
extern const char *const wz_notice_words[5]; /* by bit */
/* "failed+ended" to bits; -EINVAL. */
int wz_notice_parse(struct wz_str text, char sep, uint32_t *ret);

enum wz_target_type { WZ_TARGET_COMMAND, WZ_TARGET_WEBHOOK, WZ_TARGET_MAIL };
enum wz_target_format { WZ_FORMAT_JSON, WZ_FORMAT_SLACK, WZ_FORMAT_FEISHU, WZ_FORMAT_DINGTALK };
struct wz_target { /* one entry of `notifications` */
	const char *name;
	enum wz_target_type type;
	enum wz_target_format format;
	const char *url; /* of a webhook */
	const char *secret_file; /* signs a webhook; NULL: none */
	struct wz_names command;
	const char *to; /* of mail: an address; NULL: the job's user */
	const char *sendmail; /* program; "/usr/sbin/sendmail" */
	uint32_t events; /* bits of enum wz_notice */
	struct wz_names users; /* empty: all */
	bool every_job; /* not only jobs that name it */
	int64_t timeout_us;
	uint32_t tries;
};

struct wz_config_queue {
	const char *name, *rules; /* spec/queues.md; rules may be "" */
};

struct wz_config {
	const struct wz_mem *mem;
	struct wz_arena arena; /* of all texts */
	const char *state, *socket, *socket_group, *cluster, *provider, *policy, *tokens; /* NULL: not given */
	bool socket_group_only; /* 0660: nobody else may connect */
	bool plain_tokens; /* a TLS proxy is in front */
	bool open_metrics;
	bool cgroups;
	struct wz_config_listen listen[WZ_CONFIG_LISTEN_MAX];
	uint32_t n_listen;
	struct wz_names admin_users, admin_groups;
	enum wz_role local_role;
	struct wz_limit_rate rate[4]; /* by enum wz_role */
	uint64_t jobs_max, jobs_per_user_max; /* that wait or run; 0: no limit */
	const char *default_profile; /* entries that a submit does not name; NULL: none */
	int64_t keep_jobs_us, keep_logs_us, keep_audit_us; /* 0: for ever */
	uint64_t keep_logs_bytes; /* 0: no limit */
	uint64_t audit_bytes; /* a file of the audit log is turned over at */
	uint32_t audit_files;
	struct wz_target target[WZ_CONFIG_TARGETS_MAX];
	uint32_t n_targets;
	struct wz_config_queue *queue;
	uint32_t n_queues;
	const char *rules; /* parameters of the core, "NAME=NUMBER NAME=NUMBER"; NULL: none */
	const char **section; /* canonical text of each section, by its place in the table; NULL: not given */
};

/* What holds when no file is there. */
void wz_config_init(struct wz_config *c, const struct wz_mem *mem);
void wz_config_release(struct wz_config *c); /* accepts a zeroed one */
/* `name` is for errors. -EINVAL "BadYaml", "UnknownKey", "BadValue", "MissingKey", ...; -E2BIG; -ENOMEM. On failure *c is as
 * after wz_config_init. Looks nothing up: neither files nor users. */
int wz_config_parse(struct wz_config *c, struct wz_str text, const char *name, struct wz_err *err);
/* Reads a file. Errors of wz_file_read too; -EPERM "ConfigWritable": others could change it. */
int wz_config_read(struct wz_config *c, const char *path, struct wz_err *err);
/* Names of the sections that differ, blank-separated: those that take effect at once, and those that need a restart. */
void wz_config_diff(
        const struct wz_config *from, const struct wz_config *to, struct wz_buf *live, struct wz_buf *restart);

/* ---- of a target: notify.c uses it ---- */
/* May this target be told of the job? `asked`: the job's own `notify` ("lab:failed+ended,ops", "none"; "" for none given).
 * Returns the bits of enum wz_notice that it wants. */
uint32_t wz_target_wants(const struct wz_target *t, struct wz_str user, struct wz_str asked);
/* Checks a job's `notify`: -EINVAL "BadField" (form, or no such target or event, or not for this user). */
int wz_config_check_notify(const struct wz_config *c, struct wz_str user, struct wz_str asked, struct wz_err *err);

#endif
