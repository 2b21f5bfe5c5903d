/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of other people's job traces: what is read of a good file, and where a wrong one is wrong. Good files are the seeds of the
 * fuzzer, tests/corpus/jobs. */
#include "tap.h"

#include "load.h"
#include "os/file.h"
#include "os/mem.h"
#include "sim/slurm.h"

static int read_text(struct load *l, const char *name, struct wz_str text, struct wz_err *err)
{
	struct wz_trace_source src = {wz_str(name), text};
	return wz_trace_read(&src, 1, NULL, &l->nodes, &l->tasks, err);
}

static int read_seed(struct load *l, const char *seed, struct wz_file_text *text, struct wz_err *err)
{
	char rest[64], path[512];
	(void)snprintf(rest, sizeof rest, "tests/corpus/jobs/%s", seed);
	int rc = wz_file_read(source_path(path, sizeof path, rest), 1u << 20, wz_os_mem(), text, err);
	struct wz_str s = wz_file_text_str(text);
	return rc < 0 ? rc : read_text(l, "app/validation-8.csv", (struct wz_str){s.ptr + 1, s.len - 1}, err);
}

struct good {
	const char *seed, *name;
	uint32_t tasks, gpus;
	int64_t submit_s, run_ms, start_s;
	const char *queue, *template_;
};
static const struct good goods[] = {
        {"muri", "0", 2, 4, 0, 899290, -1, "", "bert/8"},
        {"tiresias", "0", 1, 1, 0, 164000, -1, "", "vgg19"},
        {"philly", "j1", 2, 1, 0, 66000, -1, "a", ""},
        {"chronus", "0", 1, 1, 85 * 60, 747 * 60000, -1, "vc", "vgg16"},
        {"elasticflow", "0", 1, 1, 37, 5644000, -1, "", "cifar10/4096"},
        {"helios", "1", 1, 8, 0, 3590000, 10, "v", "train"},
        {"pai", "9", 1, 1, 100, 50000, 103, "", "g"},
        {"spotjobs", "j", 1, 1, 5, 60000, -1, "o", ""},
        {"dlrm", "i", 1, 1, 5, 94000, 6, "HN", "a"},
        {"genai", "j1", 1, 1, 0, 32000, -1, "", "TXT_2_IMG/M0"},
        {"gavel", "j1", 2, 4, 0, -1, -1, "", "ResNet-18 (batch size 128)"},
        {"shockwave", "j1", 1, 1, 0, 1418000, -1, "", "LM (batch size 10)"},
        {"swf", "1", 1, 4, 0, 100000, 10, "1", "5"},
        {"kubernetes", "x/p", 1, 2, 0, 3590000, 10, "x", ""},
        {"pollux", "cifar10-0", 1, 3, 53, -1, -1, "", "cifar10"},
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
		const struct good *g = &goods[i];
		struct load l;
		struct wz_err err = {0};
		struct wz_file_text text = {0};
		(void)load_init(&l, wz_os_mem());
		int rc = read_seed(&l, g->seed, &text, &err);
		tap_ok(rc == 0 && l.tasks.n == g->tasks, "%s: %s, %u tasks", g->seed, err.text, l.tasks.n);
		if (rc == 0 && l.tasks.n) {
			const struct wz_sim_task *t = &l.tasks.task[0];
			tap_eq_str(t->name, wz_str(g->name), "%s: name", g->seed);
			tap_eq_i64(t->gpus, g->gpus, "%s: GPUs of a task", g->seed);
			tap_eq_i64(t->submit_us, g->submit_s * 1000000, "%s: submit", g->seed);
			tap_eq_i64(t->run_us < 0 ? -1 : t->run_us / 1000, g->run_ms, "%s: run time", g->seed);
			tap_eq_i64(t->start_us < 0 ? -1 : t->start_us / 1000000, g->start_s, "%s: start", g->seed);
			tap_eq_str(t->queue, wz_str(g->queue), "%s: queue", g->seed);
			tap_eq_str(t->template_, wz_str(g->template_), "%s: template", g->seed);
		}
		load_release(&l);
		wz_file_text_release(&text);
	}
}

