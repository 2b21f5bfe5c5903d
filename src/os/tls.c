/* SPDX-License-Identifier: Apache-2.0 */
#include "os/tls.h"

#include "base/check.h"
#include "os/file.h"

#include <limits.h>
#include <openssl/hmac.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sys/random.h>
#include <sys/stat.h>

struct wz_tls {
	SSL_CTX *ctx;
	char *cert, *key;
};

static int tls_err(struct wz_err *err, const char *what, const char *path)
{
	char text[160] = "no reason given";
	unsigned long e = ERR_peek_last_error();
	if (e)
		ERR_error_string_n(e, text, sizeof text);
	ERR_clear_error();
	return wz_err_set(err, -EINVAL, "BadCertificate", wz_str(what), WZ_STR(" "), wz_str(path), WZ_STR(": "),
	        wz_str(text));
}

static int check_key_file(const char *key, struct wz_err *err)
{
	struct stat st;
	if (stat(key, &st) < 0)
		return wz_file_err(err, -errno, "read", key);
	if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		return wz_err_set(err, -EPERM, "KeyReadable", WZ_STR("others can read or write the private key "),
		        wz_str(key), WZ_STR("; run: chmod 600 "), wz_str(key));
	return 0;
}

static int load(const char *cert, const char *key, SSL_CTX **ret, struct wz_err *err)
{
	struct stat st;
	int rc = stat(cert, &st) < 0 ? wz_file_err(err, -errno, "read", cert) : check_key_file(key, err);
	if (rc < 0)
		return rc;
	ERR_clear_error();
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
	                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		rc = tls_err(err, "cannot use the certificate", cert);
	else if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		rc = tls_err(err, "cannot use the private key", key);
	else if (SSL_CTX_check_private_key(ctx) != 1)
		rc = tls_err(err, "the private key does not belong to the certificate:", key);
	if (rc < 0) {
		SSL_CTX_free(ctx);
		return rc;
	}
	*ret = ctx;
	return 0;
}

int wz_tls_server_new(const char *cert, const char *key, struct wz_tls **ret, struct wz_err *err)
{
	SSL_CTX *ctx;
	int rc = load(cert, key, &ctx, err);
	if (rc < 0)
		return rc;
	struct wz_tls *t = calloc(1, sizeof *t);
	if (t) {
		*t = (struct wz_tls){ctx, strdup(cert), strdup(key)};
		if (t->cert && t->key) {
			*ret = t;
			return 0;
		}
		wz_tls_free(t);
	} else {
		SSL_CTX_free(ctx);
	}
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

int wz_tls_reload(struct wz_tls *t, struct wz_err *err)
{
	SSL_CTX *ctx;
	int rc = load(t->cert, t->key, &ctx, err);
	if (rc < 0)
		return rc;
	SSL_CTX_free(t->ctx); /* each SSL holds a reference of its own */
	t->ctx = ctx;
	return 0;
}

void wz_tls_free(struct wz_tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ctx);
	free(t->cert);
	free(t->key);
	free(t);
}

void *wz_tls_accept_new(struct wz_tls *t)
{
	return SSL_new(t->ctx);
}

void wz_sha256(struct wz_str s, unsigned char ret[WZ_SHA256_BYTES])
{
	unsigned n = 0;
	wz_check(EVP_Digest(s.ptr ? s.ptr : "", s.len, ret, &n, EVP_sha256(), NULL) == 1 && n == WZ_SHA256_BYTES);
}

void wz_hmac_sha256(struct wz_str key, struct wz_str s, unsigned char ret[WZ_SHA256_BYTES])
{
	unsigned n = 0;
	wz_check(key.len <= INT_MAX &&
	         HMAC(EVP_sha256(), key.ptr ? key.ptr : "", (int)key.len,
	                 (const unsigned char *)(s.ptr ? s.ptr : ""), s.len, ret, &n) &&
	         n == WZ_SHA256_BYTES);
}

void wz_base64(struct wz_buf *b, struct wz_str s)
{
	for (size_t i = 0; i < s.len; i += 3) {
		unsigned char four[5];
		int n = s.len - i < 3 ? (int)(s.len - i) : 3;
		(void)EVP_EncodeBlock(four, (const unsigned char *)s.ptr + i, n);
		wz_buf_add(b, (struct wz_str){(const char *)four, 4});
	}
}

int wz_random_bytes(void *ret, size_t n)
{
	unsigned char *p = ret;
	while (n) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

bool wz_equal_secret(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
