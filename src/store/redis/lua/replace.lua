-- Puts a meter in the place of one that was read before, if nobody has changed it in between.
--
-- KEYS: the meter. ARGV: the value as it was read, or ""; its parts' count of changes, or ""; the new value, or "" for
-- none; until when it is kept, in microseconds, or "" for ever; what time it can be (clock.lua); then its parts, field and
-- text in turn.
-- The answer is 1, or 0 if somebody was there.
-- include margin.lua
-- include clock.lua
local key, held = KEYS[1], 'mete.held:' .. string.sub(KEYS[1], 6)
if (redis.call('GET', key) or '') ~= ARGV[1] then return 0 end
if ARGV[2] ~= '' and redis.call('HGET', held, 'n') ~= ARGV[2] then return 0 end
local wait = ARGV[4]
if wait ~= '' then wait = string.format('%.0f', math.ceil((wait - clock_within(ARGV[5])) / 1000) + margin_ms) end
redis.call('DEL', held)
if ARGV[3] == '' then
  redis.call('DEL', key)
elseif wait == '' then
  redis.call('SET', key, ARGV[3])
else
  redis.call('SET', key, ARGV[3], 'PX', wait)
end
for i = 6, #ARGV, 2 do redis.call('HSET', held, ARGV[i], ARGV[i + 1]) end
if #ARGV > 5 then
  redis.call('HINCRBY', held, 'n', tonumber(ARGV[2]) + 1)
  if wait ~= '' then redis.call('PEXPIRE', held, wait) end
end
return 1
