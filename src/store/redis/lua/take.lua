-- Takes: one charge, or several that all fit or are none of them charged.
--
-- KEYS: the meters; with an id the operation's record.
-- ARGV: the earliest time it can be, in microseconds
--       "" for a plain take; else: mode (t, u, f), whether to tell what is held, fingerprint or "-", retention, epoch,
--       whether to remember a denial
--       for each meter six: of a plain bucket what to add to its value, the most that may be missing, a cell of time
--       (all three in tenths of a microsecond) and twice its slot, else ""; the terms (see meter.lua); the cost
-- A plain answer is a text: "D" if it is denied; the time as Redis has it; and each value as it was before, or "-".
-- Any other is a table: what happened first; for a decision "ok", the time, allowed, and for each meter whether it was
-- left out, what was charged, its terms and how it stands.
local call, argv = redis.call, ARGV
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now < argv[1] - 0 then now = argv[1] - 0 end

-- What nearly every take is: on buckets in their plain form. Nothing is set up here that can be done without.
if argv[2] == '' then
  local answer, tos, is_plain, is_denied = '', {}, true, false
  local tenths = (now - 1577836800000000) * 10
  for i = 1, #KEYS do
    local slot, value = argv[6 * i], call('GET', KEYS[i])
    if slot == '' or tenths < 0 then is_plain = false break end
    local from, parity, cell = tenths, 0, argv[6 * i - 1]
    if value then
      local full = tonumber(value)
      if not full then is_plain = false break end
      parity = full % 2
      local tag = full % 10
      if tag - parity ~= slot - 0 then is_plain = false break end
      full = full - tag
      if full > tenths then from = full end
    end
    local to = from + argv[6 * i - 3]
    if to - tenths > argv[6 * i - 2] - 0 then
      is_denied = true
    elseif from == tenths then
      tos[i] = to
    else
      local set_for = (from - from % cell) / cell
      if set_for % 2 ~= parity then set_for = set_for - 1 end
      if (to - to % cell) / cell > set_for + 1 then tos[i] = to end
    end
    if to >= 9000000000000000 then is_plain = false break end
    answer = answer .. ' ' .. (value or '-')
  end
  if is_plain and is_denied then return 'D' .. time[1] .. ' ' .. time[2] .. answer end
  if is_plain then
    for i = 1, #KEYS do
      local to = tos[i]
      if to then
        local cell = argv[6 * i - 1]
        local index = (to - to % cell) / cell
        local text = string.format('%d', to + argv[6 * i] + index % 2)
        call('SET', KEYS[i], text, 'PX', string.format('%d', ((index + 2) * cell - tenths) / 10000 + 5001))
      else
        call('INCRBY', KEYS[i], argv[6 * i - 3])
      end
    end
    return time[1] .. ' ' .. time[2] .. answer
  end
end

-- include meter.lua
-- include record.lua
local mode, wants_held, fingerprint, retention, epoch, keeps_denial = 't', '0', '-', '0', '0', '1'
if argv[2] ~= '' then
  mode, wants_held, fingerprint, retention, epoch, keeps_denial = string.match(argv[2], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
end
local count = fingerprint == '-' and #KEYS or #KEYS - 1
if fingerprint ~= '-' then
  local record = recall(KEYS[#KEYS], epoch, tonumber(retention), now)
  if record then return record.fingerprint == fingerprint and record.answer or {'mismatch'} end
end

local meters, is_allowed = {}, 1
for i = 1, count do
  local m, problem, detail = open(KEYS[i], argv[6 * i + 1], now)
  if not m then return {problem, i, detail and format(detail) or format(now)} end
  m.cost = tonumber(argv[6 * i + 2])
  meters[i] = m
  if mode == 'u' and not m.shadow and m.cost > 0 then
    m.cost = math.max(1, math.min(m.cost, m.capacity - used(m)))
  end
end
for i, m in ipairs(meters) do
  if mode == 'f' then
    if m.cost > kMax - used(m) then return {'large', i} end
  elseif not fits(m, m.cost) then
    m.violated = true
    if not m.shadow then is_allowed = 0 end
  end
end

local answer = {'ok', format(now), is_allowed}
for i, m in ipairs(meters) do
  if is_allowed == 1 and m.cost > 0 and not m.violated then
    charge(m, m.cost)
    store(m)
  end
  local is_wanted = wants_held == '1' or is_allowed == 0
  answer[3 + i] = {m.violated and 1 or 0, format(m.cost), argv[6 * i + 1], told(m, is_wanted)}
end
if fingerprint ~= '-' and (is_allowed == 1 or keeps_denial == '1') then
  remember(KEYS[#KEYS], {fingerprint = fingerprint, at = now, epoch = epoch, answer = answer}, tonumber(retention), now)
end
return answer
