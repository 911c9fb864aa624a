-- A hold of one charge, by an id that is new: what settle.lua does (see there), without what that is general for. The
-- rest is settle.lua's.
--
-- KEYS: the meter; the operation's record; where there is one the tag's holds.
-- ARGV: in one text all numbers, as doubles: the earliest time it can be, in microseconds, and the latest (clock.lua); the
-- ttl and the retention; the cost, and the most that may be used; when the window begins and ends; of a bucket the amount,
-- the period and the slot; whether to remember a denial. Then the kind, the value up to what is used, the fingerprint, the epoch, the id, the tag, the
-- limit, the key, the limit's birth and the terms (see meter.lua).
-- The answer is that of settle.lua. There is none, and nothing has changed, where the hold is settle.lua's.
-- include margin.lua
local kind, head, fingerprint, epoch, id, tag, limit, key, born, terms = unpack(ARGV, 2)
local now, latest, ttl, retention, cost, most, starts, ends, amount, period, slot, keeps_denial = struct.unpack('<dddddddddddd', ARGV[1])
local call, format, ceil, max = redis.call, string.format, math.ceil, math.max
local meter, record = KEYS[1], KEYS[2]
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > latest then clock = now end
if now < clock then now = clock end
if call('EXISTS', record) == 1 then return end
-- include held_value.lua
local held, changes, expires, kept = 'mete.held:' .. string.sub(meter, 6), 1, now + ttl, nil
local function text_of(first)
  local text = kind == 'b' and format('%s%d:%d:%d', head, now, used, fraction) or format('%s%d', head, used)
  return first and format('%s+%d', text, first) or text
end

if cost > most - (fraction > 0 and used + 1 or used) then
  -- Denied. How long to wait the caller works out, from how the meter stands and what of it is held.
  local state, parts = { text_of(due ~= '' and due) }, {}
  local fields = due ~= '' and redis.pcall('HGETALL', held) or {}
  if fields.err then return end
  for i = 1, #fields, 2 do
    if fields[i] ~= 'n' then
      local told, units, made, last, serial = string.match(fields[i + 1], '^((%d+):(%d+):(%d+)):(%d+)$')
      if not told or not string.find(fields[i], '^%d+:') then return end
      if max(units - 0, made - 0, last - 0, serial - 0) >= two53 then return end
      parts[#parts + 1] = { told, last - 0, serial - 0 }
    end
  end
  table.sort(parts, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[3] < b[3]
  end)
  for i, part in ipairs(parts) do state[i + 1] = part[1] end
  local answer = { 'ok', format('%d', now), 0, { 1, format('%d', cost), terms, state } }
  if keeps_denial == 1 then
    call('SET', record, cmsgpack.pack({ fingerprint = fingerprint, at = now, epoch = epoch, answer = answer }),
      'PX', format('%d', ceil((now + retention - clock) / 1000) + 1))
  end
  return answer
end
if due ~= '' then
  changes = redis.pcall('HGET', held, 'n')
  if type(changes) ~= 'string' or not string.find(changes, '^%d+$') or #changes > 15 then return end
  changes, kept = changes + 1, call('PTTL', meter)
end
-- Until when the meter is kept; a stock of which more is used than held for ever.
local is_held_only = kind == 'k' and (due == '' and used == 0 or due ~= '' and kept > 0)
local last = (kind ~= 'k' or is_held_only) and expires
used = used + cost
if kind == 'b' then
  local wait = (used + 1) * period
  if wait >= two53 then return end
  last = max(last, now + (wait - math.fmod(wait, amount)) / amount + 1)
elseif kind ~= 'k' then
  last = max(last, ends)
end
if last and due ~= '' then last = max(last, clock + (kept - margin_ms) * 1000) end

if KEYS[3] then
  call('HSET', KEYS[3], id, format('%d', expires))
  local wait = ceil((expires - clock) / 1000) + margin_ms
  if call('PTTL', KEYS[3]) < wait then call('PEXPIRE', KEYS[3], format('%d', wait)) end
end
local field, part = '0:' .. id, format('%d:%d:%d:%d', cost, now, expires, changes)
local added = redis.pcall('HSET', held, 'n', format('%d', changes), field, part)
-- Without memory nothing may have changed. A DEL would change something, and all that follows it be carried out.
if type(added) == 'table' and not string.find(added.err, 'WRONGTYPE', 1, true) then return added end
if due == '' and added ~= 2 then
  -- What is left of a meter that is gone.
  call('DEL', held)
  call('HSET', held, 'n', '1', field, part)
end
local text = text_of(due ~= '' and math.min(due, expires) or expires)
if last then
  local wait = format('%d', ceil((last - clock) / 1000) + margin_ms)
  call('SET', meter, text, 'PX', wait)
  call('PEXPIRE', held, wait)
else
  call('SET', meter, text)
  if due ~= '' then call('PERSIST', held) end
end
cost = format('%d', cost)
local answer = { 'ok', format('%d', now), 1, { 0, cost, terms, { text } } }
call('SET', record, cmsgpack.pack({ fingerprint = fingerprint, at = now, epoch = epoch, answer = answer,
  hold = { state = 'held', expires = expires, final = 0, tag = tag, charges = { { limit, key, cost, '1', born } } } }),
  'PX', format('%d', ceil((expires + retention - clock) / 1000) + 1))
return answer
