-- Sliding meters remember when their usage was charged: at most the amount in every period, wherever it begins. The same
-- arithmetic as the library's (src/core/sliding.h); docs/semantics.md has the rules.
--
-- Of a sliding meter, units is all that is used, start_us the time of the newest charge, or of its slot, and end_us when
-- nothing counts any more.
alter table mete.meters
  add column older bigint[] not null default '{}',   -- sliding: the charges before the newest one, start and units in turn
  add column is_ring boolean not null default false, -- sliding: they are in slots, and have no exact times
  alter column older set storage plain;

create function mete._slot_us(rule mete.rule) returns bigint language sql immutable as $$
  select (rule.period_us + 124) / 125
$$;

-- Where a charge is counted: at its time, or in its slot.
create function mete._place_us(rule mete.rule, m mete.meters, at_us bigint) returns bigint language sql immutable as $$
  select case when m.is_ring then at_us - at_us % ((rule.period_us + 124) / 125) else at_us end
$$;

create function mete._counts_until_us(rule mete.rule, m mete.meters, start_us bigint) returns bigint
language sql immutable as $$
  select start_us + rule.period_us + case when m.is_ring then (rule.period_us + 124) / 125 else 0 end
$$;

create function mete._newest(m mete.meters) returns bigint language sql immutable as $$
  select m.units - coalesce((select sum(u) from unnest(m.older) with ordinality o (u, i) where i % 2 = 0), 0)::bigint
$$;

create function mete._quantum(rule mete.rule) returns bigint language sql immutable as $$
  select case when rule.capacity <= 100 then 1 else (rule.capacity + 803) / 804 end
$$;

-- The same charges again: in slots, or under another rule of the same period.
create function mete._replayed(rule mete.rule, m mete.meters, is_ring boolean) returns mete.meters
language plpgsql immutable as $$
declare
  charges bigint[] := m.older || array[m.start_us, mete._newest(m)];
begin
  if m.units = 0 then return m; end if;
  m.units := 0;
  m.older := '{}';
  m.is_ring := is_ring;
  for i in 1 .. cardinality(charges) by 2 loop
    if m.units > 0 then
      m := mete._sliding_charged(rule, m, charges[i + 1], charges[i]);
    elsif charges[i + 1] > 0 then
      m.start_us := mete._place_us(rule, m, charges[i]);
      m.units := charges[i + 1];
      m.end_us := mete._counts_until_us(rule, m, m.start_us);
    end if;
  end loop;
  return m;
end $$;

