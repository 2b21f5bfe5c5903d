/* SPDX-License-Identifier: Apache-2.0 */
/* Places, queues and the rest: the tables of what is shown and taken. */
#include "api/resource.h"

#define ALWAYS WZ_FIELD_ALWAYS
#define REQUIRED WZ_FIELD_REQUIRED
#define PATH (WZ_FIELD_IN_PATH | WZ_FIELD_REQUIRED)
#define QUERY WZ_FIELD_IN_QUERY
#define NAME_PATH(s, m, d) WZ_F_RANGE(s, m, STR, PATH, 0, 256, d)

#define T struct wz_api_device
static const struct wz_api_field device_fields[] = {
        WZ_F(T, node, STR, ALWAYS, "its node"),
        WZ_F(T, index, U32, ALWAYS, "index within the node, in PCI bus order"),
        WZ_F(T, uuid, STR, 0, "the identity of the card"),
        WZ_F(T, model, STR, ALWAYS, "catalogue name"),
        WZ_F(T, health, STR, ALWAYS, "ok, degraded, failed"),
        WZ_F(T, reason, STR, 0, "why it is not ok, or not free though nobody holds it"),
        WZ_F(T, mem_bytes, I64, ALWAYS, "memory"),
        WZ_F(T, mem_free_bytes, I64, ALWAYS, "memory that is not given out; negative: over-committed by facts"),
        WZ_F(T, compute_milli, I32, ALWAYS, "compute, in thousandths of a device"),
        WZ_F(T, compute_free_milli, I32, ALWAYS, "compute that is not given out"),
        WZ_F(T, link_domain, U32, 0, "devices of one node with the same number are joined"),
        WZ_F(T, numa, U32, 0, "NUMA node"),
        WZ_F(T, partition, STR, 0, "the hard slice it is"),
        WZ_F(T, jobs, NUMS, ALWAYS, "jobs that hold something of it"),
        WZ_F(T, foreign, U32, 0, "processes on it that are not ours"),
        WZ_F_RANGE(T, util_pct, I32, ALWAYS, -1, 100, "compute use in percent; -1: not known"),
        WZ_F_RANGE(T, mem_used_pct, I32, ALWAYS, -1, 100,
                "memory use in percent as the driver sees it; -1: not known"),
        WZ_F(T, temp_c, I32, ALWAYS, "temperature; -1: not known"),
        WZ_F(T, mem_used_bytes, I64, ALWAYS, "memory use as the driver sees it; -1: not known"),
        WZ_F(T, power_mw, I64, ALWAYS, "power in milliwatts; -1: not known"),
        WZ_F(T, read_us, TIME, 0, "when the readings were taken"),
};
const struct wz_api_type wz_type_device = WZ_TYPE("Device", T, device_fields, "One accelerator.");
#undef T

#define T struct wz_api_node
static const struct wz_api_field node_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "name"),
        WZ_F(T, site, STR, 0, "its site"),
        WZ_F(T, rack, STR, 0, "its rack"),
        WZ_F(T, state, STR, ALWAYS, "ready, draining, drained, down"),
        WZ_F(T, reason, STR, 0, "why it is drained or down"),
        WZ_F(T, cpu_milli, I64, ALWAYS, "CPU, in thousandths of a core"),
        WZ_F(T, cpu_free_milli, I64, ALWAYS, "CPU that is not given out"),
        WZ_F(T, mem_bytes, I64, ALWAYS, "host memory"),
        WZ_F(T, mem_free_bytes, I64, ALWAYS, "host memory that is not given out"),
        WZ_F(T, devices_total, U32, ALWAYS, "devices"),
        WZ_F(T, devices_free, U32, ALWAYS, "devices that nobody holds any of"),
        WZ_F(T, jobs_running, U32, ALWAYS, "jobs with a task here"),
        WZ_F_TYPE(T, devices, LIST, 0, &wz_type_device, "the devices, when one node was asked for"),
        WZ_F(T, labels, PAIRS, 0, "labels"),
        WZ_F(T, seen_us, TIME, 0, "when its agent last spoke"),
};
const struct wz_api_type wz_type_node = WZ_TYPE("Node", T, node_fields, "One machine.");
#undef T

