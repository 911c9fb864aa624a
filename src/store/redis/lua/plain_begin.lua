-- The beginning of the scripts for plain values. ARGV: of each meter what its charge adds to the value, as text; then in
-- one text all numbers, as doubles: the earliest time it can be, and the latest (clock.lua); and of each meter the charge; the most that may be
-- missing before it, plus the slot, less 9; and the span.
--
-- Numbers and values are tenths of a microsecond, times and values since 2020, and all but their last digit is what counts.
-- That of a value is the slot, and that of the time is 9: so a value is later if and only if it is later by a
-- microsecond, and the difference of the two is more than the most only if it is more by a microsecond.
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local get, find = redis.pcall, string.find
local count = #keys
local numbers = argv[count + 1]
local now, latest, charge, most, span, next = unpack('<ddddd', numbers)
local time = call('TIME')
local clock = (time[1] - 1577836800) * 10000000 + (time[2] * 10 + 9)
if clock > latest then clock = now end
if now < clock then now = clock end
if now > 8000000000000000 then return end  -- In 2045: a value would soon be too large to be exact.
