-- Limits, and the amounts of single keys.
create or replace function mete_private._check_range(field text, value bigint, lowest bigint) returns void
language plpgsql as $$
begin
  if value is null then perform mete_private._refuse_argument(format('%s is missing', field)); end if;
  if value < lowest or value > 9007199254740991 then
    perform mete_private._refuse_argument(format('%s must be %s to 9007199254740991, not %s', field, lowest, value));
  end if;
end $$;

create or replace function mete_private._check_text(field text, value text, bytes_max integer) returns void
language plpgsql as $$
begin
  if value is null then perform mete_private._refuse_argument(format('%s is missing', field)); end if;
  if octet_length(value) not between 1 and bytes_max then
    perform mete_private._refuse_argument(format('%s must have 1 to %s bytes, not %s', field, bytes_max, octet_length(value)));
  end if;
end $$;

-- A length beyond all that is taken stays so, for whoever checks it; as a double it is exact for all that is.
create or replace function mete_private._micros(length interval) returns bigint
language sql immutable as $$
  select (case when abs(date_part('epoch', length)) >= 1e12 then 1e12 else date_part('epoch', length) end * 1000000)::bigint
$$;

-- What a limit of this kind takes, and what it must have.
create or replace function mete_private._check_limit(l mete.limits) returns void
language plpgsql as $$
declare
  takes_period boolean := l.kind in ('bucket', 'window', 'sliding');
begin
  perform mete_private._check_text('limit name', l.name, 128);
  if l.name ~ '[\x01-\x1f\x7f]' then perform mete_private._refuse_argument('limit name must not have control characters'); end if;
  if lower(l.name) = 'tag' then
    perform mete_private._refuse_argument(format('limit name must not be ''%s'': HOLDS TAG lists the holds with a tag', l.name));
  end if;
  if l.kind is null or l.kind not in ('bucket', 'window', 'sliding', 'calendar', 'stock') then
    perform mete_private._refuse_argument(format('kind must be bucket, window, sliding, calendar or stock, not %s',
                                         coalesce(l.kind, 'null')));
  end if;
  perform mete_private._check_range('amount', l.amount, 1);
  if takes_period and (l.period_us < 1000 or l.period_us > 3653 * 86400000000) then
    perform mete_private._refuse_argument(format('period must be 1 ms to 10 years (3653 days), not %s seconds',
                                         trim_scale(l.period_us / 1000000.0)));
  end if;
  if takes_period and l.unit is not null then
    perform mete_private._refuse_argument(format('period: a %s takes a length, such as 1 minute, not %s', l.kind, l.unit));
  end if;
  if l.kind = 'calendar' and (l.unit is null or l.unit not in ('hour', 'day', 'week', 'month', 'year')) then
    perform mete_private._refuse_argument('period: a calendar needs hour, day, week, month or year');
  end if;
  if l.kind <> 'bucket' and l.burst is not null then
    perform mete_private._refuse_argument(format('burst: a %s takes none', l.kind));
  end if;
  if l.burst is not null then perform mete_private._check_range('burst', l.burst, 1); end if;
  if l.kind <> 'calendar' and (l.zone is not null or l.anchor is not null) then
    perform mete_private._refuse_argument(format('%s: a %s takes none', case when l.zone is null then 'anchor' else 'zone' end, l.kind));
  end if;
  if l.zone is not null and not exists (select from pg_timezone_names z where z.name = l.zone) then
    perform mete_private._refuse_argument(format('zone: unknown time zone ''%s'': use a name such as Europe/Berlin', l.zone));
  end if;
  if l.anchor is not null and not (case l.unit
       when 'week' then l.anchor between 1 and 7
       when 'month' then l.anchor between 1 and 31
       when 'year' then l.anchor / 100 between 1 and 12 and l.anchor % 100 between 1 and
         extract(day from make_date(2000, l.anchor / 100, 1) + interval '1 month - 1 day')
       else false end) then
    perform mete_private._refuse_argument(format('anchor %s: a week has 1 to 7, a month 1 to 31, a year month * 100 + day, an hour '
                                         'or a day none', l.anchor));
  end if;
  if l.durable is not null and l.durable not in ('always', 'everysec', 'never') then
    perform mete_private._refuse_argument(format('durable must be always, everysec or never, not %s', l.durable));
  end if;
  if l.on_fail is null or l.on_fail not in ('closed', 'open', 'local') then
    perform mete_private._refuse_argument(format('on_fail must be closed, open or local, not %s', coalesce(l.on_fail, 'null')));
  end if;
  if l.shadow is null then perform mete_private._refuse_argument('shadow must be true or false, not null'); end if;
  if l.scope is null or l.scope not in ('node', 'shared', 'escrow') then
    perform mete_private._refuse_argument(format('scope must be node, shared or escrow, not %s', coalesce(l.scope, 'null')));
  end if;
