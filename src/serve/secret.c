/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets at rest: one file a submit, secrets/ID, sealed by AES-256-GCM under a key of this machine, secret.key, which only the
 * daemon can read. They never come near the store, so no row, journal line or backup has them. The file goes when the last
 * job that has it ended; a start removes what no open job names.
 *
 * A file: "WZS1", 12 bytes of nonce, the sealed text, 16 bytes of tag. The text: NAME=VALUE NUL, ...; the id is
 * authenticated with it, so that one file cannot stand for another. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "WZS1"
#define NONCE 12
#define TAG 16
#define HEAD (4 + NONCE)
#define TEXT_MAX ((size_t)5 << 20)

static int fail(struct wz_err *err, const char *why)
{
	return wz_err_set(err, -EIO, "SecretFailed", WZ_STR("secrets: "), wz_str(why));
}

static void path_of(const struct serve *s, const char *id, char to[4096])
{
	(void)snprintf(to, 4096, "%s/secrets%s%s", s->o->state_dir, id ? "/" : "", id ? id : "");
}

/* The key, made at the first use. */
static int key_of(struct serve *s, unsigned char key[32], struct wz_err *err)
{
	char path[4096];
	struct wz_file_text t = {.mem = s->mem};
	struct stat st;
	(void)snprintf(path, sizeof path, "%s/secret.key", s->o->state_dir);
	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return wz_file_err(err, -errno, "read", path);
		if (RAND_bytes(key, 32) != 1)
			return fail(err, "no random numbers to be had");
		return wz_file_write(path, (struct wz_str){(const char *)key, 32}, 0600, err);
	}
	if (st.st_mode & 077)
		return wz_err_set(err, -EPERM, "KeyExposed", wz_str(path),
		        WZ_STR(" can be read by others: make it 0600, and give out new secrets"));
	int rc = wz_file_read(path, 32, s->mem, &t, err);
	if (rc == 0 && t.len != 32)
		rc = fail(err, "secret.key is not 32 bytes long");
	if (rc == 0)
		memcpy(key, t.data, 32);
	if (t.data)
		OPENSSL_cleanse(t.data, t.len);
	wz_file_text_release(&t);
	return rc;
}

/* to: HEAD + n + TAG bytes */
static int seal(const unsigned char key[32], const char *id, const unsigned char *text, size_t n, unsigned char *to)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int len, ok;
	memcpy(to, MAGIC, 4);
	ok = c && RAND_bytes(to + 4, NONCE) == 1 &&
	     EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, to + 4) == 1 &&
	     EVP_EncryptUpdate(c, NULL, &len, (const unsigned char *)id, SECRET_ID - 1) == 1 &&
	     EVP_EncryptUpdate(c, to + HEAD, &len, text, (int)n) == 1 &&
	     EVP_EncryptFinal_ex(c, to + HEAD + len, &len) == 1 &&
	     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, to + HEAD + n) == 1;
	EVP_CIPHER_CTX_free(c);
	return ok ? 0 : -EIO;
}

static int open_seal(
        const unsigned char key[32], const char *id, const unsigned char *from, size_t n, unsigned char *to)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	unsigned char tag[TAG];
	int len, ok;
	memcpy(tag, from + HEAD + n, TAG);
	ok = c && memcmp(from, MAGIC, 4) == 0 &&
	     EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, from + 4) == 1 &&
	     EVP_DecryptUpdate(c, NULL, &len, (const unsigned char *)id, SECRET_ID - 1) == 1 &&
	     EVP_DecryptUpdate(c, to, &len, from + HEAD, (int)n) == 1 &&
	     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
	     EVP_DecryptFinal_ex(c, to + len, &len) == 1;
	EVP_CIPHER_CTX_free(c);
	return ok ? 0 : -EBADMSG;
}

static int new_id(char id[SECRET_ID])
{
	unsigned char r[16];
	if (RAND_bytes(r, sizeof r) != 1)
		return -EIO;
	for (unsigned i = 0; i < sizeof r; i++)
		(void)snprintf(id + 2 * i, 3, "%02x", r[i]);
	return 0;
}

