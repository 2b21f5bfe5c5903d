/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fault.h"
#include "load.h"
#include "os/file.h"
#include "os/mem.h"

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
#define TWO_NODES NODES "n0,64000,262144,2,P100\nn1,96000,393216,8,G2\n"

static struct load l;
static struct wz_err err;

static int read_two(const char *nodes, const char *pods)
{
	struct wz_str p = wz_str(pods);
	memset(&err, 0, sizeof err);
	if (load_init(&l, wz_os_mem()) < 0)
		return -ENOMEM;
	return load_texts(&l, wz_str(nodes), pods ? &p : NULL, &err);
}

static void test_nodes(void)
{
	tap_eq_i64(read_two(TWO_NODES "n2,128000,1048576,0,\n", NULL), 0, "%s", err.text);
	tap_eq_i64(l.nodes.n, 3, "nodes");
	tap_require(l.nodes.n == 3, "nodes");
	tap_eq_str(l.nodes.node[1].name, WZ_STR("n1"), "name");
	tap_eq_i64(l.nodes.node[1].node.v, 1, "id");
	tap_eq_i64(l.nodes.node[1].cpu_milli, 96000, "cpu");
	tap_eq_i64(l.nodes.node[1].mem_bytes, 393216ll << 20, "memory");
	tap_eq_i64(l.nodes.node[1].n_devices, 8, "devices");
	tap_eq_i64(l.nodes.node[1].device[7].compute_milli, 1000, "whole");
	tap_eq_i64(l.nodes.node[1].device[7].mem_bytes, 0, "device memory is not known");
	tap_eq_str(wz_sim_nodes_model_name(&l.nodes, l.nodes.node[1].device[0].model), WZ_STR("G2"), "model");
	tap_eq_i64(l.nodes.node[2].n_devices, 0, "no GPU");
	struct wz_sim_totals t = wz_sim_nodes_totals(&l.nodes);
	tap_eq_i64(t.gpus, 10, "GPUs");
	tap_eq_i64(t.cpu_milli, 288000, "CPU");
	load_release(&l);
}

static void test_pods(void)
{
	tap_eq_i64(read_two(TWO_NODES,
	                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
	                   "deletion_time,scheduled_time\n"
	                   "p0,6000,12288,1,460,,LS,Running,10,100,12\n"
	                   "p1,12000,16384,8,1000,P100|G2,BE,Pending,20,,\n"
	                   "p2,500,1,0,0,,BE,Running,30,31,30\n"
	                   "p3,6000,12288,1,460,,LS,Running,10,100,12\n"),
	        0, "%s", err.text);
	tap_require(l.tasks.n == 4, "pods");
	const struct wz_sim_task *p = l.tasks.task;
	tap_eq_i64(p[0].gpus, 1, "one device");
	tap_eq_i64(p[0].milli, 460, "share");
	tap_ok(p[0].any_model, "any model");
	tap_eq_i64(wz_sim_task_profile(&l.tasks, &p[0])->share_milli, 460, "the profile's share");
	tap_eq_i64(wz_sim_task_profile(&l.tasks, &p[0])->gpus, 0, "no whole device then");
	tap_eq_i64(p[0].submit_us, 10000000, "creation");
	tap_eq_i64(p[0].start_us, 12000000, "scheduled");
	tap_eq_i64(p[0].run_us, 88000000, "run");
	tap_eq_i64(p[1].start_us, -1, "never scheduled");
	tap_eq_i64(p[1].run_us, -1, "no run");
	tap_eq_i64(p[1].gpus, 8, "eight");
	tap_eq_str(p[1].gpu_spec, WZ_STR("P100|G2"), "the literal list");
	tap_ok(!p[1].any_model, "some models");
	for (uint32_t i = 0; i < l.nodes.n_models; i++)
		tap_ok(wz_model_set_has(&p[1].allowed, l.nodes.model[i].id.v), "both allowed");
	tap_eq_i64(p[2].gpus, 0, "CPU only");
	tap_eq_i64(p[3].profile, p[0].profile, "equal pods share a profile");
	tap_eq_i64(l.tasks.n_profiles, 3, "profiles");
	tap_eq_i64(wz_sim_tasks_totals(&l.tasks).gpu_milli, 460 + 8000 + 460, "demand");
	load_release(&l);
}

