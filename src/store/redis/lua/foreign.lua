-- Somebody else has written what Mete cannot read: the call ends with an error that names the key. Nothing has been
-- written then: every script reads, and checks, all that it needs before its first write.
local function foreign(key, value)
  error(key .. ' has "' .. string.sub(tostring(value), 1, 60) .. '", which is not of Mete\'s making', 0)
end

-- The fields of a hash, and their texts, in turn.
local function fields_of(key)
  local fields = redis.pcall('HGETALL', key)
  if fields.err then foreign(key, fields.err) end
  return fields
end
