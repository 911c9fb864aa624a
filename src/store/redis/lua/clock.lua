-- The time. `bounds` are those of the caller: the earliest time it can be, in microseconds, which is the latest that was
-- seen; and the latest. A clock that says later was set wrong, and is taken for the earliest (store/remote_clock.h).

-- What Redis's own clock says, by which expiries go.
local function clock_within(bounds)
  local earliest, latest = string.match(bounds, '^(%d+) (%d+)$')
  local time = redis.call('TIME')
  local clock = time[1] * 1000000 + time[2]
  return clock > tonumber(latest) and tonumber(earliest) or clock, tonumber(earliest)
end

-- That, and the time to decide by.
local function times_within(bounds)
  local clock, earliest = clock_within(bounds)
  return clock, math.max(clock, earliest)
end
