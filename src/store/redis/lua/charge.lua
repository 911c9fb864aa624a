-- A take of buckets in their plain form (see meter.lua), all or nothing: of one, which nearly every take is, or of several.
--
-- KEYS: the meters. ARGV: see plain_begin.lua.
-- The answer is a text: the time, as seconds of ten digits and microseconds; and each value as it was before, or "-"; "D" in front of all if it is
-- denied. There is none, and nothing has changed, if a meter is not in its plain form, or not of this slot: then it is
-- take.lua's.
--
-- Each step here was counted (docs/bench/redis.md): no number is read from text that can come without, no text made that
-- nobody reads, and what is seldom needed is worked out when it is.
-- include plain_begin.lua

-- Of the meters whose value is not just counted up by its charge: by how much else, or what it is set to.
local steps, ends
local is_other, is_denied, answer
for i = 1, count do
  local value, step, to = get('GET', keys[i]), charge, nil
  if value then
    -- include plain_value.lua
    if answer then answer = answer .. ' ' .. value else answer = value end
  else
    to = now - 9 + charge
    if answer then answer = answer .. ' -' else answer = '-' end
  end
  if to or step ~= charge then
    if not steps then steps, ends = {}, {} end
    steps[i], ends[i] = step, to
  end
  if i < count then charge, most, span, next = unpack('<ddd', numbers, next) end
end
if is_other then return end
if is_denied then return 'D' .. time[1] .. time[2] .. ' ' .. answer end

if not steps then
  for i = 1, count do call('INCRBY', keys[i], argv[i]) end
else
  for i = 1, count do
    local to = ends[i]
    if to then
      charge, most, span = unpack('<ddd', numbers, 24 * i - 7)
      -- include plain_set.lua
    else
      call('INCRBY', keys[i], steps[i] and string.format('%d', steps[i]) or argv[i])
    end
  end
end
return time[1] .. time[2] .. ' ' .. answer
