// The embedding API of Mete, whole. See limiter.h to begin with.
#pragma once

#include <mete/clock.h>     // IWYU pragma: export
#include <mete/decision.h>  // IWYU pragma: export
#include <mete/handles.h>   // IWYU pragma: export
#include <mete/limit.h>     // IWYU pragma: export
#include <mete/limiter.h>   // IWYU pragma: export
#include <mete/result.h>    // IWYU pragma: export
#include <mete/text.h>      // IWYU pragma: export
#include <mete/time.h>      // IWYU pragma: export
