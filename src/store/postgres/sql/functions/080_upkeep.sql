-- What is done now and then: expired holds are put away, what nobody needs any more is deleted, and the books are proved.
--
-- The views are barriers: a reader's own conditions see no row of a limit that is kept from the reader's role.

-- Open holds whose time is over, that nobody has committed or cancelled: their workers have probably died. They count no
-- more; this shows them until mete.expire() has put them away, and for as long as ids are remembered after that.
create or replace view mete.orphans with (security_barrier) as
  select o.id, o.tag, l.name as "limit", o.key, o.amount, mete_private._timestamp(o.made_us) as made_at,
         mete_private._timestamp(coalesce(o.final_us, o.due_us)) as expired_at
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where (o.state = 'expired' or o.held_us <= mete_private._now_us()) and
    (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id));

-- All holds that are remembered.
create or replace view mete.holds with (security_barrier) as
  select o.id, o.charge, o.tag, l.name as "limit", o.key, o.amount,
         case when o.state = 'held' and o.due_us <= mete_private._now_us() then 'expired' else o.state end as state,
         mete_private._timestamp(o.made_us) as made_at,
         case when o.state = 'held' then mete_private._timestamp(o.due_us) end as expires_at,
         mete_private._timestamp(o.final_us) as final_at
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.kind = 'hold' and o.state <> 'answered' and
    (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id));

-- What was used: mete.events with the limits' names.
create or replace view mete.usage_events with (security_barrier) as
  select e.at, l.name as "limit", e.key, e.kind, e.amount, e.charged_at, e.operation, e.tag
  from mete.events e join mete.limits l on l.id = e.limit_id
  where (l.only_for is null or mete_private._may_use(l.only_for));

-- Puts away holds that have expired, at most so many charges of them: their meters first, then their rows. What others are
-- at is left for the next time.
create or replace function mete_private._expire_holds(count_max integer, retention_us bigint) returns integer
language plpgsql as $$
declare
  due record;
  l mete.limits;
  m mete.meters;
  now_us bigint := mete_private._now_us();
  rows integer;
  total integer := 0;
begin
  -- In the order of locks, which _clear keeps to for whole tables.
  lock table mete.meters in row exclusive mode;
  -- Charges that have no meter: of dropped limits, and of those in shadow.
  update mete.operations t set state = 'expired', held_us = null, final_us = t.due_us, due_us = t.due_us + retention_us
  where (t.id, t.charge) in (
    select o.id, o.charge from mete.operations o left join mete.limits k on k.id = o.limit_id
    where o.state = 'held' and o.due_us <= now_us and (not o.is_backed or k.id is null or k.is_dropped)
    limit count_max for update of o skip locked);
  get diagnostics total = row_count;
  for due in
    select o.limit_id, o.key from (
      select o.limit_id, o.key from mete.operations o join mete.limits k on k.id = o.limit_id and not k.is_dropped
      where o.state = 'held' and o.due_us <= now_us and o.is_backed order by o.due_us limit count_max) o
    group by o.limit_id, o.key order by o.limit_id, o.key
  loop
    exit when total >= count_max;
    select * into m from mete.meters t where t.limit_id = due.limit_id and t.key = due.key for update skip locked;
    continue when not found;
    select * into l from mete.limits t where t.id = due.limit_id;
    continue when m.revision > l.revision;
    now_us := greatest(mete_private._now_us(), m.start_us, m.settled_us);
    perform mete_private._write(mete_private._opened_locked(l, m, now_us, true), now_us);
    -- Of one meter there may be many: those that are left have come back already, and are put away the next time.
    update mete.operations t set state = 'expired', held_us = null, final_us = t.due_us, due_us = t.due_us + retention_us
    where (t.id, t.charge) in (
      select o.id, o.charge from mete.operations o
      where o.limit_id = due.limit_id and o.key = due.key and o.held_us <= now_us and o.is_backed
      order by o.due_us limit count_max - total);
    get diagnostics rows = row_count;
    total := total + rows;
  end loop;
  return total;
end $$;

-- Brings meters that nobody has looked at since their limit was redefined to its present numbers, at most so many: only
-- then it is known whether they are as fresh ones.
create or replace function mete_private._catch_up(count_max integer) returns void
language plpgsql as $$
declare
  m mete.meters;
  l mete.limits;
  now_us bigint;
begin
  -- As long as there are such meters, the numbers that they have are kept: so others are not even looked at.
  for m in select t.* from mete.limits k join mete.meters t on t.limit_id = k.id and t.revision < k.revision
           where not k.is_dropped and
             exists (select from mete.revisions r where r.limit_id = k.id and r.revision < k.revision)
           order by t.limit_id, t.key limit count_max for update of t skip locked loop
    select * into l from mete.limits t where t.id = m.limit_id;
    now_us := greatest(mete_private._now_us(), m.start_us, m.settled_us);
    perform mete_private._opened_locked(l, m, now_us, true);
  end loop;
end $$;

-- A meter's due_us is no longer exact: whether something is held of it its holds tell.

-- Deletes, of each at most so many: ids that are forgotten, meters that are as fresh ones, and what dropped limits have left.
-- Transactions that are still open may know a limit as it was, and make meters of that revision, which nobody sees before
-- they end: so old revisions and dropped limits stay for a day.
create or replace function mete_private._sweep(count_max integer) returns integer
language plpgsql as $$
declare
  now_us bigint := mete_private._now_us();
  old_us bigint := now_us - 86400000000;
  rows integer;
  total integer := 0;
