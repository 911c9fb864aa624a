-- The functions for applications. Each is one step: it is done, and answers with a row; or it fails, and nothing has changed.
-- They run with the rights of the schema's owner, on a search path of their own: mete_use is enough to call them.
create or replace function mete_private._answer(r mete.outcome, limits text[]) returns mete.answer
language plpgsql immutable as $$
declare
  violated text[] := '{}';
begin
  for i in 1 .. case when r.violated > 0 then cardinality(limits) else 0 end loop
    if r.violated >> (i - 1) & 1 = 1 then violated := violated || limits[i]; end if;
  end loop;
  return row(r.allowed, r.remaining, r.capacity, mete_private._interval(r.retry_us), mete_private._interval(r.reset_us), violated, r.amount,
             r.id)::mete.answer;
end $$;

create or replace function mete_private._check_charges(limits text[], keys text[], costs bigint[], lowest bigint) returns void
language plpgsql as $$
begin
  if limits is null or cardinality(limits) not between 1 and 16 then
    perform mete_private._refuse_argument(format('charges: an operation has 1 to 16, not %s', coalesce(cardinality(limits), 0)));
  end if;
  for i in 1 .. cardinality(limits) loop
    -- Told apart from how it is wrong, which is seldom asked: a call costs ten times as much as a condition.
    continue when octet_length(limits[i]) between 1 and 128 and octet_length(keys[i]) between 1 and 512 and
      keys[i] <> 'mete-generation' and costs[i] between lowest and 9007199254740991;
    perform mete_private._check_text('limit name', limits[i], 128);
    perform mete_private._check_text('key', keys[i], 512);
    if keys[i] = 'mete-generation' then perform mete_private._refuse_reserved_key(); end if;
    perform mete_private._check_range(format('cost of ''%s''', limits[i]), costs[i], lowest);
  end loop;
end $$;

create or replace function mete_private._check_ttl(ttl interval) returns bigint
language plpgsql as $$
declare
  ttl_us bigint := mete_private._micros(ttl);
begin
  if ttl_us is null then perform mete_private._refuse_argument('ttl is missing'); end if;
  if ttl_us <= 0 or ttl_us > 366 * 86400000000 then
    perform mete_private._refuse_argument(format('ttl must be above 0 and at most 1 year (366 days), not %s', ttl));
  end if;
  return ttl_us;
end $$;

-- [{"limit": "api", "key": "alice", "cost": 1}, …]: cost 1 where none is given.
create or replace function mete_private._charges_of(charges jsonb, out limits text[], out keys text[], out costs bigint[])
language plpgsql immutable as $$
declare
  unknown text;
begin
  if jsonb_typeof(charges) is distinct from 'array' or
     exists (select from jsonb_array_elements(charges) c where jsonb_typeof(c) <> 'object') then
    perform mete_private._refuse_argument('charges must be an array of objects: [{"limit": "api", "key": "alice", "cost": 1}]');
  end if;
  select k into unknown from jsonb_array_elements(charges) c, jsonb_object_keys(c) k
  where k not in ('limit', 'key', 'cost') limit 1;
  if found then perform mete_private._refuse_argument(format('charges: unknown field ''%s''', unknown)); end if;
  if exists (select from jsonb_array_elements(charges) c, unnest(array['limit', 'key']) k
             where jsonb_typeof(c -> k) <> 'string') then
    perform mete_private._refuse_argument('charges: a limit and a key are strings');
  end if;
  if exists (select from jsonb_array_elements(charges) c
             where case when not c ? 'cost' then false when jsonb_typeof(c -> 'cost') <> 'number' then true else
               (c ->> 'cost')::numeric % 1 <> 0 or (c ->> 'cost')::numeric not between 0 and 9007199254740991 end) then
    perform mete_private._refuse_argument('charges: a cost is a whole number, 0 to 9007199254740991');
  end if;
  select array_agg(c ->> 'limit' order by i), array_agg(c ->> 'key' order by i),
         array_agg(coalesce((c ->> 'cost')::numeric, 1)::bigint order by i)
  into limits, keys, costs
  from jsonb_array_elements(charges) with ordinality e (c, i);
