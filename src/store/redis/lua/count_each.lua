-- Takes that have arrived together, each of one window, calendar or stock, and each for itself: what a call of a script
-- costs before it does anything, and the time, they share.
--
-- KEYS: the meters, in the order of the takes; one may be there several times.
-- ARGV: in one text all numbers, as doubles: the earliest time it can be, in microseconds, and the latest (clock.lua); and
-- of each meter the cost, the most that may be used, and when its window begins and ends. Then of each meter its value up to the number that is used
-- (see meter.lua).
-- The answer is as that of charge_each.lua, with what was used before as the values.
-- include margin.lua
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local match, sub, format = string.match, string.sub, string.format
local never = 9007199254740992
local numbers = argv[1]
local now, latest, next = unpack('<dd', numbers)
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > latest then clock = now end
if now < clock then now = clock end

local answers = { time[1] .. time[2] }
for i = 1, #keys do
  local cost, most, starts, ends
  cost, most, starts, ends, next = unpack('<dddd', numbers, next)
  local head, value = argv[i + 1], redis.pcall('GET', keys[i])
  -- Nothing stands behind the number, no held parts and no own amount, or it is take.lua's. So of takes on one meter
  -- that have arrived together all are here or all are there, and they stay in their order.
  local used, is_new
  if now >= starts and now < ends then
    if not value then
      used, is_new = 0, true
    elseif value.err then
      used = nil  -- It is of another type.
    elseif sub(value, 1, #head) == head then
      used = match(value, '^%d+$', #head + 1)
    else
      local revision = match(head, '^r%d+:')
      local start = sub(value, 1, #revision) == revision and match(value, '^(%d+):%d+$', #revision + 1)
      if start and start - starts < 0 then used, is_new = 0, true end
    end
  end
  local answer = '?'
  if used and used + cost > most then
    answer = 'D' .. used
  elseif used then
    answer = used
    local text = head .. format('%d', used + cost)
    if not is_new then
      call('SET', keys[i], text, 'KEEPTTL')
    elseif ends < never then
      call('SET', keys[i], text, 'PX', format('%d', math.ceil((ends - clock) / 1000) + margin_ms))
    else
      call('SET', keys[i], text)
    end
  end
  answers[i + 1] = answer
end
return table.concat(answers, ' ')
