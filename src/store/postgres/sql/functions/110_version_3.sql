-- What servers and programs of version 3 call, until they are replaced by those of this one.

create or replace function mete.store_take(limits text[], keys text[], costs bigint[], mode text, id text, ttl_us
  bigint, tag text, is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint, wants_usages
  boolean) returns mete.outcome
language sql as $$
  select * from mete_private.store_take($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
$$;

create or replace function mete.store_take_one("limit" text, key text, cost bigint, floor_us bigint) returns
  mete.outcome
language sql as $$
  select * from mete_private.store_take_one($1, $2, $3, $4)
$$;

create or replace function mete.store_hold_one("limit" text, key text, cost bigint, id text, ttl_us bigint, tag text,
  is_id_random boolean, retention_us bigint, floor_us bigint) returns mete.outcome
language sql as $$
  select * from mete_private.store_hold_one($1, $2, $3, $4, $5, $6, $7, $8, $9)
$$;

create or replace function mete.store_each(limits text[], keys text[], costs bigint[], ids text[], ttls_us bigint[],
  tags text[], retention_us bigint, floor_us bigint) returns setof mete.outcome
language sql as $$
  select * from mete_private.store_each($1, $2, $3, $4, $5, $6, $7, $8)
$$;

create or replace function mete.store_recall(limits text[], keys text[], costs bigint[], mode text, id text,
  retention_us bigint, floor_us bigint) returns setof mete.outcome
language sql stable as $$
  select * from mete_private.store_recall($1, $2, $3, $4, $5, $6, $7)
$$;

create or replace function mete.store_peek(limits text[], keys text[], costs bigint[], floor_us bigint, wants_usages
  boolean) returns mete.outcome
language sql stable as $$
  select * from mete_private.store_peek($1, $2, $3, $4, $5)
$$;

create or replace function mete.store_give(limits text[], keys text[], costs bigint[], id text, retention_us bigint,
  floor_us bigint) returns mete.outcome
language sql as $$
  select * from mete_private.store_give($1, $2, $3, $4, $5, $6)
$$;

create or replace function mete.store_close(id text, operation text, amounts bigint[], allows_overage boolean, ttl_us
  bigint, retention_us bigint, floor_us bigint) returns mete.outcome
language sql as $$
  select * from mete_private.store_close($1, $2, $3, $4, $5, $6, $7)
$$;

create or replace function mete.store_find_hold(id text, retention_us bigint, floor_us bigint) returns setof
  mete.hold_charge
language sql stable as $$
  select * from mete_private.store_find_hold($1, $2, $3)
$$;

create or replace function mete.store_oldest_holds(count_max bigint, floor_us bigint) returns setof mete.hold_charge
language sql stable as $$
  select * from mete_private.store_oldest_holds($1, $2)
$$;

create or replace function mete.store_holds("limit" text, key text, count_max bigint, floor_us bigint) returns setof
  text
language sql stable as $$
  select * from mete_private.store_holds($1, $2, $3, $4)
$$;

create or replace function mete.store_holds_tagged(tag text, floor_us bigint) returns setof text
language sql stable as $$
  select * from mete_private.store_holds_tagged($1, $2)
$$;

create or replace function mete.store_scan("limit" text, before bigint, count_max bigint, floor_us bigint) returns
  table (next bigint, key text, used bigint, held bigint, remaining bigint, capacity bigint, reset_us bigint)
language sql stable as $$
  select * from mete_private.store_scan($1, $2, $3, $4)
$$;

create or replace function mete.store_usage("limit" text, key text, floor_us bigint, out used bigint, out held bigint,
  out remaining bigint, out capacity bigint, out reset_us bigint, out now_us bigint)
language sql stable as $$
  select * from mete_private.store_usage($1, $2, $3)
$$;

create or replace function mete.store_override_of("limit" text, key text) returns bigint
language sql stable as $$
  select * from mete_private.store_override_of($1, $2)
$$;

create or replace function mete.store_limits() returns setof mete.limits
language sql stable as $$
  select * from mete_private.store_limits()
$$;

create or replace function mete.store_define(name text, kind text, amount bigint, period_us bigint, unit text, zone
  text, anchor integer, burst bigint, durable text, on_fail text, shadow boolean, scope text, floor_us bigint) returns
  bigint
language sql as $$
  select * from mete_private.store_define($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
$$;

create or replace function mete.store_override("limit" text, key text, amount bigint, floor_us bigint) returns bigint
language sql as $$
  select * from mete_private.store_override($1, $2, $3, $4)
$$;

create or replace function mete.store_reconcile("limit" text, key text, used bigint, floor_us bigint, out used_before
  bigint, out used_now bigint, out now_us bigint)
language sql as $$
  select * from mete_private.store_reconcile($1, $2, $3, $4)
$$;

create or replace function mete.store_shift("limit" text, keys text[], changes bigint[], since_us bigint, floor_us
  bigint) returns table (change bigint, is_late boolean)
language sql as $$
  select * from mete_private.store_shift($1, $2, $3, $4, $5)
$$;

create or replace function mete.store_clear() returns void
language sql as $$
  select mete_private.store_clear()
$$;

create or replace function mete.store_expire(batch integer, retention_us bigint, sweeps boolean, out expired integer,
  out swept integer)
language sql as $$
  select * from mete_private.store_expire($1, $2, $3)
$$;

create or replace function mete.store_statistics(out limits bigint, out rules bigint, out meters bigint, out overrides
  bigint, out ids bigint, out open_holds bigint, out orphans bigint, out bytes bigint)
language sql stable as $$
  select * from mete_private.store_statistics()
$$;

do $$
declare
  f regprocedure;
begin
  for f in select p.oid from pg_catalog.pg_proc p
           where p.pronamespace = 'mete'::regnamespace and p.proname ~ '^store_' loop
    execute pg_catalog.format('comment on function %s is %L', f, 'For servers of version 3, not for applications');
  end loop;
end $$;
