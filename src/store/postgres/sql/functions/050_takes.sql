-- Takes, holds and peeks: one verdict on all the charges of an operation.

-- What is remembered of an answer: allowed, amount, remaining, capacity, retry_us, reset_us, violated, now_us.
create or replace function mete_private._answer_of(r mete.outcome) returns bigint[]
language sql immutable as $$
  select array[r.allowed::integer, r.amount, r.remaining, r.capacity, r.retry_us, r.reset_us, r.violated, r.now_us]
$$;

create or replace function mete_private._outcome_of(answer bigint[], id text, now_us bigint) returns mete.outcome
language sql immutable as $$
  select row(answer[1] = 1, answer[2], answer[3], answer[4], answer[5], answer[6], answer[7], now_us, id,
             null)::mete.outcome
$$;

-- How long ids are remembered, where the caller does not say it.
create or replace function mete_private._retention_us() returns bigint language sql immutable as $$
  select 86400000000
$$;

create or replace function mete_private._fingerprint(kind text, limits text[], keys text[], costs bigint[], ttl_us bigint, tag text)
returns uuid language sql immutable as $$
  select md5(array[kind, ttl_us::text, tag]::text || limits::text || keys::text || costs::text)::uuid
$$;

-- The answer that an operation of this id got before; null if it is new, or was forgotten.
create or replace function mete_private._recalled(id text, fingerprint uuid, now_us bigint, retention_us bigint) returns mete.outcome
language plpgsql stable as $$
declare
  o mete.operations;
begin
  select * into o from mete.operations t where t.id = _recalled.id and t.charge = 0;
  if not found then return null; end if;
  if now_us >= o.due_us + (case when o.state = 'held' then retention_us else 0 end) then return null; end if;
  if o.fingerprint <> fingerprint then
    perform mete_private._refuse('MT006', format('id ''%s'' was used for an operation with other parameters: give each '
                                         'operation an id of its own', id));
  end if;
  return mete_private._outcome_of(o.answer, case when o.state <> 'answered' or o.kind = 'hold' then id end, now_us);
end $$;

create or replace function mete_private._charged_meters(limits text[], keys text[], costs bigint[]) returns mete.charged[]
language plpgsql stable as $$
declare
  result mete.charged[];
begin
  if cardinality(limits) = 1 then
    return array[row(mete_private._limit(limits[1]), keys[1], costs[1], 1, 1)::mete.charged];
  end if;
  select array_agg(row(mete_private._limit(c.name), c.key, c.cost, c.charges, c.position)::mete.charged
                   order by (select t.id from mete.limits t where t.name = c.name and not t.is_dropped), c.key)
  into result
  from (select u.name collate "C", u.key collate "C", sum(u.cost)::bigint, sum(1 << (u.i - 1)::integer)::integer,
               min(u.i)::integer
        from unnest(limits, keys, costs) with ordinality u (name, key, cost, i)
        group by 1, 2) c (name, key, cost, charges, position);
  return result;
end $$;

-- The five numbers that tell how a meter stands.
create or replace function mete_private._standing(o mete.opened, now_us bigint) returns bigint[]
language plpgsql stable as $$
declare
  rule mete.rule := o.rule;
  used bigint := mete_private._used(o.rule, o.m, now_us);
  held bigint := mete_private._held(o.rule, o.m, o.parts, now_us);
begin
  return array[used - held, held, greatest(rule.capacity - used, 0), rule.capacity,
               mete_private._reset_us(rule, o.m, now_us)];
end $$;

-- Judges and, if the operation is allowed, charges: `opened` is how the meters stand before, `after` how they are then.
create or replace function mete_private._judge(charged mete.charged[], opened mete.opened[], mode text, now_us bigint, wants_usages boolean,
                            out r mete.outcome, out after mete.opened[])
language plpgsql stable as $$
declare
  c mete.charged;
  o mete.opened;
  l mete.limits;
  rule mete.rule;
  cost bigint;
  fits boolean[];
  wait_us bigint;
  left_over bigint;
  tightest integer;
  tightest_left bigint;
  is_tightest_shadow boolean;
  tightest_position integer;