#define T struct wz_api_amount
static const struct wz_api_field amount_fields[] = {
        WZ_F(T, what, STR, ALWAYS, "gpu, cu, cpu, mem, or a device model"),
        WZ_F(T, used, I64, ALWAYS, "what its jobs hold, in thousandths; of mem in MiB, as all of these"),
        WZ_F(T, guaranteed, I64, ALWAYS, "what it can always have"),
        WZ_F(T, limit, I64, ALWAYS, "more it never has; -1: no limit"),
        WZ_F(T, borrow, I64, ALWAYS, "beyond what is guaranteed; -1: no limit"),
        WZ_F(T, lend, I64, ALWAYS, "what others may use of the guarantee; -1: all"),
        WZ_F(T, capacity, I64, ALWAYS, "what the cluster has"),
};
const struct wz_api_type wz_type_amount =
        WZ_TYPE("Amount", T, amount_fields, "One thing that a queue's rules count.");
#undef T

#define T struct wz_api_share
static const struct wz_api_field share_fields[] = {
        WZ_F(T, user, STR, ALWAYS, "who; empty: jobs without a user"),
        WZ_F(T, pending, U32, ALWAYS, "jobs that wait or are held"),
        WZ_F(T, running, U32, ALWAYS, "jobs that hold something"),
        WZ_F(T, used_milli, I64, ALWAYS, "devices that they hold, in thousandths"),
        WZ_F(T, past_milli, I64, ALWAYS, "decayed average of that"),
        WZ_F(T, share_ppm, U32, ALWAYS, "dominant share of the cluster, in millionths: the smaller goes first"),
};
const struct wz_api_type wz_type_share = WZ_TYPE("Share", T, share_fields, "One user in a queue.");
#undef T

#define T struct wz_api_queue
static const struct wz_api_field queue_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "name"),
        WZ_F(T, parent, STR, 0, "queue above it; of the root absent"),
        WZ_F(T, rules, STR, ALWAYS, "its rules, text of spec/queues.md"),
        WZ_F(T, used_milli, I64, ALWAYS, "devices that its jobs hold, in thousandths"),
        WZ_F(T, past_milli, I64, ALWAYS, "decayed average of that"),
        WZ_F(T, share_ppm, U32, ALWAYS, "dominant share of the cluster, in millionths"),
        WZ_F(T, pending, U32, ALWAYS, "jobs that wait or are held, of it and all below"),
        WZ_F(T, running, U32, ALWAYS, "jobs that hold something"),
        WZ_F(T, spent_hours_milli, I64, 0, "device-hours of its budget, in thousandths"),
        WZ_F(T, spent_money_milli, I64, 0, "money of its budget, in thousandths"),
        WZ_F_TYPE(T, amounts, LIST, 0, &wz_type_amount, "what its rules count"),
        WZ_F_TYPE(T, users, LIST, 0, &wz_type_share, "users of a leaf"),
};
const struct wz_api_type wz_type_queue = WZ_TYPE("Queue", T, queue_fields, "A node of the quota tree.");
#undef T

#define T struct wz_api_reservation
static const struct wz_api_field reservation_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "name"),
        WZ_F(T, rules, STR, ALWAYS, "what is reserved for whom, text of spec/queues.md"),
        WZ_F(T, start_us, TIME, ALWAYS, "begin"),
        WZ_F(T, end_us, TIME, ALWAYS, "end"),
        WZ_F(T, state, STR, ALWAYS, "planned, active, over"),
};
const struct wz_api_type wz_type_reservation =
        WZ_TYPE("Reservation", T, reservation_fields, "A promise of capacity.");
#undef T

#define T struct wz_api_usage
static const struct wz_api_field usage_fields[] = {
        WZ_F(T, key, STR, ALWAYS, "what the row is about"),
        WZ_F(T, jobs, U32, ALWAYS, "jobs"),
        WZ_F(T, completed, U32, ALWAYS, "of which completed"),
        WZ_F(T, failed, U32, ALWAYS, "of which failed, in whatever way"),
        WZ_F(T, cancelled, U32, ALWAYS, "of which cancelled"),
        WZ_F(T, device_us, I64, ALWAYS, "device time held"),
        WZ_F(T, completed_device_us, I64, ALWAYS, "device time of jobs that completed"),
        WZ_F(T, cpu_us, I64, ALWAYS, "CPU time used"),
        WZ_F(T, waste_us, I64, ALWAYS, "device time held below 5 percent use"),
        WZ_F(T, wait_p50_us, I64, ALWAYS, "median wait"),
        WZ_F(T, wait_p95_us, I64, ALWAYS, "95th percentile of the wait"),
};
const struct wz_api_type wz_type_usage = WZ_TYPE("Usage", T, usage_fields, "One row of a report.");
#undef T

static const char *const result_words[] = {"ok", "warn", "fail", "skip", NULL};
#define T struct wz_api_check
static const struct wz_api_field check_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "what was looked at"),
        WZ_F_WORDS(T, result, ALWAYS, result_words, "what was found"),
        WZ_F(T, text, STR, ALWAYS, "the finding"),
        WZ_F(T, remedy, STR, 0, "what to do"),
};
const struct wz_api_type wz_type_check = WZ_TYPE("Check", T, check_fields, "One finding of the doctor.");
#undef T

