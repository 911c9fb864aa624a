-- Sliding meters remember when their usage was charged: at most the amount in every period, wherever it begins. The same
-- arithmetic as the library's (src/core/sliding.h); docs/semantics.md has the rules.
--
-- Of a sliding meter, units is all that is used, start_us the time of the newest charge, or of its slot, end_us when nothing
-- counts any more, older the charges before the newest one, start and units in turn, and older_units their sum.

-- Where a charge is counted: at its time, or in its slot.
create or replace function mete_private._place_us(rule mete.rule, m mete.meters, at_us bigint) returns bigint language sql immutable as $$
  select case when m.is_ring then at_us - at_us % ((rule.period_us + 124) / 125) else at_us end
$$;

create or replace function mete_private._counts_until_us(rule mete.rule, m mete.meters, start_us bigint) returns bigint
language sql immutable as $$
  select start_us + rule.period_us + case when m.is_ring then (rule.period_us + 124) / 125 else 0 end
$$;

create or replace function mete_private._quantum(rule mete.rule) returns bigint language sql immutable as $$
  select case when rule.capacity <= 100 then 1 else (rule.capacity + 803) / 804 end
$$;

-- Of a ring, at a time at which nothing older has left it: what leaves it with its oldest slot.
create or replace function mete_private._leaving(older bigint[], period_us bigint, at_us bigint) returns bigint
language sql immutable as $$
  select case when older[1] + period_us + (period_us + 124) / 125 <= at_us then older[2] else 0 end
$$;

-- How much of the newest slot a ring keeps there when another slot begins: whole quanta, as far as it has room. The rest
-- goes on to the new one.
create or replace function mete_private._closing(newest bigint, older_units bigint, capacity bigint) returns bigint
language sql immutable as $$
  select case when capacity <= 100 then least(newest, 99 - older_units)
              else least(newest / ((capacity + 803) / 804), 803 - older_units / ((capacity + 803) / 804)) *
                     ((capacity + 803) / 804) end
$$;

-- The same charges again: in slots, or under another rule of the same period.
create or replace function mete_private._replayed(rule mete.rule, m mete.meters, is_ring boolean) returns mete.meters
language plpgsql immutable as $$
declare
  charges bigint[] := m.older || array[m.start_us, m.units - m.older_units];
begin
  if m.units = 0 then return m; end if;
  m.units := 0;
  m.older := '{}';
  m.older_units := 0;
  m.is_ring := is_ring;
  for i in 1 .. cardinality(charges) by 2 loop
    if m.units > 0 then
      m := mete_private._sliding_charged(rule, m, charges[i + 1], charges[i]);
    elsif charges[i + 1] > 0 then
      m.start_us := mete_private._place_us(rule, m, charges[i]);
      m.units := charges[i + 1];
      m.end_us := mete_private._counts_until_us(rule, m, m.start_us);
    end if;
  end loop;
  return m;
end $$;

create or replace function mete_private._sliding_charged(rule mete.rule, m mete.meters, cost bigint, at_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  place_us bigint;
  newest bigint;
begin
  if m.units = 0 then
    if cost = 0 then return m; end if;
    m.older := '{}';
    m.older_units := 0;
    m.is_ring := rule.period_us > 69120000000000;  -- 800 days
    m.start_us := mete_private._place_us(rule, m, at_us);
  end if;
  if mete_private._place_us(rule, m, at_us) > m.start_us and (cost > 0 or m.units > 0) then
    newest := m.units - m.older_units;
    if not m.is_ring and newest > 0 and (cardinality(m.older) = 8 or newest > rule.capacity) then
      m := mete_private._replayed(rule, m, true);
      newest := m.units - m.older_units;
    end if;
    place_us := mete_private._place_us(rule, m, at_us);
    if place_us > m.start_us then
      if m.is_ring then newest := mete_private._closing(newest, m.older_units, rule.capacity); end if;
      if newest > 0 then
        m.older := m.older || array[m.start_us, newest];
        m.older_units := m.older_units + newest;
      end if;
      m.start_us := place_us;
    end if;
  end if;
  m.units := m.units + cost;
  m.end_us := mete_private._counts_until_us(rule, m, m.start_us);
  return m;
end $$;

-- Takes up to so much out of the older charges, the oldest first, or out of those of one place. A slot loses whole quanta:
-- what is too much of the last one goes to the newest.
create or replace function mete_private._taken_from_older(rule mete.rule, m mete.meters, units bigint, place_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  quantum bigint := case when m.is_ring then mete_private._quantum(rule) else 1 end;
  kept bigint[] := '{}';
  there bigint;
  taken bigint;
begin
  for i in 1 .. cardinality(m.older) by 2 loop
    there := m.older[i + 1];
    if units > 0 and (place_us is null or m.older[i] = place_us) then
      taken := least(units, there);
      there := there - (taken + quantum - 1) / quantum * quantum;
      m.older_units := m.older_units - (m.older[i + 1] - greatest(there, 0));
      m.units := m.units - taken;
      units := units - taken;
    end if;
    if there > 0 then kept := kept || array[m.older[i], there]; end if;
  end loop;
  m.older := kept;
  return m;
end $$;

-- Takes so much from the oldest charges: what stays counts at least as long as what was not given back.
create or replace function mete_private._given_oldest(rule mete.rule, m mete.meters, units bigint) returns mete.meters
language plpgsql immutable as $$
declare
  left_over bigint := m.units - units;
begin
  if units > 0 then
    m := mete_private._taken_from_older(rule, m, units, null);
    m.units := left_over;
  end if;
  return m;
end $$;

create or replace function mete_private._sliding_released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint)
returns mete.meters
language plpgsql immutable as $$
declare
  place_us bigint := mete_private._place_us(rule, m, made_us);
  left_over bigint;
begin
  if m.units = 0 or mete_private._counts_until_us(rule, m, place_us) <= now_us then return m; end if;
  units := least(units, m.units);
  left_over := m.units - units;
  if place_us = m.start_us then
    m.units := m.units - least(units, m.units - m.older_units);
  else
    m := mete_private._taken_from_older(rule, m, units, place_us);
  end if;
  return mete_private._given_oldest(rule, m, m.units - left_over);
end $$;
