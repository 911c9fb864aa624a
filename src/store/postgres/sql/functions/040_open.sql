-- Meters, found and brought up to date for an operation.

-- A refusal: nothing has changed. The library knows them by these codes.
create or replace function mete_private._refuse(code text, message text, hint text default null) returns void
language plpgsql as $$
begin
  if hint is null then
    raise exception using errcode = code, message = message;
  end if;
  raise exception using errcode = code, message = message, hint = hint;
end $$;

-- MT001 bad argument · MT002 unknown limit · MT003 no such hold · MT004 expired · MT005 exceeds · MT006 other parameters
create or replace function mete_private._refuse_argument(message text) returns void language sql as $$
  select mete_private._refuse('MT001', message)
$$;

-- The amount of the key mete-generation is a number that nodes keep for themselves (core/reserved.h): whoever could charge
-- it would have the limit without an end.
create or replace function mete_private._refuse_reserved_key() returns void language sql as $$
  select mete_private._refuse_argument('key ''mete-generation'' is for what nodes keep for themselves')
$$;

-- The limit of a name, if the caller may use it.
create or replace function mete_private._limit(name text) returns mete.limits
language plpgsql stable as $$
declare
  l mete.limits;
begin
  select * into l from mete.limits t where t.name = _limit.name and not t.is_dropped;
  if not found then
    perform mete_private._refuse('MT002', format('unknown limit ''%s''', name), 'define it: select mete.define(…)');
  end if;
  if not mete_private._is_rule(mete_private._rule(l)) then
    perform mete_private._refuse_row('mete.limits', format('limit ''%s''', name));
  end if;
  if l.only_for is not null then perform mete_private._check_role(l); end if;
  return l;
end $$;

-- Of the session's role, since the functions run as the schema's owner.
create or replace function mete_private._may_use(only_for name[]) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return pg_has_role(session_user, 'mete_admin', 'member') or
    exists (select from unnest(only_for) r join pg_roles on rolname = r where pg_has_role(session_user, r, 'member'));
end $$;

-- Whether a node keeps that for itself, as core/reserved.h has it: an id may begin with a part in braces, by which it lies
-- with its key. In views: see _now_us.
create or replace function mete_private._is_reserved_id(id text) returns boolean
language sql immutable as $$
  select id operator(pg_catalog.~) '^([{][^}]*[}])?mete-'
$$;

