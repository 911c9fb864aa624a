-- Bounds of sliding meters, as src/core/sliding.h has them.
local log_max, log_period_max = 4, 69120000000000

-- What the older slots of a ring are counted in, and how many of these they have room for.
local function quantum_of(capacity)
  if capacity <= 100 then return 1, 99 end
  local rest = math.fmod(capacity, 1889)
  return (capacity - rest) / 1889 + (rest > 0 and 1 or 0), 1889
end
