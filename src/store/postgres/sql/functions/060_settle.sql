-- What is not a take: gives, what becomes of holds, and usage set from elsewhere.

-- The meter that stands for an operation in answers: the one with the least left, the first such; shadow limits only where
-- there are no others.
create or replace function mete_private._settlement(amount bigint, charged mete.charged[], opened mete.opened[], now_us bigint)
returns mete.outcome
language plpgsql stable as $$
declare
  j record;
  r mete.outcome;
  nothing mete.charged[];
  c mete.charged;
begin
  if cardinality(charged) > 0 then
    for i in 1 .. cardinality(charged) loop
      c := charged[i];
      c.cost := 0;
      nothing[i] := c;
    end loop;
    -- As after a charge of nothing that is forced.
    j := mete_private._judge(nothing, opened, 'force', now_us, false);
    r := j.r;
  else
    r.remaining := 0;
    r.capacity := 0;
    r.reset_us := 0;
  end if;
  r.allowed := true;
  r.amount := amount;
  r.violated := 0;
  r.retry_us := 0;
  r.now_us := now_us;
  return r;
end $$;

-- Gives back what was taken: never more than is used, and nothing of what is held.
create or replace function mete_private._give(limits text[], keys text[], costs bigint[], id text, retention_us bigint, floor_us bigint)
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
    fingerprint := mete_private._fingerprint('give', limits, keys, costs, null, null);
    r := mete_private._recalled(id, fingerprint, greatest(mete_private._now_us(), floor_us), retention_us);
    if r.now_us is not null then
      perform mete_private._check_roles(limits);
      return r;
    end if;
  end if;
  if 'mete-generation' = any (keys) then perform mete_private._refuse_reserved_key(); end if;
  charged := mete_private._charged_meters(limits, keys, costs);
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete_private._open_all(charged, floor_us, true) a;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    o := opened[i];
    m := o.m;
    rule := o.rule;
    given[i] := least(greatest(mete_private._used(rule, m, now_us) - mete_private._held(rule, m, o.parts, now_us), 0), c.cost);
    if rule.kind = 'sliding' then
      o.m := mete_private._given_oldest(rule, m, given[i]);
    else
      o.m := mete_private._released(rule, m, given[i], now_us, now_us);
    end if;
    opened[i] := o;
  end loop;
  r := mete_private._settlement((select sum(g)::bigint from unnest(given) g), charged, opened, now_us);
  if id is not null and
     not mete_private._remember(limits, keys, costs, id, fingerprint, r, null, null, charged, retention_us) then
    return mete_private._recalled(id, fingerprint, now_us, retention_us);
  end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    perform mete_private._write(opened[i], now_us);
    l := c.l;
    if l.records and given[i] > 0 then
      perform mete_private._record(l, c.key, 'give', -given[i], now_us, now_us, id, null);
    end if;
  end loop;
  return r;
end $$;

-- The id of a hold that is named by its id, or by its tag: the only open one, or, so that it is known what became of it,
-- the last one.
create or replace function mete_private._hold_id(id text, tag text) returns text
language plpgsql stable as $$
declare
  ids text[];
begin
  if (id is null) = (tag is null) then
    perform mete_private._refuse_argument('give the id of the hold, or its tag');
  end if;
  if id is not null then return id; end if;
  select array_agg(distinct o.id) into ids from mete.operations o
  where o.tag = _hold_id.tag and o.held_us > mete_private._now_us() and
    (not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(null, o.id));
  if cardinality(ids) > 1 then
    perform mete_private._refuse_argument(format('tag ''%s'' has %s open holds: name one by its id', tag, cardinality(ids)));
  end if;
  if ids is not null then return ids[1]; end if;
  return coalesce((select o.id from mete.operations o
                   where o.tag = _hold_id.tag and o.kind = 'hold' and o.state <> 'answered' and
                     (not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(null, o.id))
                   order by o.serial desc limit 1), tag);
end $$;

create or replace function mete_private._no_hold(id text) returns void language sql as $$
  select mete_private._refuse('MT003', format('no hold ''%s'': it is unknown, or was forgotten', id))
$$;

-- Commits (amounts, or null for all), cancels or extends (ttl_us) an open hold; or tells again what was answered.
create or replace function mete_private._close(id text, operation text, amounts bigint[], allows_overage boolean, ttl_us bigint,
                                       retention_us bigint, floor_us bigint) returns mete.outcome
