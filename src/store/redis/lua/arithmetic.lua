-- Exact arithmetic on whole numbers from 0 to 2^53-1, which is as far as Lua's numbers (doubles) count without gaps.
-- Every step below stays within that, or is a doubling, which is exact too.
local two53 = 9007199254740992

-- floor(x / y) and the rest. The operator % divides first, and that rounds; fmod does not.
local function divide(x, y)
  local rest = math.fmod(x, y)
  return (x - rest) / y, rest
end

-- floor(x * y / z) and the rest of that division, for z > 0. A quotient of 2^53 or more is 2^53.
local function muldiv(x, y, z)
  local product = x * y
  if product < two53 then return divide(product, z) end
  if x < y then x, y = y, x end
  local whole
  whole, x = divide(x, z)
  local multiples = whole * y
  -- Now x < z: the rest of x times y as one multiplies by hand, a bit of y after the other.
  local quotient, rest = 0, 0
  local _, bits = math.frexp(y)
  local bit = math.ldexp(1, bits - 1)
  while bit >= 1 do
    quotient, rest = quotient * 2, rest * 2
    if rest >= z then quotient, rest = quotient + 1, rest - z end
    if y >= bit then
      y = y - bit
      if rest >= z - x then
        quotient, rest = quotient + 1, rest - (z - x)
      else
        rest = rest + x
      end
    end
    bit = bit / 2
  end
  return math.min(multiples + quotient, two53), rest
end
