-- Quotas: q:AMOUNT:WINDOW:START:USED. WINDOW and START are microseconds: of the window of WINDOW that began at START,
-- USED of AMOUNT units are used.

local function quota_text(quota)
  return string.format('q:%.0f:%.0f:%.0f:%.0f', quota.amount, quota.window, quota.start, quota.used)
end

local function write_quota(quota)
  redis.call('SET', name, quota_text(quota))
end

-- The window of the quota that holds `at`. No window begins after the time it is looked at: if the clock was set
-- back, time stands still.
local function settle(quota, at)
  local _, into = divide(at, quota.window)
  if quota.start ~= at - into then quota.start, quota.used = at - into, 0 end
end

local function new_quota(amount, window)
  local quota = { amount = tonumber(amount), window = tonumber(window), start = 0, used = 0 }
  settle(quota, now)
  return quota
end

local function quota_of(text)
  local amount, window, start, used = string.match(text, '^q:(%d+):(%d+):(%d+):(%d+)$')
  local quota = { amount = tonumber(amount), window = tonumber(window), start = tonumber(start), used = tonumber(used) }
  local is_sound = amount and quota.amount < two53 and quota.window < two53 and quota.start < two53 and
    quota.used < two53 and quota.window > 0
  if not is_sound then foreign(name, text) end
  settle(quota, math.max(now, quota.start))
  return quota
end

-- Other numbers for a quota; what is used belongs to the new window then.
local function redefine(quota, amount, window)
  local used, at = quota.used, math.max(now, quota.start)
  quota.amount, quota.window = tonumber(amount), tonumber(window)
  settle(quota, at)
  quota.used = used
end

-- Charges the quota if that fits.
local function consume(quota, units)
  if quota.used + units > quota.amount then return false end
  quota.used = quota.used + units
  return true
end