/* Columns in any order, unknown ones between, quotes, CRLF, a byte order mark, only five columns. */
static void test_dialects(void)
{
	tap_eq_i64(read_two("\xef\xbb\xbfmodel,gpu,zone,memory_mib,cpu_milli,sn\r\nG2,8,\"a,b\",393216,96000,"
	                    "\"n0\"\r\n",
	                   "gpu_milli,num_gpu,name,memory_mib,colour,cpu_milli\n1000,2,p,1024,red,4000"),
	        0, "%s", err.text);
	tap_require(l.nodes.n == 1 && l.tasks.n == 1, "one of each");
	tap_eq_i64(l.nodes.node[0].n_devices, 8, "devices");
	tap_eq_i64(l.tasks.task[0].cpu_milli, 4000, "cpu");
	tap_eq_i64(l.tasks.task[0].gpus, 2, "GPUs");
	tap_eq_i64(l.tasks.task[0].submit_us, -1, "no times in the five-column lists");
	load_release(&l);
	tap_eq_i64(
	        read_two(PODS "p,1,1,1,500,T4|G9\n", NULL), 0, "pods alone take models as they come: %s", err.text);
	tap_eq_i64(l.nodes.n_models, 2, "declared");
	load_release(&l);
}

/* The files of either order: nodes are read first. */
static void test_order_of_files(void)
{
	tap_eq_i64(read_two(PODS "p,1,1,1,500,G2\n", TWO_NODES), 0, "%s", err.text);
	load_release(&l);
	tap_eq_i64(read_two(PODS "p,1,1,1,500,G3\n", TWO_NODES), -ENOENT, "checked against the later file");
	load_release(&l);
}

struct bad {
	const char *what, *nodes, *pods;
	int code;
	const char *reason, *at, *says; /* the beginning of the text, and a part of it */
};

