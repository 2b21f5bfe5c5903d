/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks, and what they may do. A local peer is known by what the kernel says (SO_PEERCRED, SO_PEERGROUPS); anybody else
 * by a bearer token. Nothing in a request says who it is from.
 *
 * Roles: a *viewer* sees numbers of all jobs; a *user* submits, and does with their own jobs what they like; an *admin*
 * does everything. uid 0 and the daemon's own uid are admins, and members of the admin group.
 *
 * The token file holds one token a line: "NAME ROLE SHA256", fields separated by blanks, `#` begins a comment; SHA256 is
 * the hash of the token in 64 hexadecimal digits (a token is 32 random bytes, so a plain hash is enough: `wz_token_new`).
 * It must belong to us or root and be readable by nobody else. All entries are compared in constant time.
 *
 * Thread rule: the loop's thread. */
#ifndef WZ_API_AUTH_H
#define WZ_API_AUTH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/sock.h"

enum wz_role { WZ_ROLE_NONE, WZ_ROLE_VIEWER, WZ_ROLE_USER, WZ_ROLE_ADMIN };
const char *wz_role_word(enum wz_role r); /* "none", "viewer", "user", "admin" */

#define WZ_WHO_NAME_MAX 64u
struct wz_api_who {
	enum wz_role role;
	bool local; /* the kernel's word */
	bool token;
	bool session; /* of a browser that has logged in (session.h) */
	int64_t uid, gid; /* of a token: of the system's user of that name; -1: none such */
	int32_t pid; /* 0: not local */
	char name[WZ_WHO_NAME_MAX]; /* user name; the number when the system has no name for it; "" for nobody */
	char address[64]; /* for logs */
	uint64_t key; /* identifies the identity for rate limits: uid, token, or address */
};

struct wz_auth_config {
	int64_t admin_gid; /* -1: no admin group */
	enum wz_role local_role; /* of other local users: USER by default; NONE shuts them out */
	const char *token_file; /* NULL: no tokens */
	bool plain_tokens; /* accept tokens over TCP without TLS from other machines (a TLS proxy is in front) */
};

struct wz_auth;
/* Who else is an admin, and what other local users are: set at the start and at each reload. The arrays are copied. */
struct wz_auth_roles {
	const uid_t *uids;
	const gid_t *gids;
	uint32_t n_uids, n_gids;
	enum wz_role local_role;
};
#define WZ_AUTH_ADMINS_MAX 256u
int wz_auth_set_roles(struct wz_auth *a, const struct wz_auth_roles *r); /* 0; -E2BIG: more than 256 of a kind */
/* -ENOMEM; errors of wz_auth_reload. The path is copied. */
int wz_auth_new(const struct wz_auth_config *c, const struct wz_mem *mem, struct wz_auth **ret, struct wz_err *err);
void wz_auth_free(struct wz_auth *a); /* accepts NULL */
/* Reads the token file again. -EPERM "TokenFileReadable", -EINVAL "BadTokenFile" (says the line), "NotFound", ... On failure
 * the tokens stay as they were. */
int wz_auth_reload(struct wz_auth *a, struct wz_err *err);

/* `authorization`: the header's value, empty for none. Returns 0, or the HTTP status to refuse with: 401 (a token that is
 * not known, or a header that is not Bearer), 403 (a token in clear over a network); *err says why. Without a header a
 * TCP peer is nobody (role NONE). */
unsigned wz_auth_identify(struct wz_auth *a, const struct wz_peer *peer, struct wz_str authorization,
        int64_t now_us, struct wz_api_who *ret, struct wz_err *err);

/* Is there a token of this name and role? */
bool wz_auth_has(const struct wz_auth *a, const char *name, enum wz_role role);

/* A new token, "wz_" and 64 hexadecimal digits, and its line for the file without newline. 0 or -EIO. */
#define WZ_TOKEN_TEXT_MAX 72u
int wz_token_new(const char *name, enum wz_role role, char ret_token[WZ_TOKEN_TEXT_MAX], struct wz_buf *line);

#endif
