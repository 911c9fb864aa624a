-- Takes that have arrived together, each of one sliding window, and each for itself: what a call of a script costs before
-- it does anything, and the time, they share. It does what sliding.lua does (see there) to a meter that has nothing but
-- its charges: the rest is take.lua's.
--
-- KEYS: the meters, in the order of the takes; one may be there several times.
-- ARGV: in one text all numbers, as doubles: the earliest time it can be, in microseconds, and the latest (clock.lua); and
-- of each meter the cost, the most that may be used, the period and the width of a slot. Then of each meter its value up
-- to its state (see meter.lua).
-- The answer is a text: the time, as seconds of ten digits and microseconds; and for each take the state, behind a "D" if
-- it is denied, as it stands then; and else what of it the answer needs, which is when the newest charge was, and all that
-- is used. "?", and nothing has changed: the take is take.lua's.
-- include margin.lua
-- include sliding_bounds.lua
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local byte, match, sub, format = string.byte, string.match, string.sub, string.format
local fmod = math.fmod
local numbers = argv[1]
local now, latest, next = unpack('<dd', numbers)
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
if clock > latest then clock = now end
if now < clock then now = clock end

-- What stays of the newest slot of a ring when another one becomes the newest, of which there are so many others.
local function staying(newest, others, most)
  local quantum, room = quantum_of(most)
  local most_units = math.max(0, math.min(newest, room * quantum - others))
  return most_units - fmod(most_units, quantum)
end

-- The charges of a log in slots: the newest slot, what it has, and the list of the others.
local function ring_of(charges, most, width)
  local start, newest, others, list = nil, 0, 0, ''
  for at, units in string.gmatch(charges, '(%d+):(%d+):') do
    local slot = at - fmod(at, width)
    if start and slot > start then
      local left = staying(newest, others, most)
      if left > 0 then list = list .. format('%d:%d:', fmod(start / width, 1000), left) end
      newest, others = newest - left, others + left
    end
    start, newest = slot, newest + units
  end
  return start, newest, list
end

local answers = { time[1] .. time[2] }
for i = 1, #keys do
  local cost, most, period, width
  cost, most, period, width, next = unpack('<dddd', numbers, next)
  local head, value = argv[i + 1], redis.pcall('GET', keys[i])
  local answer = '?'
  repeat
    -- The older charges are those of `value` from `older` on: a list of hundreds of bytes is taken over as it is.
    local start, units, newest, form, older = 0, 0, 0, 'e', 1
    if value then
      if value.err or sub(value, 1, #head) ~= head then break end
      start, units, newest, form, older = match(value, '^(%d+):(%d+):(%d+)([es])()', #head + 1)
      -- An own amount, or held parts, end in a digit, and these do not.
      if not start or byte(value, -1) < 58 then break end
      start, units, newest = start - 0, units - 0, newest - 0
      if start > now then break end
    end
    local lag = form == 's' and width or 0
    if units > 0 and start + period + lag <= now then units = 0 end
    local is_other = false
    while units > 0 and older <= #value do
      local number, count, rest = match(value, '^(%d+):(%d+):()', older)
      is_other = not number or count - units > 0
      if is_other then break end
      number = number - 0
      if form == 's' then number = start - fmod(start / width - number + 1000000000000000, 1000) * width end
      if number + period + lag > now then break end
      units, older = units - count, rest
    end
    if is_other then break end

    if units + cost > most then
      if units == 0 then start, newest, form, value = now, 0, 'e', '' end
      answer = format('D%d:%d:%d%s%s', start, units, newest, form, sub(value, older))
      break
    end
    local entry, before = '', start
    if units == 0 then
      form, newest, value = period > log_period_max and 's' or 'e', 0, ''
      start = form == 's' and now - fmod(now, width) or now
    elseif form == 'e' and now > start then
      local _, colons = string.gsub(sub(value, older), ':', ':')
      if newest > 0 and (colons >= 2 * log_max or newest > most) then
        start, newest, value = ring_of(sub(value, older) .. format('%d:%d:', start, newest), most, width)
        form, older = 's', 1
      else
        if newest > 0 then entry = format('%d:%d:', start, newest) end
        start, newest = now, 0
      end
    end
    if form == 's' and now - start >= width then
      -- Less than a quantum goes on to the next slot.
      if most <= 100 or newest * 1889 >= most then
        local left = staying(newest, units - newest, most)
        if left > 0 then entry = format('%d:%d:', fmod(start / width, 1000), left) end
        newest = newest - left
      end
      start = now - fmod(now, width)
    end
    units, newest = units + cost, newest + cost
    local used = format('%d:%d:', start, units)
    local text = head .. used .. format('%d', newest) .. form .. sub(value, older) .. entry
    if start == before then
      call('SET', keys[i], text, 'KEEPTTL')
    else
      call('SET', keys[i], text, 'PX', format('%d', math.ceil((start + width + period - clock) / 1000) + margin_ms))
    end
    answer = used .. form
  until true
  answers[i + 1] = answer
end
return table.concat(answers, ' ')
