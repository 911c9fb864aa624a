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
  select case when rule.capacity <= 100 then 1 else (rule.capacity + 1888) / 1889 end
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
              else least(newest, 1889 * ((capacity + 1888) / 1889) - older_units) / ((capacity + 1888) / 1889) *
                     ((capacity + 1888) / 1889) end
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

-- Besides the oldest charge, two may have part of a quantum. Of three that have, two neighbours are evened: the older one
-- gives the younger so much that one of the two has none any more. Those are chosen for which that moves the least, units
-- by time.
create or replace function mete_private._evened(rule mete.rule, older bigint[]) returns bigint[]
language plpgsql immutable as $$
declare
  quantum bigint := mete_private._quantum(rule);
  part integer;  -- where the units of the one before are, if they are part of a quantum
  parts integer;
  moved bigint;
  cost numeric;
  least_cost numeric;
  least_moved bigint;
  giver integer;
  taker integer;
begin
  loop
    part := null;
    parts := 0;
    least_cost := null;
    for i in 4 .. cardinality(older) by 2 loop
      continue when older[i] % quantum = 0;
      parts := parts + 1;
      if part is not null then
        moved := least(older[part] % quantum, quantum - older[i] % quantum);
        cost := moved::numeric * (older[i - 1] - older[part - 1]);
        if least_cost is null or cost < least_cost then
          least_cost := cost;
          least_moved := moved;
          giver := part;
          taker := i;
        end if;
      end if;
      part := i;
    end loop;
    exit when parts < 3;
    older[taker] := older[taker] + least_moved;
    older[giver] := older[giver] - least_moved;
    if older[giver] = 0 then older := older[:giver - 2] || older[giver + 1:]; end if;
  end loop;
  return older;
end $$;

-- Takes so much, at most what is used, out of the charges from a place on, the oldest first; and what these do not have,
-- from the oldest of all.
create or replace function mete_private._taken_from(rule mete.rule, m mete.meters, place_us bigint, units bigint) returns mete.meters
language plpgsql immutable as $$
declare
  charges bigint[] := m.older || array[m.start_us, m.units - m.older_units];
  newest integer := cardinality(charges);
  kept bigint[] := '{}';
  taken bigint;
begin
  if units = 0 then return m; end if;
  m.units := m.units - units;
  if place_us >= m.start_us and units <= charges[newest] then return m; end if;
  foreach place_us in array array[place_us, 0] loop
    for i in 2 .. newest by 2 loop
      continue when charges[i - 1] < place_us;
      taken := least(units, charges[i]);
      charges[i] := charges[i] - taken;
      units := units - taken;
    end loop;
  end loop;
  for i in 2 .. newest - 2 by 2 loop
    if charges[i] > 0 then kept := kept || charges[i - 1:i]; end if;
  end loop;
  m.older_units := m.units - charges[newest];
  m.older := case when m.is_ring then mete_private._evened(rule, kept) else kept end;
  return m;
end $$;

-- Takes so much from the oldest charges: what stays counts at least as long as what was not given back.
create or replace function mete_private._given_oldest(rule mete.rule, m mete.meters, units bigint) returns mete.meters
language sql immutable as $$
  select mete_private._taken_from(rule, m, 0, units)
$$;

create or replace function mete_private._sliding_released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint)
returns mete.meters
language plpgsql immutable as $$
declare
  place_us bigint := mete_private._place_us(rule, m, made_us);
begin
  if m.units = 0 or made_us + rule.period_us <= now_us then return m; end if;
  return mete_private._taken_from(rule, m, place_us, least(units, m.units));
end $$;
