-- Whole numbers of up to 20 digits as decimal text, with a sign if they are negative: what 64 bits can hold, and the sum
-- of two of these. Lua's own numbers have gaps above 2^53.

-- The digits in front of the last ten, and the last ten: two numbers that both have the sign.
local function halves(number)
  local sign, digits = string.match(number, '^(-?)(%d+)$')
  local high, low = tonumber(string.sub(digits, 1, -11)) or 0, tonumber(string.sub(digits, -10))
  if sign == '-' then return -high, -low end
  return high, low
end

local function is_less(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  return a_high < b_high or (a_high == b_high and a_low < b_low)
end

local function sum_of(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  local high, low = a_high + b_high, a_low + b_low
  local carry = 10000000000
  if low >= carry then
    high, low = high + 1, low - carry
  elseif low <= -carry then
    high, low = high - 1, low + carry
  end
  if high > 0 and low < 0 then
    high, low = high - 1, low + carry
  elseif high < 0 and low > 0 then
    high, low = high + 1, low - carry
  end
  if high == 0 then return string.format('%.0f', low) end
  return string.format('%.0f%010.0f', high, math.abs(low))
end

local function difference_of(a, b)
  if string.sub(b, 1, 1) == '-' then return sum_of(a, string.sub(b, 2)) end
  return sum_of(a, '-' .. b)
end

local function is_int64(number)
  return not is_less(number, '-9223372036854775808') and not is_less('9223372036854775807', number)
end
