/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for servers (OpenSSL 3): version 1.2 or later, the library's ciphers, no renegotiation, no tickets across restarts.
 * Beside it the few cryptographic functions that others need. Thread rule: none shared. */
#ifndef WZ_OS_TLS_H
#define WZ_OS_TLS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct wz_tls;

/* cert: PEM, our certificate first, then its chain. key: PEM; refused when others can read it ("KeyReadable" -EPERM). Other
 * errors: "NotFound", "NoPermission" with their errno, -EINVAL "BadCertificate" (cannot be parsed, or key and
 * certificate do not belong together; OpenSSL's words are in the text). *ret is the caller's. */
int wz_tls_server_new(const char *cert, const char *key, struct wz_tls **ret, struct wz_err *err);
/* Reads both files again; connections that exist keep what they have. On failure nothing changes. */
int wz_tls_reload(struct wz_tls *t, struct wz_err *err);
void wz_tls_free(struct wz_tls *t); /* accepts NULL; after the server that uses it */
void *wz_tls_accept_new(struct wz_tls *t); /* an SSL * for http.c; NULL: out of memory */

#define WZ_SHA256_BYTES 32u
void wz_sha256(struct wz_str s, unsigned char ret[WZ_SHA256_BYTES]);
void wz_hmac_sha256(struct wz_str key, struct wz_str s, unsigned char ret[WZ_SHA256_BYTES]);
void wz_base64(struct wz_buf *b, struct wz_str s); /* appends, with padding */
int wz_random_bytes(void *ret, size_t n); /* of the kernel; 0 or -EIO */
bool wz_equal_secret(const void *a, const void *b, size_t n); /* in a time that depends on n alone */

#endif