static const struct bad bad[] = {
        {"empty", "", NULL, -EBADMSG, "EmptyTrace", "a:1:1: ", "empty"},
        {"blank", "\n \n", NULL, -EBADMSG, "EmptyTrace", "a:1:1: ", "empty"},
        {"header only", NODES, NULL, -EBADMSG, "EmptyTrace", "a:", "no record"},
        {"no pods", TWO_NODES, PODS, -EBADMSG, "EmptyTrace", "b:", "no record"},
        {"unknown", "a,b,c\n1,2,3\n", NULL, -EBADMSG, "UnknownFormat", "a:1:1: ", "expected"},
        {"missing node column", "sn,cpu_milli,gpu,model\nn,1,1,T4\n", NULL, -EBADMSG, "MissingColumn",
                "a:1:1: ", "\"memory_mib\""},
        {"missing pod column", TWO_NODES, "name,cpu_milli,memory_mib,num_gpu\np,1,1,1\n", -EBADMSG, "MissingColumn",
                "b:1:1: ", "\"gpu_milli\""},
        {"column twice", "sn,cpu_milli,memory_mib,gpu,model,gpu\nn,1,1,1,T4,1\n", NULL, -EBADMSG, "DuplicateColumn",
                "a:1:35: ", "\"gpu\""},
        {"negative", NODES "n0,-5,1,1,T4\n", NULL, -EBADMSG, "NegativeNumber",
                "a:2:4: ", "expected a whole number 0.."},
        {"negative huge", NODES "n0,-99999999999999999999,1,1,T4\n", NULL, -EBADMSG, "NegativeNumber",
                "a:2:4: ", "negative"},
        {"not a number", NODES "n0,1,many,1,T4\n", NULL, -EBADMSG, "NotANumber", "a:2:6: ", "\"many\""},
        {"fraction", NODES "n0,1.5,1,1,T4\n", NULL, -EBADMSG, "NotANumber", "a:2:4: ", "not whole"},
        {"exponent", NODES "n0,1e3,1,1,T4\n", NULL, -EBADMSG, "NotANumber", "a:2:4: ", "not a number"},
        {"empty number", NODES "n0,,1,1,T4\n", NULL, -EBADMSG, "NotANumber", "a:2:4: ", "is empty"},
        {"huge", NODES "n0,1,99999999999999999999999999,1,T4\n", NULL, -ERANGE, "OutOfRange",
                "a:2:6: ", "expected 0.."},
        {"too many CPUs", NODES "n0,1099511627777,1,1,T4\n", NULL, -ERANGE, "OutOfRange", "a:2:4: ", "too large"},
        {"too much memory", NODES "n0,1,68719476737,1,T4\n", NULL, -ERANGE, "OutOfRange", "a:2:6: ", "too large"},
        {"too many GPUs", NODES "n0,1,1,65,T4\n", NULL, -ERANGE, "OutOfRange", "a:2:8: ", "0..64"},
        {"no model", NODES "n0,1,1,2,\n", NULL, -EBADMSG, "MissingModel", "a:2:10: ", "GPU type"},
        {"node name twice", TWO_NODES "n0,1,1,0,\n", NULL, -EEXIST, "DuplicateName", "a:4:1: ", "\"n0\""},
        {"node without a name", NODES ",1,1,0,\n", NULL, -EINVAL, "BadName", "a:2:1: ", "empty"},
        {"few fields", NODES "n0,1,1\n", NULL, -EBADMSG, "FieldCount", "a:2:1: ", "expected 5"},
        {"many fields", NODES "n0,1,1,0,,9\n", NULL, -EBADMSG, "FieldCount", "a:2:1: ", "has 6"},
        {"open quote", NODES "\"n0,1,1,0,\n", NULL, -EBADMSG, "CsvQuote", "a:2:1: ", "closed"},
        {"unknown model", TWO_NODES, PODS "p,1,1,1,500,P10\n", -ENOENT, "UnknownModel",
                "b:2:13: ", "nearest: P100"},
        {"unknown model in a list", TWO_NODES, PODS "p,1,1,1,500,G2|Z9000\n", -ENOENT, "UnknownModel",
                "b:2:13: ", "expected of: P100, G2"},
        {"empty part", TWO_NODES, PODS "p,1,1,1,500,G2|\n", -EBADMSG, "BadList", "b:2:13: ", "empty part"},
        {"share of several", TWO_NODES, PODS "p,1,1,2,500,\n", -EBADMSG, "BadShare",
                "b:2:9: ", "only a single GPU"},
        {"share of none", TWO_NODES, PODS "p,1,1,0,500,\n", -EBADMSG, "BadShare", "b:2:9: ", "expected 0"},
        {"nothing of one", TWO_NODES, PODS "p,1,1,1,0,\n", -EBADMSG, "BadShare", "b:2:9: ", "1..1000"},
        {"more than one", TWO_NODES, PODS "p,1,1,1,1001,\n", -ERANGE, "OutOfRange", "b:2:9: ", "0..1000"},
        {"pod name twice", TWO_NODES, PODS "p,1,1,0,0,\np,1,1,0,0,\n", -EEXIST, "DuplicateName",
                "b:3:1: ", "\"p\""},
        {"bad time", TWO_NODES, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time\np,1,1,0,0,soon\n",
                -EBADMSG, "NotANumber", "b:2:11: ", "creation_time"},
        {"huge time", TWO_NODES,
                "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time\np,1,1,0,0,9999999999999\n", -ERANGE,
                "OutOfRange", "b:2:11: ", "creation_time"},
};

static void test_bad(void)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		const struct bad *b = &bad[i];
		int rc = read_two(b->nodes, b->pods);
		tap_eq_i64(rc, b->code, "%s: %s", b->what, err.text);
		tap_eq_str(wz_str(err.reason), wz_str(b->reason), "%s: %s", b->what, err.text);
		tap_ok(wz_str_starts(wz_str(err.text), wz_str(b->at)), "%s: want %s, got %s", b->what, b->at,
		        err.text);
		tap_ok(strstr(err.text, b->says), "%s: want \"%s\" in: %s", b->what, b->says, err.text);
		load_release(&l);
	}
}

