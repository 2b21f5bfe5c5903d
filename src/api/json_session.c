/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of browsers' sessions. */
#include "api/resource.h"

#define T struct wz_api_session_link
static const struct wz_api_field link_fields[] = {
        WZ_F(T, path, STR, WZ_FIELD_ALWAYS, "path and query below the daemon's address; works once"),
        WZ_F(T, expires_us, TIME, WZ_FIELD_ALWAYS, "until when"),
};
const struct wz_api_type wz_type_session_link = WZ_TYPE("SessionLink", T, link_fields, "A one-time link.");
#undef T

#define T struct wz_api_session_open
static const struct wz_api_field open_fields[] = {
        WZ_F_RANGE(T, token, STR, WZ_FIELD_SECRET, 0, 256, "a token"),
        WZ_F_RANGE(T, code, STR, WZ_FIELD_SECRET, 0, 64, "the code of a one-time link"),
};
const struct wz_api_type wz_type_session_open = WZ_TYPE("SessionOpen", T, open_fields, "One of the two.");
#undef T

#define T struct wz_api_login
static const struct wz_api_field login_fields[] = {
        WZ_F_RANGE(T, code, STR, WZ_FIELD_IN_QUERY | WZ_FIELD_REQUIRED, 0, 64, "of a one-time link"),
};
const struct wz_api_type wz_type_login = WZ_TYPE("Login", T, login_fields, "The code of a one-time link.");
#undef T