language plpgsql as $$
declare
  rows mete.operations[];
  again mete.operations[];
  row mete.operations;
  first mete.operations;
  charged mete.charged[];
  opened mete.opened[];
  meter_of integer[];              -- of each charge; null: none any more
  now_us bigint;
  total bigint := 0;
  is_of_all boolean := true;
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  before bigint;
  amount bigint;
  overage bigint[];
  r mete.outcome;
begin
  -- Which meters to lock is known once the hold has been seen. What became of it in between is seen then.
  rows := mete_private._rows_of(id);
  if rows is null or mete_private._is_reserved_id(id) and not mete_private._may_use_hold(null, id) then
    perform mete_private._no_hold(id);
  end if;
  charged := mete_private._meters_of(rows);
  for j in 1 .. coalesce(cardinality(charged), 0) loop
    c := charged[j];
    l := c.l;
    if l.only_for is not null then perform mete_private._check_role(l); end if;
  end loop;
  now_us := greatest(floor_us, mete_private._now_us());
  r := mete_private._repeated(rows, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  if charged is not null then
    select a.charged, a.opened, a.now_us into charged, opened, now_us from mete_private._open_all(charged, floor_us, true) a;
  end if;
  perform from mete.operations t where t.id = _close.id order by t.charge for update;
  again := mete_private._rows_of(id);
  if again is null then perform mete_private._no_hold(id); end if;
  first := rows[1];
  row := again[1];
  if row.serial <> first.serial then perform mete_private._refuse('40001', 'the hold was replaced at the same time'); end if;
  r := mete_private._repeated(again, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  rows := again;
  if operation = 'commit' then perform mete_private._check_amounts(rows, amounts, allows_overage); end if;
  -- Under new numbers what is left of a part is what its meter says.
  for i in 1 .. cardinality(rows) loop
    row := rows[i];
    for j in 1 .. coalesce(cardinality(charged), 0) loop
      c := charged[j];
      l := c.l;
      if row.is_backed and l.id = row.limit_id and c.key = row.key then meter_of[i] := j; end if;
    end loop;
    amount := case when operation = 'commit' then coalesce(amounts[i], row.amount) end;
    if meter_of[i] is not null then
      o := mete_private._without_part(opened[meter_of[i]], row.id, row.charge);
      m := o.m;
      if operation = 'cancel' then
        before := mete_private._used(o.rule, m, now_us);
        o.m := mete_private._released(o.rule, m, row.part_units, row.part_us, now_us);
        total := total + before - mete_private._used(o.rule, o.m, now_us);
      elsif operation = 'commit' then
        o.m := mete_private._released(o.rule, m, row.part_units - least(row.part_units, amount), row.part_us, now_us);
        if amount > row.amount then
          overage[meter_of[i]] := coalesce(overage[meter_of[i]], 0) + amount - row.amount;
        end if;
      end if;
      opened[meter_of[i]] := o;
    end if;
    total := total + coalesce(amount, 0);
    is_of_all := is_of_all and amount is not distinct from row.amount;
  end loop;
  if overage is not null then
    select w.opened, w.overage into opened, overage from mete_private._with_overage(charged, opened, overage, now_us) w;
  end if;
  perform mete_private._write_closed(rows, operation, amounts, charged, opened, meter_of, ttl_us, retention_us, now_us);
  if operation = 'commit' then perform mete_private._record_commit(rows, amounts, overage, charged, meter_of, now_us); end if;
  r := mete_private._settlement(total, charged, opened, now_us);
  if operation <> 'extend' then
    update mete.operations t set ended = array[r.amount, r.remaining, r.capacity, r.reset_us, is_of_all::integer]
    where t.id = _close.id and t.charge = 0;
  end if;
  return r;
end $$;

-- The rows of a hold, in the order of its charges; null if there is none.
create or replace function mete_private._rows_of(id text) returns mete.operations[]
language plpgsql stable as $$
begin
  return (select array_agg(o order by o.charge) from mete.operations o
          where o.id = _rows_of.id and o.kind = 'hold' and o.state <> 'answered');
end $$;

-- The meters that a hold's charges are on, as far as their limits are there, in the order in which they are locked.
create or replace function mete_private._meters_of(rows mete.operations[]) returns mete.charged[]
language plpgsql stable as $$
begin
  return (
    select array_agg(row(l, o.key, 0, o.charges, o.position)::mete.charged order by l.id, o.key)
    from (select r.limit_id, r.key, sum(1 << r.charge)::integer as charges, min(r.charge)::integer as position
          from unnest(rows) r where r.is_backed group by 1, 2) o
    join mete.limits l on l.id = o.limit_id and not l.is_dropped);
end $$;

create or replace function mete_private._check_amounts(rows mete.operations[], amounts bigint[], allows_overage boolean) returns void
language plpgsql stable as $$
declare
  row mete.operations;
  name text;
begin
  if amounts is null then return; end if;
  if cardinality(amounts) <> cardinality(rows) then
    perform mete_private._refuse_argument(format('amounts: the hold has %s %s, not %s', cardinality(rows),
      case when cardinality(rows) = 1 then 'charge' else 'charges' end, cardinality(amounts)));
  end if;
  for i in 1 .. cardinality(rows) loop
    row := rows[i];
    perform mete_private._check_range('amount', amounts[i], 0);
    if amounts[i] > row.amount and not allows_overage then
      select l.name into name from mete.limits l where l.id = row.limit_id;
      perform mete_private._refuse('MT005', format('amount %s for ''%s'' exceeds the %s held: commit less, or allow overage',
                                           amounts[i], name, row.amount));
    end if;
  end loop;
end $$;

create or replace function mete_private._without_part(o mete.opened, id text, charge smallint) returns mete.opened
language plpgsql stable as $$
begin
  o.parts := (select array_agg(row(p.units, p.made_us, p.expires_us, p.id, p.charge)::mete.part order by p.i)
              from unnest(o.parts) with ordinality p (units, made_us, expires_us, id, charge, i)
              where p.id <> _without_part.id or p.charge <> _without_part.charge);
  return o;
end $$;

-- Takes afresh what goes beyond the hold. A shadow limit where it does not fit is left as it is.
create or replace function mete_private._with_overage(charged mete.charged[], inout opened mete.opened[], inout overage bigint[],
                                   now_us bigint)
language plpgsql stable as $$
declare
  c mete.charged;
  l mete.limits;
  o mete.opened;
begin
  for j in 1 .. cardinality(charged) loop
    continue when overage[j] is null;
    c := charged[j];
    l := c.l;
    o := opened[j];
    if mete_private._fits(o.rule, o.m, overage[j], now_us) then
      o.m := mete_private._charged(o.rule, o.m, overage[j], now_us);
      opened[j] := o;
    elsif not l.shadow then
      perform mete_private._refuse('MT005', format('the overage of %s for ''%s'' does not fit: commit what is held, or less',
                                           overage[j], l.name));
    else
      overage[j] := null;
    end if;
  end loop;
end $$;

create or replace function mete_private._write_closed(rows mete.operations[], operation text, amounts bigint[], charged mete.charged[],
                                   opened mete.opened[], meter_of integer[], ttl_us bigint, retention_us bigint,
                                   now_us bigint) returns void
language plpgsql as $$
declare
  first mete.operations := rows[1];
  o mete.opened;
  m mete.meters;
begin
  for j in 1 .. coalesce(cardinality(opened), 0) loop
    o := opened[j];
    -- Without parts nothing is due.
    if o.parts is null then
      m := o.m;
      m.due_us := 9223372036854775807;
      o.m := m;
    end if;
    if operation = 'extend' then o := mete_private._with_due(o, now_us, now_us + ttl_us); end if;
    perform mete_private._write(o, now_us);
  end loop;
  update mete.operations t
  set state = case operation when 'commit' then 'committed' when 'cancel' then 'cancelled' else 'held' end,
      due_us = now_us + case when operation = 'extend' then ttl_us else retention_us end,
      held_us = case when operation = 'extend' then now_us + ttl_us end,
      final_us = case when operation <> 'extend' then now_us end,
      amount = case when operation = 'commit' and amounts is not null then amounts[t.charge + 1] else t.amount end
  where t.id = first.id;
end $$;

-- What a commit has used. It belongs to the window that the hold was made in. Where a change of the rule has left less of
-- the part than is committed, a second event makes up for the difference, so that the sums stay those of the meters.
create or replace function mete_private._record_commit(rows mete.operations[], amounts bigint[], overage bigint[], charged mete.charged[],
                                    meter_of integer[], now_us bigint) returns void
language plpgsql as $$
declare
  row mete.operations;
  c mete.charged;
  l mete.limits;
  amount bigint;
begin
  for i in 1 .. cardinality(rows) loop
    continue when meter_of[i] is null;
    row := rows[i];
    c := charged[meter_of[i]];
    l := c.l;
    continue when not l.records;
    amount := least(coalesce(amounts[i], row.amount), row.amount);
    if amount > 0 then
      perform mete_private._record(l, c.key, 'commit', amount, now_us, row.part_us, row.id, row.tag);
    end if;
    if row.part_units < amount then
      perform mete_private._record(l, c.key, 'carry', row.part_units - amount, now_us, row.part_us, row.id, row.tag);
    end if;
  end loop;
  for j in 1 .. coalesce(cardinality(charged), 0) loop
    c := charged[j];
    l := c.l;
    if l.records and overage[j] > 0 then
      perform mete_private._record(l, c.key, 'commit', overage[j], now_us, now_us, row.id, row.tag);
    end if;
  end loop;
end $$;

-- Makes the usage of a meter `used`, on top of what is held. With `since_us` it is added to it instead, signed and never
-- below zero; not if a new window has begun since then: is_late.
create or replace function mete_private._reconcile(name text, key text, used bigint, since_us bigint, floor_us bigint, out used_before bigint,
                                out used_now bigint, out is_late boolean, out now_us bigint)
language plpgsql as $$
declare
  charged mete.charged[] := mete_private._charged_meters(array[name], array[key], array[0::bigint]);
  opened mete.opened[];
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  held bigint;
  units_before bigint;
begin
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete_private._open_all(charged, floor_us, true) a;
  c := charged[1];
  l := c.l;
  o := opened[1];
  m := o.m;
  units_before := m.units;
  held := mete_private._held(o.rule, m, o.parts, now_us);
  used_before := mete_private._used(o.rule, m, now_us) - held;
  is_late := since_us < m.start_us;
  used_now := case when is_late then used_before when since_us is null then used else greatest(used_before + used, 0) end;
  if used_now > 9007199254740991 - held then
    perform mete_private._refuse_argument(format('amount: usage of ''%s'' would pass 9007199254740991', name));
  end if;
  if is_late or used_now = used_before and since_us is not null then return; end if;
  m := mete_private._with_used(o.rule, m, used_now + held, now_us);
  o.m := m;
  perform mete_private._write(o, now_us);
  if l.records and m.units <> units_before then
    perform mete_private._record(l, c.key, 'reconcile', m.units - units_before, now_us, now_us, null, null);
  end if;
end $$;

-- Adds to what each key has used, signed, and tells how much of it was done (see _reconcile). What is plain to see is done
-- for all of them at a time, for there may be a million. A plan that was made when there were few meters must not read all
-- of them for each call: so it has to look each of them up.
create or replace function mete_private._shift(name text, keys text[], changes bigint[], since_us bigint, floor_us bigint)
returns table (i bigint, change bigint, is_late boolean)
language plpgsql set enable_mergejoin = off set enable_seqscan = off as $$
declare
  l mete.limits := mete_private._limit(name);
  now_us bigint := greatest(mete_private._now_us(), floor_us);
  w record := mete_private._window(mete_private._rule(l), now_us);
  done_i bigint[];
  done_change bigint[];
  plain_i bigint[];
  is_gone boolean;
  u record;
  r record;
begin
  if l.kind in ('bucket', 'sliding') then
    perform mete_private._refuse_argument(format('a %s cannot be brought to a source of truth: its usage comes back with time',
                                         l.kind));
  end if;
  if exists (select from unnest(keys) c
             where not exists (select from mete.meters t where t.limit_id = l.id and t.key = c)) then
    -- Makes those that are missing, and locks the others, in the order of locks: a row that is there is locked by this,
    -- though the condition is never true, and is not returned.
    with charges as materialized (
      select distinct on (c.key collate "C") c.key collate "C" as key, c.change, c.i
      from unnest(keys, changes) with ordinality c (key, change, i) order by c.key collate "C", c.i
    ), made as (
      insert into mete.meters as m (limit_id, key, revision, units, full_at, start_us, end_us, settled_us, due_us)
      select l.id, c.key, l.revision, case when since_us < w.start_us then 0 else greatest(c.change, 0) end, 0, w.start_us,
        w.end_us, now_us, 9223372036854775807 from charges c order by c.key
      on conflict (limit_id, key) do update set units = m.units where false
      returning m.key, m.units
    ), recorded as (
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      select mete_private._timestamp(now_us), l.id, m.key, 'reconcile', m.units, mete_private._timestamp(now_us), l.revision
      from made m where l.records and m.units > 0
    )
    select array_agg(c.i), array_agg(m.units) into done_i, done_change from made m join charges c on c.key = m.key
    where since_us >= w.start_us;
    return query select p.i, p.change, false from unnest(done_i, done_change) p (i, change);
    if cardinality(done_i) = cardinality(keys) then return; end if;
    now_us := greatest(mete_private._now_us(), floor_us);
  end if;
  done_i := coalesce(done_i, '{}');
  with charges as materialized (
    select distinct on (c.key collate "C") c.key collate "C" as key, c.change, c.i
    from unnest(keys, changes) with ordinality c (key, change, i) where c.i not in (select unnest(done_i))
    order by c.key collate "C", c.i
  ), locked as materialized (  -- in the order of locks
    select c.i, c.key, c.change, m.* from charges c left join lateral (
      select t.ctid, t.units,
        t.revision = l.revision and t.due_us = 9223372036854775807 and t.end_us > now_us and
        t.start_us <= least(now_us, since_us) and t.units + c.change <= 9007199254740991 as is_plain
      from mete.meters t where t.limit_id = l.id and t.key = c.key limit 1 for update) m on true
  ), changed as (
    update mete.meters m set units = greatest(k.units + k.change, 0) from locked k where k.is_plain and m.ctid = k.ctid
    returning k.i, k.key, m.units - k.units as change
  ), recorded as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select mete_private._timestamp(now_us), l.id, c.key, 'reconcile', c.change, mete_private._timestamp(now_us), l.revision
    from changed c where l.records and c.change <> 0
  )
  select array_agg(c.i), array_agg(c.change), exists (select from locked k where k.ctid is null)
  into plain_i, done_change, is_gone from changed c;
  -- To make one now would be out of the order of locks.
  if is_gone then perform mete_private._refuse('40001', 'meters were cleared at the same time'); end if;
  return query select p.i, p.change, false from unnest(plain_i, done_change) p (i, change);
  done_i := done_i || plain_i;
  for u in select c.key, c.change, c.i from unnest(keys, changes) with ordinality c (key, change, i)
           where c.i not in (select unnest(done_i)) order by c.key collate "C" loop
    r := mete_private._reconcile(name, u.key, u.change, since_us, floor_us);
    i := u.i;
    change := r.used_now - r.used_before;
    is_late := r.is_late;
    return next;
  end loop;
end $$;

-- What the same commit or cancel was answered; now_us is null if the hold is open. What else has ended is refused.
create or replace function mete_private._repeated(rows mete.operations[], operation text, amounts bigint[], now_us bigint, retention_us bigint)
returns mete.outcome
language plpgsql stable as $$
declare
  first mete.operations := rows[1];
  row mete.operations;
  is_same boolean := operation = 'commit' and amounts is not null;
begin
  if now_us >= first.due_us + (case when first.state = 'held' then retention_us else 0 end) then
    perform mete_private._no_hold(first.id);
  end if;
  if first.state = 'expired' or (first.state = 'held' and first.due_us <= now_us) then
    perform mete_private._refuse('MT004', format('hold ''%s'' has expired: make a new one, and extend it in time', first.id));
  end if;
  if first.state = 'held' then return null; end if;
  if first.state <> (case operation when 'commit' then 'committed' when 'cancel' then 'cancelled' else '' end) or
     first.ended is null then
    perform mete_private._refuse('MT003', format('hold ''%s'' is %s already: a hold is final once', first.id, first.state));
  end if;
  if operation = 'commit' then
    perform mete_private._check_amounts(rows, amounts, true);
    is_same := case when amounts is null then first.ended[5] = 1 else true end;
    for i in 1 .. coalesce(cardinality(amounts), 0) loop
      row := rows[i];
      is_same := is_same and row.amount = amounts[i];
    end loop;
    if not is_same then
      perform mete_private._refuse('MT006', format('hold ''%s'' is committed already, with other amounts: a hold is final once',
                                           first.id));
    end if;
  end if;
  return row(true, first.ended[1], first.ended[2], first.ended[3], 0, first.ended[4], 0, now_us, first.id, null)::mete.outcome;
end $$;
