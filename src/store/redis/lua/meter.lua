-- A meter: the state of one (limit, key), and what is held of it. Times are microseconds since the epoch, amounts whole
-- numbers below 2^53: exact as doubles, and products of two go through muldiv.
--
--   value    = plain | "r" rev ":" state [ "o" amount ] [ "+" due ]
--   plain    = (full - kEpoch) * 10 + slot     a bucket that is full again at `full`, and nothing else to tell
--   state    = at ":" units ":" fraction       bucket: what is missing at `at`, the fraction in 1/period of a unit
--            | start ":" used                  window and calendar
--            | start ":" used ":" newest ( "e" | "s" ) list    sliding: see sliding.lua
--            | start ":" current ":" previous  sliding, as it was kept before; read, and not written
--            | used                            stock
--   rev      the limit's revision: a state means something under its rule alone
--   amount   the key's own
--   due      when the first of the held parts expires, or before; the parts are in mete.held:{key}:limit,
--            charge ":" id = units ":" made ":" expires ":" serial, and "n", which counts their changes
--
-- The slot is a digit that stands for the revision. A plain value is mostly changed by INCRBY, which leaves the expiry as
-- it is. So time is divided into spans, and the expiry is that of the end of the span that `full` lies in: it must be
-- set anew only where a charge leads into the next one.
--
-- terms, as the caller tells them: kind amount capacity period rev born cleared start end shadow slot span cost
--   born     values of earlier revisions are of a limit that was dropped: as if they were not there
--   cleared  of those before, only the key's own amount is left
--   start, end   of the calendar's period that holds this time
--   span     how long the spans are that the expiry of plain values goes by
--
-- Whoever includes this says in `clock` what Redis's own clock says: expiries go by that, even while it is behind.
-- include arithmetic.lua
-- include margin.lua
-- include foreign.lua
-- include sliding.lua
local kEpoch, kMax = 1577836800000000, 9007199254740991

local function format(number) return string.format('%.0f', number) end

