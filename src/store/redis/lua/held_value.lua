-- A meter that has nothing but what is used and held: what is used, of a bucket also the fraction, at `now`, and when the
-- first part expires. A part of the scripts for holds that include it, which have kind, head, starts, ends, amount, period
-- and slot: it ends them, without an answer and before anything is written, where the meter is another one.
local two53 = 9007199254740992
if now < starts or now >= ends then return end
local value = redis.pcall('GET', meter)
local used, fraction, due = 0, 0, ''
if value then
  if value.err then return end
  if string.sub(value, 1, #head) == head then
    if kind == 'b' then
      local at
      at, used, fraction, due = string.match(value, '^(%d+):(%d+):(%d+)%+?(%d*)$', #head + 1)
      if not at or at - now > 0 or fraction - period >= 0 then return end
      local back = (now - at) * amount
      if back >= two53 then return end
      local rest = math.fmod(back, period)
      used, fraction = used - (back - rest) / period, fraction - rest
      if fraction < 0 then used, fraction = used - 1, fraction + period end
      if used < 0 then
        -- All of it has come back; within the last nanosecond is meter.lua's.
        if used == -1 and fraction > 0 and (period - fraction) * 1000 < amount then return end
        used, fraction = 0, 0
      end
    else
      used, due = string.match(value, '^(%d+)%+?(%d*)$', #head + 1)
      if not used then return end
      used = used - 0
    end
  elseif kind == 'b' and slot >= 0 and #value <= 17 and string.find(value, '^%d+$') then
    local full = value - slot
    if full % 10 ~= 0 then return end
    full = full / 10 + 1577836800000000
    if full > now then
      local missing = (full - now) * amount
      if missing >= two53 then return end
      fraction = math.fmod(missing, period)
      used = (missing - fraction) / period
    end
  else
    return
  end
end
if used >= two53 then return end
if due ~= '' then
  due = due - 0
  if due <= now or due >= two53 then return end
end
