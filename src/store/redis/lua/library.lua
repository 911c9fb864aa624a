-- The function library: what any client of Redis 7 can call without a Mete server in between. docs/redis.md tells what
-- each function takes and answers; store/redis/functions/library.h installs it. The decisions are those of the scripts take.lua and
-- settle.lua. What is added here is what RedisStore does for a server: which limit and which meters a call is about, and
-- what an answer says of them.
--
-- A limit is read from mete.limits at each call, so the library works where all keys lie on one server.
local clock, now = 0, 0
-- include meter.lua
-- include record.lua
-- include clock.lua

-- No caller of a function has seen a time before.
local any_time = '0 9007199254740991'

local function run_take(KEYS, argv)
  clock, now = times_within(argv[1])
-- include take_decision.lua
end

local function run_settle(KEYS, argv)
  clock, now = times_within(argv[1])
-- include settle_operations.lua
end

local kind_letters = { bucket = 'b', window = 'w', sliding = 's', stock = 'k' }
local retention_us = 86400000000
-- As a server has them: include/mete/limit.h.
local kTtlMaxMs, kKeyBytes, kIdBytes, kTagBytes, kCharges = 366 * 86400000, 512, 128, 512, 16

-- What a caller is told instead of an answer: a table that Redis makes an error of.
local function refuse(code, text) error({ refusal = code .. ' ' .. text }) end

local function whole(text, name, least, most)
  local number = string.find(text or '', '^%d+$') and #text <= 16 and tonumber(text)
  if not number or number < least or number > most then
    refuse('ERR', name .. ' must be a whole number from ' .. format(least) .. ' to ' .. format(most))
  end
  return number
end

local function sized(text, name, most)
  if #text == 0 or #text > most then refuse('ERR', name .. ' must have 1 to ' .. most .. ' bytes, not ' .. #text) end
  return text
end

-- What nodes keep for themselves (core/reserved.h): to clients there are no such limits and holds. Nor are the fields of
-- mete.limits that begin with a byte 1 limits.
local function is_reserved_limit(name)
  return string.byte(name) == 1 or (string.sub(name, 1, 5) == 'mete.' and string.sub(name, 1, 11) ~= 'mete.quota:')
end

-- An id may begin with a part in braces.
local function is_reserved(text)
  if string.byte(text) == 123 then text = string.match(text, '^{[^}]*}(.*)$') or '' end
  return string.sub(text, 1, 5) == 'mete-'
end

local function own(text, name, most)
  if is_reserved(sized(text, name, most)) then
    refuse('ERR', name .. " must not start with 'mete-': such names are for what nodes keep for themselves")
  end
  return text
end

local function escaped(key) return (string.gsub(key, '[%%}]', { ['%'] = '%25', ['}'] = '%7D' })) end
local function meter_name(limit, key) return 'mete:{' .. escaped(key) .. '}:' .. limit end
local function id_name(id) return 'mete.id:{' .. escaped(id) .. '}' end

