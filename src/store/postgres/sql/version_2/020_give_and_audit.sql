-- Gives back what was taken: never more than is used, and nothing of what is held.
create or replace function mete._give(limits text[], keys text[], costs bigint[], id text, retention_us bigint, floor_us bigint)
returns mete.outcome
language plpgsql as $$
declare
  fingerprint uuid;
  charged mete.charged[];
  opened mete.opened[];
  now_us bigint;
  r mete.outcome;
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  rule mete.rule;
  given bigint[];
begin
  if id is not null then
    fingerprint := mete._fingerprint('give', limits, keys, costs, null, null);
    r := mete._recalled(id, fingerprint, greatest(mete._now_us(), floor_us), retention_us);
    if r.now_us is not null then
      perform mete._check_roles(limits);
      return r;
    end if;
  end if;
  charged := mete._charged_meters(limits, keys, costs);
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    o := opened[i];
    m := o.m;
    rule := o.rule;
    given[i] := least(greatest(mete._used(rule, m, now_us) - mete._held(rule, m, o.parts, now_us), 0), c.cost);
    if rule.kind = 'sliding' then
      o.m := mete._given_oldest(rule, m, given[i]);
    else
      o.m := mete._released(rule, m, given[i], now_us, now_us);
    end if;
    opened[i] := o;
  end loop;
  r := mete._settlement((select sum(g)::bigint from unnest(given) g), charged, opened, now_us);
  if id is not null and
     not mete._remember(limits, keys, costs, id, fingerprint, r, null, null, charged, retention_us) then
    return mete._recalled(id, fingerprint, now_us, retention_us);
  end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    perform mete._write(opened[i], now_us);
    l := c.l;
    if l.records and given[i] > 0 then
      perform mete._record(l, c.key, 'give', -given[i], now_us, now_us, id, null);
    end if;
  end loop;
  return r;
end $$;

-- Where a balance is not what the events of its window and the open holds add up to: no rows, if the books are right. A
-- bucket's and a sliding window's balance comes back with time, which leaves no events: it is not proved, nor is what limits do not record
-- (durable other than always), nor a meter that has not been in use since everything was forgotten (end_us 0).
create or replace function mete._audit(out "limit" text, out key text, out balance bigint, out recorded bigint, out held bigint)
returns setof record
language sql stable as $$
  select l.name, m.key, m.units, coalesce(s.recorded, 0)::bigint, coalesce(h.held, 0)::bigint
  from mete.limits l join mete.meters m on m.limit_id = l.id
  left join lateral (select sum(e.amount) as recorded from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete._timestamp(m.start_us)) s on true
  left join lateral (select sum(o.part_units) as held from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.held_us > m.settled_us and o.is_backed and
      o.part_us >= m.start_us) h on true
  where not l.is_dropped and l.records and l.kind not in ('bucket', 'sliding') and m.revision = l.revision and
    m.end_us > 0 and m.units <> coalesce(s.recorded, 0) + coalesce(h.held, 0)
$$;
