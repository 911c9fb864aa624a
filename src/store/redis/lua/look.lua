-- Looks, and changes nothing.
--
-- ARGV: what at: "meters" (KEYS: their values), "hold" or "answer" (KEYS: the operation's record) or "tag" (KEYS: its
-- holds) or "generation" (KEYS: mete.limits); for an answer also the epoch, the retention and what time it can be (clock.lua).
-- The answer begins with the time. Of meters: their values, and for each that has parts its number and the parts as Redis
-- has them, with their count of changes; of a hold its record; of an operation its fingerprint and answer; of a tag its holds with their expiries.
-- include foreign.lua
-- include record.lua
-- include clock.lua
local time = redis.call('TIME')
local answer = {string.format('%.0f', time[1] * 1000000 + time[2])}
if ARGV[1] == 'generation' then
  answer[2] = redis.call('HGET', KEYS[1], '\1generation') or '0'
elseif ARGV[1] == 'tag' then
  answer[2] = fields_of(KEYS[1])
elseif ARGV[1] == 'answer' then
  local _, now = times_within(ARGV[4])
  local record = recall(KEYS[1], ARGV[2], tonumber(ARGV[3]), now)
  if record then answer[2], answer[3] = record.fingerprint, record.answer end
elseif ARGV[1] == 'hold' then
  local record = unpacked(KEYS[1])
  local hold = record and record.hold
  if hold then
    answer[2] = {string.format('%.0f', record.at), record.epoch, hold.state, string.format('%.0f', hold.expires),
      string.format('%.0f', hold.final), hold.tag, hold.charges, hold.ending or false, hold.is_of_all and 1 or 0}
  end
else
  local values = redis.call('MGET', unpack(KEYS))
  answer[2] = values
  for i, value in ipairs(values) do
    -- Of another type is as none to MGET, but not to GET.
    if not value then redis.call('GET', KEYS[i]) end
    if value == '' then foreign(KEYS[i], value) end
    if value and string.find(value, '+', 1, true) then
      answer[#answer + 1] = {i, fields_of('mete.held:' .. string.sub(KEYS[i], 6))}
    end
  end
end
return answer
