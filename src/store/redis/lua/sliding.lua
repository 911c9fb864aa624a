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
    local room = m.room * m.quantum - (m.units - m.newest)
    local most = math.min(m.newest, room)
    local left = most - math.fmod(most, m.quantum)
    if left > 0 then
      m.list, m.newest = m.list .. entry_of(m, m.start, left), m.newest - left
    end
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

-- Besides the oldest of the older charges, two may have part of a quantum. Of three that have, two neighbours are evened:
-- the older one gives the younger so much that one of the two has none any more. Those are chosen for which that moves
-- the least, units by time.
local function even(m, charges)
  local parts, oldest = {}, nil
  for i = 1, #charges, 2 do
    if oldest and math.fmod(charges[i + 1], m.quantum) > 0 then parts[#parts + 1] = i end
    if charges[i + 1] > 0 then oldest = oldest or i end
  end
  while #parts > 2 do
    local least, units, first
    for i = 1, #parts - 1 do
      local older, younger = parts[i], parts[i + 1]
      local moved = math.min(math.fmod(charges[older + 1], m.quantum), m.quantum - math.fmod(charges[younger + 1], m.quantum))
      local cost = moved * ((charges[younger] - charges[older]) / m.width)
      if not least or cost < least then least, units, first = cost, moved, i end
    end
    local older, younger = parts[first], parts[first + 1]
    charges[older + 1], charges[younger + 1] = charges[older + 1] - units, charges[younger + 1] + units
    if math.fmod(charges[younger + 1], m.quantum) == 0 then table.remove(parts, first + 1) end
    if math.fmod(charges[older + 1], m.quantum) == 0 then table.remove(parts, first) end
  end
end

-- Takes so much, at most what is used, out of the charges from a place on, the oldest first; and what these do not have,
-- from the oldest of all.
local function take_from(m, place, units)
  if units == 0 then return end
  m.units = m.units - units
  if m.units == 0 then return sliding.clear(m) end
  if place >= m.start and units <= m.newest then
    m.newest = m.newest - units
    return
  end
  local charges = sliding.charges_of(m)
  charges[#charges + 1], charges[#charges + 2] = m.start, m.newest
  for _, first in ipairs({place, 0}) do
    for i = 1, #charges, 2 do
      local taken = charges[i] < first and 0 or math.min(units, charges[i + 1])
      charges[i + 1], units = charges[i + 1] - taken, units - taken
    end
  end
  m.newest = charges[#charges]
  charges[#charges], charges[#charges - 1] = nil, nil
  if m.is_ring and m.quantum > 1 then even(m, charges) end
  set_charges(m, charges)
end

function sliding.give_oldest(m, units) take_from(m, 0, units) end

function sliding.counts(m, made, time)
  return made + m.period > time
end

function sliding.release(m, units, made, time)
  if sliding.counts(m, made, time) then take_from(m, place_of(m, made), math.min(units, m.units)) end
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
