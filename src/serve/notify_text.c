/* SPDX-License-Identifier: Apache-2.0 */
/* What a notification says, in the form that each receiver takes, signed where it asks for that. */
#include "serve/notify.h"

#include "os/tls.h"

static const char *word_of(uint32_t what)
{
	/* The most telling bit: an end that failed is told as failed. */
	for (unsigned i = 5; i-- > 0;)
		if (what >> i & 1)
			return wz_notice_words[i];
	return "changed";
}

static void field(struct wz_buf *b, const char *name, struct wz_str v)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, name);
	wz_buf_addz(b, "\":");
	wz_buf_add_json(b, v);
}

static void number(struct wz_buf *b, const char *name, int64_t v)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, name);
	wz_buf_addz(b, "\":");
	wz_buf_add_i64(b, v);
}

static void plain_json(const struct wz_notice_job *j, struct wz_str host, struct wz_buf *b)
{
	wz_buf_addz(b, "{\"event\":");
	wz_buf_add_json(b, wz_str(word_of(j->what)));
	number(b, "job", (int64_t)j->job);
	field(b, "name", j->name);
	field(b, "user", j->user);
	field(b, "state", j->state);
	field(b, "text", j->text);
	number(b, "attempt", j->attempt);
	number(b, "exit_code", j->exit_code);
	number(b, "exit_signal", j->exit_signal);
	number(b, "time_us", j->time_us);
	field(b, "host", host);
	wz_buf_addc(b, '}');
}

/* "Job 17 (train.py) of alice failed: exit 1" */
static void sentence(const struct wz_notice_job *j, struct wz_str host, struct wz_buf *b)
{
	wz_buf_addz(b, "Job ");
	wz_buf_add_u64(b, j->job);
	wz_buf_addz(b, " (");
	wz_buf_add(b, j->name);
	wz_buf_addz(b, ") of ");
	wz_buf_add(b, j->user);
	wz_buf_addz(b, " ");
	wz_buf_addz(b, word_of(j->what));
	wz_buf_addz(b, ": ");
	wz_buf_add(b, j->state);
	if (j->exit_code || j->exit_signal) {
		wz_buf_addz(b, j->exit_signal ? ", signal " : ", exit code ");
		wz_buf_add_i64(b, j->exit_signal ? j->exit_signal : j->exit_code);
	}
	if (j->text.len) {
		wz_buf_addz(b, ". ");
		wz_buf_add(b, j->text);
	}
	wz_buf_addz(b, " [");
	wz_buf_add(b, host);
	wz_buf_addc(b, ']');
}

static void text_message(
        const struct wz_notice_job *j, struct wz_str host, const char *before, const char *after, struct wz_buf *b)
{
	char bytes[2048];
	struct wz_buf t;
	wz_buf_init_fixed(&t, bytes, sizeof bytes);
	sentence(j, host, &t);
	wz_buf_addz(b, before);
	wz_buf_add_json(b, (struct wz_str){t.data, t.len});
	wz_buf_addz(b, after);
}

static void escape(struct wz_buf *b, struct wz_str s)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
			wz_buf_addc(b, (char)c);
		} else {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, hex[c >> 4]);
			wz_buf_addc(b, hex[c & 15]);
		}
	}
}

/* Base64 of HMAC-SHA256. */
static void sign(struct wz_str key, struct wz_str text, struct wz_buf *b)
{
	unsigned char mac[WZ_SHA256_BYTES];
	wz_hmac_sha256(key, text, mac);
	wz_base64(b, (struct wz_str){(const char *)mac, sizeof mac});
}

/* Feishu's and DingTalk's custom robots: both sign "TIMESTAMP\nSECRET", with key and text the other way round; the time is
 * in seconds and in milliseconds (open.feishu.cn "自定义机器人使用指南", open.dingtalk.com "自定义机器人安全设置"). */
static void feishu(
        const struct wz_notice_job *j, struct wz_str host, struct wz_str secret, int64_t now_us, struct wz_buf *b)
{
	char bytes[600];
	struct wz_buf key;
	wz_buf_addc(b, '{');
	if (secret.len) {
		wz_buf_init_fixed(&key, bytes, sizeof bytes);
		wz_buf_add_i64(&key, now_us / 1000000);
		wz_buf_addc(&key, '\n');
		wz_buf_add(&key, secret);
		wz_buf_addz(b, "\"timestamp\":\"");
		wz_buf_add_i64(b, now_us / 1000000);
		wz_buf_addz(b, "\",\"sign\":\"");
		sign(wz_buf_str(&key), WZ_STR(""), b);
		wz_buf_addz(b, "\",");
	}
	text_message(j, host, "\"msg_type\":\"text\",\"content\":{\"text\":", "}}", b);
}

static void dingtalk_query(struct wz_str secret, int64_t now_us, struct wz_buf *q)
{
	char bytes[600], mac[64];
	struct wz_buf text, m;
	wz_buf_init_fixed(&text, bytes, sizeof bytes);
	wz_buf_init_fixed(&m, mac, sizeof mac);
	wz_buf_add_i64(&text, now_us / 1000);
	wz_buf_addc(&text, '\n');
	wz_buf_add(&text, secret);
	sign(secret, wz_buf_str(&text), &m);
	wz_buf_addz(q, "timestamp=");
	wz_buf_add_i64(q, now_us / 1000);
	wz_buf_addz(q, "&sign=");
	escape(q, wz_buf_str(&m));
}

int wz_notify_body(enum wz_target_format f, const struct wz_notice_job *j, struct wz_str host, struct wz_str secret,
        int64_t now_us, struct wz_buf *body, struct wz_buf *query)
{
	switch (f) {
	case WZ_FORMAT_SLACK:
		text_message(j, host, "{\"text\":", "}", body);
		break;
	case WZ_FORMAT_FEISHU:
		feishu(j, host, secret, now_us, body);
		break;
	case WZ_FORMAT_DINGTALK:
		text_message(j, host, "{\"msgtype\":\"text\",\"text\":{\"content\":", "}}", body);
		if (secret.len)
			dingtalk_query(secret, now_us, query);
		break;
	default:
		plain_json(j, host, body);
	}
	return body->status < 0 ? body->status : query->status;
}