begin
  r.allowed := true;
  r.amount := 0;
  r.violated := 0;
  r.retry_us := 0;
  r.now_us := now_us;
  if mode = 'up_to' then
    -- As much as fits, and one unit at least: denied only if not even that does.
    c := charged[1];
    l := c.l;
    o := opened[1];
    rule := o.rule;
    if not l.shadow and c.cost > 0 then
      c.cost := greatest(1, least(c.cost, greatest(rule.capacity - mete_private._used(rule, o.m, now_us), 0)));
      charged[1] := c;
    end if;
  end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    l := c.l;
    o := opened[i];
    if mode = 'force' then
      fits[i] := true;
      if mete_private._used(o.rule, o.m, now_us) + c.cost > 9007199254740991 then
        perform mete_private._refuse_argument(format('cost: usage of ''%s'' would pass 9007199254740991', l.name));
      end if;
    else
      fits[i] := mete_private._fits(o.rule, o.m, c.cost, now_us);
      if not fits[i] then
        r.violated := r.violated | c.charges;
        if not l.shadow then r.allowed := false; end if;
      end if;
    end if;
  end loop;
  after := opened;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    l := c.l;
    o := opened[i];
    rule := o.rule;
    if r.allowed then
      r.amount := r.amount + c.cost;
      if fits[i] and c.cost > 0 then
        o.m := mete_private._charged(rule, o.m, c.cost, now_us);
        after[i] := o;
      end if;
    elsif not l.shadow then
      -- Only a limit that denies can make one wait.
      wait_us := mete_private._wait_us(rule, o.m, c.cost, now_us, o.parts);
      if wait_us < 0 or r.retry_us < 0 then
        r.retry_us := -1;
      else
        r.retry_us := greatest(r.retry_us, wait_us);
      end if;
    end if;
    -- The meter with the least left, the first such, stands for the operation; shadow limits only where there are no
    -- others.
    left_over := greatest(rule.capacity - mete_private._used(rule, o.m, now_us), 0);
    if tightest is null or (is_tightest_shadow and not l.shadow) or
       (is_tightest_shadow = l.shadow and
        (left_over < tightest_left or (left_over = tightest_left and c.position < tightest_position))) then
      tightest := i;
      tightest_left := left_over;
      is_tightest_shadow := l.shadow;
      tightest_position := c.position;
    end if;
  end loop;
  o := after[tightest];
  rule := o.rule;
  r.remaining := tightest_left;
  r.capacity := rule.capacity;
  r.reset_us := mete_private._reset_us(rule, o.m, now_us);
  if wants_usages then r.usages := mete_private._usages(charged, after, now_us); end if;
end $$;

-- The standing of each charge's meter, in the order of the charges.
create or replace function mete_private._usages(charged mete.charged[], opened mete.opened[], now_us bigint) returns bigint[]
language plpgsql stable as $$
declare
  usages bigint[] := '{}';
  c mete.charged;
  charge integer := 0;
  is_last boolean;
begin
  loop
    is_last := true;
    for i in 1 .. cardinality(charged) loop
      c := charged[i];
      if c.charges >> charge & 1 = 1 then
        usages := usages || mete_private._standing(opened[i], now_us);
        is_last := false;
      end if;
    end loop;
    exit when is_last;
    charge := charge + 1;
  end loop;
  return usages;
end $$;

-- Locks the meters of an operation, and opens them at one time that is read after that.
create or replace function mete_private._open_all(inout charged mete.charged[], floor_us bigint, wants_parts boolean,
                               out opened mete.opened[], out now_us bigint)
language plpgsql as $$
declare
  c mete.charged;
  l mete.limits;
  m mete.meters;
  ms mete.meters[];