#define T struct wz_api_info
static const struct wz_api_field info_fields[] = {
        WZ_F(T, version, STR, ALWAYS, "version of the daemon"),
        WZ_F(T, body, STR, ALWAYS, "serve or kube"),
        WZ_F(T, host, STR, 0, "host name"),
        WZ_F(T, site, STR, 0, "site"),
        WZ_F(T, policy, STR, ALWAYS, "placement policy"),
        WZ_F(T, started_us, TIME, ALWAYS, "when the daemon started"),
        WZ_F(T, now_us, TIME, ALWAYS, "the daemon's clock"),
        WZ_F(T, seq, U64, ALWAYS, "number of the last event: follow /v1/events after this one"),
        WZ_F(T, digest, STR, 0, "digest of the core's state"),
        WZ_F(T, nodes, U32, ALWAYS, "nodes"),
        WZ_F(T, devices, U32, ALWAYS, "devices"),
        WZ_F(T, devices_busy, U32, ALWAYS, "devices that somebody holds some of"),
        WZ_F(T, pending, U32, ALWAYS, "jobs that wait"),
        WZ_F(T, running, U32, ALWAYS, "jobs that run"),
        WZ_F(T, oldest_wait_us, TIME, 0, "submit time of the job that waits longest"),
        WZ_F(T, urls, STRS, 0, "where the dashboard is, for a browser of this machine"),
};
const struct wz_api_type wz_type_info = WZ_TYPE("Info", T, info_fields, "The daemon and its cluster at a glance.");
#undef T

#define T struct wz_api_whoami
static const struct wz_api_field whoami_fields[] = {
        WZ_F(T, name, STR, ALWAYS, "user name"),
        WZ_F(T, uid, I64, ALWAYS, "user number; -1: none"),
        WZ_F(T, role, STR, ALWAYS, "none, viewer, user, admin"),
        WZ_F(T, via, STR, ALWAYS, "peer: the kernel's word; token; none"),
};
const struct wz_api_type wz_type_whoami = WZ_TYPE("Whoami", T, whoami_fields, "Who the daemon takes you for.");
#undef T

#define T struct wz_api_audit_line
static const struct wz_api_field audit_fields[] = {
        WZ_F(T, time_us, TIME, ALWAYS, "when"),
        WZ_F(T, user, STR, ALWAYS, "who, by name"),
        WZ_F(T, uid, I64, ALWAYS, "who, by number; -1: no user of this machine"),
        WZ_F(T, verb, STR, ALWAYS, "what: an operation of this document"),
        WZ_F(T, target, STR, 0, "of what: job 17"),
        WZ_F(T, outcome, STR, ALWAYS, "ok, or the reason of the refusal"),
        WZ_F(T, from, STR, 0, "from where, and the request's id"),
};
const struct wz_api_type wz_type_audit_line = WZ_TYPE("AuditLine", T, audit_fields, "One line of the audit log.");
#undef T

#define T struct wz_api_reloaded
static const struct wz_api_field reloaded_fields[] = {
        WZ_F(T, changed, STRS, ALWAYS, "sections of the configuration that differ and took effect"),
        WZ_F(T, restart, STRS, ALWAYS, "sections that differ and need a restart"),
};
const struct wz_api_type wz_type_reloaded = WZ_TYPE("Reloaded", T, reloaded_fields, "What a reload did.");
#undef T

#define T struct wz_api_event
static const struct wz_api_field event_fields[] = {
        WZ_F(T, seq, U64, ALWAYS, "sequence number, the event's id"),
        WZ_F(T, time_us, TIME, ALWAYS, "when it happened"),
        WZ_F(T, type, STR, ALWAYS, "what it is about: job, attempt, node, device, queue, policy"),
        WZ_F(T, what, STR, ALWAYS, "what happened, a stable word"),
        WZ_F(T, job, U64, 0, "job number"),
        WZ_F(T, user, STR, 0, "owner of the job"),
        WZ_F(T, node, STR, 0, "node"),
        WZ_F(T, device, I32, ALWAYS, "index of the device; -1: none"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words,
                "state of the job after it; PENDING when it is not about one"),
        WZ_F(T, reason, STR, 0, "a stable word"),
        WZ_F(T, text, STR, 0, "a sentence"),
};
const struct wz_api_type wz_type_event = WZ_TYPE("Event", T, event_fields, "One event of the stream.");
#undef T

