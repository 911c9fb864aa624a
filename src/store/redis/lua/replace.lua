-- Puts a meter in the place of one that was read before, if nobody has changed it in between.
--
-- KEYS: the meter. ARGV: the value as it was read, or ""; its parts' count of changes, or ""; the new value, or "" for
-- none; until when it is kept, in milliseconds from now, or "" for ever; then its parts, field and text in turn.
-- The answer is 1, or 0 if somebody was there.
local key, held = KEYS[1], 'mete.held:' .. string.sub(KEYS[1], 6)
if (redis.call('GET', key) or '') ~= ARGV[1] then return 0 end
if ARGV[2] ~= '' and redis.call('HGET', held, 'n') ~= ARGV[2] then return 0 end
redis.call('DEL', held)
if ARGV[3] == '' then
  redis.call('DEL', key)
elseif ARGV[4] == '' then
  redis.call('SET', key, ARGV[3])
else
  redis.call('SET', key, ARGV[3], 'PX', ARGV[4])
end
for i = 5, #ARGV, 2 do redis.call('HSET', held, ARGV[i], ARGV[i + 1]) end
if #ARGV > 4 then
  redis.call('HINCRBY', held, 'n', tonumber(ARGV[2]) + 1)
  if ARGV[4] ~= '' then redis.call('PEXPIRE', held, ARGV[4]) end
end
return 1
