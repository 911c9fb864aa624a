-- Counters, quotas and throttles: a call is one operation on one key, and writes once at most.
--
--     KEYS[1]   the key, as names.h has it
--     ARGV      the operation; what time it can be (clock.lua); what the operation takes
--     reply     the time; the key as it was, nil if there was none; the key as the operation wants it, nil if that cannot
--               be; of a throttle also whether the charge fits
--
-- A key is text, and key_record.h reads it too. What became of it, and what to answer, redis_keys.cc makes of the reply.

-- include arithmetic.lua
-- include margin.lua
-- include clock.lua
-- include decimals.lua
-- include foreign.lua

local name = KEYS[1]
local _, now = times_within(ARGV[2])

-- include keys_counter.lua
-- include keys_quota.lua
-- include keys_throttle.lua

-- What is there: '-' nothing, 'c' a counter, 'q' a quota, 't' a throttle. What has gone is not there.
local kind = '-'
local text = redis.call('GET', name)
local value, expires = '0', never
local quota, throttle
if text then
  kind = string.match(text, '^[qt]') or 'c'
  if kind == 'c' then
    value, expires = counter_of(text)
    if has_come(expires) then kind, value, expires = '-', '0', never end
  elseif kind == 'q' then
    quota = quota_of(text)
  else
    throttle = throttle_of(text)
    if not throttle then kind = '-' end
  end
end

local function is_among(kinds)
  return string.find(kinds, kind, 1, true) ~= nil
end

local operations = {}

function operations.look()
end

-- kinds: those that it may remove.
function operations.remove(kinds)
  if is_among(kinds) then redis.call('DEL', name) end
end

-- kinds: those that it may replace.
function operations.set(kinds, new_value, expiry_kind, micros)
  if is_among(kinds) then write_counter(new_value, resolved(expiry_kind, micros, expires)) end
end

local function consumed(units)
  if not consume(quota, units) then return false end
  write_quota(quota)
  return quota_text(quota)
end

-- is_consumable: whether a quota may be asked for so much.
function operations.add(by, is_consumable)
  if kind == 't' then return false end
  if kind == 'q' then return is_consumable == '1' and consumed(tonumber(by)) end
  local sum = sum_of(value, by)
  if not is_int64(sum) then return false end
  write_counter(sum, expires)
  return sum
end

function operations.add_bounded(by, lower, upper, saturates, expiry_kind, micros, only_if_none)
  if not is_among('-c') then return false end
  local sum = bounded_sum(value, by, lower, upper, saturates == '1')
  if not sum or not is_int64(difference_of(sum, value)) then return false end
  local keeps = only_if_none == '1' and expires ~= never
  write_counter(sum, keeps and expires or resolved(expiry_kind, micros, expires))
  return sum
end

function operations.expire(condition, expiry_kind, micros)
  if kind ~= 'c' then return false end
  local next = resolved(expiry_kind, micros, expires)
  if not expiry_conditions[condition](expires, next) then return false end
  write_counter(value, next)
  return value
end

function operations.quota_set(amount, window)
  if kind == '-' then
    write_quota(new_quota(amount, window))
  elseif kind == 'q' and (quota.amount ~= tonumber(amount) or quota.window ~= tonumber(window)) then
    redefine(quota, amount, window)
    write_quota(quota)
  end
end

function operations.quota_take(amount, window, units)
  if not is_among('-q') then return false end
  if kind == 'q' then return consumed(tonumber(units)) end
  -- It is defined even if that does not fit.
  quota = new_quota(amount, window)
  local fits = consume(quota, tonumber(units))
  write_quota(quota)
  return fits and quota_text(quota)
end

function operations.throttle(capacity, count, period, quantity)
  if not is_among('-t') then return false end
  capacity, count, period, quantity = tonumber(capacity), tonumber(count), tonumber(period), tonumber(quantity)
  if not throttle then throttle = new_throttle(capacity, count, period) end
  local changes = throttle.capacity ~= capacity or throttle.count ~= count or throttle.period ~= period
  if changes then throttle = rebased(throttle, capacity, count, period) end
  local fits = take(throttle, quantity)
  -- The numbers change even where the charge does not fit: the wait that is told is one under the new ones.
  if quantity > 0 and (fits or changes) then write_throttle(throttle) end
  return throttle_text(throttle), fits and 1 or 0
end

local wanted, fits = operations[ARGV[1]](unpack(ARGV, 3))
return { now, kind ~= '-' and text, wanted or false, fits or 0 }
