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
    return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
  end if;
  -- include plain_or_sliding_charge.sql
  -- include plain_take.sql
    return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], cost, null::text);
  end if;
  return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
end $$;

create or replace function mete.store_take_one("limit" text, key text, cost bigint, floor_us bigint) returns mete.outcome
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ttl_us bigint;
  -- include plain_variables.sql
begin
  -- include plain_or_sliding_charge.sql
  -- include plain_take.sql
    return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
  end if;
  return mete._take_generally(array["limit"], array[key], array[cost], 'take', null, null, null, null, false, false, 0,
                              floor_us, false);
end $$;
