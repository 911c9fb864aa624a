-- Counters: VALUE, or VALUE@EXPIRES. A Redis key expires to the millisecond, and a counter to the microsecond: so the
-- counter has its own time with it, and Redis takes it away a little later.
local never = '99999999999999999999'
-- The last microsecond that an Instant can tell, in the year 2554.
local last = '18446744073709551'

local function counter_of(text)
  local value, expires = string.match(text, '^(-?%d+)@?(%d*)$')
  if not value or #value > 20 or #expires > 20 or not is_int64(value) then foreign(name, text) end
  return value, expires == '' and never or expires
end

-- Of an expiry (keep, none, in, at): the time it stands for, given the one so far.
local function resolved(kind, micros, so_far)
  if kind == 'keep' then return so_far end
  if kind == 'at' then return micros end
  if kind == 'none' then return never end
  local expires = sum_of(string.format('%.0f', now), micros)
  return is_less(last, expires) and never or expires
end

local function has_come(expires)
  return not is_less(string.format('%.0f', now), expires)
end

-- The counter as it shall be: gone if its time is over.
local function write_counter(value, expires)
  if has_come(expires) then
    redis.call('DEL', name)
  elseif expires == never then
    redis.call('SET', name, value)
  else
    -- A time past 2^53 is rounded here, by less than what is added.
    local at_ms = string.format('%.0f', math.ceil(expires / 1000) + 1)
    redis.call('SET', name, value .. '@' .. expires, 'PXAT', at_ms)
  end
end

local expiry_conditions = {
  always = function() return true end,
  none = function(so_far) return so_far == never end,
  any = function(so_far) return so_far ~= never end,
  later = function(so_far, next) return is_less(so_far, next) end,
  sooner = function(so_far, next) return is_less(next, so_far) end,
  any_and_sooner = function(so_far, next) return so_far ~= never and is_less(next, so_far) end,
}

-- The sum, or the bound if it is to saturate; none if it is out of the bounds.
local function bounded_sum(value, by, lower, upper, saturates)
  local sum = sum_of(value, by)
  local bound = is_less(sum, lower) and lower or (is_less(upper, sum) and upper)
  if not bound then return sum end
  return saturates and bound
end