-- Draws of nodes are for mete_admin alone: who ends one takes from the limit what the node goes on to spend.
create or replace function mete_private._may_use_hold(only_for name[], id text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return mete_private._may_use(case when not mete_private._is_reserved_id(id) then only_for end);
end $$;

create or replace function mete_private._check_role(l mete.limits) returns void
language plpgsql stable as $$
begin
  if mete_private._may_use(l.only_for) then return; end if;
  raise exception using errcode = 'insufficient_privilege',
    message = format('limit ''%s'' is not for role %s', l.name, session_user),
    hint = 'mete.restrict() says who may use it';
end $$;

-- For answers that are given without opening meters.
create or replace function mete_private._check_roles(limits text[]) returns void
language plpgsql stable as $$
declare
  l mete.limits;
begin
  for l in select * from mete.limits t where t.name = any (limits) and not t.is_dropped and t.only_for is not null loop
    perform mete_private._check_role(l);
  end loop;
end $$;

-- What open holds have of a meter, the first to expire first. What expired up to settled_us has come back already.
create or replace function mete_private._parts(m mete.meters) returns mete.part[]
language plpgsql stable as $$
begin
  return (
    select array_agg(row(o.part_units, o.part_us, o.due_us, o.id, o.charge)::mete.part order by o.due_us, o.serial)
    from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.held_us > m.settled_us and o.is_backed);
end $$;

create or replace function mete_private._expired(o mete.opened, until_us bigint) returns mete.opened
language plpgsql stable as $$
declare
  m mete.meters := o.m;
  rule mete.rule := o.rule;
  part mete.part;
  count integer := 0;
begin
  if o.parts is null then return o; end if;
  foreach part in array o.parts loop
    exit when part.expires_us > until_us;
    m := mete_private._settled(rule, m, greatest(part.expires_us, m.start_us));
    m := mete_private._released(rule, m, part.units, part.made_us, greatest(part.expires_us, m.start_us));
    count := count + 1;
  end loop;
  if count > 0 then
    o.parts := case when count < cardinality(o.parts) then o.parts[count + 1:] end;
    m.settled_us := greatest(m.settled_us, until_us);
    o.m := m;
  end if;
  return o;
end $$;

-- The meter under another rule, from an instant on up to which its parts have expired. What is held goes on as if it were
-- made then, since what has come back already must not do so again.
create or replace function mete_private._moved(o mete.opened, new mete.rule, at_us bigint) returns mete.opened
language plpgsql stable as $$
declare
  m mete.meters := o.m;
  old mete.rule := o.rule;
  w record;
  part mete.part;
  remade mete.part[];
begin
  at_us := greatest(at_us, m.start_us);
  m := mete_private._settled(old, m, at_us);
  w := mete_private._window(new, at_us);
  if old.kind = new.kind and
     (old.kind = 'sliding' and old.period_us = new.period_us or
      old.kind <> 'sliding' and w.start_us = m.start_us and w.end_us = m.end_us) and
     (old.kind <> 'bucket' or (old.amount, old.capacity, old.period_us) = (new.amount, new.capacity, new.period_us)) then
    if old.kind = 'sliding' and old.amount <> new.amount then m := mete_private._replayed(new, m, m.is_ring); end if;
    o.m := m;
    o.rule := new;
    return o;
  end if;
  if o.parts is not null then
    foreach part in array o.parts loop
      part.units := mete_private._still_charged(old, m, part.units, part.made_us, at_us, false);
      part.made_us := at_us;
      remade := remade || part;
    end loop;
    o.parts := remade;
    o.has_remade_parts := true;
  end if;
  o.m := mete_private._rebased(old, m, new, at_us);
  o.rule := new;
  return o;
end $$;

-- A meter as it was found under an earlier revision of its limit, under the present one.
create or replace function mete_private._caught_up(l mete.limits, o mete.opened) returns mete.opened
language plpgsql stable as $$
declare
  m mete.meters := o.m;
  r mete.revisions;
begin
  for r in select * from mete.revisions t where t.limit_id = l.id and t.revision >= m.revision and t.revision <= l.revision
           order by t.revision loop
    if not mete_private._is_rule(r.rule) then
      perform mete_private._refuse_row('mete.revisions', format('limit ''%s'', revision %s', l.name, r.revision));
    end if;
    if r.revision = m.revision then
      o.rule := mete_private._with_amount(r.rule, m.own_amount);
    else
      o := mete_private._expired(o, r.since_us);
      o := mete_private._moved(o, mete_private._with_amount(r.rule, m.own_amount), r.since_us);
    end if;
  end loop;
  m := o.m;
  m.revision := l.revision;
  o.m := m;
  o.is_carried := true;
  return o;
end $$;

create or replace function mete_private._opened(l mete.limits, m mete.meters, now_us bigint, wants_parts boolean) returns mete.opened
language plpgsql stable as $$
declare
  o mete.opened;
begin
  o.m := m;
  o.has_remade_parts := false;
  o.is_carried := false;
  if m.due_us < 9223372036854775807 and (wants_parts or m.due_us <= now_us or m.revision <> l.revision) then
    o.parts := mete_private._parts(m);
  end if;
  if m.revision = l.revision then
    o.rule := mete_private._with_amount(mete_private._rule(l), m.own_amount);
  else
    o := mete_private._caught_up(l, o);
  end if;
  if m.due_us <= now_us then o := mete_private._expired(o, now_us); end if;
  o.m := mete_private._settled(o.rule, o.m, now_us);
  return o;
end $$;

-- The numbers of a rule, as functions take them for granted.
create or replace function mete_private._is_rule(rule mete.rule) returns boolean language sql immutable as $$
  select coalesce(rule.amount between 1 and 9007199254740991 and rule.capacity between 1 and 9007199254740991 and
                  rule.period_us between case when rule.kind in ('bucket', 'window', 'sliding') then 1000 else 0 end
                    and 3653 * 86400000000, false)
$$;

-- And those of a meter. Times have room for what is added to them.
create or replace function mete_private._is_meter(m mete.meters) returns boolean language sql immutable as $$
  select coalesce(m.revision >= 1 and m.units between 0 and 9007199254740991 and m.full_at between 0 and 1e33 and
                  m.start_us between 0 and 9007199254740991 and m.end_us >= 0 and
                  m.settled_us between 0 and 9007199254740991 and m.due_us >= 0 and
                  coalesce(m.own_amount, 1) between 1 and 9007199254740991 and
                  m.older_units between 0 and m.units and cardinality(m.older) between 0 and 250 and
                  cardinality(m.older) % 2 = 0 and m.is_ring is not null, false) and
    not exists (select from unnest(m.older) o where coalesce(o not between 1 and 9007199254740991, true))
$$;

-- What somebody else has written into a row would end in an error that does not say where, or in a wrong decision.
create or replace function mete_private._refuse_row(place text, whose text) returns void language sql as $$
  select mete_private._refuse('XX001', format('the row of %s in %s holds what Mete has not written', whose, place),
                              'mend it, or delete it')
$$;

-- The meter's row, locked; made if there is none.
create or replace function mete_private._locked(l mete.limits, key text) returns mete.meters
language plpgsql as $$
declare
  m mete.meters;
begin
  loop
    select * into m from mete.meters t where t.limit_id = l.id and t.key = _locked.key for update;
    exit when found;
    insert into mete.meters (limit_id, key, revision, units, full_at, start_us, end_us, settled_us, due_us)
    values (l.id, _locked.key, l.revision, 0, 0, 0, 0, mete_private._now_us(), 9223372036854775807)
    on conflict do nothing;
  end loop;
  if not mete_private._is_meter(m) then
    perform mete_private._refuse_row('mete.meters', format('limit ''%s'', key ''%s''', l.name, m.key));
  end if;
  return m;
end $$;

-- The meter's row as it is, or a fresh one.
create or replace function mete_private._seen(l mete.limits, key text) returns mete.meters
language plpgsql stable as $$
declare
  m mete.meters;
begin
  select * into m from mete.meters t where t.limit_id = l.id and t.key = _seen.key;
  if not found then m := mete_private._fresh(l.id, key, l.revision, 0); end if;
  if not mete_private._is_meter(m) then
    perform mete_private._refuse_row('mete.meters', format('limit ''%s'', key ''%s''', l.name, m.key));
  end if;
  return m;
end $$;

-- In views: see _now_us.
create or replace function mete_private._timestamp(at_us bigint) returns timestamptz
language sql immutable as $$
  select pg_catalog.timestamptz 'epoch' operator(pg_catalog.+) (at_us operator(pg_catalog.*) interval '1 microsecond')
$$;

create or replace function mete_private._interval(us bigint) returns interval
language sql immutable as $$
  select case when us >= 0 then us * interval '1 microsecond' end
$$;

-- Writes a meter that an operation has locked and changed.
create or replace function mete_private._write(o mete.opened, now_us bigint) returns void
language plpgsql as $$
declare
  m mete.meters := o.m;
  part mete.part;
begin
  if o.parts is not null then
    part := o.parts[1];
    m.due_us := part.expires_us;
  elsif m.due_us <= now_us then
    m.due_us := 9223372036854775807;
  end if;
  update mete.meters t
  set revision = m.revision, units = m.units, full_at = m.full_at, start_us = m.start_us, end_us = m.end_us,
      settled_us = m.settled_us, due_us = m.due_us, own_amount = m.own_amount, older = m.older, older_units = m.older_units,
      is_ring = m.is_ring
  where t.limit_id = m.limit_id and t.key = m.key;
end $$;

-- What a new rule has left of a meter's held parts.
create or replace function mete_private._write_parts(o mete.opened) returns void
language plpgsql as $$
declare
  part mete.part;
begin
  if o.parts is null then return; end if;
  foreach part in array o.parts loop
    update mete.operations t set part_units = part.units, part_us = part.made_us
    where t.id = part.id and t.charge = part.charge;
  end loop;
end $$;

-- As _opened, of a meter that is locked. One of an earlier revision is written at once, and for the audit the sums of the
-- new one begin with what went over to it, but for what is still held.
create or replace function mete_private._opened_locked(l mete.limits, m mete.meters, now_us bigint, wants_parts boolean) returns mete.opened
language plpgsql as $$
declare
  o mete.opened := mete_private._opened(l, m, now_us, wants_parts);
  rule mete.rule := o.rule;
  carried bigint;
begin
  if not o.is_carried then return o; end if;
  if o.has_remade_parts then perform mete_private._write_parts(o); end if;
  perform mete_private._write(o, now_us);
  m := o.m;
  -- Of this window: a sliding one's window before has sums of its own.
  carried := case when rule.kind = 'bucket' then mete_private._used(rule, m, now_us) else m.units end -
    mete_private._held(rule, m, o.parts, now_us);
  if l.records and carried <> 0 then
    perform mete_private._record(l, m.key, 'carry', carried, now_us, now_us, null, null);
  end if;
  o.has_remade_parts := false;
  return o;
end $$;

-- An event. `charged_us`: the time that decides which window it belongs to.
create or replace function mete_private._record(l mete.limits, key text, kind text, amount bigint, now_us bigint, charged_us bigint,
                             operation text, tag text) returns void
language plpgsql as $$
begin
  insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
  values (mete_private._timestamp(now_us), l.id, key, kind, amount, mete_private._timestamp(charged_us), operation, tag, l.revision);
end $$;
