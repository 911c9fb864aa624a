-- Operations with an id are remembered with their answer, and holds with what became of them, in mete.id:{id}:
--   fingerprint   of the operation's parameters
--   at            when it was made
--   epoch         of the store: what was remembered before it was cleared is forgotten
--   answer        as it was told, with the terms that it was told by
--   hold          {state, expires, final, tag, charges}: "held", "committed" or "cancelled"
local function recall(key, epoch, retention, now)
  local text = redis.call('GET', key)
  if not text then return nil end
  local record = cmsgpack.unpack(text)
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
