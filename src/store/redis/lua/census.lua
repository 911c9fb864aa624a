-- Counts a page of all keys of this Redis, and changes nothing.
--
-- ARGV: where SCAN goes on, and how many keys it looks at; the epoch; the time, in microseconds.
-- The answer: where to go on; how many meters, counters and their like, and operations with an id there were; then the
-- records of the open holds, and of those that have expired and are remembered; and the meters of which something has
-- expired that stays until somebody settles it.
local sub, find = string.sub, string.find
local epoch, now = ARGV[3], tonumber(ARGV[4])
-- A record has it as MessagePack writes texts.
local epoch_in_record = '\165epoch' .. string.char(160 + #epoch) .. epoch
local page = redis.call('SCAN', ARGV[1], 'COUNT', ARGV[2])
local meters, keys, ids, open, expired, unsettled = 0, 0, 0, {}, {}, {}

local function add_hold(name, text)
  local is_read, record = pcall(cmsgpack.unpack, text)
  local hold = is_read and type(record) == 'table' and record.hold
  if type(hold) ~= 'table' or hold.state ~= 'held' or type(hold.expires) ~= 'number' then return end
  local holds = hold.expires > now and open or expired
  holds[#holds + 1] = name
end

-- What is held of a stock of which more is used than that has no expiry: what has expired is given back first.
local function add_held(held)
  if redis.call('PTTL', held) ~= -1 then return end
  local meter = 'mete:' .. sub(held, 11)
  local value = redis.pcall('GET', meter)
  if type(value) == 'table' then return end
  local due = value and string.match(value, '%+(%d+)$')
  if not value or due and due - now <= 0 then unsettled[#unsettled + 1] = meter end
end

for _, name in ipairs(page[2]) do
  if sub(name, 1, 6) == 'mete:{' then
    meters = meters + 1
  elseif sub(name, 1, 11) == 'mete.held:{' then
    add_held(name)
  elseif sub(name, 1, 10) == 'mete.key:{' then
    if (string.match(name, '}:(%d+)$') or '0') == epoch then keys = keys + 1 end
  elseif sub(name, 1, 9) == 'mete.id:{' then
    local text = redis.pcall('GET', name)
    if type(text) == 'string' and find(text, epoch_in_record, 1, true) then
      ids = ids + 1
      if find(text, '\164hold', 1, true) then add_hold(name, text) end
    end
  end
end
return {page[1], meters, keys, ids, open, expired, unsettled}
