-- The functions that the library and `mete serve` call (src/store/postgres): the same steps as those for applications, for
-- a caller that counts in microseconds, and tells how far its clock has come (floor_us): time never runs backwards for it.
-- It has checked the arguments; but whoever has mete_use may call these, so what could harm others is checked here again.
create or replace function mete_private.store_take(limits text[], keys text[], costs bigint[], mode text, id text, ttl_us bigint, tag text,
                                is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint,
                                wants_usages boolean) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(limits, keys, costs, 0);
  return mete_private._take(limits, keys, costs, mode, id, ttl_us, tag, is_id_random, remembers_denial, retention_us, floor_us,
                    wants_usages);
end $$;

-- A take of one charge, without an id.
create or replace function mete_private.store_take_one("limit" text, key text, cost bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint;
  -- include plain_variables.sql
begin
  -- include plain_or_sliding_charge.sql
  -- include plain_take.sql
    return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
  end if;
  return mete_private._take_generally(array["limit"], array[key], array[cost], 'take', null, null, null, null, false, false, 0,
                              floor_us, false);
end $$;

-- A hold of one charge.
create or replace function mete_private.store_hold_one("limit" text, key text, cost bigint, id text, ttl_us bigint, tag text,
                                    is_id_random boolean, retention_us bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold_id text := id;
  -- include plain_variables.sql
begin
  -- include plain_charge.sql
  -- include plain_hold.sql
    if found then
      return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, hold_id, null::bigint[]);
    end if;
    perform mete_private._uncharge(limit_number, key, cost);
  end if;
  return mete_private._take(array["limit"], array[key], array[cost], 'take', id, ttl_us, tag, is_id_random, true, retention_us,
                    floor_us, false);
end $$;

-- Takes, and holds under ids that nobody else knows yet, that have come together: each for itself, and in one transaction. An
-- outcome for each, in their order; null where the limit is unknown. A take has no id. They do not wait long for somebody
-- else's transaction: then none is made, and each is tried alone.
--
-- The meters are locked in their order by one statement, which also makes what is plain: charges that fit, all of them
-- that are on a meter, as in parts/plain_charge.sql. The others follow, one by one, and lock nothing more.
--
-- Planning costs more than a few charges do: so there is one plan for all. And it finds each row by its key: one that was
-- made while the table was small would read all of it, until the next ANALYZE.
create or replace function mete_private.store_each(limits text[], keys text[], costs bigint[], ids text[], ttls_us bigint[], tags text[],
                                retention_us bigint, floor_us bigint) returns setof mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexonlyscan = off set enable_mergejoin = off as $$
declare
  results mete.outcome[];
  rest integer[];
  is_gone boolean;
  i integer;
begin
  if exists (select from unnest(costs) c where c is null or c not between 0 and 9007199254740991) then
    perform mete_private._refuse_argument('costs must be 0 to 9007199254740991');
  end if;
  if exists (select from unnest(limits, keys) c (name, key) join mete.limits l on l.name = c.name and not l.is_dropped
             where (select t.key from mete.meters t where t.limit_id = l.id and t.key = c.key) is null) then
    -- Makes those that are missing, in the order of locks among the others: those are locked by this, though its
    -- condition is never true. They begin in the present window, so that what follows finds them up to date.
    insert into mete.meters as m (limit_id, key, revision, units, full_at, start_us, end_us, settled_us, due_us)
    select c.id, c.key, c.revision, 0, 0, c.start_us, c.end_us, mete_private._now_us(), 9223372036854775807
    from (select distinct l.id, u.key collate "C" as key, l.revision, l.start_us, l.end_us
          from (select t.id, t.name, t.revision, w.start_us, w.end_us
                from mete.limits t, lateral mete_private._window(mete_private._rule(t), greatest(mete_private._now_us(), floor_us)) w
                where t.name = any (limits) and not t.is_dropped) l
          join unnest(limits, keys) u (name, key) on u.name = l.name) c
    order by c.id, c.key
    on conflict (limit_id, key) do update set units = m.units where false;
  end if;
  with charges as materialized (
    select c.i::integer as i, c.key collate "C" as key, c.cost, nullif(c.id, '') as id, c.ttl_us,
      nullif(c.tag, '') as tag, l.id as limit_id, l.revision, l.capacity, l.records, l.kind <> 'stock' as has_end,
      l.is_plain and (l.only_for is null or mete_private._may_use(l.only_for)) and c.key <> 'mete-generation' as is_plain,
      (sum(c.cost) over (partition by l.id, c.key order by c.i))::bigint as total
    from unnest(limits, keys, costs, ids, ttls_us, tags) with ordinality c (name, key, cost, id, ttl_us, tag, i)
    left join mete.limits l on l.name = c.name and not l.is_dropped
  ), sums as (
    select c.limit_id, c.key, min(c.revision) as revision, min(c.capacity) as capacity, bool_and(c.is_plain) as is_plain,
      max(c.total) as total, min(c.ttl_us) filter (where c.id is not null) as ttl_us
    from charges c where c.limit_id is not null group by c.limit_id, c.key
  ), locked as (
    select t.limit_id, t.key, s.total, s.ttl_us, s.capacity, s.is_plain and t.revision = s.revision as is_plain
    from sums s join mete.meters t on t.limit_id = s.limit_id and t.key = s.key
    order by t.limit_id, t.key for update of t
  ), charged as (
    update mete.meters t
    set units = t.units + s.total,
        due_us = least(t.due_us, greatest(mete_private._now_us(), floor_us, t.settled_us) + s.ttl_us)
    from locked s
    where s.is_plain and t.limit_id = s.limit_id and t.key = s.key and s.total > 0 and
      t.units <= coalesce(t.own_amount, s.capacity) - s.total and
      least(t.end_us, t.due_us) > greatest(mete_private._now_us(), floor_us)
    returning t.limit_id, t.key, coalesce(t.own_amount, s.capacity) - t.units + s.total as remaining,
      coalesce(t.own_amount, s.capacity) as capacity, greatest(mete_private._now_us(), floor_us, t.start_us, t.settled_us) as now_us,
      t.end_us
  ), done as materialized (
    select c.i, c.key, c.cost, c.id, c.ttl_us, c.tag, c.limit_id, c.revision, c.records, m.now_us, m.capacity,
      m.remaining - c.total as remaining, case when c.has_end then greatest(m.end_us - m.now_us, 0) else -1 end as reset_us
    from charges c left join charged m on m.limit_id = c.limit_id and m.key = c.key
  ), held as (
    insert into mete.operations (id, charge, kind, state, answer, made_us, due_us, held_us, tag, limit_id, key, amount,
                                 is_backed, part_units, part_us)
    select d.id, 0, 'hold', 'held', array[1, d.cost, d.remaining, d.capacity, 0, d.reset_us, 0, d.now_us], d.now_us,
      d.now_us + d.ttl_us, d.now_us + d.ttl_us, d.tag, d.limit_id, d.key, d.cost, true, d.cost, d.now_us
    from done d where d.now_us is not null and d.id is not null
  ), recorded as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select mete_private._timestamp(d.now_us), d.limit_id, d.key, 'take', d.cost, mete_private._timestamp(d.now_us), d.revision
    from done d where d.now_us is not null and d.id is null and d.records and d.cost > 0
  )
  select array_agg(case when d.now_us is not null then
                     (true, d.cost, d.remaining, d.capacity, 0, d.reset_us, 0, d.now_us, d.id, null)::mete.outcome
                   end order by d.i),
    array_agg(d.i order by d.limit_id, d.key, d.i) filter (where d.now_us is null and d.limit_id is not null),
    (select count(*) from sums) > (select count(*) from locked)
  into results, rest, is_gone from done d;
  if is_gone then perform mete_private._refuse('40001', 'meters were cleared at the same time'); end if;
  foreach i in array coalesce(rest, '{}') loop
    if coalesce(ids[i], '') = '' then
      results[i] := mete_private.store_take_one(limits[i], keys[i], costs[i], floor_us);
    else
      results[i] := mete_private.store_hold_one(limits[i], keys[i], costs[i], ids[i], ttls_us[i], nullif(tags[i], ''), true,
                                        retention_us, floor_us);
    end if;
  end loop;
  return query select * from unnest(results);