end $$;

-- Takes of one charge, which sliding windows have a short way for as well.

create or replace function mete.take("limit" text, key text, cost bigint default 1, id text default null, mode text default 'take')
returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint;
  floor_us bigint;
  -- include plain_variables.sql
begin
  if mode is distinct from 'take' or id is not null then
    return mete_private._checked_take(array["limit"], array[key], array[cost], id, mode);
  end if;
  -- include plain_or_sliding_charge.sql
  -- include plain_take.sql
    return (true, remaining, capacity, interval '0', mete_private._interval(reset_us), '{}'::text[], cost, null::text);
  end if;
  return mete_private._checked_take(array["limit"], array[key], array[cost], id, mode);
end $$;

create or replace function mete.take_all(charges jsonb, id text default null, mode text default 'take') returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  c record := mete_private._charges_of(charges);
begin
  return mete_private._checked_take(c.limits, c.keys, c.costs, id, mode);
end $$;

create or replace function mete_private._checked_take(limits text[], keys text[], costs bigint[], id text, mode text) returns mete.answer
language plpgsql as $$
begin
  perform mete_private._check_charges(limits, keys, costs, 0);
  if id is not null then perform mete_private._check_text('id', id, 128); end if;
  if mode is null or mode not in ('take', 'up_to', 'force') then
    perform mete_private._refuse_argument(format('mode must be take, up_to or force, not %s', coalesce(mode, 'null')));
  end if;
  if mode = 'up_to' and cardinality(limits) > 1 then
    perform mete_private._refuse_argument(format('mode: up_to takes one charge, not %s', cardinality(limits)));
  end if;
  return mete_private._answer(mete_private._take(limits, keys, costs, mode, id, null, null, false, true, mete_private._retention_us(), 0, false),
                      limits);
end $$;

create or replace function mete.peek("limit" text, key text, cost bigint default 1) returns mete.answer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(array["limit"], array[key], array[cost], 0);
  return mete_private._answer(mete_private._peek(array["limit"], array[key], array[cost], 0, false), array["limit"]);
end $$;

create or replace function mete.peek_all(charges jsonb) returns mete.answer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  c record := mete_private._charges_of(charges);
begin
  perform mete_private._check_charges(c.limits, c.keys, c.costs, 0);
  return mete_private._answer(mete_private._peek(c.limits, c.keys, c.costs, 0, false), c.limits);
end $$;

