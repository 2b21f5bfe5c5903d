/* SPDX-License-Identifier: Apache-2.0 */
/* Events and effects as lines of JSON: the journal form of spec/events.md and spec/effects.md, which `wz trace`, the
 * events stream and the agent's socket use too.
 *
 * format and parse are inverse: parse(format(x)) = x for every x that format takes, and format(parse(l)) = l for every
 * line that format makes. Parsing is strict: an unknown kind, an unknown key, a key out of its order, a value out of its
 * range is an error that names the byte. Models are written by name, so a catalogue is needed where devices or profiles
 * occur. Fuzzed (fuzz/fuzz_codec.c); vectors in spec/vectors/journal. Thread rule: none shared. O(line). */
#ifndef WZ_STORE_CODEC_H
#define WZ_STORE_CODEC_H

#include "base/buf.h"
#include "core/effect.h"

#define WZ_LINE_MAX (4u << 20) /* bytes of one line */
#define WZ_MIX_MAX 4096u       /* profiles of one WORKLOAD_STATED */

/* Appends the line, without a newline. -EINVAL with nothing appended: "UnknownEvent" (kind), "BadText" (a text is not
 * UTF-8, or a label's key is there twice), "UnknownModel" (not in the catalogue), "BadEvent" (a mask names device 64 or
 * more, too many profiles); -ENOMEM or -E2BIG of the buffer. */
int wz_event_format(const struct wz_event *e, const struct wz_catalogue *c, struct wz_buf *b, struct wz_err *err);
int wz_effect_format(const struct wz_effect *e, struct wz_buf *b, struct wz_err *err); /* "UnknownEffect" */

/* *ret points into `line` and into the arena: valid while both are. -EINVAL "BadEvent", "BadEffect", "UnknownEvent",
 * "UnknownEffect", "UnknownModel", "BadProfile"; -ENOMEM. *ret is written on success only. */
int wz_event_parse(struct wz_str line, const struct wz_catalogue *c, struct wz_arena *a, struct wz_event *ret,
                   struct wz_err *err);
int wz_effect_parse(struct wz_str line, struct wz_arena *a, struct wz_effect *ret, struct wz_err *err);

#endif