begin
  now_us := floor_us;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    l := c.l;
    m := mete_private._locked(l, c.key);
    -- Somebody has seen a newer definition: that one counts.
    if m.revision > l.revision then
      l := mete_private._limit(l.name);
      if m.revision > l.revision then perform mete_private._refuse('40001', 'the limit was redefined at the same time'); end if;
      c.l := l;
      charged[i] := c;
    end if;
    ms[i] := m;
    now_us := greatest(now_us, m.start_us, m.settled_us);
  end loop;
  now_us := greatest(now_us, mete_private._now_us());
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    opened[i] := mete_private._opened_locked(c.l, ms[i], now_us, wants_parts);
  end loop;
end $$;

-- What is held of meters that were opened without asking for it.
create or replace function mete_private._with_parts(opened mete.opened[]) returns mete.opened[]
language plpgsql stable as $$
declare
  o mete.opened;
  m mete.meters;
begin
  for i in 1 .. cardinality(opened) loop
    o := opened[i];
    m := o.m;
    if o.parts is null and m.due_us < 9223372036854775807 then
      o.parts := mete_private._parts(m);
      opened[i] := o;
    end if;
  end loop;
  return opened;
end $$;

-- Takes, or with a ttl holds, whatever the charges are.
create or replace function mete_private._take_generally(limits text[], keys text[], costs bigint[], mode text, id text, fingerprint uuid,
                                     ttl_us bigint, tag text, is_id_random boolean, remembers_denial boolean,
                                     retention_us bigint, floor_us bigint, wants_usages boolean) returns mete.outcome
language plpgsql as $$
declare
  charged mete.charged[] := mete_private._charged_meters(limits, keys, costs);
  opened mete.opened[];
  now_us bigint;
  j record;
  r mete.outcome;
  c mete.charged;
  l mete.limits;
  o mete.opened;
begin
  if 'mete-generation' = any (keys) then perform mete_private._refuse_reserved_key(); end if;
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete_private._open_all(charged, floor_us, wants_usages) a;
  j := mete_private._judge(charged, opened, mode, now_us, wants_usages);
  r := j.r;
  if not r.allowed and not wants_usages then
    -- A wait depends on what is held.
    opened := mete_private._with_parts(opened);
    j := mete_private._judge(charged, opened, mode, now_us, false);
    r := j.r;
  end if;
  if ttl_us is not null and (r.allowed or not is_id_random) then r.id := id; end if;
  if id is not null and (r.allowed or (remembers_denial and not is_id_random)) and
     not mete_private._remember(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, retention_us) then
    -- Somebody with the same id was quicker.
    return mete_private._recalled(id, fingerprint, now_us, retention_us);
  end if;
  if not r.allowed then return r; end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    continue when c.cost = 0 or (r.violated & c.charges <> 0);
    o := j.after[i];
    if ttl_us is not null then o := mete_private._with_due(o, now_us, now_us + ttl_us); end if;
    perform mete_private._write(o, now_us);
    l := c.l;
    if l.records and ttl_us is null then
      -- Of a single charge not all may have been taken.
      perform mete_private._record(l, c.key, 'take', case when cardinality(charged) = 1 then r.amount else c.cost end, now_us,
                           now_us, id, null);
    end if;
  end loop;
  return r;
end $$;

-- Takes back a plain charge: the id is in use, or was, and the general way knows what to do.
create or replace function mete_private._uncharge(limit_id integer, key text, cost bigint) returns void
language plpgsql as $$
begin
  update mete.meters t set units = t.units - cost where t.limit_id = _uncharge.limit_id and t.key = _uncharge.key;
end $$;

-- Takes, or with a ttl holds, once for each id.
create or replace function mete_private._take(limits text[], keys text[], costs bigint[], mode text, id text, ttl_us bigint, tag text,
                           is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint,
                           wants_usages boolean) returns mete.outcome
language plpgsql as $$
declare
  fingerprint uuid;
  r mete.outcome;
begin
  if id is not null and not is_id_random then
    fingerprint := mete_private._fingerprint(case when ttl_us is null then mode else 'hold' end, limits, keys, costs, ttl_us, tag);
    r := mete_private._recalled(id, fingerprint, greatest(mete_private._now_us(), floor_us), retention_us);
    if r.now_us is not null then
      perform mete_private._check_roles(limits);
      return r;
    end if;
  end if;
  return mete_private._take_generally(limits, keys, costs, mode, id, fingerprint, ttl_us, tag, is_id_random, remembers_denial,
                              retention_us, floor_us, wants_usages);