-- As LimitEntry writes it (store/redis/limit_entry.h): nil if there is no such limit.
local function limit_of(name)
  local text = redis.call('HGET', 'mete.limits', name)
  local head, definition = string.match(text or '', '^([%d %-]+)\n([^\n]*)')
  if text and not head then foreign('mete.limits', name .. ' ' .. text) end
  if not head or definition == '-' then return nil end
  local numbers, words = {}, {}
  for number in string.gmatch(head, '%S+') do numbers[#numbers + 1] = tonumber(number) end
  for word in string.gmatch(definition, '%S+') do words[#words + 1] = word end
  if #numbers < 4 or #words < 8 then foreign('mete.limits', name .. ' ' .. text) end
  if words[1] == 'calendar' then
    refuse('ERR', "limit '" .. name .. "' is a calendar: a Mete server knows time zones, and this library does not")
  end
  local limit = { name = name, kind = kind_letters[words[1]], amount = tonumber(words[2]), period = tonumber(words[3]) or 0,
    rev = numbers[1], born = numbers[2], cleared = numbers[3], slot = numbers[4], shadow = words[8] == '1' }
  if not limit.kind or not limit.amount then foreign('mete.limits', name .. ' ' .. text) end
  limit.capacity = tonumber(words[4]) or limit.amount
  return limit
end

local function known_limit(name)
  local limit = not is_reserved_limit(name) and limit_of(name)
  if not limit then refuse('NOLIMIT', "unknown limit '" .. string.sub(name, 1, 100) .. "'") end
  return limit
end

-- How long the spans are that expiries of plain values go by, as bucket_times() has it.
local function span_of(limit)
  if limit.kind ~= 'b' then return 0 end
  return math.max(divide(muldiv(limit.capacity, limit.period, limit.amount), 2), 2000000)
end

local function terms_of(limit, cost)
  local numbers = { limit.amount, limit.capacity, limit.period, limit.rev, limit.born, limit.cleared, 0, 0,
    limit.shadow and 1 or 0, limit.slot, span_of(limit), cost }
  for i, number in ipairs(numbers) do numbers[i] = format(number) end
  return limit.kind .. ' ' .. table.concat(numbers, ' ')
end

local function now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function epoch() return redis.call('HGET', 'mete.limits', '\1epoch') or '0' end

-- Charges as callers write them: a limit and a cost for each key, in their order; then options.
local function charges_of(keys, argv, least)
  local charges, seen = {}, {}
  if #keys == 0 then refuse('ERR', 'the key is missing: FCALL NAME 1 key limit …') end
  if #keys > kCharges then refuse('ERR', 'a call has at most ' .. kCharges .. ' keys, not ' .. #keys) end
  for i, key in ipairs(keys) do
    local name = argv[2 * i - 1]
    if not name then refuse('ERR', 'the limit of key ' .. i .. ' is missing') end
    local cost = whole(argv[2 * i], 'cost', least, kMax)
    if key == 'mete-generation' then refuse('ERR', "key '" .. key .. "' is for what nodes keep for themselves") end
    local meter = meter_name(name, sized(key, 'a key', kKeyBytes))
    if seen[meter] then refuse('ERR', 'a limit of a key stands there twice: add up the costs') end
    seen[meter] = true
    charges[i] = { limit = known_limit(name), key = key, cost = cost, name = meter }
  end
  return charges
end

-- Options are names, with a value behind those that `valued` has.
local function options_of(argv, first, valued, flags)
  local options, i = {}, first
  while i <= #argv do
    local name = string.upper(argv[i])
    if valued[name] and argv[i + 1] then
      options[name], i = argv[i + 1], i + 1
    elseif flags[name] then
      options[name] = true
    else
      refuse('ERR', 'syntax error')
    end
    i = i + 1
  end
  return options
end

local function fingerprint_of(kind, words) return kind .. redis.sha1hex(table.concat(words, '\n')) end

local problems = {
  old = 'is of an earlier definition, and a Mete server brings it up to date',
  slot = 'is of an earlier definition, and a Mete server brings it up to date',
  stale = 'is of a definition that is not in mete.limits',
  large = 'has no room for so much',
}

local function check(answer, charges)
  local what = answer[1]
  if what == 'mismatch' then refuse('MISMATCH', 'the id was used with other parameters') end
  local charge = charges[tonumber(answer[3])] or charges[1]
  if what == 'large' then refuse('EXCEEDS', 'usage would be more than ' .. format(kMax)) end
  if problems[what] then refuse('UNAVAILABLE', charge.name .. ' ' .. problems[what]) end
  return what == 'again' and answer[3] or answer
end

-- The meters of an answer, as they stand by it.
local function meters_of(answer, first)
  local meters = {}
  for i = first, #answer do
    local is_violated, cost, terms, state = unpack(answer[i])
    local m = open_value('mete:', state[1], terms, tonumber(answer[2]), true)
    m.is_violated, m.cost, m.parts = is_violated == 1, tonumber(cost), {}
    for j = 2, #state do
      local part = numbers(m.key, state[j])
      m.parts[#m.parts + 1] = { units = part[1], made = part[2], expires = part[3] }
    end
    meters[#meters + 1] = m
  end
  return meters
end

local function remaining(m) return math.max(0, m.capacity - used(m)) end

-- So long takes a bucket until units and a fraction of one have come back, in microseconds, rounded up.
local function drain_time(m, units, fraction)
  local wait, rest = muldiv(units, m.period, m.amount)
  return wait + math.ceil((rest + fraction) / m.amount)
end

local function counts_for(m, start) return start + m.period + (m.is_ring and m.width or 0) - m.now end

-- Until the meter is as a fresh one; nil for never.
local function reset_after(m)
  if m.kind == 'k' then return nil end
  if m.kind == 'b' then return drain_time(m, m.units, m.fraction) end
  if m.units == 0 then return 0 end
  if m.kind == 'w' then return m.ends - m.now end
  local last = m.start
  if m.newest == 0 then last = string.match(m.list, '(%d+):%d+:$') + 0 end
  if m.newest == 0 and m.is_ring then last = sliding.slot_start(m, last) end
  return counts_for(m, last)
end

-- Until the cost fits, if nothing changes; nil for never.
local function wait_alone(m, cost)
  if fits(m, cost) then return 0 end
  if m.kind == 'k' then return nil end
  if m.kind == 'b' then
    local over = m.units + cost - m.capacity
    if over >= 0 then return drain_time(m, over, m.fraction) end
    return drain_time(m, 0, m.fraction - m.period)
  end
  if m.kind == 'w' then return m.ends - m.now end
  local wanted, older = m.units + cost - m.capacity, sliding.charges_of(m)
  for i = 1, #older, 2 do
    wanted = wanted - older[i + 1]
    if wanted <= 0 then return counts_for(m, older[i]) end
  end
  return counts_for(m, m.start)
end

-- The same, while what is held expires.
local function wait_for(m, cost)
  if cost > m.capacity then return nil end
  local asked = m.now
  for _, part in ipairs(m.parts) do
    local wait = wait_alone(m, cost)
    if wait and m.now + wait <= part.expires then return m.now - asked + wait end
    m.now = math.max(part.expires, m.now)
    find_window(m)
    settle(m)
    release(m, part.units, part.made)
  end
  local wait = wait_alone(m, cost)
  return wait and m.now - asked + wait
end

local function milliseconds(micros) return micros and math.ceil(micros / 1000) or -1 end

-- The meter with the least remaining, the first such; one that only watches where there are no others.
local function tightest(meters)
  local least
  for _, m in ipairs(meters) do
    local is_closer = least and least.shadow == m.shadow and remaining(m) < remaining(least)
    if not least or (least.shadow and not m.shadow) or is_closer then least = m end
  end
  return least
end

local function decision(answer, charges)
  local meters, violated, retry_after = meters_of(answer, 4), {}, 0
  local m = tightest(meters)
  local told = { answer[3], remaining(m), m.capacity, 0, milliseconds(reset_after(m)), violated }
  for i, each in ipairs(meters) do
    if each.is_violated then
      violated[#violated + 1] = charges[i].limit.name
      local wait = not each.shadow and wait_for(each, each.cost) or not each.shadow and -1 or 0
      if retry_after >= 0 and (wait < 0 or wait > retry_after) then retry_after = wait end
    end
  end
  if answer[3] == 0 then told[4] = retry_after < 0 and -1 or milliseconds(retry_after) end
  return told, meters
end

-- The answer to what gave something back, or kept it.
local function settlement(amount, answer)
  local m = tightest(meters_of(answer, 4))
  return { amount, m and remaining(m) or 0, m and m.capacity or 0 }
end

local function sum_of(texts)
  local sum = 0
  for _, text in ipairs(texts) do sum = sum + tonumber(text) end
  return sum
end

local function take(keys, argv, mode, wants_held)
  local options = options_of(argv, 2 * #keys + 1, { ID = mode ~= 'p' }, { FORCE = mode == 't', UPTO = mode == 't' })
  local charges = charges_of(keys, argv, 0)
  if options.FORCE then mode = 'f' elseif options.UPTO then mode = 'u' end
  if mode == 'u' and (#keys > 1 or options.ID) then refuse('ERR', 'UPTO takes one charge, and no ID') end
  local fingerprint = options.ID and fingerprint_of('t' .. mode, { table.concat(keys, '\n'), unpack(argv, 1, 2 * #keys) })
  local names, arguments = {}, { any_time, table.concat({ mode, wants_held and '1' or '0', fingerprint or '-',
    format(retention_us), epoch(), '1' }, ' ') }
  for i, charge in ipairs(charges) do
    names[i], arguments[i + 2] = charge.name, terms_of(charge.limit, charge.cost)
  end
  if options.ID then names[#names + 1] = id_name(own(options.ID, 'ID', kIdBytes)) end
  return check(run_take(names, arguments), charges), charges, mode
end

local functions = {}

function functions.mete_take(keys, argv)
  local answer, charges, mode = take(keys, argv, 't')
  local told, meters = decision(answer, charges)
  if mode == 'u' and told[1] == 1 then told[1] = meters[1].cost end
  return told
end

function functions.mete_peek(keys, argv)
  local answer, charges = take(keys, argv, 'p')
  return (decision(answer, charges))
end

function functions.mete_usage(keys, argv)
  if #keys ~= 1 or #argv ~= 1 then refuse('ERR', 'FCALL mete_usage 1 key limit') end
  local answer = take(keys, { argv[1], '0' }, 'p', true)
  local m = meters_of(answer, 4)[1]
  local kept = held(m)
  return { used(m) - kept, kept, remaining(m), m.capacity, milliseconds(reset_after(m)) }
end

-- A call of settle.lua. `options` go behind the number of meters; `rest` behind the terms.
local function settle_call(operation, charges, options, more_names, rest)
  local names, arguments = {}, { any_time, operation, #charges .. ' ' .. table.concat(options, ' ') }
  for i, charge in ipairs(charges) do
    names[i], arguments[i + 3] = charge.name, terms_of(charge.limit, charge.cost)
  end
  for _, name in ipairs(more_names) do names[#names + 1] = name end
  for _, word in ipairs(rest) do arguments[#arguments + 1] = word end
  return check(run_settle(names, arguments), charges)
end

function functions.mete_give(keys, argv)
  local options = options_of(argv, 2 * #keys + 1, { ID = true }, {})
  local charges = charges_of(keys, argv, 1)
  local fingerprint = options.ID and fingerprint_of('g', { table.concat(keys, '\n'), unpack(argv, 1, 2 * #keys) })
  local answer = settle_call('give', charges, { '0', fingerprint or '-', format(retention_us), epoch() },
    options.ID and { id_name(own(options.ID, 'ID', kIdBytes)) } or {}, {})
  return settlement(sum_of(answer[3]), answer)
end

-- FCALL mete_hold N key … limit cost … TTL ms ID id [TAG text]
function functions.mete_hold(keys, argv)
  local options = options_of(argv, 2 * #keys + 1, { TTL = true, ID = true, TAG = true }, {})
  if not options.TTL or not options.ID then refuse('ERR', 'a hold needs a TTL in milliseconds, and an ID') end
  local charges = charges_of(keys, argv, 1)
  local ttl_us = whole(options.TTL, 'TTL', 1, kTtlMaxMs) * 1000
  local tag = options.TAG or ''
  local names, rest = { id_name(own(options.ID, 'ID', kIdBytes)) }, { options.ID, tag }
  if tag ~= '' then names[2] = 'mete.tag:{' .. escaped(own(tag, 'TAG', kTagBytes)) .. '}' end
  for i, charge in ipairs(charges) do
    for _, word in ipairs({ i, format(charge.cost), charge.limit.name, charge.key, format(charge.limit.born) }) do
      rest[#rest + 1] = tostring(word)
    end
  end
  local fingerprint = fingerprint_of('h', { table.concat(keys, '\n'), unpack(argv) })
  local answer = settle_call('hold', charges, { '0', fingerprint, format(retention_us), epoch(), '0', format(ttl_us) },
    names, rest)
  local told = decision(answer, charges)
  return { told[1], options.ID, told[2], told[3], told[4], told[5], told[6] }
end

-- What becomes of the hold KEYS[1].
local function close(operation, id, amounts, ttl_us)
  local record = not is_reserved(id) and recall(id_name(id), epoch(), retention_us, now_us())
  local hold = record and record.hold
  if not hold then refuse('NOHOLD', "there is no hold '" .. id .. "'") end
  if #amounts > 0 and #amounts ~= #hold.charges then
    refuse('ERR', 'amounts: the hold has ' .. #hold.charges .. ', not ' .. #amounts)
  end
  local charges, rest, committed, is_same = {}, { id }, 0, #amounts > 0 or hold.is_of_all
  for i, part in ipairs(hold.charges) do
    local units, amount = tonumber(part[3]), amounts[i] and whole(amounts[i], 'amount', 0, kMax)
    is_same = is_same and (not amount or amount == units)
    if hold.state == 'held' and amount and amount > units then
      refuse('EXCEEDS', 'amount ' .. format(amount) .. " of limit '" .. part[1] .. "' is above the " .. format(units) .. ' held')
    end
    committed = committed + (amount or units)
    local limit, index = part[4] == '1' and limit_of(part[1]), 0
    if limit and format(limit.born) == part[5] then
      local name = meter_name(part[1], part[2])
      for j, charge in ipairs(charges) do if charge.name == name then index = j end end
      if index == 0 then
        index = #charges + 1
        charges[index] = { limit = limit, key = part[2], cost = 0, name = name }
      end
    end
    rest[#rest + 1], rest[#rest + 2] = tostring(index), amount and format(amount) or '-'
  end
  local wanted = operation == 'commit' and 'committed' or operation == 'cancel' and 'cancelled'
  local answer
  if hold.state == wanted and hold.ending then
    if operation == 'commit' and not is_same then
      refuse('MISMATCH', "hold '" .. id .. "' is committed already, with other amounts: a hold is final once")
    end
    answer = hold.ending
  else
    local names = { id_name(id) }
    if hold.tag ~= '' then names[2] = 'mete.tag:{' .. escaped(hold.tag) .. '}' end
    answer = settle_call(operation, charges, { format(record.at), record.epoch, format(retention_us), format(ttl_us) },
      names, rest)
  end
  if answer[1] == 'final' then refuse('NOHOLD', "hold '" .. id .. "' is " .. answer[3] .. ' already: a hold is final once') end
  if answer[1] == 'expired' then refuse('EXPIRED', "hold '" .. id .. "' has expired") end
  if answer[1] ~= 'ok' then refuse('NOHOLD', "there is no hold '" .. id .. "'") end
  return settlement(operation == 'commit' and committed or sum_of(answer[3]), answer)
end

local function id_of(keys)
  if #keys ~= 1 then refuse('ERR', 'the id of a hold stands in the place of the key') end
  return sized(keys[1], 'ID', kIdBytes)
end

function functions.mete_commit(keys, argv) return close('commit', id_of(keys), argv, 0) end

function functions.mete_cancel(keys, argv)
  if #argv > 0 then refuse('ERR', 'syntax error') end
  return close('cancel', id_of(keys), {}, 0)
end

function functions.mete_extend(keys, argv)
  if #argv ~= 1 then refuse('ERR', 'FCALL mete_extend 1 id milliseconds') end
  local ttl_ms = whole(argv[1], 'TTL', 1, kTtlMaxMs)
  close('extend', id_of(keys), {}, ttl_ms * 1000)
  return ttl_ms
end

local function run(act, keys, argv)
  if redis.call('HGET', 'mete.limits', '\1format') ~= '1' then
    return redis.error_reply('UNAVAILABLE no Mete of this version has defined limits here: see mete migrate')
  end
  local is_done, answer = pcall(act, keys, argv)
  if is_done then return answer end
  if type(answer) == 'table' then return redis.error_reply(answer.refusal or answer.err) end
  return redis.error_reply('UNAVAILABLE ' .. tostring(answer))
end

-- While a library is loaded there is little more than this.
local function register(name, flags)
  local act = functions[name]
  redis.register_function{ function_name = name, flags = flags,
    callback = function(keys, argv) return run(act, keys, argv) end }
end

register('mete_take')
register('mete_peek', { 'no-writes' })
register('mete_usage', { 'no-writes' })
register('mete_give')
register('mete_hold')
register('mete_commit')
register('mete_cancel')
register('mete_extend')
