/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lang.h"

#include "base/check.h"

static const struct {
	const char *en, *zh;
} texts[] = {
        /* headers */
        {"JOB", "作业"},
        {"JOBS", "作业"},
        {"NAME", "名称"},
        {"USER", "用户"},
        {"STATE", "状态"},
        {"TIME", "时间"},
        {"PRIO", "优先级"},
        {"PRIORITY", "优先级"},
        {"PROFILE", "需求"},
        {"REASON", "原因"},
        {"QUEUE", "队列"},
        {"NODE", "节点"},
        {"NODES", "节点"},
        {"DEV", "设备号"},
        {"DEVICE", "设备"},
        {"DEVICES", "设备"},
        {"FREE", "空闲"},
        {"CPUS", "CPU"},
        {"MEM GiB", "内存 GiB"},
        {"TASKS", "任务"},
        {"TASK", "任务"},
        {"MODEL", "型号"},
        {"HEALTH", "健康"},
        {"COMPUTE FREE", "空闲算力"},
        {"USE %", "利用率 %"},
        {"ATTEMPT", "尝试"},
        {"STARTED", "开始"},
        {"ENDED", "结束"},
        {"WAITED", "等待"},
        {"RAN", "运行"},
        {"EXIT", "退出码"},
        {"ROLE", "角色"},
        {"HASH", "摘要"},
        {"WHAT", "操作"},
        {"OF", "对象"},
        {"OUTCOME", "结果"},
        {"FROM", "来源"},
        {"VERSION", "版本"},
        {"WEIGHT", "权重"},
        {"LIMIT", "上限"},
        {"USED", "已用"},
        {"PENDING", "排队中"},
        {"RUNNING", "运行中"},
        /* states of jobs */
        {"HELD", "已挂起"},
        {"STARTING", "启动中"},
        {"SUSPENDED", "已冻结"},
        {"STOPPING", "停止中"},
        {"COMPLETED", "已完成"},
        {"FAILED", "失败"},
        {"CANCELLED", "已取消"},
        {"TIMEOUT", "超时"},
        {"OOM", "内存不足"},
        {"PREEMPTED", "被抢占"},
        {"NODE_LOST", "节点丢失"},
        {"DEVICE_LOST", "设备丢失"},
        {"LAUNCH_FAILED", "启动失败"},
        /* states of nodes and devices */
        {"ready", "就绪"},
        {"draining", "排空中"},
        {"drained", "已排空"},
        {"down", "离线"},
        {"ok", "正常"},
        {"degraded", "降级"},
        {"failed", "故障"},
        /* names of fields */
        {"id", "编号"},
        {"name", "名称"},
        {"user", "用户"},
        {"state", "状态"},
        {"reason", "原因"},
        {"reason_text", "说明"},
        {"priority", "优先级"},
        {"profile", "需求"},
        {"queue", "队列"},
        {"attempt", "尝试"},
        {"exit_code", "退出码"},
        {"exit_signal", "退出信号"},
        {"argv", "命令"},
        {"cwd", "目录"},
        {"comment", "备注"},
        {"node", "节点"},
        {"devices", "设备"},
        {"pid", "进程号"},
        /* reasons */
        {"no node has free all that is asked", "没有节点同时空闲所需的全部资源"},
        {"the node's labels are not those asked for", "节点标签不符合要求"},
        {"the node has a taint that is not tolerated", "节点有不能容忍的污点"},
        {"a task on the node holds the port", "节点上的任务占用了端口"},
        {"no task is there that it must be near", "那里没有必须靠近的任务"},
        {"a task is there that must be apart from it", "那里有必须分开的任务"},
        {"more of its kind are there than the spread allows", "那里的同类任务超过分布所允许的数量"},
        {"no single place holds all that must stay together", "没有一处能容纳必须在一起的全部任务"},
        {"no device of an allowed model", "没有允许型号的设备"},
        {"the node has fewer devices than asked", "节点的设备少于所需"},
        {"held by its owner or an operator", "被用户或管理员挂起"},
};

static bool chinese(void)
{
	static const char *const names[] = {"WZ_LANG", "LC_ALL", "LC_MESSAGES", "LANG"};
	for (unsigned i = 0; i < WZ_ARRAY_LEN(names); i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return strncmp(v, "zh", 2) == 0;
	}
	return false;
}

struct wz_str wz_tr(struct wz_str english)
{
	static int zh = -1;
	if (zh < 0)
		zh = chinese();
	for (unsigned i = 0; zh && i < WZ_ARRAY_LEN(texts); i++)
		if (wz_str_eq(english, wz_str(texts[i].en)))
			return wz_str(texts[i].zh);
	return english;
}
