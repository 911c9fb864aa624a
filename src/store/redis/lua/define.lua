-- Changes what all who use this Redis must know: the limits, and the count of clearances. mete.limits has a field for
-- each limit, and "\1generation", which tells that something has changed. "\1format" is written with them, since
-- whoever wipes the Redis wipes it as well.
--
-- KEYS: mete.limits. ARGV: the generation that the caller knows, the format; then fields and their new texts in turn.
-- The answer is 1, or 0 if the caller knows an old one.
if (redis.call('HGET', KEYS[1], '\1generation') or '0') ~= ARGV[1] then return 0 end
redis.call('HSETNX', KEYS[1], '\1format', ARGV[2])
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', KEYS[1], '\1generation', 1)
redis.call('PUBLISH', KEYS[1], ARGV[1])
return 1
