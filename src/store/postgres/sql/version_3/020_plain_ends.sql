-- Commits, cancels and extensions of holds of one charge cost as little as the holds.

create or replace function mete.commit(id text default null, amounts bigint[] default null, overage boolean default false,
                                       tag text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  wanted bigint := amounts[1];
  ended_as text := 'committed';
  retention_us bigint := 86400000000;
  floor_us bigint;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
  if amounts is null or array_length(amounts, 1) = 1 and wanted is not null then
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
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
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
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], kept, hold);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  end if;
  return mete._closed(hold, mete._close(hold, 'commit', amounts, coalesce(overage, false), null, retention_us, 0));
end $$;

create or replace function mete.cancel(id text default null, tag text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  wanted bigint := 0;
  ended_as text := 'cancelled';
  retention_us bigint := 86400000000;
  floor_us bigint;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
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
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
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
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], held, hold);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  return mete._closed(hold, mete._close(hold, 'cancel', null, false, null, retention_us, 0));
end $$;

-- The worker's heartbeat: the hold expires `ttl` from now.
create or replace function mete.extend(id text default null, ttl interval default null, tag text default null)
returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  ttl_us bigint := mete._check_ttl(ttl);
  floor_us bigint;
  hold_serial bigint;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
  -- As in plain_end.sql, of extend, which has `hold` and ttl_us.
  update mete.meters t
  set due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.start_us, t.settled_us) + ttl_us)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.answer[2] = o.amount and
    not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and t.key = o.key and t.revision = l.revision and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, remaining, capacity, now_us, reset_us;
  if found then
    update mete.operations t set due_us = now_us + ttl_us, held_us = now_us + ttl_us
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], 0::bigint, hold);
    end if;
  end if;
  return mete._closed(hold, mete._close(hold, 'extend', null, false, ttl_us, mete._retention_us(), 0));
end $$;

create or replace function mete.store_close(id text, operation text, amounts bigint[], allows_overage boolean,
                                            ttl_us bigint, retention_us bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  wanted bigint := case when operation = 'cancel' then 0 else amounts[1] end;
  ended_as text := case when operation = 'cancel' then 'cancelled' else 'committed' end;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if operation = 'extend' then
  -- As in plain_end.sql, of extend, which has `hold` and ttl_us.
  update mete.meters t
  set due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.start_us, t.settled_us) + ttl_us)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.answer[2] = o.amount and
    not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and t.key = o.key and t.revision = l.revision and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, remaining, capacity, now_us, reset_us;
  if found then
    update mete.operations t set due_us = now_us + ttl_us, held_us = now_us + ttl_us
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      return (true, 0::bigint, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
    end if;
  end if;
  elsif amounts is null or array_length(amounts, 1) = 1 then
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
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
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
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, case when operation = 'cancel' then held else kept end, remaining, capacity, 0::bigint, reset_us, 0, now_us,
              null::text, null::bigint[]);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  end if;
  return mete._close(id, operation, amounts, allows_overage, ttl_us, retention_us, floor_us);
end $$;
