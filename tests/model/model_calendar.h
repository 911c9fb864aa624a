// The calendar periods of UTC, for the model: found by trying the boundaries around a date.
#pragma once

#include <mete/limit.h>

#include "model/model_meter.h"

namespace mete::model {

WideSpan calendar_span(Unit unit, int anchor, Wide at);

}  // namespace mete::model
