/* SPDX-License-Identifier: Apache-2.0 */
#include "os/mem.h"

static void *resize(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
	(void)ctx;
	(void)old_size;
	if (new_size)
		return realloc(ptr, new_size);
	free(ptr); /* realloc(ptr, 0) may or may not free */
	return NULL;
}

const struct wz_mem *wz_os_mem(void)
{
	static const struct wz_mem table = {resize, NULL};
	return &table;
}
