  -- As in plain_end.sql, of extend, which has `hold` and ttl_us.
  update mete.meters t
  set due_us = least(t.due_us, greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us) + ttl_us)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.answer[2] = o.amount and
    not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and t.key = o.key and t.revision = l.revision and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete_private._now_us(), floor_us) and
    (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id))
  returning o.serial, greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, remaining, capacity, now_us, reset_us;
  if found then
    update mete.operations t set due_us = now_us + ttl_us, held_us = now_us + ttl_us
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
