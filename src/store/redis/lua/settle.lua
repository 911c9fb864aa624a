-- What is not a take: gives, holds, what becomes of holds, and usage set from elsewhere.
--
-- KEYS: the meters; then, where there is one, the operation's record; then the tag's holds.
-- ARGV: what time it can be (clock.lua); the operation; its options, in one text; for each meter its terms
-- and cost (see meter.lua); then what the operation says below.
-- The answer begins with what happened, and the time; if that is "ok", what the operation says below follows.
local argv = ARGV
-- include clock.lua
local clock, now = times_within(argv[1])
-- include meter.lua
-- include record.lua
-- include settle_operations.lua
