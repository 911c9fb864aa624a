-- The beginning of the scripts for plain values. ARGV: of each meter what its charge adds to the value, as text; then in
-- one text all numbers, as doubles: the earliest time it can be; and of each meter what the charge adds, the most that
-- may be missing plus twice the slot, and the cell.
--
-- Numbers and values are tenths of a microsecond since 2020, and all but their last digit is what counts. The time ends
-- in 9 here: so what is later than it is later by a microsecond at least, whatever its own last digit says.
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local count = #keys
local numbers = argv[count + 1]
local now, charge, room, cell, next = unpack('<dddd', numbers)
local time = call('TIME')
local clock = (time[1] - 1577836800) * 10000000 + (time[2] * 10 + 9)
if now < clock then now = clock end
if now > 8000000000000000 then return end  -- In 2045: a value would soon be too large to be exact.