static void test_binary(void)
{
	struct wz_str text = WZ_STR("\x1f\x8b\x08\0\0\0\0\0\0\x03");
	memset(&err, 0, sizeof err);
	tap_eq_i64(load_init(&l, wz_os_mem()), 0, "init");
	tap_eq_i64(load_texts(&l, text, NULL, &err), -EBADMSG, "gzip");
	tap_eq_str(wz_str(err.reason), WZ_STR("Binary"), "%s", err.text);
	tap_ok(wz_str_starts(wz_str(err.text), WZ_STR("a:1:4: ")), "%s", err.text);
	load_release(&l);
	tap_eq_i64(load_init(&l, wz_os_mem()), 0, "init");
	text = WZ_STR(NODES "n0,1,1,0,\nn1,\0,1,0,\n");
	tap_eq_i64(load_texts(&l, text, NULL, &err), -EBADMSG, "a NUL among records");
	load_release(&l);
}

/* A long value does not push what was expected out of the text. */
static void test_long_value(void)
{
	char text[2048];
	size_t n = sizeof NODES - 1 + 3;
	memcpy(text, NODES "n0,", n);
	memset(text + n, '9', 1500);
	memcpy(text + n + 1500, ",1,1,T4\n", 9);
	tap_eq_i64(read_two(text, NULL), -ERANGE, "1500 digits");
	tap_ok(strstr(err.text, "expected 0.."), "%s", err.text);
	load_release(&l);
}

static int work(const struct wz_mem *mem)
{
	struct load x;
	struct wz_err e = {0};
	struct wz_str pods = WZ_STR(PODS "p0,1,1,1,500,G2|P100\n\"p\"\"1\",1,1,0,0,\n");
	struct wz_buf out;
	int rc = load_init(&x, mem);
	if (rc == 0)
		rc = load_texts(&x, WZ_STR(TWO_NODES), &pods, &e);
	wz_buf_init(&out, mem, 1u << 20);
	if (rc == 0)
		rc = wz_format_openb.write(&x.nodes, &x.tasks, WZ_TRACE_TASKS, &out, &e);
	wz_buf_release(&out);
	load_release(&x);
	return rc;
}

static void test_out_of_memory(void)
{
	for (uint64_t n = 1; n < 100000; n++) {
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = work(&f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "without a failure");
			return;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
	}
	tap_ok(false, "never ended");
}

/* What is written reads back as the same, and writes the same again. */
static void test_write(void)
{
	struct wz_buf nodes, pods, again;
	wz_buf_init(&nodes, wz_os_mem(), 1u << 20);
	wz_buf_init(&pods, wz_os_mem(), 1u << 20);
	wz_buf_init(&again, wz_os_mem(), 1u << 20);
	tap_eq_i64(read_two(TWO_NODES,
	                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,scheduled_time,creation_time,"
	                   "deletion_time\n\"p,\"\"0\",1,2,1,30,G2|P100|G2,5,4,6\np1,1,2,8,1000,,,4,\n"),
	        0, "%s", err.text);
	tap_eq_i64(wz_format_openb.write(&l.nodes, &l.tasks, WZ_TRACE_NODES, &nodes, &err), 0, "%s", err.text);
	tap_eq_i64(wz_format_openb.write(&l.nodes, &l.tasks, WZ_TRACE_TASKS, &pods, &err), 0, "%s", err.text);
	load_release(&l);
	tap_eq_str(wz_buf_str(&nodes), WZ_STR(TWO_NODES), "the node list as it was");
	tap_eq_i64(read_two(wz_buf_z(&nodes), wz_buf_z(&pods)), 0, "%s", err.text);
	tap_eq_i64(wz_format_openb.write(&l.nodes, &l.tasks, WZ_TRACE_TASKS, &again, &err), 0, "%s", err.text);
	tap_eq_str(wz_buf_str(&again), wz_buf_str(&pods), "fixed point");
	load_release(&l);
	wz_buf_release(&nodes);
	wz_buf_release(&pods);
	wz_buf_release(&again);
}

