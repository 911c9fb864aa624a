-- The usual way to reserve in PostgreSQL: sum what was used in this period and what is reserved, under a lock on the user's row,
-- and insert a reservation if that fits; when the job is done, replace it by an event.
create schema usual;
create table usual.users (id integer primary key, quota bigint not null);
create table usual.usage_events (
  id bigserial primary key,
  user_id integer not null references usual.users,
  event_type text not null,
  amount integer not null,
  created_at timestamptz not null default now()
);
create index on usual.usage_events (user_id, event_type, created_at);
create table usual.reservations (
  id uuid primary key default gen_random_uuid(),
  user_id integer not null references usual.users,
  event_type text not null,
  reserved_amount integer not null,
  job_id bigint unique not null,
  expires_at timestamptz not null
);
create index on usual.reservations (user_id, event_type, expires_at);
create sequence usual.jobs;

create function usual.reserve(who integer, wanted integer) returns boolean
language plpgsql as $$
declare
  allowed bigint;
  used bigint;
  reserved bigint;
begin
  select quota into allowed from usual.users where id = who for update;
  select coalesce(sum(amount), 0) into used from usual.usage_events
  where user_id = who and event_type = 'analysis' and created_at >= date_trunc('month', now());
  select coalesce(sum(reserved_amount), 0) into reserved from usual.reservations
  where user_id = who and event_type = 'analysis' and expires_at > now();
  if used + reserved + wanted > allowed then return false; end if;
  insert into usual.reservations (user_id, event_type, reserved_amount, job_id, expires_at)
  values (who, 'analysis', wanted, nextval('usual.jobs'), now() + interval '1 hour');
  return true;
end $$;

-- What it was used for is done: the reservation becomes an event.
create function usual.finish(job bigint, spent integer) returns boolean
language plpgsql as $$
declare
  who integer;
begin
  delete from usual.reservations where job_id = job and expires_at > now() returning user_id into who;
  if not found then return false; end if;
  insert into usual.usage_events (user_id, event_type, amount) values (who, 'analysis', spent);
  return true;
end $$;
