  if found then
    if hold_id is null then
      insert into mete.operations (id, charge, kind, state, answer, made_us, due_us, held_us, tag, limit_id, key, amount,
                                   is_backed, part_units, part_us)
      values (replace(gen_random_uuid()::text, '-', ''), 0, 'hold', 'held',
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      returning operations.id into hold_id;
    else
      insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us, held_us, tag, limit_id,
                                   key, amount, is_backed, part_units, part_us)
      values (hold_id, 0, 'hold', 'held',
              mete_private._fingerprint('hold', array[$1], array[$2], array[$3], ttl_us, tag),
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      on conflict do nothing;
    end if;
