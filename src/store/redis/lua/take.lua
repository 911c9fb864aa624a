-- Takes: one charge, or several that all fit or are none of them charged.
--
-- KEYS: the meters; with an id the operation's record.
-- ARGV: the earliest time it can be, in microseconds
--       of a plain take the meters' slots, a digit each; else: mode (t, u, f), whether to tell what is held, fingerprint
--       or "-", retention, epoch, whether to remember a denial
--       for each meter three: of a plain take what to add to the value, and the most that may be missing, both in tenths
--       of a microsecond; and its terms and cost (see meter.lua)
-- A plain answer is a text: "D" if it is denied; the time as Redis has it; and each value as it was before, or "-".
-- Any other is a table: what happened, and the time; for a decision, which is "ok", allowed, and for each meter whether
-- it was left out, what was charged, its terms and how it stands.
local call, argv, keys = redis.call, ARGV, KEYS
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = argv[1] - 0
if now < clock then now = clock end

-- What nearly every take is: on buckets in their plain form. Each step here was counted: nothing is made that can be
-- done without, and no text is turned into a number twice.
local slots = argv[2]
if slots < 'a' then
  local tenths = (now - 1577836800000000) * 10
  local count, is_plain, is_denied, answer, ends = #keys, tenths > 0, false, '', nil
  for i = 1, count do
    local value = call('GET', keys[i])
    local from, room, in_place = tenths, argv[3 * i + 1] - 0, false
    local to = from + argv[3 * i]
    if value then
      local full = tonumber(value)
      if not full then is_plain = false break end
      local tag = full % 10
      local parity = tag % 2
      if tag - parity ~= (string.byte(slots, i) - 48) * 2 then is_plain = false break end
      full = full - tag
      if full > tenths then
        to = to + (full - tenths)
        -- The expiry is far enough away if the cell of the time does not pass the one after that it was set for.
        local cell = room / 8
        if cell < 10000000 then cell = 10000000 end
        local set_for = (full - full % cell) / cell
        if set_for % 2 ~= parity then set_for = set_for - 1 end
        in_place = to < (set_for + 2) * cell
      end
      answer = answer .. ' ' .. value
    else
      answer = answer .. ' -'
    end
    if to - tenths > room then
      is_denied = true
    elseif not in_place then
      ends = ends or {}
      ends[i] = to
    end
    if to >= 9000000000000000 then is_plain = false break end
  end
  if is_plain then
    if is_denied then return 'D' .. time[1] .. ' ' .. time[2] .. answer end
    for i = 1, count do
      local to = ends and ends[i]
      if to then
        local cell = math.max(argv[3 * i + 1] / 8, 10000000)
        local index = (to - to % cell) / cell
        call('SET', keys[i], string.format('%d', to + (string.byte(slots, i) - 48) * 2 + index % 2), 'PX',
          string.format('%d', (index + 2) * cell / 10000 - (clock - 1577836800000000) / 1000 + 5001))
      else
        call('INCRBY', keys[i], argv[3 * i])
      end
    end
    return time[1] .. ' ' .. time[2] .. answer
  end
  slots = ''
end

-- include meter.lua
-- include record.lua
local mode, wants_held, fingerprint, retention, epoch, keeps_denial = 't', '0', '-', '0', '0', '1'
if slots ~= '' then
  mode, wants_held, fingerprint, retention, epoch, keeps_denial =
    string.match(argv[2], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
end
local count = fingerprint == '-' and #KEYS or #KEYS - 1
if fingerprint ~= '-' then
  local record = recall(KEYS[#KEYS], epoch, tonumber(retention), now)
  if record then return again(record, fingerprint, now) end
end

local meters, is_allowed = {}, 1
for i = 1, count do
  local m, problem, detail = open(KEYS[i], argv[3 * i + 2], now)
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
    store(m)
  end
  local is_wanted = wants_held == '1' or is_allowed == 0
  answer[3 + i] = {m.violated and 1 or 0, format(m.cost), argv[3 * i + 2], told(m, is_wanted)}
end
if fingerprint ~= '-' and (is_allowed == 1 or keeps_denial == '1') then
  remember(KEYS[#KEYS], {fingerprint = fingerprint, at = now, epoch = epoch, answer = answer}, tonumber(retention), clock)
end
return answer
