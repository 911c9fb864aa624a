  -- As plain_charge.sql, of takes, and for sliding windows as well while they are rings: if no more than the oldest slot
  -- leaves, and whether a new one begins or not.
  --
  -- A ring's slots go by one time, n.at_us, that was read before the row was locked. So it must be in the slot of the time
  -- that is read then, and nothing may have left in between.
  update mete.meters t
  set units = t.units + $3 - case when l.is_plain then 0 else mete_private._leaving(t.older, l.period_us, n.at_us) end,
      older = case
        when l.is_plain then t.older
        when n.at_us < t.start_us + s.slot_us or
             mete_private._closing(t.units - t.older_units,
                                   t.older_units - mete_private._leaving(t.older, l.period_us, n.at_us),
                                   coalesce(t.own_amount, l.capacity)) <= 0 then
          t.older[case when mete_private._leaving(t.older, l.period_us, n.at_us) > 0 then 3 else 1 end:]
        else
          t.older[case when mete_private._leaving(t.older, l.period_us, n.at_us) > 0 then 3 else 1 end:] ||
          array[t.start_us, mete_private._closing(t.units - t.older_units,
                                                  t.older_units - mete_private._leaving(t.older, l.period_us, n.at_us),
                                                  coalesce(t.own_amount, l.capacity))]
      end,
      older_units = case
        when l.is_plain then 0
        else t.older_units - mete_private._leaving(t.older, l.period_us, n.at_us) +
          case when n.at_us < t.start_us + s.slot_us then 0
               else greatest(mete_private._closing(t.units - t.older_units,
                                                   t.older_units - mete_private._leaving(t.older, l.period_us, n.at_us),
                                                   coalesce(t.own_amount, l.capacity)), 0) end
      end,
      start_us = case when l.is_plain then t.start_us else n.at_us - n.at_us % s.slot_us end,
      end_us = case when l.is_plain then t.end_us else n.at_us - n.at_us % s.slot_us + l.period_us + s.slot_us end
  from mete.limits l, (select greatest(mete_private._now_us(), floor_us) as at_us offset 0) n,
    lateral (select (l.period_us + 124) / 125 as slot_us) s
  where l.name = $1 and not l.is_dropped and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    t.units - case when l.is_plain then 0 else mete_private._leaving(t.older, l.period_us, n.at_us) end
      between 0 and coalesce(t.own_amount, l.capacity) - $3 and
    $3 > 0 and $2 <> 'mete-generation' and least(t.end_us, t.due_us) > greatest(mete_private._now_us(), floor_us) and
    (l.is_plain or
     t.is_ring and not l.shadow and n.at_us >= greatest(t.start_us, t.settled_us) and
       greatest(mete_private._now_us(), floor_us) / s.slot_us = n.at_us / s.slot_us and
       coalesce(t.older[case when mete_private._leaving(t.older, l.period_us, n.at_us) > 0 then 3 else 1 end] + l.period_us +
                  s.slot_us > greatest(mete_private._now_us(), floor_us), true)) and
    (l.only_for is null or mete_private._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
