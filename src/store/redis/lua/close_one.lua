-- The end of a hold of one charge, of which the caller knows the meter: what settle.lua does (see there), without what that
-- is general for. The rest is settle.lua's.
--
-- KEYS: the meter; the operation's record; where there is one the tag's holds.
-- ARGV: in one text all numbers, as doubles: the earliest time it can be, in microseconds, and the latest (clock.lua); when
-- the hold was made, and the retention; the amount to commit, or -1 for all, or -2 to cancel; the most that may be used;
-- when the window begins and ends; of a bucket the amount, the period, the slot and the span. Then the kind, the value up
-- to what is used, the epoch, the id, and the terms (see meter.lua).
-- The answer is that of settle.lua. There is none, and nothing has changed, where the end is settle.lua's.
-- include margin.lua
-- include foreign.lua
-- include record.lua
local kind, head, epoch, id, terms = unpack(ARGV, 2)
local now, latest, made, retention, wanted, most, starts, ends, amount, period, slot, span =
  struct.unpack('<dddddddddddd', ARGV[1])
local call, format, fmod, ceil = redis.call, string.format, math.fmod, math.ceil
local meter = KEYS[1]
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > latest then clock = now end
if now < clock then now = clock end
local record = recall(KEYS[2], epoch, retention, now)
local hold = record and record.hold
if not hold or record.at ~= made or hold.state ~= 'held' or now >= hold.expires or #hold.charges ~= 1 then return end
-- include held_value.lua
if due == '' then return end
local held = 'mete.held:' .. string.sub(meter, 6)
local field = '0:' .. id
local found = redis.pcall('HMGET', held, field, 'n')
local units, since, expires = string.match(found[1] or '', '^(%d+):(%d+):(%d+):%d+$')
local changes = string.match(found[2] or '', '^%d+$')
local charge = hold.charges[1]
if units ~= charge[3] or since - now > 0 or not changes or #changes > 15 then return end
units, since = units - 0, since - 0
-- When the first of the others expires; nil if there is none.
local others_due = due
if expires - due == 0 then
  others_due = nil
  local fields = call('HGETALL', held)
  for i = 1, #fields, 2 do
    if fields[i] ~= 'n' and fields[i] ~= field then
      local other = string.match(fields[i + 1], '^%d+:%d+:(%d+):%d+$')
      if not other or other - due < 0 or other - two53 >= 0 then return end
      if not others_due or other - others_due < 0 then others_due = other - 0 end
    end
  end
end

local is_cancel = wanted == -2
local kept = is_cancel and 0 or wanted == -1 and units or wanted
if kept > units then return end
local before, back = fraction > 0 and used + 1 or used, units - kept
if kind == 'b' then
  -- What has come back of it by itself is not given back.
  local drained = (now - since) * amount
  if drained >= two53 then return end
  local rest = fmod(drained, period)
  local whole = back - (drained - rest) / period - (rest > 0 and 1 or 0)
  if whole >= 0 then
    used, fraction = used - whole, fraction - (rest > 0 and period - rest or 0)
    if fraction < 0 then used, fraction = used - 1, fraction + period end
    if used < 0 then used, fraction = 0, 0 end
  end
elseif kind == 'k' or since >= starts then
  used = math.max(0, used - back)
end

local told = kind == 'b' and format('%s%d:%d:%d', head, now, used, fraction) or format('%s%d', head, used)
if others_due then told = format('%s+%d', told, others_due) end
-- What the meter is written as, and until when that is kept; nil if it is as a fresh one.
local text, last = told, ends
if used == 0 and fraction == 0 and not others_due then
  text = nil
elseif kind == 'b' then
  local missing, all = used * period, (used + 1) * period
  if all >= two53 then return end
  local rest = fmod(missing, amount)
  local wait = (missing - rest) / amount
  rest = rest + fraction
  local full = now + wait + rest / amount - 1577836800000000
  if not others_due and slot >= 0 and amount <= 1000000000000 and used <= most and fmod(rest, amount) == 0 and full >= 0 and full < 900000000000000 then
    text, last = format('%d', full * 10 + slot), full - fmod(full, span) + span + 1577836800000000
  else
    last = now + (all - fmod(all, amount)) / amount + 1
  end
elseif kind == 'k' then
  last = nil
end
if text and (others_due or kind == 'k') then
  local left = call('PTTL', meter)
  -- A stock of which all that is used is held has an expiry.
  if kind == 'k' and kept == 0 and left > 0 then last = clock end
  if last and others_due then last = math.max(last, clock + (left - margin_ms) * 1000) end
end

-- The tag first: it may be of another type, and then nothing has happened.
if KEYS[3] then call('HDEL', KEYS[3], id) end
if others_due then
  call('HDEL', held, field)
  call('HSET', held, 'n', format('%d', changes + 1))
else
  call('DEL', held)
end
if not text then
  call('DEL', meter)
elseif last then
  local wait = format('%d', ceil((last - clock) / 1000) + margin_ms)
  call('SET', meter, text, 'PX', wait)
  if others_due then call('PEXPIRE', held, wait) end
else
  call('SET', meter, text)
  if others_due then call('PERSIST', held) end
end
local returned = {}
if is_cancel then
  returned[1] = format('%d', before - (fraction > 0 and used + 1 or used))
elseif wanted >= 0 then
  hold.is_of_all = wanted == tonumber(charge[3])
  charge[3] = format('%d', wanted)
end
if hold.is_of_all == nil then hold.is_of_all = true end
local answer = { 'ok', format('%d', now), returned, { 0, '0', terms, { told } } }
hold.state, hold.final, hold.ending = is_cancel and 'cancelled' or 'committed', now, answer
remember(KEYS[2], record, retention, clock)
return answer
