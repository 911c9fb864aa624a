-- What a charge makes of a plain value: a part of the loops that include it, which have value, charge, most, span and now
-- (see plain_begin.lua). It breaks off with is_other if the value is not plain, or not of this slot. Else `step` is what to
-- add to it; `to` is what to set it to instead, if its expiry is not far enough away; and it says is_denied if it does not
-- fit.
if value.err or not find(value, '^%d+$') then is_other = true break end  -- Of another form, or of another type.
local full = value - 0
if (full - most) % 10 ~= 9 then is_other = true break end
if full > now then
  if full - now > most then is_denied = true end
else
  -- It was full before: the charge counts from now on.
  step = now - 9 + full % 10 + charge - full
end
if full % span + step >= span then to = full - full % 10 + step end