create function mete._sliding_charged(rule mete.rule, m mete.meters, cost bigint, at_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  place_us bigint;
  newest bigint;
  quantum bigint;
  quanta bigint;
begin
  if m.units = 0 then
    if cost = 0 then return m; end if;
    m.older := '{}';
    m.is_ring := rule.period_us > 69120000000000;  -- 800 days
    m.start_us := mete._place_us(rule, m, at_us);
  end if;
  if mete._place_us(rule, m, at_us) > m.start_us and (cost > 0 or m.units > 0) then
    newest := mete._newest(m);
    if not m.is_ring and newest > 0 and (cardinality(m.older) = 8 or newest > rule.capacity) then
      m := mete._replayed(rule, m, true);
      newest := mete._newest(m);
    end if;
    place_us := mete._place_us(rule, m, at_us);
    if place_us > m.start_us then
      quantum := case when m.is_ring then mete._quantum(rule) else 1 end;
      quanta := newest / quantum;
      if m.is_ring then
        quanta := least(quanta, case when rule.capacity <= 100 then 99 else 803 end - (m.units - newest) / quantum);
      end if;
      if quanta > 0 then m.older := m.older || array[m.start_us, quanta * quantum]; end if;
      m.start_us := place_us;
    end if;
  end if;
  m.units := m.units + cost;
  m.end_us := mete._counts_until_us(rule, m, m.start_us);
  return m;
end $$;

-- Takes up to so much out of the older charges, the oldest first, or out of those of one place. A slot loses whole quanta:
-- what is too much of the last one goes to the newest.
create function mete._taken_from_older(rule mete.rule, m mete.meters, units bigint, place_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  quantum bigint := case when m.is_ring then mete._quantum(rule) else 1 end;
  kept bigint[] := '{}';
  there bigint;
  taken bigint;
begin
  for i in 1 .. cardinality(m.older) by 2 loop
    there := m.older[i + 1];
    if units > 0 and (place_us is null or m.older[i] = place_us) then
      taken := least(units, there);
      there := there - (taken + quantum - 1) / quantum * quantum;
      m.units := m.units - taken;
      units := units - taken;
    end if;
    if there > 0 then kept := kept || array[m.older[i], there]; end if;
  end loop;
  m.older := kept;
  return m;
end $$;

-- Takes so much from the oldest charges: what stays counts at least as long as what was not given back.
create function mete._given_oldest(rule mete.rule, m mete.meters, units bigint) returns mete.meters
language plpgsql immutable as $$
declare
  left_over bigint := m.units - units;
begin
  if units > 0 then
    m := mete._taken_from_older(rule, m, units, null);
    m.units := left_over;
  end if;
  return m;
end $$;

create function mete._sliding_released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint)
returns mete.meters
language plpgsql immutable as $$
declare
  place_us bigint := mete._place_us(rule, m, made_us);
  left_over bigint;
begin
  if m.units = 0 or mete._counts_until_us(rule, m, place_us) <= now_us then return m; end if;
  units := least(units, m.units);
  left_over := m.units - units;
  if place_us = m.start_us then
    m.units := m.units - least(units, mete._newest(m));
  else
    m := mete._taken_from_older(rule, m, units, place_us);
  end if;
  return mete._given_oldest(rule, m, m.units - left_over);
end $$;

create or replace function mete._fresh(limit_id integer, key text, revision integer, at_us bigint) returns mete.meters
language sql immutable as $$
  select row(limit_id, key, revision, 0, 0, 0, 0, 0, at_us, 9223372036854775807, null, 0, '{}', false)::mete.meters
$$;

-- Lets the meter's windows pass, and what no longer counts go.
create or replace function mete._settled(rule mete.rule, m mete.meters, now_us bigint) returns mete.meters
language plpgsql stable as $$
declare
  w record;
begin
  if rule.kind = 'sliding' then
    if m.units > 0 and now_us < m.end_us then
      while cardinality(m.older) > 0 and mete._counts_until_us(rule, m, m.older[1]) <= now_us loop
        m.units := m.units - m.older[2];
        m.older := m.older[3:];
      end loop;
    else
      m.units := 0;
    end if;
    if m.units = 0 then
      m.older := '{}';
      m.is_ring := false;
      m.start_us := 0;
      m.end_us := 0;
    end if;
    return m;
  end if;
  if now_us < m.end_us then return m; end if;
  w := mete._window(rule, now_us);
  if m.end_us > 0 then m.units := 0; end if;
  m.start_us := w.start_us;
  m.end_us := w.end_us;
  return m;
end $$;

create or replace function mete._used(rule mete.rule, m mete.meters, now_us bigint) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then return mete._div_ceil(mete._backlog(rule, m, now_us), rule.period_us); end if;
  return m.units;
end $$;

create or replace function mete._charged(rule mete.rule, m mete.meters, cost bigint, now_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  now_at numeric;
begin
  if rule.kind = 'bucket' then
    now_at := now_us::numeric * rule.amount;
    if m.full_at + least(rule.amount, rule.period_us) <= now_at then m.full_at := now_at; end if;
    m.full_at := m.full_at + cost::numeric * rule.period_us;
  elsif rule.kind = 'sliding' then
    if cost > 0 then m := mete._sliding_charged(rule, m, cost, now_us); end if;
  else
    m.units := m.units + cost;
  end if;
  return m;
end $$;

create or replace function mete._released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint)
returns mete.meters
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then
    m.full_at := now_us::numeric * rule.amount +
      greatest(mete._backlog(rule, m, now_us) - mete._part_ticks(rule, units, made_us, now_us), 0);
  elsif rule.kind = 'sliding' then
    m := mete._sliding_released(rule, m, units, made_us, now_us);
  elsif made_us >= m.start_us then
    m.units := m.units - least(units, m.units);
  end if;
  return m;
end $$;

create or replace function mete._still_charged(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint,
                                               rounds_up boolean) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then
    return div(mete._part_ticks(rule, units, made_us, now_us) + case when rounds_up then rule.period_us - 1 else 0 end,
               rule.period_us);
  end if;
  if rule.kind = 'sliding' then
    return case when mete._counts_until_us(rule, m, mete._place_us(rule, m, made_us)) > now_us then units else 0 end;
  end if;
  return case when made_us >= m.start_us then units else 0 end;
end $$;

create or replace function mete._reset_us(rule mete.rule, m mete.meters, now_us bigint) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'stock' then return -1; end if;
  if rule.kind = 'bucket' then return mete._drain_us(rule, mete._backlog(rule, m, now_us)); end if;
  if m.units = 0 then return 0; end if;
  if rule.kind = 'sliding' then
    return mete._counts_until_us(rule, m, case when mete._newest(m) > 0 then m.start_us
                                               else m.older[cardinality(m.older) - 1] end) - now_us;
  end if;
  return m.end_us - now_us;
end $$;

create or replace function mete._wait_alone_us(rule mete.rule, m mete.meters, cost bigint, now_us bigint) returns bigint
language plpgsql immutable as $$
declare
  wanted bigint;
begin
  if cost > rule.capacity then return -1; end if;
  if mete._fits(rule, m, cost, now_us) then return 0; end if;
  if rule.kind = 'stock' then return -1; end if;
  if rule.kind = 'bucket' then
    return mete._drain_us(rule, mete._backlog(rule, m, now_us) + (cost - rule.capacity)::numeric * rule.period_us);
  end if;
  if rule.kind <> 'sliding' then return m.end_us - now_us; end if;
  wanted := m.units + cost - rule.capacity;
  for i in 1 .. cardinality(m.older) by 2 loop
    wanted := wanted - m.older[i + 1];
    if wanted <= 0 then return mete._counts_until_us(rule, m, m.older[i]) - now_us; end if;
  end loop;
  return mete._counts_until_us(rule, m, m.start_us) - now_us;
end $$;

-- Makes the usage `units`, whatever it was; of a sliding meter by a difference, so that what is charged stays where it was.
create or replace function mete._with_used(rule mete.rule, m mete.meters, units bigint, now_us bigint) returns mete.meters
language plpgsql immutable as $$
begin
  if rule.kind = 'sliding' then
    if units > m.units then return mete._sliding_charged(rule, m, units - m.units, now_us); end if;
    return mete._given_oldest(rule, m, m.units - units);
  end if;
  m.units := 0;
  m.full_at := 0;
  if rule.kind = 'bucket' then
    m.full_at := now_us::numeric * rule.amount + units::numeric * rule.period_us;
  else
    m.units := units;
  end if;
  return m;
end $$;

create or replace function mete._rebased(old mete.rule, m mete.meters, new mete.rule, now_us bigint) returns mete.meters
language plpgsql stable as $$
declare
  units bigint := mete._used(old, m, now_us);
  backlog numeric := mete._backlog(old, m, now_us);
begin
  m.start_us := 0;
  m.end_us := 0;
  m.units := 0;
  m.full_at := 0;
  m.older := '{}';
  m.is_ring := false;
  m := mete._settled(new, m, now_us);
  m := mete._with_used(new, m, units, now_us);
  if old.kind = 'bucket' and new.kind = 'bucket' then
    -- Whole units stay, the fraction of one is rounded up.
    m.full_at := now_us::numeric * new.amount + div(backlog, old.period_us) * new.period_us +
      least(mete._div_ceil(backlog % old.period_us * new.period_us, old.period_us), new.period_us);
  end if;
  return m;
end $$;

create or replace function mete._moved(o mete.opened, new mete.rule, at_us bigint) returns mete.opened
language plpgsql stable as $$
declare
  m mete.meters := o.m;
  old mete.rule := o.rule;
  w record;
  part mete.part;
  remade mete.part[];
begin
  at_us := greatest(at_us, m.start_us);
  m := mete._settled(old, m, at_us);
  w := mete._window(new, at_us);
  if old.kind = new.kind and
     (old.kind = 'sliding' and old.period_us = new.period_us or
      old.kind <> 'sliding' and w.start_us = m.start_us and w.end_us = m.end_us) and
     (old.kind <> 'bucket' or (old.amount, old.capacity, old.period_us) = (new.amount, new.capacity, new.period_us)) then
    if old.kind = 'sliding' and old.amount <> new.amount then m := mete._replayed(new, m, m.is_ring); end if;
    o.m := m;
    o.rule := new;
    return o;
  end if;
  if o.parts is not null then
    foreach part in array o.parts loop
      part.units := mete._still_charged(old, m, part.units, part.made_us, at_us, false);
      part.made_us := at_us;
      remade := remade || part;
    end loop;
    o.parts := remade;
    o.has_remade_parts := true;
  end if;
  o.m := mete._rebased(old, m, new, at_us);
  o.rule := new;
  return o;
end $$;

create or replace function mete._write(o mete.opened, now_us bigint) returns void
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
      settled_us = m.settled_us, due_us = m.due_us, own_amount = m.own_amount, older = m.older, is_ring = m.is_ring
  where t.limit_id = m.limit_id and t.key = m.key;
end $$;
