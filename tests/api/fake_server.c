/* SPDX-License-Identifier: Apache-2.0 */
/* The API over the fake body, as a program: fake_server SOCKET. Ends at end of stdin. For test_openapi. */
#include "fake.h"

static struct wz_loop *loop;

static void on_stdin(void *ctx, unsigned what)
{
	char byte;
	(void)ctx, (void)what;
	if (read(0, &byte, 1) <= 0)
		wz_loop_stop(loop);
}

int main(int argc, char **argv)
{
	struct wz_api_config cfg = wz_api_config_default;
	struct wz_unix_socket sock;
	struct wz_watch in;
	struct wz_err err;
	cfg.backend = &fake_backend;
	cfg.version = "0";
	cfg.audit = fake_audit;
	wz_check(argc == 2 && wz_loop_new(wz_os_mem(), &loop, &err) == 0);
	if (wz_api_new(loop, wz_os_mem(), &cfg, &fake.api, &err) < 0 ||
	        wz_unix_listen(argv[1], 0600, (gid_t)-1, &sock, &err) < 0) {
		fprintf(stderr, "fake_server: %s\n", err.text);
		return 1;
	}
	wz_check(wz_metrics_add_table(wz_api_metrics(fake.api), fake_metrics, WZ_ARRAY_LEN(fake_metrics)) == 0);
	wz_check(wz_http_listen(wz_api_http(fake.api), sock.fd, NULL) == 0);
	sock.fd = -1;
	wz_check(wz_watch_init(&in, loop, 0, on_stdin, NULL) == 0 && wz_watch_set(&in, WZ_WATCH_READ) == 0);
	printf("ready\n");
	fflush(stdout);
	wz_loop_run(loop);
	wz_watch_release(&in);
	wz_api_free(fake.api);
	wz_unix_close(&sock);
	wz_loop_free(loop);
	return 0;
}