end $$;

-- The meter with something new held: _write takes the first to expire.
create or replace function mete_private._with_due(o mete.opened, now_us bigint, expires_us bigint) returns mete.opened
language plpgsql stable as $$
declare
  m mete.meters := o.m;
  part mete.part;
begin
  m.due_us := case when m.due_us > now_us then least(m.due_us, expires_us) else expires_us end;
  o.m := m;
  if o.parts is not null then
    part := o.parts[1];
    m.due_us := least(part.expires_us, expires_us);
    o.parts := null;
    o.m := m;
  end if;
  return o;
end $$;

-- What is held of the charges from the first to the last of these. False: the id is in use.
create or replace function mete_private._keep_charges(limits text[], keys text[], costs bigint[], id text, fingerprint uuid, r mete.outcome,
                                   ttl_us bigint, tag text, charged mete.charged[], first integer, last integer)
returns boolean
language plpgsql as $$
begin
  insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us, held_us, tag, limit_id, key,
                               amount, is_backed, part_units, part_us)
  select _keep_charges.id, u.i - 1, 'hold', 'held', case when u.i = 1 then _keep_charges.fingerprint end,
         case when u.i = 1 then mete_private._answer_of(r) end, r.now_us, r.now_us + ttl_us, r.now_us + ttl_us, _keep_charges.tag,
         (c.l).id, u.key, u.cost, r.violated & c.charges = 0, u.cost, r.now_us
  from unnest(limits, keys, costs) with ordinality u (name, key, cost, i)
  join unnest(charged) c on (c.charges >> (u.i - 1)::integer) & 1 = 1
  where u.i between first and last
  on conflict do nothing;
  return found;
end $$;

-- Keeps the answer under the id, and what is held. False: the id is in use.
create or replace function mete_private._remember(limits text[], keys text[], costs bigint[], id text, fingerprint uuid, r mete.outcome,
                               ttl_us bigint, tag text, charged mete.charged[], retention_us bigint)
returns boolean
language plpgsql as $$
declare
  count integer := cardinality(limits);
begin
  for attempt in 1 .. 2 loop
    if ttl_us is not null and r.allowed then
      -- Whoever has the first charge has the id.
      if mete_private._keep_charges(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, 1, 1) then
        return count = 1 or
          mete_private._keep_charges(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, 2, count);
      end if;
    else
      insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us)
      values (_remember.id, 0, case when ttl_us is null then 'take' else 'hold' end, 'answered', _remember.fingerprint,
              mete_private._answer_of(r), r.now_us, r.now_us + retention_us)
      on conflict do nothing;
      if found then return true; end if;
    end if;
    -- An old one gives way; a living one does not. A hold that nobody has swept yet still has parts of meters: it goes on
    -- under another name.
    delete from mete.operations t where t.id = _remember.id and t.state <> 'held' and r.now_us >= t.due_us;
    update mete.operations t set id = md5(t.id || t.made_us)
    where t.id = _remember.id and t.state = 'held' and r.now_us >= t.due_us + retention_us;
  end loop;
  return false;
end $$;

create or replace function mete_private._peek(limits text[], keys text[], costs bigint[], floor_us bigint, wants_usages boolean)
returns mete.outcome
language plpgsql stable as $$
declare
  charged mete.charged[] := mete_private._charged_meters(limits, keys, costs);
  ms mete.meters[];
  opened mete.opened[];
  now_us bigint := floor_us;
  c mete.charged;
  m mete.meters;
  j record;
begin
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    m := mete_private._seen(c.l, c.key);
    ms[i] := m;
    now_us := greatest(now_us, m.start_us, m.settled_us);
  end loop;
  now_us := greatest(now_us, mete_private._now_us());
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    opened[i] := mete_private._opened(c.l, ms[i], now_us, true);
  end loop;
  j := mete_private._judge(charged, opened, 'take', now_us, wants_usages);
  return j.r;
end $$;
