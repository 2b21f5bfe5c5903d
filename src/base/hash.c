/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <string.h>

static uint64_t word_le(const char *p, size_t n)
{
	uint64_t w = 0;
	memcpy(&w, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

uint64_t wz_hash_str(uint64_t h, struct wz_str s)
{
	const char *p = s.ptr;
	size_t n = s.len;
	h = wz_hash_u64(h, n);
	for (; n >= 8; p += 8, n -= 8)
		h = wz_hash_u64(h, word_le(p, 8));
	return n ? wz_hash_u64(h, word_le(p, n)) : h;
}
