-- What is kept. Applications do not touch these tables: the functions below do, and the views show them.
--
-- Names, keys, ids and tags compare byte by byte. Times are microseconds since 1970 (…_us), read from this server's clock
-- once the rows that an operation is about are locked. 9223372036854775807 is never.
--
-- Locks are always taken in this order, so that no two calls can wait for each other: limits, meters by (limit_id, key),
-- operations by (id, charge).

-- The rules. A limit that is dropped stays until nothing speaks of it any more.
create table mete.limits (
  id integer generated always as identity primary key,
  name text collate "C" not null,
  revision integer not null,       -- of the numbers; a meter is brought to it when it is looked at
  kind text not null check (kind in ('bucket', 'window', 'sliding', 'calendar', 'stock')),
  amount bigint not null,
  capacity bigint not null,        -- what a fresh meter has: a bucket's burst, any other kind's amount
  period_us bigint not null,       -- bucket, window and sliding; 0 for the others
  unit text,                       -- calendar: hour, day, week, month or year
  zone text,
  anchor integer,
  burst bigint,                    -- as it was given
  durable text check (durable in ('always', 'everysec', 'never')),
  on_fail text not null check (on_fail in ('closed', 'open')),
  shadow boolean not null,
  scope text not null check (scope in ('node', 'shared', 'escrow')),
  records boolean not null,        -- what is used is recorded in mete.events: durable = always
  only_for name[],                 -- the roles that may use it; null: all that may use Mete
  changed_us bigint not null,
  is_dropped boolean not null default false,
  -- A meter of it is no more than a count: see parts/plain_charge.sql.
  is_plain boolean generated always as (kind in ('stock', 'window', 'calendar') and not shadow) stored
);
create unique index limits_name on mete.limits (name) where not is_dropped;

-- The numbers of a limit: what decisions are made of.
create type mete.rule as (
  kind text,
  amount bigint,
  capacity bigint,
  period_us bigint,
  unit text,
  zone text,
  anchor integer
);

-- The numbers of each revision, and since when they count.
create table mete.revisions (
  limit_id integer not null,
  revision integer not null,
  rule mete.rule not null,
  since_us bigint not null,
  primary key (limit_id, revision)
);

-- One balance row for each (limit, key) in use: whatever has happened before, a decision reads and writes this row.
-- Room is left in the pages, so that a row's next version lies beside it and no index changes.
create table mete.meters (
  limit_id integer not null,
  key text collate "C" not null,
  revision integer not null,
  units bigint not null,           -- used, held or not, of this window; a bucket has full_at instead
  previous bigint not null,        -- sliding: of the window before
  full_at numeric,                 -- bucket: when it will be full again, in ticks of 1/amount microseconds
  start_us bigint not null,        -- the window that units belong to; stock and bucket: 0 to never
  end_us bigint not null,
  settled_us bigint not null,      -- what was held and expired up to then has come back
  due_us bigint not null,          -- nothing that is held expires before
  own_amount bigint,               -- the key's own amount, instead of the limit's
  serial bigint generated always as identity,
  primary key (limit_id, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create unique index meters_serial on mete.meters (limit_id, serial);

-- Constraints on rows that every operation writes cost more than the rest of it: the functions keep to them by themselves.

-- Operations with an id, which are answered once; and holds, a row for each charge. The first row has the answer.
create table mete.operations (
  id text collate "C" not null,
  charge smallint not null,
  serial bigint generated always as identity,
  kind text not null,              -- hold; or take, for all that is answered at once
  state text collate "C" not null, -- answered; a hold's held, committed, cancelled or expired
  fingerprint uuid,                -- of the operation's parameters
  answer bigint[],                 -- see mete._answer_of
  made_us bigint not null,
  due_us bigint not null,          -- when it expires, if it is held; else when it is forgotten
  held_us bigint,                  -- when it expires, if it is held; else null
  final_us bigint,                 -- when it was committed or cancelled, or expired
  tag text collate "C",
  limit_id integer,
  key text collate "C",
  amount bigint,                   -- what is held; once it is committed: what was committed
  is_backed boolean,               -- charged to a meter: false for a shadow limit where it did not fit
  part_units bigint,               -- what the meter has of it, and since when
  part_us bigint,
  primary key (id, charge)
);
create index operations_due on mete.operations (state, due_us);
-- The condition of a partial one is prepared anew by every insert: that costs as much as an entry, so there is but one.
create index operations_held on mete.operations (limit_id, key, held_us);
create index operations_tag on mete.operations (tag, held_us);

-- What was used, for billing and audit: never changed, only added to; pruned by month. A row belongs to the window in
-- which its charge was made (charged_at), which a commit after the month's end does not change.
create table mete.events (
  at timestamptz not null,
  limit_id integer not null,
  key text collate "C" not null,
  kind text not null,              -- take, give, commit, reconcile or carry
  amount bigint not null,
  charged_at timestamptz not null,
  operation text collate "C",      -- the id of the take, give or hold
  tag text collate "C",
  revision integer not null        -- of the limit; sums are proved within one
) partition by range (at);
create table mete.events_other partition of mete.events default;
create index events_meter on mete.events (limit_id, key, at);

-- What a function answers.
create type mete.answer as (
  allowed boolean,
  remaining bigint,
  "limit" bigint,
  retry_after interval,            -- zero when allowed; null where no wait is enough
  reset_after interval,            -- until the meter is as a fresh one; null for stock
  violated text[],                 -- the limits that did not fit; on an allowed operation those in shadow
  amount bigint,                   -- taken, held, given back, committed or returned
  id text                          -- of the hold
);

-- The same, for whoever counts in microseconds; -1 is never.
create type mete.outcome as (
  allowed boolean,
  amount bigint,
  remaining bigint,
  capacity bigint,
  retry_us bigint,
  reset_us bigint,
  violated integer,                -- bit i: charge i did not fit
  now_us bigint,
  id text,
  usages bigint[]                  -- for each charge five: used, held, remaining, limit, reset_us
);

-- A part that an open hold has of a meter.
create type mete.part as (
  units bigint,
  made_us bigint,
  expires_us bigint,
  id text,
  charge smallint
);
