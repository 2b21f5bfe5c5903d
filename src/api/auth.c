/* SPDX-License-Identifier: Apache-2.0 */
#include "api/auth.h"

#include "base/check.h"
#include "base/hash.h"
#include "os/file.h"
#include "os/tls.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_FILE_MAX (1u << 20)
#define TOKENS_MAX 10000u
#define NAMES 64u /* cached names of uids */
#define NAME_US 60000000

struct token {
	unsigned char hash[WZ_SHA256_BYTES];
	enum wz_role role;
	int64_t uid, gid;
	char name[WZ_WHO_NAME_MAX];
};

/* Name services may be slow (LDAP): a name is asked for once a minute. */
struct name {
	uid_t uid;
	int64_t until_us;
	char text[WZ_WHO_NAME_MAX];
};

struct wz_auth {
	const struct wz_mem *mem;
	struct wz_auth_config cfg;
	char *path;
	struct token *tokens;
	uint32_t n_tokens, cap_tokens;
	struct name names[NAMES];
	uid_t uids[WZ_AUTH_ADMINS_MAX]; /* admins beside admin_gid */
	gid_t gids[WZ_AUTH_ADMINS_MAX];
	uint32_t n_uids, n_gids;
};

static const char *const role_words[] = {"none", "viewer", "user", "admin"};

const char *wz_role_word(enum wz_role r)
{
	return role_words[r];
}

