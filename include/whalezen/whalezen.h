/* SPDX-License-Identifier: Apache-2.0 */
/* WhaleZEN as a library: the scheduling core (core/core.h) and the simulator (sim/pack.h, sim/gen.h). Link with
 * `pkg-config --cflags --libs whalezen`. The rooms' headers may also be included one by one.
 *
 * One core is used by one thread at a time; cores are independent. Nothing here starts threads but sim/packset.h. */
#ifndef WHALEZEN_H
#define WHALEZEN_H

#include "core/catalogue.h"
#include "core/core.h"
#include "core/demand.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/explain.h"
#include "core/model.h"
#include "core/policy.h"
#include "core/profile.h"
#include "core/shape.h"
#include "core/translate.h"
#include "core/types.h"
#include "os/mem.h"
#include "sim/arrive.h"
#include "sim/enact.h"
#include "sim/formats.h"
#include "sim/gen.h"
#include "sim/pack.h"
#include "sim/packset.h"
#include "sim/report.h"
#include "sim/workload.h"

#endif