end $$;

-- The answer that this take got before; no row if it is new.
create or replace function mete_private.store_recall(limits text[], keys text[], costs bigint[], mode text, id text, retention_us bigint,
                                  floor_us bigint) returns setof mete.outcome
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  r mete.outcome := mete_private._recalled(id, mete_private._fingerprint(mode, limits, keys, costs, null, null),
                                   greatest(mete_private._now_us(), floor_us), retention_us);
begin
  if r.now_us is null then return; end if;
  perform mete_private._check_roles(limits);
  return next r;
end $$;

create or replace function mete_private.store_peek(limits text[], keys text[], costs bigint[], floor_us bigint, wants_usages boolean)
returns mete.outcome
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(limits, keys, costs, 0);
  return mete_private._peek(limits, keys, costs, floor_us, wants_usages);
end $$;

create or replace function mete_private.store_give(limits text[], keys text[], costs bigint[], id text, retention_us bigint, floor_us bigint)
returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._check_charges(limits, keys, costs, 0);
  return mete_private._give(limits, keys, costs, id, retention_us, floor_us);
end $$;

create or replace function mete_private.store_close(id text, operation text, amounts bigint[], allows_overage boolean,
                                            ttl_us bigint, retention_us bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  hold text := id;
  wanted bigint := case when operation = 'cancel' then 0 else amounts[1] end;
  ended_as text := case when operation = 'cancel' then 'cancelled' else 'committed' end;
  -- include plain_end_variables.sql
begin
  if operation = 'extend' then
  -- include plain_extend.sql
      return (true, 0::bigint, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
    end if;
  end if;
  elsif amounts is null or array_length(amounts, 1) = 1 then
  -- include plain_end.sql
      return (true, case when operation = 'cancel' then held else kept end, remaining, capacity, 0::bigint, reset_us, 0, now_us,
              null::text, null::bigint[]);
  -- include plain_end_undone.sql
  end if;
  return mete_private._close(id, operation, amounts, allows_overage, ttl_us, retention_us, floor_us);
end $$;

create or replace function mete_private._hold_charge(o mete.operations, name text, now_us bigint) returns mete.hold_charge
language sql immutable as $$
  select row(o.id, case when o.state = 'held' and o.due_us <= now_us then 'expired' else o.state end,
             case when o.state = 'held' then greatest(o.due_us - now_us, 0) else 0 end, greatest(now_us - o.made_us, 0),
             o.tag, name, o.key, o.amount, now_us)::mete.hold_charge
$$;

create or replace function mete_private.store_find_hold(id text, retention_us bigint, floor_us bigint) returns setof mete.hold_charge
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_us bigint := greatest(mete_private._now_us(), floor_us);
begin
  return query select (mete_private._hold_charge(o, l.name, now_us)).* from mete.operations o join mete.limits l on l.id = o.limit_id
    where o.id = store_find_hold.id and o.kind = 'hold' and o.state <> 'answered' and
      now_us < o.due_us + case when o.state = 'held' then retention_us else 0 end and
      (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id))
    order by o.charge;
end $$;

-- The open holds that were made first, in that order.
create or replace function mete_private.store_oldest_holds(count_max bigint, floor_us bigint) returns setof mete.hold_charge
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_us bigint := greatest(mete_private._now_us(), floor_us);
begin
  return query select (mete_private._hold_charge(o, l.name, now_us)).*
    from (select f.id, f.serial from mete.operations f where f.state = 'held' and f.charge = 0 and f.due_us > now_us
          order by f.serial limit count_max) first
    join mete.operations o on o.id = first.id join mete.limits l on l.id = o.limit_id
    where (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id))
    order by first.serial, o.charge;