int secret_keep(struct serve *s, const struct wz_pairs *p, char ret_id[SECRET_ID], struct wz_err *err)
{
	unsigned char key[32], *sealed = NULL;
	char path[4096], id[SECRET_ID] = "";
	struct wz_buf text;
	int rc = key_of(s, key, err);
	wz_buf_init(&text, s->mem, TEXT_MAX);
	for (uint32_t i = 0; i < p->n; i++) {
		wz_buf_add(&text, p->v[i].key);
		wz_buf_addc(&text, '=');
		wz_buf_add(&text, p->v[i].value);
		wz_buf_addc(&text, '\0');
	}
	size_t n = text.len, size = HEAD + n + TAG;
	path_of(s, NULL, path);
	if (rc == 0 && text.status < 0)
		rc = wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("the secrets are too large"));
	if (rc == 0)
		rc = wz_file_mkdirs(path, 0700, err);
	if (rc == 0 && (new_id(id) < 0 || !(sealed = wz_mem_alloc(s->mem, size)) ||
	                       seal(key, id, (const unsigned char *)text.data, n, sealed) < 0))
		rc = fail(err, "they cannot be sealed");
	path_of(s, id, path);
	if (rc == 0)
		rc = wz_file_write(path, (struct wz_str){(const char *)sealed, size}, 0600, err);
	if (rc == 0)
		memcpy(ret_id, id, SECRET_ID);
	OPENSSL_cleanse(key, sizeof key);
	if (text.data)
		OPENSSL_cleanse(text.data, text.cap);
	wz_mem_free(s->mem, sealed, size);
	wz_buf_release(&text);
	return rc;
}

int secret_open(struct serve *s, struct wz_str id_, struct wz_arena *a, struct wz_str **ret, uint32_t *ret_n,
        struct wz_err *err)
{
	unsigned char key[32];
	char path[4096], id[SECRET_ID] = "";
	struct wz_file_text t = {.mem = s->mem};
	uint32_t n = 0;
	if (id_.len != SECRET_ID - 1)
		return fail(err, "they are gone");
	memcpy(id, id_.ptr, SECRET_ID - 1);
	path_of(s, id, path);
	int rc = wz_file_read(path, TEXT_MAX + HEAD + TAG, s->mem, &t, err);
	if (rc == 0)
		rc = key_of(s, key, err);
	if (rc == 0 && t.len < HEAD + TAG)
		rc = fail(err, "the file is too short");
	size_t len = rc == 0 ? t.len - HEAD - TAG : 0;
	char *text = wz_arena_alloc(a, len + 1);
	struct wz_str *v = wz_arena_alloc(a, 65 * sizeof *v);
	if (rc == 0 && (!text || !v))
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (rc == 0 && open_seal(key, id, (const unsigned char *)t.data, len, (unsigned char *)text) < 0)
		rc = fail(err, "the file was changed, or the key is another one");
	struct wz_str all = {text, len};
	while (rc == 0 && all.ptr && all.len && n < 64)
		v[n++] = wz_str_split(&all, '\0');
	OPENSSL_cleanse(key, sizeof key);
	wz_file_text_release(&t);
	*ret = v;
	*ret_n = n;
	return rc;
}

void secret_drop(struct serve *s, const char *id)
{
	char path[4096];
	path_of(s, id, path);
	if (unlink(path) < 0 && errno != ENOENT)
		serve_log("cannot remove secrets", path);
}

void secret_sweep(struct serve *s)
{
	char path[4096];
	path_of(s, NULL, path);
	DIR *d = opendir(path);
	if (!d)
		return;
	for (const struct dirent *e; (e = readdir(d));) {
		bool named = e->d_name[0] == '.';
		for (uint32_t i = 0; !named && i < s->book.n_orders; i++)
			named = s->book.order[i].id && s->book.order[i].left &&
			        strcmp(s->book.order[i].secrets, e->d_name) == 0;
		if (!named)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	(void)closedir(d);
}
