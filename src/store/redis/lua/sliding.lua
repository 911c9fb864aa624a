-- Sliding meters: see src/core/sliding.h, which does the same. Of a meter m:
--
--   start, units, newest   of the newest charge, or of its slot; all that is used; what of it the newest one has
--   is_ring                whether charges are in slots; else they have their exact times
--   list                   the older ones, oldest first: "time:units" of a log, "slot:units" of a ring, with the slot's
--                          number modulo 1000; each with a ":" behind it
-- include sliding_bounds.lua
local sliding = {kSlots = 125}

function sliding.prepare(m)
  m.width = math.ceil(m.period / sliding.kSlots)
  m.quantum, m.room = quantum_of(m.capacity)
end

function sliding.clear(m)
  m.start, m.units, m.newest, m.is_ring, m.list, m.previous = 0, 0, 0, m.period > log_period_max, '', nil
end

local function place_of(m, time)
  return m.is_ring and time - math.fmod(time, m.width) or time
end

local function counts_until(m, start)
  return start + m.period + (m.is_ring and m.width or 0)
end

-- Where a slot of the list begins, given its number.
function sliding.slot_start(m, number)
  return m.start - math.fmod(m.start / m.width - number + 1000000000000000, 1000) * m.width
end

local function entry_of(m, start, units)
  return string.format('%.0f:%.0f:', m.is_ring and math.fmod(start / m.width, 1000) or start, units)
end

-- The older charges, as start and units in turn.
function sliding.charges_of(m)
  local found = {}
  for start, units in string.gmatch(m.list, '(%d+):(%d+):') do
    start = tonumber(start)
    found[#found + 1] = m.is_ring and sliding.slot_start(m, start) or start
    found[#found + 1] = tonumber(units)
  end
  return found
end

local function set_charges(m, charges)
  local list = {}
  for i = 1, #charges, 2 do
    if charges[i + 1] > 0 then list[#list + 1] = entry_of(m, charges[i], charges[i + 1]) end
  end
  m.list = table.concat(list)
end

function sliding.charge(m, cost, time)
  if m.units == 0 then
    sliding.clear(m)
    m.start = place_of(m, time)
  end
  local place = place_of(m, time)
  if not m.is_ring and place > m.start and m.newest > 0 then
    local _, count = string.gsub(m.list, ':', ':')
    if count >= 2 * log_max or m.newest > m.capacity then
      sliding.turn_into_ring(m)
      place = place_of(m, time)
    else
      m.list, m.newest = m.list .. entry_of(m, m.start, m.newest), 0
    end
  end
  if m.is_ring and place > m.start then
    local quanta = math.min(divide(m.newest, m.quantum), m.room - divide(m.units - m.newest, m.quantum))
    if quanta > 0 then m.list = m.list .. entry_of(m, m.start, quanta * m.quantum) end
    m.newest = m.newest - quanta * m.quantum
  end
  if place > m.start then m.start = place end
  m.units, m.newest = m.units + cost, m.newest + cost
end

-- The same charges again, in slots from now on.
function sliding.turn_into_ring(m)
  local charges = sliding.charges_of(m)
  charges[#charges + 1], charges[#charges + 2] = m.start, m.newest
  m.units, m.newest, m.list, m.is_ring = 0, 0, '', true
  for i = 1, #charges, 2 do
    local start, units = charges[i], charges[i + 1]
    if m.units == 0 and units > 0 then
      m.start, m.units, m.newest = place_of(m, start), units, units
    elseif m.units > 0 then
      sliding.charge(m, units, start)
    end
  end
end

-- Lets time pass: what no longer counts goes.
function sliding.settle(m, time)
  if m.previous then
    -- Two windows, as they were kept before: charged as late as can be.
    local start, previous, current = m.start, m.previous, m.units
    sliding.clear(m)
    if previous > 0 then sliding.charge(m, previous, start) end
    if current > 0 then sliding.charge(m, current, math.min(time, start + m.period)) end
  end
  if m.units == 0 or counts_until(m, m.start) <= time then return sliding.clear(m) end
  while m.list ~= '' do
    local start, units, rest = string.match(m.list, '^(%d+):(%d+):()')
    if not start then foreign(m.key, m.raw) end
    start = tonumber(start)
    if counts_until(m, m.is_ring and sliding.slot_start(m, start) or start) > time then break end
    units = tonumber(units)
    if units > m.units then foreign(m.key, m.raw) end
    m.units, m.list = m.units - units, string.sub(m.list, rest)
  end
  if m.units == 0 then sliding.clear(m) end
end

-- Takes up to so much out of the older charges that `is_meant` says: whole quanta, and what is too much of the last one
-- goes to the newest. Returns how much is left to take.
local function take_from_older(m, units, is_meant)
  local charges = sliding.charges_of(m)
  local quantum = m.is_ring and m.quantum or 1
  for i = 1, #charges, 2 do
    if units > 0 and is_meant(charges[i]) then
      local taken = math.min(units, charges[i + 1])
      local whole, rest = divide(taken, quantum)
      local removed = (rest > 0 and whole + 1 or whole) * quantum
      charges[i + 1] = charges[i + 1] - removed
      m.newest = m.newest + removed - taken
      m.units = m.units - taken
      units = units - taken
    end
  end
  set_charges(m, charges)
  return units
end

function sliding.give_oldest(m, units)
  if units == 0 then return end
  units = take_from_older(m, units, function() return true end)
  m.units, m.newest = m.units - units, m.newest - units
  if m.units == 0 then sliding.clear(m) end
end

function sliding.counts(m, made, time)
  return counts_until(m, place_of(m, made)) > time
end

function sliding.release(m, units, made, time)
  if not sliding.counts(m, made, time) then return end
  local place = place_of(m, made)
  units = math.min(units, m.units)
  if place == m.start then
    local taken = math.min(units, m.newest)
    m.units, m.newest, units = m.units - taken, m.newest - taken, units - taken
  else
    units = take_from_older(m, units, function(start) return start == place end)
  end
  sliding.give_oldest(m, units)
  if m.units == 0 then sliding.clear(m) end
end

function sliding.set_used(m, units, time)
  if units > m.units then
    sliding.charge(m, units - m.units, time)
  else
    sliding.give_oldest(m, m.units - units)
  end
end

function sliding.text(m)
  return string.format('%.0f:%.0f:%.0f%s%s', m.start, m.units, m.newest, m.is_ring and 's' or 'e', m.list)
end
