/* SPDX-License-Identifier: Apache-2.0 */
#include "api/session.h"

#include "base/buf.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/tls.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COOKIE "wz_session"
#define SEAL_BYTES 32u

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_hex(struct wz_buf *b, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;
	for (size_t i = 0; i < n; i++) {
		wz_buf_addc(b, digits[p[i] >> 4]);
		wz_buf_addc(b, digits[p[i] & 15]);
	}
}

static bool read_hex(struct wz_str s, void *ret, size_t cap, size_t *ret_n)
{
	unsigned char *out = ret;
	if (s.len % 2 || s.len / 2 > cap)
		return false;
	for (size_t i = 0; i < s.len / 2; i++) {
		int hi = hex_digit(s.ptr[2 * i]), lo = hex_digit(s.ptr[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return false;
		out[i] = (unsigned char)(hi << 4 | lo);
	}
	*ret_n = s.len / 2;
	return true;
}

static void seal_of(const struct wz_sessions *s, struct wz_str text, unsigned char ret[SEAL_BYTES])
{
	unsigned n = SEAL_BYTES;
	(void)HMAC(EVP_sha256(), s->key, sizeof s->key, (const unsigned char *)text.ptr, text.len, ret, &n);
}

static int read_key(struct wz_sessions *s, const char *path, const struct wz_mem *mem, struct wz_err *err)
{
	struct wz_file_text text = {0};
	struct stat st;
	int r = wz_file_read(path, 4096, mem, &text, err);
	if (r == 0 && (stat(path, &st) < 0 || st.st_mode & (S_IRWXG | S_IRWXO)))
		r = wz_err_set(err, -EPERM, "KeyReadable", WZ_STR("others can read "), wz_str(path),
		        WZ_STR("; remove it: a new one is made, and everybody logs in again"));
	if (r == 0 && text.len != sizeof s->key)
		r = wz_err_set(err, -EINVAL, "BadKey", wz_str(path), WZ_STR(" is not a session key; remove it"));
	if (r == 0)
		memcpy(s->key, text.data, sizeof s->key);
	wz_file_text_release(&text);
	return r;
}

int wz_sessions_init(struct wz_sessions *s, const char *path, const struct wz_mem *mem, struct wz_err *err)
{
	memset(s, 0, sizeof *s);
	if (path && access(path, F_OK) == 0)
		return read_key(s, path, mem, err);
	if (wz_random_bytes(s->key, sizeof s->key) < 0)
		return wz_err_set(err, -EIO, "NoRandom", WZ_STR("the kernel gives no random bytes"));
	return path ? wz_file_write(path, (struct wz_str){(const char *)s->key, sizeof s->key}, 0600, err) : 0;
}

/* ---- cookies ---- */

void wz_session_seal(const struct wz_sessions *s, const struct wz_api_who *w, int64_t now_us, struct wz_buf *b)
{
	unsigned char seal[SEAL_BYTES];
	char room[WZ_SESSION_TEXT_MAX];
	struct wz_buf text;
	wz_buf_init_fixed(&text, room, sizeof room);
	wz_buf_add_i64(&text, now_us + WZ_SESSION_US);
	wz_buf_addc(&text, ':');
	wz_buf_add_i64(&text, w->uid);
	wz_buf_addc(&text, ':');
	wz_buf_add_i64(&text, w->gid);
	wz_buf_addc(&text, ':');
	wz_buf_add_u64(&text, (uint64_t)w->role);
	wz_buf_addc(&text, w->token ? 't' : ':');
	wz_buf_addz(&text, w->name);
	seal_of(s, wz_buf_str(&text), seal);
	add_hex(b, text.data, text.len);
	wz_buf_addc(b, '.');
	add_hex(b, seal, sizeof seal);
}

static bool read_who(struct wz_str text, int64_t now_us, struct wz_api_who *w)
{
	struct wz_str part[3];
	int64_t expires;
	for (int i = 0; i < 3; i++) {
		part[i] = wz_str_split(&text, ':');
		if (!text.ptr)
			return false;
	}
	if (wz_str_parse_i64(part[0], &expires) < 0 || wz_str_parse_i64(part[1], &w->uid) < 0 ||
	        wz_str_parse_i64(part[2], &w->gid) < 0 || expires <= now_us || text.len < 2 ||
	        text.len - 2 >= sizeof w->name)
		return false;
	int role = text.ptr[0] - '0';
	if (role < WZ_ROLE_VIEWER || role > WZ_ROLE_ADMIN || (text.ptr[1] != ':' && text.ptr[1] != 't'))
		return false;
	w->role = (enum wz_role)role;
	w->token = text.ptr[1] == 't';
	memcpy(w->name, text.ptr + 2, text.len - 2);
	w->name[text.len - 2] = 0;
	return true;
}

int wz_session_open(const struct wz_sessions *s, struct wz_str cookie, int64_t now_us, struct wz_api_who *ret)
{
	unsigned char text[WZ_SESSION_TEXT_MAX / 2], seal[SEAL_BYTES], want[SEAL_BYTES];
	size_t n, n_seal;
	struct wz_str rest = cookie, hex = wz_str_split(&rest, '.');
	struct wz_api_who w = *ret;
	if (!read_hex(hex, text, sizeof text, &n) || !read_hex(rest, seal, sizeof seal, &n_seal) ||
	        n_seal != sizeof seal)
		return -EACCES;
	struct wz_str said = {(const char *)text, n};
	seal_of(s, said, want);
	if (!wz_equal_secret(seal, want, sizeof seal) || !read_who(said, now_us, &w))
		return -EACCES;
	w.local = false;
	w.session = true;
	w.key = w.token ? wz_hash_str(3, wz_str(w.name)) : wz_hash_u64(1, (uint64_t)w.uid);
	*ret = w;
	return 0;
}

struct wz_str wz_session_cookie(struct wz_str header)
{
	while (header.ptr && header.len) {
		struct wz_str value = wz_str_trim(wz_str_split(&header, ';')), name = wz_str_split(&value, '=');
		if (wz_str_eq(name, WZ_STR(COOKIE)) && value.ptr)
			return value;
	}
	return (struct wz_str){NULL, 0};
}

/* ---- one-time links ---- */

int wz_session_link_new(
        struct wz_sessions *s, const struct wz_api_who *w, int64_t now_us, char ret[WZ_LINK_CODE_MAX])
{
	struct wz_session_link *l = &s->link[s->next];
	unsigned char bytes[(WZ_LINK_CODE_MAX - 1) / 2];
	struct wz_buf b;
	if (wz_random_bytes(bytes, sizeof bytes) < 0)
		return -EIO;
	s->next = (s->next + 1) % WZ_LINKS_MAX;
	wz_buf_init_fixed(&b, l->code, sizeof l->code);
	add_hex(&b, bytes, sizeof bytes);
	l->code[sizeof l->code - 1] = 0;
	l->expires_us = now_us + WZ_LINK_US;
	l->who = *w;
	memcpy(ret, l->code, sizeof l->code);
	return 0;
}

int wz_session_link_use(struct wz_sessions *s, struct wz_str code, int64_t now_us, struct wz_api_who *ret)
{
	struct wz_session_link *found = NULL;
	if (code.len != WZ_LINK_CODE_MAX - 1)
		return -EACCES;
	for (uint32_t i = 0; i < WZ_LINKS_MAX; i++)
		if (wz_equal_secret(code.ptr, s->link[i].code, code.len) && s->link[i].expires_us > now_us)
			found = &s->link[i];
	if (!found)
		return -EACCES;
	struct wz_api_who w = found->who;
	memcpy(w.address, ret->address, sizeof w.address);
	*ret = w;
	memset(found, 0, sizeof *found);
	return 0;
}