end $$;

-- Defines the limit, or changes it: what is in use stays in use, and meters go over to the new numbers when they are next
-- looked at, as of this instant. Limits in which nodes keep what they know of each other are for mete_admin alone.
create or replace function mete_private._define(l mete.limits, floor_us bigint) returns bigint
language plpgsql as $$
declare
  old mete.limits;
  rows integer;
begin
  perform mete_private._check_limit(l);
  l.period_us := coalesce(l.period_us, 0);
  l.capacity := coalesce(l.burst, l.amount);
  l.records := coalesce(l.durable, case when l.kind in ('stock', 'calendar') then 'always' end) is not distinct from 'always';
  loop
    select * into old from mete.limits t where t.name = l.name and not t.is_dropped for update;
    if found then
      l.changed_us := greatest(mete_private._now_us(), floor_us, old.changed_us);
      l.revision := old.revision;
      if mete_private._rule(l) is distinct from mete_private._rule(old) or l.records <> old.records then
        l.revision := old.revision + 1;
        insert into mete.revisions values (old.id, l.revision, mete_private._rule(l), l.changed_us);
      end if;
      update mete.limits t
      set revision = l.revision, kind = l.kind, amount = l.amount, capacity = l.capacity, period_us = l.period_us,
          unit = l.unit, zone = l.zone, anchor = l.anchor, burst = l.burst, durable = l.durable, on_fail = l.on_fail,
          shadow = l.shadow, scope = l.scope, records = l.records, changed_us = l.changed_us
      where t.id = old.id;
      return l.changed_us;
    end if;
    l.changed_us := greatest(mete_private._now_us(), floor_us);
    insert into mete.limits (name, revision, kind, amount, capacity, period_us, unit, zone, anchor, burst, durable, on_fail,
                             shadow, scope, records, changed_us, only_for)
    values (l.name, 1, l.kind, l.amount, l.capacity, l.period_us, l.unit, l.zone, l.anchor, l.burst, l.durable, l.on_fail,
            l.shadow, l.scope, l.records, l.changed_us, case when l.name like 'mete.%' then '{mete_admin}'::name[] end)
    on conflict do nothing;
    get diagnostics rows = row_count;
    if rows = 1 then
      insert into mete.revisions
      select t.id, 1, mete_private._rule(l), l.changed_us from mete.limits t where t.name = l.name and not t.is_dropped;
      return l.changed_us;
    end if;
  end loop;
end $$;

create or replace function mete_private._drop(name text) returns boolean
language plpgsql as $$
begin
  update mete.limits t set is_dropped = true, changed_us = greatest(mete_private._now_us(), t.changed_us)
  where t.name = _drop.name and not t.is_dropped;
  return found;
end $$;

-- Another amount for this key; null: the limit's again.
create or replace function mete_private._override(name text, key text, amount bigint, floor_us bigint) returns bigint
language plpgsql as $$
declare
  charged mete.charged[] := mete_private._charged_meters(array[name], array[key], array[0::bigint]);
  opened mete.opened[];
  now_us bigint;
  c mete.charged;
  o mete.opened;
  m mete.meters;
begin
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete_private._open_all(charged, floor_us, true) a;
  c := charged[1];
  o := opened[1];
  m := o.m;
  m.own_amount := amount;
  o.m := m;
  o := mete_private._moved(o, mete_private._with_amount(mete_private._rule(c.l), amount), now_us);
  if o.has_remade_parts then perform mete_private._write_parts(o); end if;
  perform mete_private._write(o, now_us);
  return now_us;
end $$;

create or replace function mete_private._usage(name text, key text, floor_us bigint, out used bigint, out held bigint, out remaining bigint,
                            out capacity bigint, out reset_us bigint, out now_us bigint)
language plpgsql stable as $$
declare
  r mete.outcome := mete_private._peek(array[name], array[key], array[0::bigint], floor_us, true);
begin
  used := r.usages[1];
  held := r.usages[2];
  remaining := r.usages[3];
  capacity := r.usages[4];
  reset_us := r.usages[5];
  now_us := r.now_us;
end $$;
