/* SPDX-License-Identifier: Apache-2.0 */
/* Denying devices. v1 has a file. v2 has a BPF program that the kernel asks at each open and mknod; it is small enough to
 * be written here by hand, which spares a BPF library:
 *
 *	r2 = type, r3 = major, r4 = minor of the context
 *	for each rule: if all equal: return 0
 *	return 1
 *
 * Attached with ALLOW_MULTI, so the programs of outer groups (systemd's DeviceAllow) still have their say. */
#include "os/cgroup.h"

#include "base/check.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

static int load(struct bpf_insn *insn, unsigned n)
{
	union bpf_attr a;
	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	a.insns = (uint64_t)(uintptr_t)insn;
	a.insn_cnt = n;
	a.license = (uint64_t)(uintptr_t) "Apache-2.0";
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a);
	return fd < 0 ? -errno : (int)fd;
}

static int attach(int cgroup, int prog)
{
	union bpf_attr a;
	memset(&a, 0, sizeof a);
	a.target_fd = (uint32_t)cgroup;
	a.attach_bpf_fd = (uint32_t)prog;
	a.attach_type = BPF_CGROUP_DEVICE;
	a.attach_flags = BPF_F_ALLOW_MULTI;
	return syscall(SYS_bpf, BPF_PROG_ATTACH, &a, sizeof a) < 0 ? -errno : 0;
}

static int deny_v2(const char *dir, const struct wz_cgroup_device *d, unsigned n)
{
	struct bpf_insn in[6 + 5 * WZ_CG_DEVICES_MAX];
	unsigned k = 0;
	in[k++] = INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
	in[k++] = INSN(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff);
	in[k++] = INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 1, offsetof(struct bpf_cgroup_dev_ctx, major), 0);
	in[k++] = INSN(BPF_LDX | BPF_MEM | BPF_W, 4, 1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0);
	for (unsigned i = 0; i < n; i++) {
		int type = d[i].type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
		in[k++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 4, type);
		in[k++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 3, 0, 3, (int32_t)d[i].major);
		in[k++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 4, 0, 2, (int32_t)d[i].minor);
		in[k++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
		in[k++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	}
	in[k++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
	in[k++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	int cgroup = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0)
		return -errno;
	int prog = load(in, k);
	int rc = prog < 0 ? prog : attach(cgroup, prog);
	if (prog >= 0)
		close(prog); /* the group holds it */
	close(cgroup);
	return rc;
}

static int deny_v1(const char *dir, const struct wz_cgroup_device *d, unsigned n)
{
	char path[WZ_CG_PATH_MAX + 32], text[64];
	(void)snprintf(path, sizeof path, "%s/devices.deny", dir);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;
	for (unsigned i = 0; i < n && rc == 0; i++) {
		int len = snprintf(text, sizeof text, "%c %u:%u rwm", d[i].type, d[i].major, d[i].minor);
		if (write(fd, text, (size_t)len) < 0)
			rc = -errno;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int wz_cgroup_deny(const struct wz_cgroup *g, const struct wz_cgroup_device *d, unsigned n, struct wz_err *err)
{
	const struct wz_cgroup_at *at = &g->facet[WZ_CG_DEVICES];
	wz_check(n <= WZ_CG_DEVICES_MAX);
	if (n == 0)
		return 0;
	if (!at->version)
		return wz_err_set(err, -EOPNOTSUPP, "NoCgroup", WZ_STR("no cgroup denies devices here"));
	int rc = at->version == 1 ? deny_v1(at->dir, d, n) : deny_v2(at->dir, d, n);
	if (rc < 0)
		return wz_err_set(err, -EOPNOTSUPP, "NoCgroup", WZ_STR("devices cannot be denied in "),
		        wz_str(at->dir), WZ_STR(": "), wz_str(strerrordesc_np(-rc)));
	return 0;
}
