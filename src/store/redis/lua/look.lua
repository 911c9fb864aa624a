-- Looks, and changes nothing.
--
-- ARGV: what at: "meters" (KEYS: their values), "hold" (KEYS: its record) or "tag" (KEYS: its holds).
-- The answer begins with the time. For each meter: its value, its parts' count of changes, and the parts as Redis has
-- them; of a hold its record; of a tag its holds with their expiries.
local time = redis.call('TIME')
local answer = {string.format('%.0f', time[1] * 1000000 + time[2])}
if ARGV[1] == 'tag' then
  answer[2] = redis.call('HGETALL', KEYS[1])
elseif ARGV[1] == 'hold' then
  local text = redis.call('GET', KEYS[1])
  local record = text and cmsgpack.unpack(text)
  local hold = record and record.hold
  if hold then
    answer[2] = {string.format('%.0f', record.at), record.epoch, hold.state, string.format('%.0f', hold.expires),
      string.format('%.0f', hold.final), hold.tag, hold.charges}
  end
else
  for i, key in ipairs(KEYS) do
    local value = redis.call('GET', key)
    local parts = {}
    if value and string.find(value, '+', 1, true) then
      parts = redis.call('HGETALL', 'mete.held:' .. string.sub(key, 6))
    end
    answer[1 + i] = {value or '', parts}
  end
end
return answer
