-- Takes of one charge, which sliding windows have a short way for as well.

create or replace function mete.take("limit" text, key text, cost bigint default 1, id text default null, mode text default 'take')
returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint;
  floor_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if mode is distinct from 'take' or id is not null then
    return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
  end if;
  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date; or of a sliding window, in its newest slot while no other leaves. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    (l.is_plain or
     t.is_ring and not l.shadow and greatest(mete._now_us(), floor_us) <
       (l.period_us + 124) / 125 + least(t.start_us, l.period_us + coalesce(t.older[1], t.start_us))) and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
  if found then
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete._timestamp(now_us), limit_number, $2, 'take', $3, mete._timestamp(now_us), limit_revision);
    end if;
    return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], cost, null::text);
  end if;
  return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
end $$;

create or replace function mete.store_take_one("limit" text, key text, cost bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date; or of a sliding window, in its newest slot while no other leaves. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    (l.is_plain or
     t.is_ring and not l.shadow and greatest(mete._now_us(), floor_us) <
       (l.period_us + 124) / 125 + least(t.start_us, l.period_us + coalesce(t.older[1], t.start_us))) and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
  if found then
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete._timestamp(now_us), limit_number, $2, 'take', $3, mete._timestamp(now_us), limit_revision);
    end if;
    return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
  end if;
  return mete._take_generally(array["limit"], array[key], array[cost], 'take', null, null, null, null, false, false, 0,
                              floor_us, false);
end $$;
