  -- What nearly every end of a hold is: of one charge on a meter of stock, window or calendar that is up to date, in the
  -- window that the hold was made in, without overage. Then this is all of it. If it is not that nothing has changed, and
  -- the general way finds out why.
  --
  -- The functions that have this part have `hold`, its id; `wanted`, what is committed, null for all that is held;
  -- `ended_as`, committed or cancelled; retention_us and floor_us. The meter is locked first, as everywhere. When nothing
  -- is held of it any more is not looked for: due_us may be earlier than the first part that expires, never later.
  update mete.meters t
  set units = t.units - o.amount + coalesce(wanted, o.amount)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.part_units = o.amount and
    o.answer[2] = o.amount and  -- there is no other charge
    coalesce(wanted, o.amount) between 0 and o.amount and not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and
    t.key = o.key and t.revision = l.revision and t.units >= o.amount and o.part_us >= t.start_us and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete_private._now_us(), floor_us) and
    (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, hold_tag, hold_key, held, kept, part_from_us, limit_number, limit_revision, is_recorded, remaining,
    capacity, now_us, reset_us;
  if found then
    update mete.operations t
    set state = ended_as, due_us = now_us + retention_us, held_us = null, final_us = now_us,
        amount = case when ended_as = 'committed' then kept else held end,
        ended = array[case when ended_as = 'committed' then kept else held end, remaining, capacity, reset_us,
                      (kept = held)::integer]
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      if is_recorded and kept > 0 then
        insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
        values (mete_private._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete_private._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
