/* SPDX-License-Identifier: Apache-2.0 */
/* Who a browser is. A login gives it a cookie that says who it is from and until when, sealed with a key of the state
 * directory (HMAC-SHA-256), so a session outlives the daemon's restarts and costs it no memory. Logins come from a token,
 * or from a one-time link that somebody whom the daemon knows already asked for.
 *
 * Cookie: "wz_session=TEXT.SEAL"; TEXT is EXPIRY:UID:GID:ROLE:NAME, hex. A session of a token ends when the token file
 * has no such name any more (auth.h tells). Thread rule: the loop's thread. */
#ifndef WZ_API_SESSION_H
#define WZ_API_SESSION_H

#include "api/auth.h"

#define WZ_SESSION_KEY_BYTES 32u
#define WZ_SESSION_US ((int64_t)12 * 3600 * 1000000)
#define WZ_LINK_US ((int64_t)5 * 60 * 1000000)
#define WZ_LINKS_MAX 64u          /* that wait to be used; the oldest gives way */
#define WZ_SESSION_TEXT_MAX 512u
#define WZ_LINK_CODE_MAX 33u      /* 32 hexadecimal digits and a terminator */

struct wz_sessions {
	unsigned char key[WZ_SESSION_KEY_BYTES];
	struct wz_session_link { char code[WZ_LINK_CODE_MAX]; int64_t expires_us; struct wz_api_who who; } link[WZ_LINKS_MAX];
	uint32_t next;
};

/* Reads the key from `path`, made (0600) when missing; NULL: a key for this run only. Errors of wz_file_read; -EPERM
 * "KeyReadable", -EINVAL "BadKey", -EIO. */
int wz_sessions_init(struct wz_sessions *s, const char *path, const struct wz_mem *mem, struct wz_err *err);

/* Appends TEXT.SEAL. `now_us` is wall clock. */
void wz_session_seal(const struct wz_sessions *s, const struct wz_api_who *w, int64_t now_us, struct wz_buf *b);
/* Fills name, uid, gid, role, key, session of *ret; its address stays. -EACCES: not ours, or over. */
int wz_session_open(const struct wz_sessions *s, struct wz_str text, int64_t now_us, struct wz_api_who *ret);

/* The value of our cookie in a Cookie header; empty: none. */
struct wz_str wz_session_cookie(struct wz_str header);

int wz_session_link_new(struct wz_sessions *s, const struct wz_api_who *w, int64_t now_us, char ret[WZ_LINK_CODE_MAX]);
/* Once: the second use of a code fails. -EACCES. */
int wz_session_link_use(struct wz_sessions *s, struct wz_str code, int64_t now_us, struct wz_api_who *ret);

#endif
