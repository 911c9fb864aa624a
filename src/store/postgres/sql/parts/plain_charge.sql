  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete_private._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and l.is_plain and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    t.units between 0 and coalesce(t.own_amount, l.capacity) - $3 and $3 > 0 and $2 <> 'mete-generation' and
    least(t.end_us, t.due_us) > greatest(mete_private._now_us(), floor_us) and (l.only_for is null or mete_private._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
