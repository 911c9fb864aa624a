-- The beginning of the scripts for plain values. ARGV: of each meter what its charge adds to the value, as text; then in
-- one text all numbers, as doubles: the earliest time it can be; and of each meter the charge; the most that may be
-- missing before it, plus twice the slot, less 8; and the cell.
--
-- Numbers and values are tenths of a microsecond, times and values since 2020, and all but their last digit is what counts.
-- The time ends in 9: so a value is later if and only if it is later by a microsecond, whatever its own last digit. That
-- of a value is twice the slot, plus 0 or 1: so a value that is further from the time than the most is further by a
-- microsecond, too.
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local count = #keys
local numbers = argv[count + 1]
local now, charge, most, cell, next = unpack('<dddd', numbers)
local time = call('TIME')
local clock = (time[1] - 1577836800) * 10000000 + (time[2] * 10 + 9)
if now < clock then now = clock end
if now > 8000000000000000 then return end  -- In 2045: a value would soon be too large to be exact.
