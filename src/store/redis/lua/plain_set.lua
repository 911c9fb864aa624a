-- Sets the meter keys[i] to the plain value `to`, and its expiry for the two cells that begin with its own.
local index = (to - to % cell) / cell
call('SET', keys[i], string.format('%d', to + (most + 8) % 10 + index % 2), 'PX',
  string.format('%d', ((index + 2) * cell - clock) / 10000 + 5001))
