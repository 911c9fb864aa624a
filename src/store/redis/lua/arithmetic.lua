-- Whole numbers below 2^53, exact as doubles.
local function muldiv(x, y, z)
  local product = x * y
  if product < 9007199254740992 then
    local rest = product % z
    return (product - rest) / z, rest
  end
  local quotient, rest = 0, 0
  local bits = {}
  while x > 0 do
    local bit = x % 2
    bits[#bits + 1] = bit
    x = (x - bit) / 2
  end
  local whole, part = 0, y % z
  whole = (y - part) / z
  for i = #bits, 1, -1 do
    quotient = quotient * 2
    if rest >= z - rest then
      rest = rest - (z - rest)
      quotient = quotient + 1
    else
      rest = rest + rest
    end
    if bits[i] == 1 then
      quotient = quotient + whole
      if rest >= z - part then
        rest = rest - (z - part)
        quotient = quotient + 1
      else
        rest = rest + part
      end
    end
    if quotient >= 9007199254740992 then return 9007199254740992, 0 end
  end
  return quotient, rest
end