-- Those of a text that is nothing but numbers and ":". `told`: what an error shows instead of it.
local function numbers(key, text, told)
  local found = {}
  for number in string.gmatch(text, '[^:]+') do
    number = tonumber(number)
    if not number or number > kMax then foreign(key, told or text) end
    found[#found + 1] = number
  end
  return found
end

-- A part of what is held. An expiry that is beyond all times is an error that names the hold, so that somebody may end
-- it; to that end (m.is_ending) it is the latest time there is.
local function part_of(m, key, field, text)
  local front, expires, serial = string.match(text, '^(%d+:%d+):(%d+):(%d+)$')
  if not front or not string.find(field, '^%d+:') then foreign(key, field .. ' ' .. text) end
  if m.is_ending and tonumber(expires) > kMax then expires = format(kMax) end
  local part = numbers(key, front .. ':' .. expires .. ':' .. serial, field .. ' ' .. text)
  return {field = field, units = part[1], made = part[2], expires = part[3], serial = part[4]}
end

local function held_key(m) return 'mete.held:' .. string.sub(m.key, 6) end

-- How often the parts have changed.
local function changes_of(m, text)
  local changes = tonumber(text or '0')
  if not changes or changes < 0 or changes > kMax then foreign(held_key(m), 'n ' .. text) end
  return changes
end

-- The parts that are held, the first to expire first.
local function load_parts(m)
  if m.parts then return end
  m.parts = {}
  local key = held_key(m)
  local fields = fields_of(key)
  for i = 1, #fields, 2 do
    if fields[i] == 'n' then
      m.changes = changes_of(m, fields[i + 1])
    else
      m.parts[#m.parts + 1] = part_of(m, key, fields[i], fields[i + 1])
    end
  end
  table.sort(m.parts, function(a, b)
    if a.expires ~= b.expires then return a.expires < b.expires end
    return a.serial < b.serial
  end)
end

-- Lets time pass for a bucket: what comes back until then is no longer missing. One that became full within the last
-- nanosecond goes on from that very fraction.
local function drain(m, to)
  if to <= m.at then return end
  local units, rest = muldiv(to - m.at, m.amount, m.period)
  m.at = to
  m.units, m.fraction = m.units - units, m.fraction - rest
  if m.fraction < 0 then
    m.units, m.fraction = m.units - 1, m.fraction + m.period
  end
  if m.units >= 0 then
    if m.units > 0 or m.fraction > 0 then m.early = 0 end
    return
  end
  local early = m.units == -1 and m.fraction > 0 and m.period - m.fraction or 0
  m.early = early * 1000 < m.amount and early or 0
  m.units, m.fraction = 0, 0
end

-- Gives back what of a part is still charged, at m.now or an earlier time.
local function release(m, units, made, time)
  if m.kind == 'b' then
    m.early = 0
    local back, rest = muldiv(m.at > made and m.at - made or 0, m.amount, m.period)
    local whole, fraction = units - back, 0
    if rest > 0 then whole, fraction = whole - 1, m.period - rest end
    if whole < 0 then return end
    m.units, m.fraction = m.units - whole, m.fraction - fraction
    if m.fraction < 0 then m.units, m.fraction = m.units - 1, m.fraction + m.period end
    if m.units < 0 then m.units, m.fraction = 0, 0 end
  elseif m.kind == 's' then
    sliding.release(m, units, made, time or m.now)
  elseif m.kind == 'k' or made >= m.start then
    m.units = m.units > units and m.units - units or 0
  end
end

-- How much of a part is still charged, in whole units.
local function still_charged(m, part)
  if m.kind == 'b' then
    local back = muldiv(m.at > part.made and m.at - part.made or 0, m.amount, m.period)
    return part.units > back and part.units - back or 0
  end
  if m.kind == 's' then return sliding.counts(m, part.made, m.now) and part.units or 0 end
  return (m.kind == 'k' or part.made >= m.start) and part.units or 0
end

local function expire_parts(m, now)
  if not m.due or m.due > now then return end
  load_parts(m)
  local open = {}
  for _, part in ipairs(m.parts) do
    if part.expires > now then
      open[#open + 1] = part
    else
      m.expired = m.expired or {}
      m.expired[#m.expired + 1] = part.field
      if m.kind == 'b' then
        drain(m, part.expires)
        release(m, part.units, part.made)
      elseif m.kind == 's' then
        local time = math.max(part.expires, m.start)
        sliding.settle(m, time)
        release(m, part.units, part.made, time)
      else
        release(m, part.units, part.made)
      end
    end
  end
  m.parts = open
  m.due = open[1] and open[1].expires
end

-- The state as the value tells it.
local function parse(m, value, state, form, list)
  if m.kind == 'b' then
    m.early = 0
    if not state then
      local full = (value - value % 10) / 10 + kEpoch
      m.at, m.units, m.fraction = m.now, 0, 0
      if full > m.now then m.units, m.fraction = muldiv(full - m.now, m.amount, m.period) end
    else
      m.at, m.units, m.fraction = state[2], state[3], state[4]
      if m.fraction >= m.period then foreign(m.key, value) end
    end
  elseif m.kind == 'k' then
    m.units = state[2]
  elseif m.kind == 's' and form == '' then
    m.start, m.units, m.previous = state[2], state[3], state[4]
  elseif m.kind == 's' then
    m.start, m.units, m.newest, m.is_ring, m.list = state[2], state[3], state[4], form == 's', list
  else
    m.start, m.units = state[2], state[3]
  end
end

local function fresh(m)
  m.units, m.fraction, m.early, m.at = 0, 0, 0, m.now
  m.start = m.window
  if m.kind == 's' then sliding.clear(m) end
end

-- The window that holds the time, in m.window and m.ends. A meter's time is never before its own window; false: the
-- caller must say which period of the calendar holds m.now.
local function find_window(m)
  if m.kind == 'c' then
    return m.now >= m.window and m.now < m.ends
  elseif m.kind == 'w' then
    m.window = m.now - m.now % m.period
    m.ends = m.window + m.period
  end
  return true
end

-- Brings the window up to the time.
local function settle(m)
  if m.kind == 's' then
    sliding.settle(m, m.now)
  elseif (m.kind == 'w' or m.kind == 'c') and m.start ~= m.window then
    m.start, m.units = m.window, 0
  elseif m.kind == 'b' then
    drain(m, m.now)
  end
end

-- How many numbers the state of a kind is, with the revision.
local state_sizes = { b = 4, w = 3, s = 4, c = 3, k = 2 }

-- Opens a meter at a time, given its value. If that cannot be: nil, and what the caller has to do first. `is_told`: it is
-- as it was told, and nothing of it is in Redis. `is_ending`: to end a hold on it.
local function open_value(key, value, terms, now, is_told, is_ending)
  local word = {}
  for text in string.gmatch(terms, '%S+') do word[#word + 1] = text end
  local m = {key = key, kind = word[1], amount = tonumber(word[2]), capacity = tonumber(word[3]), now = now,
    period = tonumber(word[4]), rev = tonumber(word[5]), window = tonumber(word[8]), ends = tonumber(word[9]),
    shadow = word[10] == '1', slot = tonumber(word[11]), span = tonumber(word[12]), cost = tonumber(word[13]), is_ending = is_ending}
  m.raw = value
  local state, due, form, list
  if value and string.byte(value) == 114 then
    local head, own, first
    head, form, list, own, first = string.match(value, '^r([%d:]+)([es]?)([%d:]*)o?(%d*)%+?(%d*)$')
    if not head then foreign(key, value) end
    state = numbers(key, head)
    m.own, due = tonumber(own), tonumber(first)
    if #state == 0 or (m.own or 1) < 1 or (m.own or 1) > kMax then foreign(key, value) end
    if due and due > kMax then
      if not is_told then load_parts(m) end  -- its error names the hold
      if not is_ending then foreign(key, value) end
      due = kMax
    end
    if state[1] < tonumber(word[6]) then
      m.own, state = nil, nil
    elseif state[1] < tonumber(word[7]) then
      state = nil
    elseif state[1] ~= m.rev then
      return nil, state[1] < m.rev and 'old' or 'stale'
    elseif #state ~= state_sizes[m.kind] then
      foreign(key, value)
    end
    if not state then
      m.forgotten = due
      value = nil
    end
    m.due = state and due
  elseif value then
    if #value > 17 or not string.find(value, '^%d+$') then foreign(key, value) end
    -- Which revision that was, only the caller may know.
    if string.byte(value, -1) - 48 ~= m.slot then return nil, 'slot' end
  end
  if m.own then
    if m.kind == 'b' then
      local capacity, rest = muldiv(m.capacity, m.own, m.amount)
      if rest > 0 then capacity = capacity + 1 end
      m.capacity = capacity < kMax and capacity or kMax
    else
      m.capacity = m.own
    end
    m.amount = m.own
  end
  if m.kind == 's' then sliding.prepare(m) end
  if value then
    parse(m, value, state, form, list)
    local since = m.kind == 'b' and m.at or m.start or 0
    if since > m.now then m.now = since end
  end
  if not find_window(m) then return nil, 'window', m.now end
  if value then
    if not is_told then expire_parts(m, now) end
    settle(m)
  else
    fresh(m)
  end
  return m
end

local function open(key, terms, now, is_ending)
  return open_value(key, redis.call('GET', key), terms, now, false, is_ending)
end

local function used(m)
  if m.kind == 'b' then return m.fraction > 0 and m.units + 1 or m.units end
  return m.units
end

local function fits(m, cost) return cost <= m.capacity - used(m) end

local function charge(m, cost)
  if m.kind == 's' then
    if cost > 0 then sliding.charge(m, cost, m.now) end
    return
  end
  m.units = m.units + cost
  if m.kind == 'b' and m.early > 0 and cost > 0 then
    m.units, m.fraction, m.early = m.units - 1, m.period - m.early, 0
  end
end

local function held(m)
  if not m.due then return 0 end
  load_parts(m)
  local total = 0
  for _, part in ipairs(m.parts) do
    total = total + still_charged(m, part)
    if total > kMax then total = kMax end
  end
  local all = used(m)
  return total < all and total or all
end

-- When the meter will be as a fresh one; nil for never.
local function fresh_at(m)
  if m.kind == 'b' then
    local wait = muldiv(m.units + 1, m.period, m.amount) + 1
    return wait < kMax and m.now + wait or nil
  elseif m.kind == 's' then
    return m.start + m.width + m.period
  elseif m.kind == 'k' then
    return nil
  end
  return m.ends
end

-- The plain form of a bucket: when it will be full, and until when that is kept; nil if it has none.
local function plain(m)
  if m.kind ~= 'b' or m.own or m.due or m.slot < 0 or m.amount > 1000000000000 then return nil end
  if m.units > m.capacity then return nil end
  local wait, rest = muldiv(m.units, m.period, m.amount)
  rest = rest + m.fraction
  if rest % m.amount ~= 0 then return nil end
  local full = m.now + wait + rest / m.amount - kEpoch
  if full < 0 or full >= 900000000000000 then return nil end
  return format(full * 10 + m.slot), full - full % m.span + m.span + kEpoch
end

-- The value in its longer form.
local function text_of(m)
  local text = 'r' .. format(m.rev) .. ':'
  if m.kind == 'b' then
    text = text .. format(m.now) .. ':' .. format(m.units) .. ':' .. format(m.fraction)
  elseif m.kind == 'k' then
    text = text .. format(m.units)
  elseif m.kind == 's' then
    text = text .. sliding.text(m)
  else
    text = text .. format(m.start) .. ':' .. format(m.units)
  end
  if m.own then text = text .. 'o' .. format(m.own) end
  if m.due then text = text .. '+' .. format(m.due) end
  return text
end

local function forget_parts(m)
  if (m.expired or m.forgotten) and not m.due then
    redis.call('DEL', held_key(m))
  elseif m.expired then
    for _, field in ipairs(m.expired) do redis.call('HDEL', held_key(m), field) end
    redis.call('HSET', held_key(m), 'n', format((m.changes or 0) + 1))
  end
end

-- A stock of which all that is used is held, and nothing else, is fresh again when the last of these holds expires: so
-- long its keys are kept, and that they have an expiry is how one knows it (m.is_held_only). Before anything is written.
local function note_held_only(m)
  if m.kind ~= 'k' then return end
  m.is_held_only = m.units == 0 or (m.due and redis.call('PTTL', m.key) > 0) or false
end

-- Writes the meter, with the expiry that it needs: when it is as good as fresh, and a margin.
local function store(m)
  forget_parts(m)
  local is_fresh = m.units == 0 and (m.kind ~= 'b' or m.fraction == 0)
  if is_fresh and not m.own and not m.due then
    if m.raw then redis.call('DEL', m.key) end
    return
  end
  local text, ends = plain(m)
  if not text then
    text = text_of(m)
    ends = not m.own and fresh_at(m)
    if m.kind == 'k' and m.is_held_only and not m.own then ends = clock end
    if ends and m.due then ends = math.max(ends, m.last or 0, clock + (redis.call('PTTL', m.key) - margin_ms) * 1000) end
  end
  if not ends then
    redis.call('SET', m.key, text)
    if m.due then redis.call('PERSIST', held_key(m)) end
    return
  end
  local wait = format(math.ceil((ends - clock) / 1000) + margin_ms)
  redis.call('SET', m.key, text, 'PX', wait)
  if m.due then redis.call('PEXPIRE', held_key(m), wait) end
end

-- What the caller needs to tell how a meter stands: its value, and if he asks for it what is held of it.
local function told(m, wants_parts)
  local answer = {text_of(m)}
  if wants_parts and m.due then
    load_parts(m)
    for _, part in ipairs(m.parts) do
      answer[#answer + 1] = format(part.units) .. ':' .. format(part.made) .. ':' .. format(part.expires)
    end
  end
  return answer
end