#define MURI "job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time\n"
#define PHILLY "timestamp,duration,num_gpus,gpu_time,cluster\n"
#define POLLUX "name,time,application,num_replicas,batch_size\n"
struct wrong {
	const char *what, *text, *place, *says;
};
static const struct wrong wrongs[] = {
        {"no number", MURI "0,x,0,1,m,1,1\n", "f:2:3: ", "num_gpu is \"x\"; expected a number"},
        {"negative", MURI "0,1,-5,1,m,1,1\n", "f:2:5: ", "submit_time"},
        {"too many GPUs", MURI "0,99999999,0,1,m,1,1\n", "f:2:3: ", "too large"},
        {"a century", MURI "0,1,0,1099511627776,m,1,86400000\n", "f:2:7: ", "less than a century"},
        {"twice", MURI "0,1,0,1,m,1,1\n0,1,0,1,m,1,1\n", "f:3:1: ", "0"},
        {"too few fields", MURI "0,1\n", "f:2:1: ", "the record has 2 fields; expected 7"},
        {"nothing", MURI, "f:2:1: ", "no record"},
        {"no submission", MURI "0,1,,1,m,1,1\n", "f:2:5: ", "time of submission"},
        {"no date", PHILLY "2017-02-30 00:00:00,1,1,1,a\n", "f:2:1: ", "timestamp"},
        {"quote", PHILLY "\"2017-10-09 07:01:55,1,1,1,a\n", "f:2:1", "quote"},
        {"gavel: steps", "A (b)\tc\td\te\t1\tmany\t1\t1\t-1\t0\n", "f:1:15: ", "a number of steps"},
        {"gavel: GPUs", "A (b)\tc\td\te\t1\t5\t0\t1\t-1\t0\n", "f:1:", "1..4096"},
        {"gavel: width", "A (b)\tc\td\te\t1\t5\t1\t1\t-1\t0\nA (b)\tc\n", "f:2:1: ", "7, 10 or 12"},
        {"speeds: cut", "{\"v100\": {\"('A', 1)\": {\"null\": 4", "f:1:", "expected"},
        {"speeds: key", "{\"v100\": {\"('A', 1)\": {\"null\": 4}, \"A\": {}}}", "f:1:", "a key such as"},
        {"swf: fields", "1 0 10 100 4 -1 -1 4 200 -1 1 3 1 5 1 1 -1 -1\n1 2 3\n", "f:2:5: ", "18 fields"},
        {"swf: number",
                "1 0 10 100 4 -1 -1 4 200 -1 1 3 1 5 1 1 -1 -1\n2 0 10 1e 4 -1 -1 4 200 -1 1 3 1 5 1 1 -1 -1\n",
                "f:2:8: ", "a number"},
        {"kubernetes: quantity",
                "{\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{"
                "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"lots\"}}}]}}]}",
                "f:1:", "a quantity of CPU"},
        {"kubernetes: cut", "{\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Pod\",", "f:1:", "expected"},
        {"spot: numbers", "{\"metadata\":{\"gap_seconds\":60},\"data\":[1,\"x\"]}", "f:1:", "a number"},
        {"pollux: replicas", POLLUX "a,5,bert,none,8\n", "f:2:10: ", "num_replicas"},
        {"pollux: profile without a folder", "placement,local_bsz,step_time,sync_time\n1,4,0.45,0.01\n",
                "f:1:1: ", "APPLICATION/placements.csv"},
};

static void test_wrong(void)
{
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		struct load l;
		struct wz_err err = {0};
		(void)load_init(&l, wz_os_mem());
		int rc = read_text(&l, "f", wz_str(wrongs[i].text), &err);
		tap_ok(rc < 0 && err.reason, "%s: accepted", wrongs[i].what);
		tap_ok(wz_str_starts(wz_str(err.text), wz_str(wrongs[i].place)), "%s: at %s, want %s",
		        wrongs[i].what, err.text, wrongs[i].place);
		tap_ok(strstr(err.text, wrongs[i].says) != NULL, "%s: %s, want %s", wrongs[i].what, err.text,
		        wrongs[i].says);
		load_release(&l);
	}
}

