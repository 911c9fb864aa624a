-- Sets the meter keys[i] to the plain value `to`, and its expiry to the end of the span.
call('SET', keys[i], string.format('%d', to + (most + 9) % 10), 'PX',
  string.format('%d', (to - to % span + span - clock) / 10000 + 5001))