end $$;

-- The ids of the open holds that have a part of a meter, the first to expire first.
create or replace function mete_private.store_holds("limit" text, key text, count_max bigint, floor_us bigint) returns setof text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  l mete.limits := mete_private._limit("limit");
  now_us bigint := greatest(mete_private._now_us(), floor_us);
begin
  return query select h.id from (
      select o.id, min(o.due_us) as due_us, min(o.serial) as serial from mete.operations o
      where o.limit_id = l.id and o.key = store_holds.key and o.held_us > now_us and o.is_backed and
        (not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(null, o.id))
      group by o.id) h
    order by h.due_us, h.serial limit count_max;
end $$;

create or replace function mete_private.store_holds_tagged(tag text, floor_us bigint) returns setof text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_us bigint := greatest(mete_private._now_us(), floor_us);
begin
  return query select h.id from (
      select o.id, min(o.due_us) as due_us, min(o.serial) as serial
      from mete.operations o join mete.limits l on l.id = o.limit_id
      where o.tag = store_holds_tagged.tag and o.held_us > now_us and
        (l.only_for is null and not mete_private._is_reserved_id(o.id) or mete_private._may_use_hold(l.only_for, o.id))
      group by o.id) h
    order by h.id;
end $$;

-- A page of a limit's meters in use, the youngest first: those that come meanwhile are not waited for. `before`: where the
-- page before has ended, 0 at the start. The last row has no key, and the number to go on from: 0 at the end.
create or replace function mete_private.store_scan("limit" text, before bigint, count_max bigint, floor_us bigint)
returns table (next bigint, key text, used bigint, held bigint, remaining bigint, capacity bigint, reset_us bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
-- A plan that was made for few meters must not sort all of them for each page.
set enable_sort = off set enable_bitmapscan = off as $$
declare
  l mete.limits := mete_private._limit("limit");
  time_us bigint := greatest(mete_private._now_us(), floor_us);
  is_counted boolean := l.kind in ('stock', 'window', 'calendar');
  below bigint := case when before = 0 then 9223372036854775807 else before end;
begin
  return query
  with page as materialized (
    select t.*,
      -- Plain to see, without opening it.
      is_counted and t.due_us = 9223372036854775807 and t.revision = l.revision and t.start_us <= time_us and
        time_us < t.end_us as is_plain
    from mete.meters t where t.limit_id = l.id and t.serial < below order by t.serial desc limit count_max
  )
  select null::bigint, p.key, p.units, 0::bigint, greatest(coalesce(p.own_amount, l.capacity) - p.units, 0),
    coalesce(p.own_amount, l.capacity), case when l.kind = 'stock' then -1 else p.end_us - time_us end
  from page p where p.is_plain and p.units > 0
  union all
  select null, p.key, u.used, u.held, u.remaining, u.capacity, u.reset_us
  from page p, lateral mete_private._usage(l.name, p.key, floor_us) u where not p.is_plain and u.used + u.held > 0
  union all
  select case when count(*) < count_max then 0 else min(p.serial) end, null, null, null, null, null, null from page p;
end $$;

create or replace function mete_private.store_usage("limit" text, key text, floor_us bigint, out used bigint, out held bigint,
                                 out remaining bigint, out capacity bigint, out reset_us bigint, out now_us bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if key = 'mete-generation' then perform mete_private._refuse_reserved_key(); end if;
  select * into used, held, remaining, capacity, reset_us, now_us from mete_private._usage("limit", key, floor_us);
end $$;

create or replace function mete_private.store_override_of("limit" text, key text) returns bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  l mete.limits := mete_private._limit("limit");
begin
  return (select m.own_amount from mete.meters m where m.limit_id = l.id and m.key = store_override_of.key);
end $$;

create or replace function mete_private.store_limits() returns setof mete.limits
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query select * from mete.limits l where not l.is_dropped and (l.only_for is null or mete_private._may_use(l.only_for))
    order by l.name;
end $$;

-- From here on for mete_admin.

-- From here on for mete_admin.
create or replace function mete_private.store_define(name text, kind text, amount bigint, period_us bigint, unit text, zone text,
                                  anchor integer, burst bigint, durable text, on_fail text, shadow boolean, scope text,
                                  floor_us bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  l mete.limits;
begin
  l.name := name;
  l.kind := kind;
  l.amount := amount;
  l.period_us := period_us;
  l.unit := unit;
  l.zone := zone;
  l.anchor := anchor;
  l.burst := burst;
  l.durable := durable;
  l.on_fail := on_fail;
  l.shadow := shadow;
  l.scope := scope;
  return mete_private._define(l, floor_us);
end $$;

create or replace function mete_private.store_override("limit" text, key text, amount bigint, floor_us bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return mete_private._override("limit", key, amount, floor_us);
end $$;

create or replace function mete_private.store_reconcile("limit" text, key text, used bigint, floor_us bigint, out used_before bigint,
                                     out used_now bigint, out now_us bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  select r.used_before, r.used_now, r.now_us into used_before, used_now, now_us
  from mete_private._reconcile("limit", key, used, null, floor_us) r;
end $$;

-- Adds to what each key has used, signed; in their order, how much of it was done.
create or replace function mete_private.store_shift("limit" text, keys text[], changes bigint[], since_us bigint, floor_us bigint)
returns table (change bigint, is_late boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query select s.change, s.is_late from mete_private._shift("limit", keys, changes, since_us, floor_us) s order by s.i;
end $$;

create or replace function mete_private.store_clear() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform mete_private._clear();
end $$;

create or replace function mete_private.store_expire(batch integer, retention_us bigint, sweeps boolean, out expired integer,
                                  out swept integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  expired := mete_private._expire_holds(batch, retention_us);
  swept := case when sweeps then mete_private._sweep(batch) else 0 end;
end $$;

-- Numbers for operators. Of the large tables about as many as the last ANALYZE has seen.
create or replace function mete_private.store_statistics(out limits bigint, out rules bigint, out meters bigint, out overrides bigint,
                                      out ids bigint, out open_holds bigint, out orphans bigint, out bytes bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  select count(*), count(distinct mete_private._rule(l)) into limits, rules from mete.limits l where not l.is_dropped;
  select greatest(c.reltuples, 0)::bigint into meters from pg_class c where c.oid = 'mete.meters'::regclass;
  select greatest(c.reltuples, 0)::bigint into ids from pg_class c where c.oid = 'mete.operations'::regclass;
  -- Of the meters too: keys with an amount of their own are few, and are not counted apart.
  overrides := 0;
  select count(*) into open_holds from mete.operations o
  where o.state = 'held' and o.charge = 0 and o.due_us > mete_private._now_us();
  select count(*) into orphans from mete.operations o where o.state = 'expired' and o.charge = 0;
  bytes := pg_total_relation_size('mete.meters') + pg_total_relation_size('mete.operations');
end $$;