static void test_slurm(void)
{
	static const char sacct[] =
	        "JobID|JobName|User|Account|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|AllocTRES\n"
	        "7|train|ann|ml|2026-12-01T10:00:00|2026-12-01T10:05:00|2026-12-01T11:05:00|3600|1-12:00:00|2|cpu="
	        "64,gres/gpu=16,mem=512G\n"
	        "7.batch|batch|||2026-12-01T10:00:00||||||\n";
	static const char nodes[] = "NodeName=a[01-03] CPUTot=64 RealMemory=515000\n   "
	                            "Gres=gpu:a100:8(S:0-1)\n\nNodeName=login CPUTot=8 Gres=(null)\n";
	struct wz_trace_source s = {WZ_STR("f"), wz_str(sacct)}, n = {WZ_STR("f"), wz_str(nodes)};
	struct load l;
	struct wz_err err = {0};
	struct wz_buf yaml;

	(void)load_init(&l, wz_os_mem());
	tap_ok(wz_slurm_nodes(&n, &l.nodes, &err) == 0 && l.nodes.n == 4, "%s: %u nodes", err.text, l.nodes.n);
	tap_ok(wz_slurm_sacct(&s, &l.nodes, &l.tasks, &err) == 0 && l.tasks.n == 1, "%s: %u jobs", err.text,
	        l.tasks.n);
	if (l.nodes.n == 4 && l.tasks.n == 1) {
		const struct wz_profile *p = wz_sim_task_profile(&l.tasks, &l.tasks.task[0]);
		tap_eq_str(l.nodes.node[1].name, WZ_STR("a02"), "a list of nodes");
		tap_eq_i64(l.nodes.node[1].n_devices, 8, "its devices");
		tap_eq_i64(l.nodes.node[3].n_devices, 0, "none");
		tap_eq_i64(p->gpus, 8, "GPUs of a task");
		tap_eq_i64(p->tasks_min, 2, "a task a node");
		tap_eq_i64((int64_t)p->time_us, INT64_C(36) * 3600 * 1000000, "the limit");
		tap_eq_i64(l.tasks.task[0].start_us, INT64_C(300) * 1000000, "the start");
		tap_eq_i64(l.tasks.task[0].run_us, INT64_C(3600) * 1000000, "the run time");
	}
	load_release(&l);
	(void)load_init(&l, wz_os_mem());
	s.text = WZ_STR("JobID|Submit|ElapsedRaw\n1|yesterday|5\n");
	tap_ok(wz_slurm_sacct(&s, &l.nodes, &l.tasks, &err) < 0 &&
	                wz_str_starts(wz_str(err.text), WZ_STR("f:2:3: ")),
	        "%s", err.text);
	n.text = WZ_STR("NodeName=a CPUTot=many\n");
	tap_ok(wz_slurm_nodes(&n, &l.nodes, &err) < 0 && wz_str_starts(wz_str(err.text), WZ_STR("f:1:12: ")), "%s",
	        err.text);
	wz_buf_init(&yaml, wz_os_mem(), 65536);
	s.text = WZ_STR("Account - 'ml':Fairshare=10:GrpTRES=gres/gpu=16,cpu=4\n");
	tap_ok(wz_slurm_queues(&s, &yaml, &err) == 0, "%s", err.text);
	tap_ok(strstr(wz_buf_z(&yaml), "limit: {gpus: 16}") != NULL, "%s", wz_buf_z(&yaml));
	wz_buf_release(&yaml);
	load_release(&l);
}

int main(void)
{
	tap_run(test_good);
	tap_run(test_wrong);
	tap_run(test_slurm);
	return tap_done();
}
