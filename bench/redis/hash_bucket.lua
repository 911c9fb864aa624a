-- A token bucket as it is usually kept in Redis, for comparison: a hash with the tokens and the time of the last refill.
-- KEYS: the bucket. ARGV: its capacity, the nanoseconds in which that comes back, how much to take.
-- The answer: whether it was taken, what is left, nanoseconds to wait, milliseconds since 1970 when it is full again.
local capacity = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local permits = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = (tonumber(time[1]) * 1000000 + tonumber(time[2])) * 1000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'refilled_at')
local tokens = tonumber(state[1])
local refilled_at = tonumber(state[2])
if tokens == nil then
  tokens = capacity
  refilled_at = now
end
local elapsed = math.max(0, now - refilled_at)
tokens = math.min(capacity, tokens + math.floor(elapsed * capacity / window))
if tokens < permits then
  local full_ms = math.ceil((now + (capacity - tokens) * window / capacity) / 1000000)
  return {0, tokens, math.ceil((permits - tokens) * window / capacity), full_ms}
end
tokens = tokens - permits
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'refilled_at', now)
redis.call('EXPIRE', KEYS[1], math.min(math.ceil(window / 1000000000 * 1.1), 86400))
return {1, tokens, 0, math.ceil((now + (capacity - tokens) * window / capacity) / 1000000)}
