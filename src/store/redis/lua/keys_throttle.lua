-- Throttles: t:CAPACITY:COUNT:PERIOD:AT:UNITS:FRACTION. A bucket of CAPACITY that gets COUNT back per PERIOD
-- microseconds. At the microsecond AT, UNITS and FRACTION/PERIOD of a unit are missing from it.
--
-- In ticks of 1/COUNT microsecond both a microsecond (COUNT ticks) and a unit (PERIOD ticks) are whole numbers, so
-- nothing is ever rounded off: FRACTION is what is missing of a unit, in ticks.

local function throttle_text(throttle)
  return string.format('t:%.0f:%.0f:%.0f:%.0f:%.0f:%.0f', throttle.capacity, throttle.count, throttle.period,
    throttle.at, throttle.units, throttle.fraction)
end

-- Redis may take it away when it is full, and does a little later: the clock of the next master may be behind.
local function write_throttle(throttle)
  local wait = muldiv(throttle.units, throttle.period, throttle.count) + math.ceil(throttle.fraction / throttle.count)
  if wait >= two53 then
    redis.call('SET', name, throttle_text(throttle))
  else
    local full_ms = math.ceil((throttle.at + wait) / 1000)
    redis.call('SET', name, throttle_text(throttle), 'PXAT', string.format('%.0f', full_ms + margin_ms))
  end
end

local function new_throttle(capacity, count, period)
  return { capacity = capacity, count = count, period = period, at = now, units = 0, fraction = 0 }
end

-- The throttle as it is now, or nothing if it is full. One that became full within the last nanosecond is still there:
-- it goes on from that very tick (core/bucket.h says why), and has -1 units and what is missing of that one.
local function throttle_of(text)
  local capacity, count, period, at, units, fraction = string.match(text, '^t:(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local throttle = new_throttle(tonumber(capacity), tonumber(count), tonumber(period))
  local is_sound = capacity and throttle.capacity < two53 and throttle.count < two53 and throttle.period < two53 and
    throttle.count > 0 and throttle.period > 0 and at - two53 < 0 and units - two53 < 0 and fraction - period < 0
  if not is_sound then foreign(name, text) end
  throttle.at = math.max(now, at)
  local units_back, ticks_back = muldiv(throttle.at - at, throttle.count, throttle.period)
  throttle.units, throttle.fraction = units - units_back, fraction - ticks_back
  if throttle.fraction < 0 then
    throttle.units, throttle.fraction = throttle.units - 1, throttle.fraction + throttle.period
  end
  if throttle.units >= 0 then
    return (throttle.units > 0 or throttle.fraction > 0) and throttle
  end
  local ticks_since = throttle.period - throttle.fraction
  local is_kept = throttle.units == -1 and throttle.fraction > 0 and ticks_since * 1000 < throttle.count
  return is_kept and throttle
end

-- The same usage under other numbers: whole units stay, the fraction of a unit is rounded up to a tick.
local function rebased(throttle, capacity, count, period)
  local changed = new_throttle(capacity, count, period)
  changed.at = throttle.at
  if throttle.units < 0 then return changed end
  local ticks, rest = muldiv(throttle.fraction, period, throttle.period)
  if rest > 0 then ticks = ticks + 1 end
  local carry
  carry, changed.fraction = divide(ticks, period)
  changed.units = throttle.units + carry
  return changed
end

-- Charges the throttle if that fits.
local function take(throttle, quantity)
  local units = throttle.units + quantity
  if units + (throttle.fraction > 0 and 1 or 0) > throttle.capacity then return false end
  throttle.units = units
  return true
end