begin
  delete from mete.operations t where t.ctid in (
    select o.ctid from mete.operations o
    where o.state = any('{answered,committed,cancelled,expired}') and o.due_us <= now_us limit count_max
    for update skip locked);
  get diagnostics total = row_count;
  perform mete_private._catch_up(count_max);
  delete from mete.meters t where t.ctid in (
    select m.ctid from mete.meters m join mete.limits l on l.id = m.limit_id
    where l.is_dropped or (m.own_amount is null and m.revision = l.revision and
      case l.kind
        when 'stock' then m.units = 0
        when 'bucket' then m.full_at < (now_us - 1000000)::numeric * l.amount
        when 'sliding' then m.units = 0 or m.end_us + l.period_us < now_us
        else m.units = 0 or m.end_us < now_us
      end and
      -- They are put away by their meter.
      not exists (select from mete.operations o where o.limit_id = m.limit_id and o.key = m.key and o.held_us > 0 and o.is_backed))
    limit count_max for update of m skip locked);
  get diagnostics rows = row_count;
  total := total + rows;
  delete from mete.revisions r using mete.limits l
  where l.id = r.limit_id and
    coalesce((select n.since_us from mete.revisions n where n.limit_id = r.limit_id and n.revision = r.revision + 1),
             case when l.is_dropped then l.changed_us end) < old_us and
    not exists (select from mete.meters m where m.limit_id = r.limit_id and m.revision <= r.revision);
  delete from mete.limits l where l.is_dropped and l.changed_us < old_us and
    not exists (select from mete.meters m where m.limit_id = l.id) and
    not exists (select from mete.operations o where o.limit_id = l.id) and
    not exists (select from mete.events e where e.limit_id = l.id);
  return total;
end $$;

-- Forgets every meter, hold and id, in one step. Limits and the amounts of single keys stay.
create or replace function mete_private._clear() returns void
language plpgsql as $$
declare
  now_us bigint;
begin
  lock table mete.meters in exclusive mode;
  lock table mete.operations in exclusive mode;
  now_us := mete_private._now_us();
  insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
  select mete_private._timestamp(now_us), m.limit_id, m.key, 'carry', -s.amount, mete_private._timestamp(now_us), m.revision
  from mete.meters m join mete.limits l on l.id = m.limit_id and l.records
  cross join lateral (select sum(e.amount) as amount from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete_private._timestamp(m.start_us)) s
  where s.amount <> 0 and m.end_us > now_us;  -- a window that has passed stays as it was
  delete from mete.operations;
  delete from mete.meters where own_amount is null;
  update mete.meters t
  set units = 0, older = '{}', older_units = 0, is_ring = false, full_at = 0, start_us = 0, end_us = 0, due_us = 9223372036854775807, revision = l.revision,
      settled_us = now_us
  from mete.limits l where l.id = t.limit_id;
end $$;

-- Deletes events from before an instant. What the present windows still count of them is kept as one event for each key:
-- also where there is no meter any more, since what has come to nothing may have events on both sides of the instant.
create or replace function mete_private._prune(before timestamptz) returns bigint
language plpgsql as $$
declare
  total bigint;
begin
  with gone as (
    delete from mete.events e where e.at < before returning e.*
  ), kept as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select before, g.limit_id, g.key, 'carry', sum(g.amount), max(g.charged_at), g.revision
    from gone g
    join (select l.id, l.revision, w.start_us from mete.limits l, mete_private._window(mete_private._rule(l), mete_private._now_us()) w
          where not l.is_dropped and l.records and l.kind <> 'bucket') l on l.id = g.limit_id and l.revision = g.revision
    left join mete.meters m on m.limit_id = g.limit_id and m.key = g.key and m.revision = g.revision and m.end_us > 0
    where g.charged_at >= mete_private._timestamp(coalesce(m.start_us, l.start_us))
    group by g.limit_id, g.key, g.revision having sum(g.amount) <> 0
  )
  select count(*) into total from gone;
  return total;
end $$;

-- Where a balance is not what the events of its window and the open holds add up to: no rows, if the books are right. A
-- bucket's and a sliding window's balance comes back with time, which leaves no events: it is not proved, nor is what limits do not record
-- (durable other than always), nor a meter that has not been in use since everything was forgotten (end_us 0).
create or replace function mete_private._audit(out "limit" text, out key text, out balance bigint, out recorded bigint, out held bigint)
returns setof record
language sql stable as $$
  select l.name, m.key, m.units, coalesce(s.recorded, 0)::bigint, coalesce(h.held, 0)::bigint
  from mete.limits l join mete.meters m on m.limit_id = l.id
  left join lateral (select sum(e.amount) as recorded from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete_private._timestamp(m.start_us)) s on true
  left join lateral (select sum(o.part_units) as held from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.held_us > m.settled_us and o.is_backed and
      o.part_us >= m.start_us) h on true
  where not l.is_dropped and l.records and l.kind not in ('bucket', 'sliding') and m.revision = l.revision and
    m.end_us > 0 and m.units <> coalesce(s.recorded, 0) + coalesce(h.held, 0)
$$;