/* What the format cannot say is refused by name, not dropped. */
static void test_write_refuses(void)
{
	static const char *const lines[] = {
	        "node n rack=r",
	        "node n device=T4,mem=1Gi",
	        "node n device=T4 device=A10",
	        "node n label=a:b",
	        "node n mem=7",
	        "job j user=u",
	        "job j : tasks=2",
	        "job j : kind=service",
	        "job j : gpu-mem=1Gi gpus=1",
	        "job j submit=1ms",
	        "job j run=1s",
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(lines); i++) {
		char text[256];
		struct wz_buf out;
		(void)snprintf(text, sizeof text, "whalezen-trace 1\n%s\n", lines[i]);
		tap_eq_i64(read_two(text, NULL), 0, "%s: %s", lines[i], err.text);
		wz_buf_init(&out, wz_os_mem(), 1u << 16);
		tap_eq_i64(wz_format_openb.write(
		                   &l.nodes, &l.tasks, l.nodes.n ? WZ_TRACE_NODES : WZ_TRACE_TASKS, &out, &err),
		        -EOPNOTSUPP, "%s", lines[i]);
		tap_ok(strstr(err.text, l.nodes.n ? "\"n\"" : "\"j\""), "%s", err.text);
		wz_buf_release(&out);
		load_release(&l);
	}
}

/* The real files, where this machine has them: $TRACES, as for tools/run-paper. Figures of the trace's README. */
static void test_published(void)
{
	static const struct {
		const char *file;
		uint32_t pods;
		uint64_t gpu_tenths, cpus;
	} lists[] = {
	        {"default", 8152, 60868, 85436},
	        {"cpu050", 7439, 60868, 72762},
	        {"cpu200", 8832, 60868, 97253},
	        {"gpushare40", 8152, 56413, 80383},
	        {"gpushare80", 8152, 44082, 67189},
	        {"gpuspec25", 8152, 60868, 85436},
	        {"multigpu50", 9061, 113588, 137776},
	};
	const char *traces = getenv("TRACES");
	char nodes[512], pods[512];
	if (!traces)
		tap_skip("TRACES is not set: the folder with the openb traces (tools/run-paper --help)");
	(void)snprintf(nodes, sizeof nodes, "%s/openb_node_list_gpu_node.csv", traces);
	for (size_t i = 0; i < WZ_ARRAY_LEN(lists); i++) {
		(void)snprintf(pods, sizeof pods, "%s/openb_pod_list_%s.csv", traces, lists[i].file);
		const char *paths[2] = {nodes, pods};
		tap_eq_i64(load_init(&l, wz_os_mem()), 0, "init");
		tap_eq_i64(wz_trace_load(paths, 2, NULL, wz_os_mem(), &l.nodes, &l.tasks, &err), 0, "%s", err.text);
		struct wz_sim_totals have = wz_sim_nodes_totals(&l.nodes), want = wz_sim_tasks_totals(&l.tasks);
		tap_eq_i64(l.nodes.n, 1213, "nodes");
		tap_eq_i64(have.gpus, 6212, "GPUs");
		tap_eq_i64(have.cpu_milli, 107018000, "vCPU");
		tap_eq_i64(have.mem_bytes >> 20, 503828480, "MiB");
		tap_eq_i64(l.tasks.n, lists[i].pods, "%s: pods", lists[i].file);
		tap_eq_i64((want.gpu_milli + 50) / 100, lists[i].gpu_tenths, "%s: GPU demand", lists[i].file);
		tap_eq_i64((want.cpu_milli + 500) / 1000, lists[i].cpus, "%s: vCPU demand", lists[i].file);
		load_release(&l);
	}
}

int main(void)
{
	tap_run(test_nodes);
	tap_run(test_pods);
	tap_run(test_dialects);
	tap_run(test_order_of_files);
	tap_run(test_bad);
	tap_run(test_binary);
	tap_run(test_long_value);
	tap_run(test_out_of_memory);
	tap_run(test_write);
	tap_run(test_write_refuses);
	tap_run(test_published);
	return tap_done();
}
