-- What settle.lua does: here `argv`, `now` and `clock` are told, and all of meter.lua and record.lua is there.
local operation, option = argv[2], {}
for text in string.gmatch(argv[3], '%S+') do option[#option + 1] = text end
local count = tonumber(option[1])
local last = 3 + count

local ends_hold = operation == 'commit' or operation == 'cancel' or operation == 'extend'

local function open_all()
  local meters = {}
  for i = 1, count do
    local m, problem, detail = open(KEYS[i], argv[3 + i], now, ends_hold)
    if not m then return nil, {problem, format(now), i, format(detail or now)} end
    meters[i] = m
  end
  return meters
end

local function tell(answer, meters, wants_held)
  for i, m in ipairs(meters) do
    answer[#answer + 1] = {m.violated and 1 or 0, format(m.cost), argv[3 + i], told(m, wants_held)}
  end
  return answer
end

-- What is held changes: the first to expire is another one.
local function remove_part(m, field)
  load_parts(m)
  local rest, found = {}, nil
  for _, part in ipairs(m.parts) do
    if part.field == field then found = part else rest[#rest + 1] = part end
  end
  if found then
    m.expired = m.expired or {}
    m.expired[#m.expired + 1] = field
    m.parts = rest
    m.due = rest[1] and rest[1].expires
  end
  return found
end

-- Reads what put_part() goes on from, before anything is written.
local function prepare_parts(m)
  if not m.due or m.changes then return end
  local changes = redis.pcall('HGET', held_key(m), 'n')
  if type(changes) == 'table' then foreign(held_key(m), changes.err) end
  m.changes = changes_of(m, changes)
end

local function put_part(m, part)
  local key = held_key(m)
  if m.due or m.expired then
    for _, field in ipairs(m.expired or {}) do redis.call('HDEL', key, field) end
  elseif redis.call('EXISTS', key) == 1 then
    -- What is left of a meter that is gone. Only then: a script whose first write is a DEL is not stopped by maxmemory.
    redis.call('DEL', key)
  end
  m.expired, m.forgotten = nil, nil
  m.changes = (m.changes or 0) + 1
  part.serial = part.serial or m.changes
  redis.call('HSET', key, 'n', format(m.changes), part.field, format(part.units) .. ':' .. format(part.made) .. ':' .. format(part.expires) ..
    ':' .. format(part.serial))
  m.due = m.due and math.min(m.due, part.expires) or part.expires
  m.last = math.max(m.last or 0, part.expires)
  m.parts = nil
end

local function tag_hold(key, id, expires)
  redis.call('HSET', key, id, format(expires))
  local wait = math.ceil((expires - clock) / 1000) + margin_ms
  if redis.call('PTTL', key) < wait then redis.call('PEXPIRE', key, format(wait)) end
end

-- option: meters, whether to tell what is held, fingerprint or "-", retention, epoch. Answer: what was given back to
-- each meter: the sum may be more than Lua can tell.
if operation == 'give' then
  local wants_held, fingerprint, retention, epoch = option[2] == '1', option[3], tonumber(option[4]), option[5]
  if fingerprint ~= '-' then
    local record = recall(KEYS[count + 1], epoch, retention, now)
    if record then return again(record, fingerprint, now) end
  end
  local meters, problem = open_all()
  if not meters then return problem end
  local given = {}
  for _, m in ipairs(meters) do
    local units = math.max(0, math.min(used(m) - held(m), m.cost))
    note_held_only(m)
    if m.raw then
      if m.kind == 's' then sliding.give_oldest(m, units) else release(m, units, m.now) end
      store(m)
    end
    given[#given + 1] = format(units)
  end
  local answer = tell({'ok', format(now), given}, meters, wants_held)
  if fingerprint ~= '-' then
    remember(KEYS[count + 1], {fingerprint = fingerprint, at = now, epoch = epoch, answer = answer}, retention, clock)
  end
  return answer
end

-- option: meters, whether to tell what is held, fingerprint, retention, epoch, whether the id is a random one, ttl. Then
-- the id, the tag, and for each charge five: its meter, units, limit, key and the limit's birth. Answer as a take's.
if operation == 'hold' then
  local fingerprint, retention, epoch = option[3], tonumber(option[4]), option[5]
  local record = recall(KEYS[count + 1], epoch, retention, now)
  if record then return again(record, fingerprint, now) end
  local meters, problem = open_all()
  if not meters then return problem end
  local is_allowed = 1
  for _, m in ipairs(meters) do
    if not fits(m, m.cost) then
      m.violated = true
      if not m.shadow then is_allowed = 0 end
    end
  end
  record = {fingerprint = fingerprint, at = now, epoch = epoch}
  if is_allowed == 1 then
    for _, m in ipairs(meters) do
      prepare_parts(m)
      note_held_only(m)
    end
    local id, tag, expires = argv[last + 1], argv[last + 2], now + tonumber(option[7])
    record.hold = {state = 'held', expires = expires, final = 0, tag = tag, charges = {}}
    if KEYS[count + 2] then tag_hold(KEYS[count + 2], id, expires) end
    for i = last + 3, #argv, 5 do
      local m, index = meters[tonumber(argv[i])], (i - last - 3) / 5
      record.hold.charges[index + 1] = {argv[i + 2], argv[i + 3], argv[i + 1], m.violated and '0' or '1', argv[i + 4]}
      if not m.violated then
        put_part(m, {field = index .. ':' .. id, units = tonumber(argv[i + 1]), made = m.now, expires = expires})
      end
    end
    for _, m in ipairs(meters) do
      if not m.violated then
        charge(m, m.cost)
        store(m)
      end
    end
  end
  record.answer = tell({'ok', format(now), is_allowed}, meters, option[2] == '1' or is_allowed == 0)
  if is_allowed == 1 or option[6] == '0' then remember(KEYS[count + 1], record, retention, clock) end
  return record.answer
end

-- option: meters. The cost is what is used from now on. Answer: what was used before.
if operation == 'reconcile' then
  local meters, problem = open_all()
  if not meters then return problem end
  local m = meters[1]
  local kept = held(m)
  local before = used(m) - kept
  if m.cost > kMax - kept then return {'large', format(now), 1} end
  if m.kind == 's' then
    sliding.set_used(m, m.cost + kept, m.now)
  else
    m.units, m.fraction, m.early = m.cost + kept, 0, 0
    m.start = m.window
  end
  store(m)
  return {'ok', format(now), format(before)}
end

-- option: meters, when the difference was found. The cost is what to add, or to take off if negative. Answer, for each
-- meter: what was added; or "late", if a new window has begun since; or of several meters what stands in its way.
if operation == 'shift' then
  local since, answer = tonumber(option[2]), {'ok', format(now)}
  local terms_before, stock_prefix
  -- A stock's meter that has nothing but what it used, with the terms of the one before: nearly all are so, and there may
  -- be a million. Nil if it is not that.
  local function shift_plainly(i)
    local terms, cost = string.match(argv[3 + i], '^(.*) (%-?%d+)$')
    if terms ~= terms_before then
      local kind, rev = string.match(terms, '^(%S+) %S+ %S+ %S+ (%S+)')
      terms_before, stock_prefix = terms, kind == 'k' and 'r' .. rev .. ':'
    end
    if not stock_prefix then return nil end
    local value = redis.call('GET', KEYS[i]) or stock_prefix .. '0'
    if string.sub(value, 1, #stock_prefix) ~= stock_prefix then return nil end
    local before = tonumber(string.match(value, '^%d+$', #stock_prefix + 1))
    local after = before and math.max(before + tonumber(cost), 0)
    if not after or after == 0 or after > kMax then return nil end
    if after ~= before then redis.call('SET', KEYS[i], stock_prefix .. format(after)) end
    return format(after - before)
  end
  local function shift(i)
    local m, problem, detail = open(KEYS[i], argv[3 + i], now)
    local kept = m and held(m)
    local before = m and used(m) - kept
    if m and m.cost > kMax - kept - before then problem = 'large' end
    if problem then return problem, {problem, format(now), 1, format(detail or now)} end
    if m.kind ~= 'k' and since < m.window then return 'late' end
    local after = math.max(before + m.cost, 0)
    if after ~= before then
      m.units = after + kept
      store(m)
    end
    return format(after - before)
  end
  for i = 1, count do
    local text, problem = shift_plainly(i), nil
    if not text then text, problem = shift(i) end
    if problem and count == 1 then return problem end
    answer[2 + i] = text
  end
  return answer
end

-- What becomes of a hold. option: meters, the time it was made, epoch, retention, and a ttl to extend it. Then the id,
-- and for each charge its meter, or 0 if there is none any more, and the amount to commit, or "-" for all.
local key, id = KEYS[count + 1], argv[last + 1]
local retention = tonumber(option[4])
local record = recall(key, option[3], retention, now)
local hold = record and record.hold
if not hold then return {'nohold', format(now)} end
if format(record.at) ~= option[2] then return {'changed', format(now)} end
if hold.state ~= 'held' then return {'final', format(now), hold.state} end
if now >= hold.expires then return {'expired', format(now)} end
local meters, problem = open_all()
if not meters then return problem end

local returned, expires, is_of_all = {}, now + tonumber(option[5]), true
for _, m in ipairs(meters) do note_held_only(m) end
for i, charge_of in ipairs(hold.charges) do
  local m, field = meters[tonumber(argv[last + 2 * i])], (i - 1) .. ':' .. id
  local amount = argv[last + 2 * i + 1]
  local part = m and remove_part(m, field)
  if part and operation == 'extend' then
    m.moved = m.moved or {}
    m.moved[#m.moved + 1] = part
  elseif part and operation == 'cancel' then
    local before = used(m)
    release(m, part.units, part.made)
    returned[#returned + 1] = format(before - used(m))
  elseif part then
    local kept = amount == '-' and part.units or tonumber(amount)
    release(m, math.max(part.units - kept, 0), part.made)
    if kept > 0 then m.is_held_only = false end
  end
  if operation == 'commit' and amount ~= '-' then
    is_of_all = is_of_all and tonumber(amount) == tonumber(charge_of[3])
    if m then m.cost = m.cost + math.max(tonumber(amount) - tonumber(charge_of[3]), 0) end
    charge_of[3] = format(tonumber(amount))
  end
end
for i, m in ipairs(meters) do
  if m.cost > 0 then
    if fits(m, m.cost) then
      charge(m, m.cost)
    elseif not m.shadow then
      return {'overage', format(now), i, format(m.cost)}
    end
  end
end

-- The tag first: it may be of another type, and then nothing has happened.
if KEYS[count + 2] then
  if operation == 'extend' then tag_hold(KEYS[count + 2], id, expires) else redis.call('HDEL', KEYS[count + 2], id) end
end
for _, m in ipairs(meters) do
  for _, part in ipairs(m.moved or {}) do
    part.expires = expires
    put_part(m, part)
  end
  store(m)
end
local answer = tell({'ok', format(now), returned}, meters, false)
if operation == 'extend' then
  hold.expires = expires
else
  hold.state, hold.final = operation == 'commit' and 'committed' or 'cancelled', now
  hold.ending, hold.is_of_all = answer, is_of_all
end
remember(key, record, retention, clock)
return answer