static void copy_name(char *to, const char *from)
{
	size_t len = strlen(from);
	if (len >= WZ_WHO_NAME_MAX)
		len = WZ_WHO_NAME_MAX - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

/* ---- the system's users ---- */

static const char *name_of(struct wz_auth *a, uid_t uid, int64_t now_us)
{
	struct name *n = &a->names[wz_mix64(uid) % NAMES];
	char room[4096];
	struct passwd pw, *found = NULL;
	struct wz_num num;
	if (n->text[0] && n->uid == uid && now_us < n->until_us)
		return n->text;
	n->uid = uid;
	n->until_us = now_us + NAME_US;
	if (getpwuid_r(uid, &pw, room, sizeof room, &found) == 0 && found) {
		copy_name(n->text, pw.pw_name);
	} else {
		struct wz_str s = wz_str_u64(&num, uid);
		memcpy(n->text, s.ptr, s.len);
		n->text[s.len] = 0;
	}
	return n->text;
}

static void ids_of(const char *name, int64_t *uid, int64_t *gid)
{
	char room[4096];
	struct passwd pw, *found = NULL;
	*uid = *gid = -1;
	if (getpwnam_r(name, &pw, room, sizeof room, &found) == 0 && found) {
		*uid = pw.pw_uid;
		*gid = pw.pw_gid;
	}
}

/* ---- tokens ---- */

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hash(struct wz_str s, unsigned char *ret)
{
	if (s.len != 2u * WZ_SHA256_BYTES)
		return false;
	for (size_t i = 0; i < WZ_SHA256_BYTES; i++) {
		int hi = nibble(s.ptr[2 * i]), lo = nibble(s.ptr[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return false;
		ret[i] = (unsigned char)(hi * 16 + lo);
	}
	return true;
}

static struct wz_str next_word(struct wz_str *s)
{
	*s = wz_str_trim(*s);
	size_t n = 0;
	while (n < s->len && s->ptr[n] != ' ' && s->ptr[n] != '\t')
		n++;
	struct wz_str word = {s->ptr, n};
	*s = (struct wz_str){s->ptr + n, s->len - n};
	return word;
}

static bool parse_line(struct wz_str line, struct token *t)
{
	struct wz_str name = next_word(&line), role = next_word(&line), hash = next_word(&line);
	memset(t, 0, sizeof *t);
	if (!name.len || name.len >= WZ_WHO_NAME_MAX || wz_str_trim(line).len || !parse_hash(hash, t->hash))
		return false;
	for (int r = WZ_ROLE_VIEWER; r <= WZ_ROLE_ADMIN; r++) {
		if (wz_str_eq(role, wz_str(role_words[r])))
			t->role = (enum wz_role)r;
	}
	memcpy(t->name, name.ptr, name.len);
	ids_of(t->name, &t->uid, &t->gid);
	return t->role != WZ_ROLE_NONE;
}

static int parse_file(struct wz_auth *a, struct wz_str text, struct token **tokens, uint32_t *n, uint32_t *cap,
        struct wz_err *err)
{
	for (uint64_t number = 1; text.ptr; number++) {
		struct wz_str line = wz_str_split(&text, '\n');
		struct wz_str rest = line;
		struct wz_num num;
		line = wz_str_trim(wz_str_split(&rest, '#'));
		if (!line.len)
			continue;
		if (*n == TOKENS_MAX || wz_grow(a->mem, tokens, cap, *n + 1, sizeof **tokens) < 0)
			return wz_err_set(
			        err, -ENOMEM, "TooManyTokens", wz_str(a->path), WZ_STR(": too many tokens"));
		if (!parse_line(line, &(*tokens)[*n]))
			return wz_err_set(err, -EINVAL, "BadTokenFile", wz_str(a->path), WZ_STR(":"),
			        wz_str_u64(&num, number),
			        WZ_STR(": expected NAME viewer|user|admin SHA256 (64 hexadecimal digits)"));
		(*n)++;
	}
	return 0;
}

static int check_mode(const char *path, struct wz_err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return wz_file_err(err, -errno, "read", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IRWXO | S_IWGRP))
		return wz_err_set(err, -EPERM, "TokenFileReadable",
		        WZ_STR("others can read or write the token file "), wz_str(path),
		        WZ_STR("; run: chmod 600 "), wz_str(path));
	return 0;
}

int wz_auth_reload(struct wz_auth *a, struct wz_err *err)
{
	struct wz_file_text text = {0};
	struct token *tokens = NULL;
	uint32_t n = 0, cap = 0;
	if (!a->path)
		return 0;
	int rc = check_mode(a->path, err);
	if (rc == 0)
		rc = wz_file_read(a->path, TOKEN_FILE_MAX, a->mem, &text, err);
	if (rc == -ENODATA)
		rc = 0; /* an empty file: no tokens */
	else if (rc == 0)
		rc = parse_file(a, wz_file_text_str(&text), &tokens, &n, &cap, err);
	wz_file_text_release(&text);
	if (rc < 0) {
		wz_grow_free(a->mem, &tokens, &cap, sizeof *tokens);
		return rc;
	}
	wz_grow_free(a->mem, &a->tokens, &a->cap_tokens, sizeof *a->tokens);
	a->tokens = tokens;
	a->n_tokens = n;
	a->cap_tokens = cap;
	return 0;
}

/* All entries are looked at, whichever fits. */
static const struct token *find_token(const struct wz_auth *a, struct wz_str secret)
{
	unsigned char hash[WZ_SHA256_BYTES];
	const struct token *found = NULL;
	wz_sha256(secret, hash);
	for (uint32_t i = 0; i < a->n_tokens; i++) {
		if (wz_equal_secret(hash, a->tokens[i].hash, sizeof hash))
			found = &a->tokens[i];
	}
	return found;
}

bool wz_auth_has(const struct wz_auth *a, const char *name, enum wz_role role)
{
	for (uint32_t i = 0; i < a->n_tokens; i++)
		if (a->tokens[i].role == role && strcmp(a->tokens[i].name, name) == 0)
			return true;
	return false;
}

int wz_token_new(const char *name, enum wz_role role, char ret_token[WZ_TOKEN_TEXT_MAX], struct wz_buf *line)
{
	unsigned char bytes[WZ_SHA256_BYTES], hash[WZ_SHA256_BYTES];
	static const char hex[] = "0123456789abcdef";
	if (wz_random_bytes(bytes, sizeof bytes) < 0)
		return -EIO;
	memcpy(ret_token, "wz_", 3);
	for (size_t i = 0; i < sizeof bytes; i++) {
		ret_token[3 + 2 * i] = hex[bytes[i] >> 4];
		ret_token[4 + 2 * i] = hex[bytes[i] & 15];
	}
	ret_token[3 + 2 * sizeof bytes] = 0;
	wz_sha256(wz_str(ret_token), hash);
	wz_buf_addz(line, name);
	wz_buf_addc(line, ' ');
	wz_buf_addz(line, role_words[role]);
	wz_buf_addc(line, ' ');
	for (size_t i = 0; i < sizeof hash; i++) {
		wz_buf_addc(line, hex[hash[i] >> 4]);
		wz_buf_addc(line, hex[hash[i] & 15]);
	}
	return 0;
}

/* ---- identities ---- */

int wz_auth_new(const struct wz_auth_config *c, const struct wz_mem *mem, struct wz_auth **ret, struct wz_err *err)
{
	struct wz_auth *a = wz_mem_zalloc(mem, sizeof *a);
	if (!a)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	a->mem = mem;
	a->cfg = *c;
	a->path = c->token_file ? strdup(c->token_file) : NULL;
	a->cfg.token_file = a->path;
	int rc = wz_auth_reload(a, err);
	if (rc < 0) {
		wz_auth_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void wz_auth_free(struct wz_auth *a)
{
	if (!a)
		return;
	wz_grow_free(a->mem, &a->tokens, &a->cap_tokens, sizeof *a->tokens);
	free(a->path);
	wz_mem_free(a->mem, a, sizeof *a);
}

int wz_auth_set_roles(struct wz_auth *a, const struct wz_auth_roles *r)
{
	if (r->n_uids > WZ_AUTH_ADMINS_MAX || r->n_gids > WZ_AUTH_ADMINS_MAX)
		return -E2BIG;
	if (r->n_uids)
		memcpy(a->uids, r->uids, r->n_uids * sizeof *r->uids);
	if (r->n_gids)
		memcpy(a->gids, r->gids, r->n_gids * sizeof *r->gids);
	a->n_uids = r->n_uids;
	a->n_gids = r->n_gids;
	a->cfg.local_role = r->local_role;
	return 0;
}

static bool named_admin(const struct wz_auth *a, const struct wz_peer *p)
{
	for (uint32_t i = 0; i < a->n_uids; i++)
		if (a->uids[i] == p->uid)
			return true;
	for (uint32_t i = 0; i < a->n_gids; i++)
		if (wz_peer_in_group(p, a->gids[i]))
			return true;
	return false;
}

static void from_peer(struct wz_auth *a, const struct wz_peer *peer, int64_t now_us, struct wz_api_who *w)
{
	if (!peer->local) {
		/* Nobody; limits count the address without its port. */
		const char *port = strrchr(peer->address, ':');
		size_t len = port ? (size_t)(port - peer->address) : strlen(peer->address);
		w->key = wz_hash_str(2, (struct wz_str){peer->address, len});
		return;
	}
	bool own = peer->uid == 0 || peer->uid == geteuid();
	bool group = a->cfg.admin_gid >= 0 && wz_peer_in_group(peer, (gid_t)a->cfg.admin_gid);
	w->local = true;
	w->role = own || group || named_admin(a, peer) ? WZ_ROLE_ADMIN : a->cfg.local_role;
	w->uid = peer->uid;
	w->gid = peer->gid;
	w->pid = peer->pid;
	w->key = wz_hash_u64(1, peer->uid);
	copy_name(w->name, name_of(a, peer->uid, now_us));
}

static bool loopback(const struct wz_peer *p)
{
	return wz_str_starts(wz_str(p->address), WZ_STR("127.")) ||
	       wz_str_starts(wz_str(p->address), WZ_STR("[::1]"));
}

unsigned wz_auth_identify(struct wz_auth *a, const struct wz_peer *peer, struct wz_str authorization,
        int64_t now_us, struct wz_api_who *ret, struct wz_err *err)
{
	memset(ret, 0, sizeof *ret);
	ret->uid = ret->gid = -1;
	memcpy(ret->address, peer->address, sizeof ret->address);
	from_peer(a, peer, now_us, ret);
	if (!authorization.len)
		return 0;
	struct wz_str rest = authorization, scheme = wz_str_split(&rest, ' ');
	struct wz_str secret = wz_str_trim(rest);
	if (!wz_str_eq_nocase(scheme, WZ_STR("Bearer")) || !secret.len) {
		wz_err_set(err, -EACCES, "BadAuthorization",
		        WZ_STR("the Authorization header is not \"Bearer TOKEN\""));
		return 401;
	}
	if (!peer->local && !peer->tls && !loopback(peer) && !a->cfg.plain_tokens) {
		wz_err_set(err, -EACCES, "TokenInClear",
		        WZ_STR("tokens are not taken over plain HTTP; use https, and give this token up"));
		return 403;
	}
	const struct token *t = find_token(a, secret);
	if (!t) {
		wz_err_set(err, -EACCES, "UnknownToken", WZ_STR("this token is not known here"));
		return 401;
	}
	ret->token = true;
	ret->local = false;
	ret->role = t->role;
	ret->uid = t->uid;
	ret->gid = t->gid;
	memcpy(ret->name, t->name, sizeof ret->name);
	ret->key = wz_hash_str(3, wz_str(t->name));
	return 0;
}