/* ---- requests ---- */

static const struct wz_api_field node_ref_fields[] = {NAME_PATH(struct wz_api_node_ref, node, "name of the node")};
const struct wz_api_type wz_type_node_ref = WZ_TYPE("NodeRef", struct wz_api_node_ref, node_ref_fields, "A node.");

#define T struct wz_api_node_drain
static const struct wz_api_field node_drain_fields[] = {
        NAME_PATH(T, node, "name of the node"),
        WZ_F_RANGE(T, reason, STR, REQUIRED, 0, WZ_API_TEXT_MAX, "why; shown to everybody who asks"),
        WZ_F(T, deadline_us, TIME, 0, "what still runs then is stopped; absent: nothing is"),
};
const struct wz_api_type wz_type_node_drain = WZ_TYPE("NodeDrain", T, node_drain_fields, "Why and until when.");
#undef T

#define T struct wz_api_device_query
static const struct wz_api_field device_query_fields[] = {
        WZ_F_RANGE(T, node, STR, QUERY, 0, 256, "on this node"),
        WZ_F_RANGE(T, model, STR, QUERY, 0, WZ_API_NAME_MAX, "of this model"),
};
const struct wz_api_type wz_type_device_query = WZ_TYPE("DeviceQuery", T, device_query_fields, "Which devices.");
#undef T

#define T struct wz_api_queue_set
static const struct wz_api_field queue_set_fields[] = {
        NAME_PATH(T, name, "name of the queue"),
        WZ_F_RANGE(T, rules, STR, REQUIRED, 0, WZ_API_TEXT_MAX, "all its rules, text of spec/queues.md"),
};
const struct wz_api_type wz_type_queue_set = WZ_TYPE("QueueSet", T, queue_set_fields, "A queue as it is to be.");
#undef T

static const struct wz_api_field name_ref_fields[] = {NAME_PATH(struct wz_api_name_ref, name, "its name")};
const struct wz_api_type wz_type_name_ref = WZ_TYPE("NameRef", struct wz_api_name_ref, name_ref_fields, "A name.");

#define T struct wz_api_reservation_set
static const struct wz_api_field reservation_set_fields[] = {
        NAME_PATH(T, name, "name of the reservation"),
        WZ_F_RANGE(
                T, rules, STR, REQUIRED, 0, WZ_API_TEXT_MAX, "what is reserved for whom, text of spec/queues.md"),
};
const struct wz_api_type wz_type_reservation_set =
        WZ_TYPE("ReservationSet", T, reservation_set_fields, "A reservation as it is to be.");
#undef T

#define T struct wz_api_usage_query
static const struct wz_api_field usage_query_fields[] = {
        WZ_F_RANGE(T, by, STR, QUERY, 0, 16, "user, queue, state, model, day"),
        WZ_F_RANGE(T, user, STR, QUERY, 0, WZ_API_NAME_MAX, "of this owner"),
        WZ_F_RANGE(T, queue, STR, QUERY, 0, WZ_API_NAME_MAX, "of this queue"),
        WZ_F(T, since_us, TIME, QUERY, "from"),
        WZ_F(T, until_us, TIME, QUERY, "to"),
};
const struct wz_api_type wz_type_usage_query = WZ_TYPE("UsageQuery", T, usage_query_fields, "What to add up.");
#undef T

#define T struct wz_api_audit_query
static const struct wz_api_field audit_query_fields[] = {
        WZ_F(T, since_us, TIME, QUERY, "from"),
        WZ_F(T, limit, U32, QUERY, "at most so many, the oldest first; 0: 1000"),
};
const struct wz_api_type wz_type_audit_query = WZ_TYPE("AuditQuery", T, audit_query_fields, "Which lines.");
#undef T

#define T struct wz_api_events_query
static const struct wz_api_field events_query_fields[] = {
        {.name = "after",
                .doc = "begin after this number; the header Last-Event-ID goes before it",
                .kind = WZ_FIELD_U64,
                .offset = offsetof(T, after),
                .set_offset = offsetof(T, set_after),
                .flags = QUERY},
        WZ_F(T, job, U64, QUERY, "about this job only"),
        WZ_F_RANGE(T, type, STRS, QUERY, 0, 16, "of these types only"),
};
const struct wz_api_type wz_type_events_query = WZ_TYPE("EventsQuery", T, events_query_fields, "Which events.");
#undef T

static const struct wz_api_field no_fields[] = {{.name = NULL}};
const struct wz_api_type wz_type_nothing = {
        .name = "Nothing", .doc = "No fields.", .size = sizeof(struct wz_api_nothing), .fields = no_fields, .n = 0};
