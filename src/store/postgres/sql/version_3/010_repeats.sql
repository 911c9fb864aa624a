-- A commit or cancel that comes again gets the answer that it got before.

-- On the first row of a hold that was committed or cancelled: amount, remaining, capacity, reset_us, and 1 if it was
-- committed to all that was held. Null where it ended before this was kept.
alter table mete.operations add column ended bigint[];

-- What the same commit or cancel was answered; now_us is null if the hold is open. What else has ended is refused.
create function mete._repeated(rows mete.operations[], operation text, amounts bigint[], now_us bigint, retention_us bigint)
returns mete.outcome
language plpgsql stable as $$
declare
  first mete.operations := rows[1];
  row mete.operations;
  is_same boolean := operation = 'commit' and amounts is not null;
begin
  if now_us >= first.due_us + (case when first.state = 'held' then retention_us else 0 end) then
    perform mete._no_hold(first.id);
  end if;
  if first.state = 'expired' or (first.state = 'held' and first.due_us <= now_us) then
    perform mete._refuse('MT004', format('hold ''%s'' has expired: make a new one, and extend it in time', first.id));
  end if;
  if first.state = 'held' then return null; end if;
  if first.state <> (case operation when 'commit' then 'committed' when 'cancel' then 'cancelled' else '' end) or
     first.ended is null then
    perform mete._refuse('MT003', format('hold ''%s'' is %s already: a hold is final once', first.id, first.state));
  end if;
  if operation = 'commit' then
    perform mete._check_amounts(rows, amounts, true);
    is_same := case when amounts is null then first.ended[5] = 1 else true end;
    for i in 1 .. coalesce(cardinality(amounts), 0) loop
      row := rows[i];
      is_same := is_same and row.amount = amounts[i];
    end loop;
    if not is_same then
      perform mete._refuse('MT006', format('hold ''%s'' is committed already, with other amounts: a hold is final once',
                                           first.id));
    end if;
  end if;
  return row(true, first.ended[1], first.ended[2], first.ended[3], 0, first.ended[4], 0, now_us, first.id, null)::mete.outcome;
end $$;

drop function mete._check_open(text, mete.operations[], mete.operations[], bigint, bigint);

-- Commits (amounts, or null for all), cancels or extends (ttl_us) an open hold; or tells again what was answered.
create or replace function mete._close(id text, operation text, amounts bigint[], allows_overage boolean, ttl_us bigint,
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
  rows := mete._rows_of(id);
  if rows is null then perform mete._no_hold(id); end if;
  charged := mete._meters_of(rows);
  for j in 1 .. coalesce(cardinality(charged), 0) loop
    c := charged[j];
    l := c.l;
    if l.only_for is not null then perform mete._check_role(l); end if;
  end loop;
  now_us := greatest(floor_us, mete._now_us());
  r := mete._repeated(rows, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  if charged is not null then
    select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  end if;
  perform from mete.operations t where t.id = _close.id order by t.charge for update;
  again := mete._rows_of(id);
  if again is null then perform mete._no_hold(id); end if;
  first := rows[1];
  row := again[1];
  if row.serial <> first.serial then perform mete._refuse('40001', 'the hold was replaced at the same time'); end if;
  r := mete._repeated(again, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  rows := again;
  if operation = 'commit' then perform mete._check_amounts(rows, amounts, allows_overage); end if;
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
      o := mete._without_part(opened[meter_of[i]], row.id, row.charge);
      m := o.m;
      if operation = 'cancel' then
        before := mete._used(o.rule, m, now_us);
        o.m := mete._released(o.rule, m, row.part_units, row.part_us, now_us);
        total := total + before - mete._used(o.rule, o.m, now_us);
      elsif operation = 'commit' then
        o.m := mete._released(o.rule, m, row.part_units - least(row.part_units, amount), row.part_us, now_us);
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
    select w.opened, w.overage into opened, overage from mete._with_overage(charged, opened, overage, now_us) w;
  end if;
  perform mete._write_closed(rows, operation, amounts, charged, opened, meter_of, ttl_us, retention_us, now_us);
  if operation = 'commit' then perform mete._record_commit(rows, amounts, overage, charged, meter_of, now_us); end if;
  r := mete._settlement(total, charged, opened, now_us);
  if operation <> 'extend' then
    update mete.operations t set ended = array[r.amount, r.remaining, r.capacity, r.reset_us, is_of_all::integer]
    where t.id = _close.id and t.charge = 0;
  end if;
  return r;
end $$;

-- The id of a hold that is named by its id, or by its tag: the only open one, or, so that it is known what became of it,
-- the last one.
create or replace function mete._hold_id(id text, tag text) returns text
language plpgsql stable as $$
declare
  ids text[];
begin
  if (id is null) = (tag is null) then
    perform mete._refuse_argument('give the id of the hold, or its tag');
  end if;
  if id is not null then return id; end if;
  select array_agg(distinct o.id) into ids from mete.operations o
  where o.tag = _hold_id.tag and o.held_us > mete._now_us();
  if cardinality(ids) > 1 then
    perform mete._refuse_argument(format('tag ''%s'' has %s open holds: name one by its id', tag, cardinality(ids)));
  end if;
  if ids is not null then return ids[1]; end if;
  return coalesce((select o.id from mete.operations o
                   where o.tag = _hold_id.tag and o.kind = 'hold' and o.state <> 'answered'
                   order by o.serial desc limit 1), tag);
end $$;
