-- What take.lua does: here `argv`, `now` and `clock` are told, and all of meter.lua and record.lua is there.
local mode, wants_held, fingerprint, retention, epoch, keeps_denial =
  string.match(argv[2], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
local count = fingerprint == '-' and #KEYS or #KEYS - 1
if fingerprint ~= '-' then
  local record = recall(KEYS[#KEYS], epoch, tonumber(retention), now)
  if record then return again(record, fingerprint, now) end
end

local meters, is_allowed = {}, 1
for i = 1, count do
  local m, problem, detail = open(KEYS[i], argv[2 + i], now)
  if not m then return {problem, format(now), i, format(detail or now)} end
  meters[i] = m
  if mode == 'u' and not m.shadow and m.cost > 0 then
    m.cost = math.max(1, math.min(m.cost, m.capacity - used(m)))
  end
end
for i, m in ipairs(meters) do
  if mode == 'f' then
    if m.cost > kMax - used(m) then return {'large', format(now), i} end
  elseif not fits(m, m.cost) then
    m.violated = true
    if not m.shadow then is_allowed = 0 end
  end
end

local answer = {'ok', format(now), is_allowed}
for i, m in ipairs(meters) do
  if is_allowed == 1 and m.cost > 0 and not m.violated then
    charge(m, m.cost)
    if mode ~= 'p' then store(m) end
  end
  local is_wanted = wants_held == '1' or is_allowed == 0
  answer[3 + i] = {m.violated and 1 or 0, format(m.cost), argv[2 + i], told(m, is_wanted)}
end
if fingerprint ~= '-' and (is_allowed == 1 or keeps_denial == '1') then
  remember(KEYS[#KEYS], {fingerprint = fingerprint, at = now, epoch = epoch, answer = answer}, tonumber(retention), clock)
end
return answer
