-- A quota as it is usually reserved in Redis, for comparison: what is used in one key, the limit in another.
-- KEYS: both. ARGV: how much to reserve. The answer: 1 or -1, what is used, the limit.
local wanted = tonumber(ARGV[1])
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local limit = tonumber(redis.call('GET', KEYS[2]) or 0)
if used + wanted > limit then return {-1, used, limit} end
return {1, redis.call('INCRBY', KEYS[1], wanted), limit}
