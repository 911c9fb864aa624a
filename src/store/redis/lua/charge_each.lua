-- Takes that have arrived together, each of one bucket in its plain form, and each for itself: what a call of a script
-- costs before it does anything, and the time, they share.
--
-- KEYS: the meters, in the order of the takes; one may be there several times. ARGV: see plain_begin.lua.
-- The answer is a text: the time, as seconds of ten digits and microseconds; and for each take the value as it was before, or "-"; "D" in front of
-- it if it is denied; or "?", and nothing has changed, if the meter is not in its plain form, or not of this slot: then
-- the take is take.lua's.
-- include plain_begin.lua

local answers = { time[1] .. time[2] }
for i = 1, count do
  local answer, is_other, is_denied = '?', false, false
  repeat
    local value, step, to = get('GET', keys[i]), charge, nil
    if value then
      -- include plain_value.lua
      answer = value
    else
      to = now - 9 + charge
      answer = '-'
    end
    if is_denied then
      answer = 'D' .. value
    elseif to then
      -- include plain_set.lua
    else
      call('INCRBY', keys[i], step == charge and argv[i] or string.format('%d', step))
    end
  until true
  answers[i + 1] = answer
  if i < count then charge, most, span, next = unpack('<ddd', numbers, next) end
end
return table.concat(answers, ' ')
