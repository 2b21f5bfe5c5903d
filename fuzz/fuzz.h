/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzzer defines. It returns 0, keeps nothing between calls, and traps (wz_check) when a property fails. */
#ifndef WZ_FUZZ_FUZZ_H
#define WZ_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
