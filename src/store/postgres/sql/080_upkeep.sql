-- What is done now and then: expired holds are put away, what nobody needs any more is deleted, and the books are proved.

-- Open holds whose time is over, that nobody has committed or cancelled: their workers have probably died. They count no
-- more; this shows them until mete.expire() has put them away, and for as long as ids are remembered after that.
create view mete.orphans as
  select o.id, o.tag, l.name as "limit", o.key, o.amount, mete._timestamp(o.made_us) as made_at,
         mete._timestamp(coalesce(o.final_us, o.due_us)) as expired_at
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where (o.state = 'expired' or (o.state = 'held' and o.due_us <= mete._now_us())) and mete._may_use(l.only_for);

-- All holds that are remembered.
create view mete.holds as
  select o.id, o.charge, o.tag, l.name as "limit", o.key, o.amount,
         case when o.state = 'held' and o.due_us <= mete._now_us() then 'expired' else o.state end as state,
         mete._timestamp(o.made_us) as made_at,
         case when o.state = 'held' then mete._timestamp(o.due_us) end as expires_at,
         mete._timestamp(o.final_us) as final_at
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.kind = 'hold' and o.state <> 'answered' and mete._may_use(l.only_for);

-- What was used: mete.events with the limits' names.
create view mete.usage_events as
  select e.at, l.name as "limit", e.key, e.kind, e.amount, e.charged_at, e.operation, e.tag
  from mete.events e join mete.limits l on l.id = e.limit_id
  where mete._may_use(l.only_for);

-- Puts away holds that have expired, at most so many charges of them: their meters first, then their rows. What others are
-- at is left for the next time.
create function mete._expire_holds(count_max integer, retention_us bigint) returns integer
language plpgsql as $$
declare
  due record;
  l mete.limits;
  m mete.meters;
  now_us bigint := mete._now_us();
  rows integer;
  total integer := 0;
begin
  -- In the order of locks, which _clear keeps to for whole tables.
  lock table mete.meters in row exclusive mode;
  -- Charges that have no meter: of dropped limits, and of those in shadow.
  update mete.operations t set state = 'expired', final_us = t.due_us, due_us = t.due_us + retention_us
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
    select * into m from mete.meters t where t.limit_id = due.limit_id and t.key = due.key for update skip locked;
    continue when not found;
    select * into l from mete.limits t where t.id = due.limit_id;
    continue when m.revision > l.revision;
    now_us := greatest(mete._now_us(), m.start_us, m.settled_us);
    perform mete._write(mete._opened_locked(l, m, now_us, true), now_us);
    update mete.operations t set state = 'expired', final_us = t.due_us, due_us = t.due_us + retention_us
    where t.limit_id = due.limit_id and t.key = due.key and t.state = 'held' and t.is_backed and t.due_us <= now_us;
    get diagnostics rows = row_count;
    total := total + rows;
  end loop;
  return total;
end $$;

-- Deletes, of each at most so many: ids that are forgotten, meters that are as fresh ones, and what dropped limits have left.
-- Transactions that are still open may know a limit as it was, and make meters of that revision, which nobody sees before
-- they end: so old revisions and dropped limits stay for a day.
create function mete._sweep(count_max integer) returns integer
language plpgsql as $$
declare
  now_us bigint := mete._now_us();
  old_us bigint := now_us - 86400000000;
  rows integer;
  total integer := 0;
begin
  delete from mete.operations t where t.ctid in (
    select o.ctid from mete.operations o where o.due_us <= now_us and o.state <> 'held' limit count_max
    for update skip locked);
  get diagnostics total = row_count;
  delete from mete.meters t where t.ctid in (
    select m.ctid from mete.meters m join mete.limits l on l.id = m.limit_id
    where l.is_dropped or (m.own_amount is null and m.due_us = 9223372036854775807 and m.revision = l.revision and
      case l.kind
        when 'stock' then m.units = 0
        when 'bucket' then m.full_at < (now_us - 1000000)::numeric * l.amount
        when 'sliding' then m.end_us + l.period_us < now_us
        else m.end_us < now_us
      end)
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
create function mete._clear() returns void
language plpgsql as $$
declare
  now_us bigint;
begin
  lock table mete.meters in exclusive mode;
  lock table mete.operations in exclusive mode;
  now_us := mete._now_us();
  insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
  select mete._timestamp(now_us), m.limit_id, m.key, 'carry', -s.amount, mete._timestamp(now_us), m.revision
  from mete.meters m join mete.limits l on l.id = m.limit_id and l.records
  cross join lateral (select sum(e.amount) as amount from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete._timestamp(m.start_us)) s
  where s.amount <> 0;
  delete from mete.operations;
  delete from mete.meters where own_amount is null;
  update mete.meters t
  set units = 0, previous = 0, full_at = 0, start_us = 0, end_us = 0, due_us = 9223372036854775807, revision = l.revision,
      settled_us = now_us
  from mete.limits l where l.id = t.limit_id;
end $$;

-- Deletes events from before an instant. What meters still count of them is kept as one event each.
create function mete._prune(before timestamptz) returns bigint
language plpgsql as $$
declare
  total bigint;
begin
  with gone as (
    delete from mete.events e where e.at < before returning e.*
  ), kept as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select before, g.limit_id, g.key, 'carry', sum(g.amount), max(g.charged_at), g.revision
    from gone g join mete.meters m on m.limit_id = g.limit_id and m.key = g.key and m.revision = g.revision
    where g.charged_at >= mete._timestamp(m.start_us)
    group by g.limit_id, g.key, g.revision having sum(g.amount) <> 0
  )
  select count(*) into total from gone;
  return total;
end $$;

-- Where a balance is not what the events of its window and the open holds add up to: no rows, if the books are right. A
-- bucket's balance comes back with time, which leaves no events: it is not proved, nor is what limits do not record
-- (durable other than always).
create function mete._audit(out "limit" text, out key text, out balance bigint, out recorded bigint, out held bigint)
returns setof record
language sql stable as $$
  select l.name, m.key, m.units, coalesce(s.recorded, 0)::bigint, coalesce(h.held, 0)::bigint
  from mete.limits l join mete.meters m on m.limit_id = l.id
  left join lateral (select sum(e.amount) as recorded from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete._timestamp(m.start_us)) s on true
  left join lateral (select sum(o.part_units) as held from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.state = 'held' and o.is_backed and o.due_us > m.settled_us and
      o.part_us >= m.start_us) h on true
  where not l.is_dropped and l.records and l.kind <> 'bucket' and m.revision = l.revision and
    m.units <> coalesce(s.recorded, 0) + coalesce(h.held, 0)
$$;
