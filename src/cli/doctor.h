/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor.c (check, fix, backup, restore) and doctor_bundle.c (a support bundle) share. */
#ifndef WZ_CLI_DOCTOR_H
#define WZ_CLI_DOCTOR_H

#include "cli/daemon.h"
#include "serve/config.h"
#include "store/store.h"

struct wz_doctor {
	struct wz_cli *cli;
	struct wz_daemon daemon; /* http NULL: none is reachable */
	char state[WZ_DAEMON_PATH_MAX];
	struct wz_buf report; /* lines "ok   ...", "warn ...", "BAD  ..." */
	int bad;
};

/* Looks at all that is not the store: the directory, its disk, the program, the daemon. Appends to the report. */
void wz_doctor_look(struct wz_doctor *d);

/* Writes `path`, a .tar.gz: the report, versions, the machine, the configuration without what is secret, jobs without names,
 * commands, environments and texts (commands: the commands too), the journal's events and effects with users as numbers. */
int wz_doctor_bundle(struct wz_doctor *d, struct wz_store *s, const char *path, bool commands, struct wz_err *err);

#endif
