-- The takes that nearly all are: of buckets in their plain form (see meter.lua), one or several, all or nothing.
--
-- KEYS: the meters. ARGV: what each charge adds to a value, as text; then in one text all numbers, as doubles: the
-- earliest time it can be; and of each meter what the charge adds, the most that may be missing plus twice the slot, and
-- the cell.
-- Numbers and values are tenths of a microsecond since 2020, and all but their last digit is what counts. The time ends
-- in 9 here: so what is later than it is later by a microsecond at least, whatever its own last digit says.
--
-- The answer is a text: "D" if it is denied; the time as Redis has it; and each value as it was before, or "-". There is
-- none, and nothing has changed, if a meter is not in its plain form, or not of this slot: then it is take.lua's.
--
-- Each step here was counted (docs/bench/redis.md): no number is read from text that can come without, no text made that
-- nobody reads, and what is seldom needed is worked out when it is.
local call, keys, argv, unpack = redis.call, KEYS, ARGV, struct.unpack
local count = #keys
local numbers = argv[count + 1]
local now, charge, room, cell, next = unpack('<dddd', numbers)
local time = call('TIME')
local clock = (time[1] - 1577836800) * 10000000 + (time[2] * 10 + 9)
if now < clock then now = clock end
if now > 8000000000000000 then return end  -- In 2045: a value would soon be too large to be exact.

-- Of the meters whose value is not just counted up by its charge: by how much else, or what it is set to.
local steps, ends
local is_denied, answer
for i = 1, count do
  local value = call('GET', keys[i])
  if value then
    if value > ':' then return end  -- The other forms begin with a letter.
    local full = value - 0
    local parity = (full - room) % 10
    if parity > 1 then return end
    local step = charge
    if full > now then
      if full + charge - now - room > -8 then is_denied = true end
    else
      -- It was full before: the charge counts from now on.
      if not steps then steps, ends = {}, {} end
      step = now - 9 + full % 10 + charge - full
      steps[i] = step
    end
    -- The expiry was set for two cells, of which the first has this parity.
    if (full - parity * cell) % (cell + cell) + step >= cell + cell then
      if not steps then steps, ends = {}, {} end
      ends[i] = full - full % 10 + step
    end
    if answer then answer = answer .. ' ' .. value else answer = value end
  else
    if not steps then steps, ends = {}, {} end
    ends[i] = now - 9 + charge
    if answer then answer = answer .. ' -' else answer = '-' end
  end
  if i < count then charge, room, cell, next = unpack('<ddd', numbers, next) end
end
if is_denied then return 'D' .. time[1] .. ' ' .. time[2] .. ' ' .. answer end

if not steps then
  for i = 1, count do call('INCRBY', keys[i], argv[i]) end
else
  for i = 1, count do
    local to = ends[i]
    if to then
      charge, room, cell = unpack('<ddd', numbers, 24 * i - 15)
      local index = (to - to % cell) / cell
      call('SET', keys[i], string.format('%d', to + room % 10 + index % 2), 'PX',
        string.format('%d', ((index + 2) * cell - clock) / 10000 + 5001))
    else
      call('INCRBY', keys[i], steps[i] and string.format('%d', steps[i]) or argv[i])
    end
  end
end
return time[1] .. ' ' .. time[2] .. ' ' .. answer
