-- Operations with an id are remembered with their answer, and holds with what became of them, in mete.id:{id}:
--   fingerprint   of the operation's parameters
--   at            when it was made
--   epoch         of the store: what was remembered before it was cleared is forgotten
--   answer        as it was told, with the terms that it was told by
--   hold          {state, expires, final, tag, charges}: "held", "committed" or "cancelled"; once it is one of these
--                 two also the answer to that, as it was told, and whether all that was held is committed
local states = { held = true, committed = true, cancelled = true }

local kTimeMax = 9007199254740991

local function is_time(value)
  return type(value) == 'number' and value >= 0 and value <= kTimeMax
end

-- An expiry beyond all times is the latest there is, so that such a hold can be ended.
local function is_hold(hold)
  if type(hold) == 'table' and type(hold.expires) == 'number' and hold.expires > kTimeMax then hold.expires = kTimeMax end
  local is_sound = type(hold) == 'table' and states[hold.state] and is_time(hold.expires) and is_time(hold.final) and
    type(hold.tag) == 'string' and type(hold.charges) == 'table' and
    (hold.ending == nil or type(hold.ending) == 'table')
  for _, part in ipairs(is_sound and hold.charges or {}) do
    for i = 1, 5 do is_sound = is_sound and type(part) == 'table' and type(part[i]) == 'string' end
    local units = is_sound and string.find(part[3], '^%d+$') and tonumber(part[3])
    is_sound = units and units <= 9007199254740991
  end
  return is_sound
end

-- The record of a key; nil if there is none.
local function unpacked(key)
  local text = redis.call('GET', key)
  if not text then return nil end
  local is_read, record = pcall(cmsgpack.unpack, text)
  local is_sound = is_read and type(record) == 'table' and type(record.fingerprint) == 'string' and
    is_time(record.at) and type(record.epoch) == 'string' and type(record.answer) == 'table' and
    (record.hold == nil or is_hold(record.hold))
  if not is_sound then foreign(key, text) end
  return record
end

local function recall(key, epoch, retention, now)
  local record = unpacked(key)
  if not record then return nil end
  if record.epoch ~= epoch then return nil end
  local since = record.at
  if record.hold then since = record.hold.state == 'held' and record.hold.expires or record.hold.final end
  if now >= since + retention then return nil end
  return record
end

local function remember(key, record, retention, clock)
  local since = record.at
  if record.hold then since = record.hold.state == 'held' and record.hold.expires or record.hold.final end
  local wait = math.ceil((since + retention - clock) / 1000) + 1
  redis.call('SET', key, cmsgpack.pack(record), 'PX', string.format('%.0f', wait > 0 and wait or 1))
end

-- The answer to an operation whose id has been seen.
local function again(record, fingerprint, now)
  local time = string.format('%.0f', now)
  if record.fingerprint ~= fingerprint then return {'mismatch', time} end
  return {'again', time, record.answer}
end