create or replace function mete.give("limit" text, key text, cost bigint default 1, id text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(array["limit"], array[key], array[cost], 1);
  if id is not null then perform mete_private._check_text('id', id, 128); end if;
  return mete_private._answer(mete_private._give(array["limit"], array[key], array[cost], id, mete_private._retention_us(), 0), array["limit"]);
end $$;

create or replace function mete.give_all(charges jsonb, id text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  c record := mete_private._charges_of(charges);
begin
  perform mete_private._check_charges(c.limits, c.keys, c.costs, 1);
  if id is not null then perform mete_private._check_text('id', id, 128); end if;
  return mete_private._answer(mete_private._give(c.limits, c.keys, c.costs, id, mete_private._retention_us(), 0), c.limits);
end $$;

-- A hold's id is the one that is given; or its tag, so that the same job is the same hold; or a random one. A denial is
-- remembered for an id alone: a job that had to wait asks again, with the same tag.
create or replace function mete_private._checked_hold(limits text[], keys text[], costs bigint[], ttl interval, id text, tag text)
returns mete.answer
language plpgsql as $$
declare
  is_random boolean := id is null and tag is null;
  ttl_us bigint := mete_private._micros(ttl);
begin
  perform mete_private._check_charges(limits, keys, costs, 1);
  if id is not null then
    perform mete_private._check_text('id', id, 128);
    if tag is not null then perform mete_private._check_text('tag', tag, 512); end if;
  elsif tag is not null then
    perform mete_private._check_text('tag, where it is the id as well,', tag, 128);
  end if;
  if not coalesce(ttl_us between 1 and 366 * 86400000000, false) then perform mete_private._check_ttl(ttl); end if;
  return mete_private._answer(mete_private._take(limits, keys, costs, 'take',
                                 coalesce(id, tag, replace(gen_random_uuid()::text, '-', '')), ttl_us, tag, is_random,
                                 id is not null, mete_private._retention_us(), 0, false), limits);
end $$;

create or replace function mete.hold("limit" text, key text, cost bigint, ttl interval, id text default null, tag text default null)
returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint := mete_private._micros(ttl);
  floor_us bigint;
  hold_id text := coalesce(id, tag);
  -- include plain_variables.sql
begin
  if ttl_us between 1 and 366 * 86400000000 and octet_length(coalesce(hold_id, '-')) between 1 and 128 and
     octet_length(coalesce(tag, '-')) between 1 and 512 then
    -- include plain_charge.sql
    -- include plain_hold.sql
      if found then
        return (true, remaining, capacity, interval '0', mete_private._interval(reset_us), '{}'::text[], cost, hold_id);
      end if;
      perform mete_private._uncharge(limit_number, key, cost);
    end if;
  end if;
  return mete_private._checked_hold(array["limit"], array[key], array[cost], ttl, id, tag);
end $$;

create or replace function mete.hold_all(charges jsonb, ttl interval, id text default null, tag text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  c record := mete_private._charges_of(charges);
begin
  return mete_private._checked_hold(c.limits, c.keys, c.costs, ttl, id, tag);
end $$;

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
  -- include plain_end_variables.sql
begin
  if tag is not null or hold is null then hold := mete_private._hold_id(id, tag); end if;
  if amounts is null or array_length(amounts, 1) = 1 and wanted is not null then
  -- include plain_end.sql
      return (true, remaining, capacity, interval '0', mete_private._interval(reset_us), '{}'::text[], kept, hold);
  -- include plain_end_undone.sql
  end if;
  return mete_private._closed(hold, mete_private._close(hold, 'commit', amounts, coalesce(overage, false), null, retention_us, 0));
end $$;

create or replace function mete.cancel(id text default null, tag text default null) returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  wanted bigint := 0;
  ended_as text := 'cancelled';
  retention_us bigint := 86400000000;
  floor_us bigint;
  -- include plain_end_variables.sql
begin
  if tag is not null or hold is null then hold := mete_private._hold_id(id, tag); end if;
  -- include plain_end.sql
      return (true, remaining, capacity, interval '0', mete_private._interval(reset_us), '{}'::text[], held, hold);
  -- include plain_end_undone.sql
  return mete_private._closed(hold, mete_private._close(hold, 'cancel', null, false, null, retention_us, 0));
end $$;

-- The worker's heartbeat: the hold expires `ttl` from now.
create or replace function mete.extend(id text default null, ttl interval default null, tag text default null)
returns mete.answer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  ttl_us bigint := mete_private._check_ttl(ttl);
  floor_us bigint;
  hold_serial bigint;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete_private._hold_id(id, tag); end if;
  -- include plain_extend.sql
      return (true, remaining, capacity, interval '0', mete_private._interval(reset_us), '{}'::text[], 0::bigint, hold);
    end if;
  end if;
  return mete_private._closed(hold, mete_private._close(hold, 'extend', null, false, ttl_us, mete_private._retention_us(), 0));
end $$;

create or replace function mete_private._closed(hold text, r mete.outcome) returns mete.answer
language plpgsql immutable as $$
begin
  r.id := hold;
  return mete_private._answer(r, '{}');
end $$;

create or replace function mete.usage("limit" text, key text) returns mete.standing
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  u record;
begin
  perform mete_private._check_charges(array["limit"], array[key], array[0::bigint], 0);
  u := mete_private._usage("limit", key, 0);
  return row(u.used, u.held, u.remaining, u.capacity, mete_private._interval(u.reset_us))::mete.standing;
end $$;

-- Sets the usage from a source of truth. What is held stays held, on top of it.
create or replace function mete.reconcile("limit" text, key text, used bigint, out used_before bigint, out used_now bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(array["limit"], array[key], array[0::bigint], 0);
  perform mete_private._check_range('amount', used, 0);
  select r.used_before, r.used_now into used_before, used_now from mete_private._reconcile("limit", key, used, null, 0) r;
end $$;

-- A length of time, as microseconds. A month has none.
create or replace function mete_private._period_us(period text) returns bigint
language plpgsql stable as $$
declare
  length interval;
begin
  length := period::interval;
  if extract(year from length) <> 0 or extract(month from length) <> 0 then
    perform mete_private._refuse_argument(format('period: ''%s'' has no fixed length: say it in days, or define a calendar', period));
  end if;
  return mete_private._micros(length);
exception when data_exception then
  perform mete_private._refuse_argument(format('period: ''%s'' is no length of time, such as 1 minute', period));
end $$;

-- period: '1 minute' and the like for a bucket, window or sliding; 'hour', 'day', 'week', 'month' or 'year' for a calendar.
create or replace function mete.define(name text, kind text, amount bigint, period text default null, burst bigint default null,
                            zone text default null, anchor integer default null, durable text default null,
                            on_fail text default 'closed', shadow boolean default false, scope text default 'node')
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  l mete.limits;
begin
  l.name := name;
  l.kind := kind;
  l.amount := amount;
  if period in ('hour', 'day', 'week', 'month', 'year') then
    l.unit := period;
  elsif period is not null then
    l.period_us := mete_private._period_us(period);
  elsif kind in ('bucket', 'window', 'sliding') then
    perform mete_private._refuse_argument(format('period is missing: a %s needs one, such as 1 minute', kind));
  end if;
  if kind = 'stock' and period is not null then perform mete_private._refuse_argument('period: a stock takes none'); end if;
  l.burst := burst;
  l.zone := zone;
  l.anchor := anchor;
  l.durable := durable;
  l.on_fail := on_fail;
  l.shadow := shadow;
  l.scope := scope;
  perform mete_private._define(l, 0);
end $$;

-- Forgets the limit, with all that is used and held of it; false if there is none.
create or replace function mete.drop_limit(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_text('limit name', name, 128);
  return mete_private._drop(name);
end $$;

-- Another amount for this key; null: the limit's again.
create or replace function mete.override("limit" text, key text, amount bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(array["limit"], array[key], array[0::bigint], 0);
  if amount is not null then perform mete_private._check_range('amount', amount, 1); end if;
  perform mete_private._override("limit", key, amount, 0);
end $$;

-- Keeps the limit for these roles and their members, and for mete_admin; null: for all who may use Mete.
create or replace function mete.restrict("limit" text, roles name[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  l mete.limits;
  unknown name;
begin
  perform mete_private._check_text('limit name', "limit", 128);
  l := mete_private._limit("limit");
  select coalesce(r, 'null') into unknown from unnest(roles) r where not exists (select from pg_roles where rolname = r) limit 1;
  if found then perform mete_private._refuse_argument(format('roles: there is no role %s', unknown)); end if;
  update mete.limits t set only_for = roles where t.id = l.id;
end $$;

-- Puts away holds that have expired, in batches of at most so many, and deletes what nobody needs any more. They have
-- stopped counting when their time was over, whether this runs or not. Call it every minute or so, as `mete serve` does.
create or replace function mete.expire(batch integer default 100, out expired integer, out swept integer, out orphans bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if batch is null or batch < 1 then perform mete_private._refuse_argument('batch must be at least 1'); end if;
  expired := mete_private._expire_holds(batch, mete_private._retention_us());
  swept := mete_private._sweep(batch);
  select count(*) into orphans from mete.operations o where o.state = 'expired';
end $$;

-- Deletes usage events from before an instant. Balances do not change, and the audit still holds.
create or replace function mete.prune(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if before is null then perform mete_private._refuse_argument('before is missing'); end if;
  -- What meters still count of them becomes an event of that instant.
  if before > clock_timestamp() then perform mete_private._refuse_argument(format('before must not be to come: %s is', before)); end if;
  return mete_private._prune(before);
end $$;

-- The balances that are not what events and open holds add up to. No rows: the books are right.
create or replace function mete.audit(out "limit" text, out key text, out balance bigint, out recorded bigint, out held bigint)
returns setof record
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query select * from mete_private._audit();
end $$;
