-- What one meter has used, for every kind of limit: the same arithmetic as the library's (src/core), exact. Functions of
-- (rule, meter, charge, time) that read no table.
--
-- But for _settled they want a settled meter, whose window holds the time. A bucket's numbers are products of two of up to
-- 53 bits, so they are numeric; whole numbers all of them, and no division but div().

-- The views are made of this and _timestamp, and are read on any search path: so what it means is said in full. Seconds as
-- a double are rounded by less than half a microsecond until 2106, and never run backwards; extract() would be numeric.
create or replace function mete_private._now_us() returns bigint language sql volatile as $$
  select (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000000)::pg_catalog.int8
$$;

create or replace function mete_private._div_ceil(x numeric, y numeric) returns numeric language sql immutable as $$
  select div(x + y - 1, y)
$$;

-- The same rule with another amount; a bucket's burst keeps its ratio to it, rounded up.
create or replace function mete_private._with_amount(rule mete.rule, own_amount bigint) returns mete.rule
language plpgsql immutable as $$
begin
  if own_amount is not null then
    rule.capacity := least(mete_private._div_ceil(rule.capacity::numeric * own_amount, rule.amount), 9007199254740991);
    rule.amount := own_amount;
  end if;
  return rule;
end $$;

create or replace function mete_private._rule(l mete.limits) returns mete.rule language sql immutable as $$
  select row(l.kind, l.amount, l.capacity, l.period_us, l.unit, l.zone, l.anchor)::mete.rule
$$;

-- The window that holds `at_us`; for stock and bucket all of time.
create or replace function mete_private._window(rule mete.rule, at_us bigint, out start_us bigint, out end_us bigint)
language plpgsql stable as $$
begin
  if rule.kind = 'calendar' then
    select p.start_us, p.end_us into start_us, end_us from mete_private._period(rule.unit, rule.zone, rule.anchor, at_us) p;
  elsif rule.period_us = 0 or rule.kind = 'bucket' then
    start_us := 0;
    end_us := 9223372036854775807;
  else
    start_us := at_us - at_us % rule.period_us;
    end_us := start_us + rule.period_us;
  end if;
end $$;

-- A meter that nothing was ever charged to.
create or replace function mete_private._fresh(limit_id integer, key text, revision integer, at_us bigint) returns mete.meters
language sql immutable as $$
  select row(limit_id, key, revision, 0, 0, 0, 0, at_us, 9223372036854775807, null, 0, '{}', false, 0)::mete.meters
$$;

-- Lets the meter's windows pass, and what no longer counts go.
create or replace function mete_private._settled(rule mete.rule, m mete.meters, now_us bigint) returns mete.meters
language plpgsql stable as $$
declare
  w record;
begin
  if rule.kind = 'sliding' then
    if m.units > 0 and now_us < m.end_us then
      while cardinality(m.older) > 0 and mete_private._counts_until_us(rule, m, m.older[1]) <= now_us loop
        m.units := m.units - m.older[2];
        m.older_units := m.older_units - m.older[2];
        m.older := m.older[3:];
      end loop;
    else
      m.units := 0;
    end if;
    if m.units = 0 then
      m.older := '{}';
      m.older_units := 0;
      m.is_ring := false;
      m.start_us := 0;
      m.end_us := 0;
    end if;
    return m;
  end if;
  if now_us < m.end_us then return m; end if;
  w := mete_private._window(rule, now_us);
  if m.end_us > 0 then m.units := 0; end if;
  m.start_us := w.start_us;
  m.end_us := w.end_us;
  return m;
end $$;

create or replace function mete_private._backlog(rule mete.rule, m mete.meters, now_us bigint) returns numeric
language sql immutable as $$
  select greatest(m.full_at - now_us::numeric * rule.amount, 0)
$$;

create or replace function mete_private._used(rule mete.rule, m mete.meters, now_us bigint) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then return mete_private._div_ceil(mete_private._backlog(rule, m, now_us), rule.period_us); end if;
  return m.units;
end $$;

create or replace function mete_private._fits(rule mete.rule, m mete.meters, cost bigint, now_us bigint) returns boolean
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then
    return mete_private._backlog(rule, m, now_us) + cost::numeric * rule.period_us <= rule.capacity::numeric * rule.period_us;
  end if;
  return mete_private._used(rule, m, now_us) + cost <= rule.capacity;
end $$;

-- Charges without asking. A bucket that became full within the last microsecond goes on from that very tick: nobody could
-- have asked earlier.
create or replace function mete_private._charged(rule mete.rule, m mete.meters, cost bigint, now_us bigint) returns mete.meters
language plpgsql immutable as $$
declare
  now_at numeric;
begin
  if rule.kind = 'bucket' then
    now_at := now_us::numeric * rule.amount;
    if m.full_at + least(rule.amount, rule.period_us) <= now_at then m.full_at := now_at; end if;
    m.full_at := m.full_at + cost::numeric * rule.period_us;
  elsif rule.kind = 'sliding' then
    if cost > 0 then m := mete_private._sliding_charged(rule, m, cost, now_us); end if;
  else
    m.units := m.units + cost;
  end if;
  return m;
end $$;

-- What of a part the bucket has not refilled since it was made: only that may be credited.
create or replace function mete_private._part_ticks(rule mete.rule, units bigint, made_us bigint, now_us bigint) returns numeric
language sql immutable as $$
  select greatest(units::numeric * rule.period_us - greatest(now_us - made_us, 0)::numeric * rule.amount, 0)
$$;

-- Gives a part back, as far as it is still charged: what belongs to a window that has passed credits nothing.
create or replace function mete_private._released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint)
returns mete.meters
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then
    m.full_at := now_us::numeric * rule.amount +
      greatest(mete_private._backlog(rule, m, now_us) - mete_private._part_ticks(rule, units, made_us, now_us), 0);
  elsif rule.kind = 'sliding' then
    m := mete_private._sliding_released(rule, m, units, made_us, now_us);
  elsif made_us >= m.start_us then
    m.units := m.units - least(units, m.units);
  end if;
  return m;
end $$;

-- How much of a part is still charged, in whole units: rounded up, or down for what would come back.
create or replace function mete_private._still_charged(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint,
                                               rounds_up boolean) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'bucket' then
    return div(mete_private._part_ticks(rule, units, made_us, now_us) + case when rounds_up then rule.period_us - 1 else 0 end,
               rule.period_us);
  end if;
  if rule.kind = 'sliding' then
    return case when made_us + rule.period_us > now_us then units else 0 end;
  end if;
  return case when made_us >= m.start_us then units else 0 end;
end $$;

-- What is held and still charged.
create or replace function mete_private._held(rule mete.rule, m mete.meters, parts mete.part[], now_us bigint) returns bigint
language plpgsql immutable as $$
declare
  total bigint := 0;
  part mete.part;
begin
  if parts is null then return 0; end if;
  foreach part in array parts loop
    total := least(total + mete_private._still_charged(rule, m, part.units, part.made_us, now_us, true), 9007199254740991);
  end loop;
  return least(total, mete_private._used(rule, m, now_us));
end $$;

-- The time in which a bucket gives so many ticks back, rounded up. More than 292 years is as good as never: the library
-- cannot tell more.
create or replace function mete_private._drain_us(rule mete.rule, ticks numeric) returns bigint
language sql immutable as $$
  select least(mete_private._div_ceil(ticks, rule.amount), 9223372036854776)::bigint
$$;

-- Until the meter is as a fresh one; -1 for stock.
create or replace function mete_private._reset_us(rule mete.rule, m mete.meters, now_us bigint) returns bigint
language plpgsql immutable as $$
begin
  if rule.kind = 'stock' then return -1; end if;
  if rule.kind = 'bucket' then return mete_private._drain_us(rule, mete_private._backlog(rule, m, now_us)); end if;
  if m.units = 0 then return 0; end if;
  if rule.kind = 'sliding' then
    return mete_private._counts_until_us(rule, m, case when m.units - m.older_units > 0 then m.start_us
                                               else m.older[cardinality(m.older) - 1] end) - now_us;
  end if;
  return m.end_us - now_us;
end $$;

-- The exact wait until a charge fits, if nothing happens but that time passes; -1 where no wait is enough.
create or replace function mete_private._wait_alone_us(rule mete.rule, m mete.meters, cost bigint, now_us bigint) returns bigint
language plpgsql immutable as $$
declare
  wanted bigint;
begin
  if cost > rule.capacity then return -1; end if;
  if mete_private._fits(rule, m, cost, now_us) then return 0; end if;
  if rule.kind = 'stock' then return -1; end if;
  if rule.kind = 'bucket' then
    return mete_private._drain_us(rule, mete_private._backlog(rule, m, now_us) + (cost - rule.capacity)::numeric * rule.period_us);
  end if;
  if rule.kind <> 'sliding' then return m.end_us - now_us; end if;
  wanted := m.units + cost - rule.capacity;
  for i in 1 .. cardinality(m.older) by 2 loop
    wanted := wanted - m.older[i + 1];
    if wanted <= 0 then return mete_private._counts_until_us(rule, m, m.older[i]) - now_us; end if;
  end loop;
  return mete_private._counts_until_us(rule, m, m.start_us) - now_us;
end $$;

-- The same, and what is held expires, the first to expire first.
create or replace function mete_private._wait_us(rule mete.rule, m mete.meters, cost bigint, now_us bigint, parts mete.part[]) returns bigint
language plpgsql stable as $$
declare
  asked_us bigint := now_us;
  wait_us bigint;
  part mete.part;
begin
  if cost > rule.capacity then return -1; end if;
  if parts is not null then
    foreach part in array parts loop
      wait_us := mete_private._wait_alone_us(rule, m, cost, now_us);
      if wait_us >= 0 and now_us + wait_us <= part.expires_us then return now_us - asked_us + wait_us; end if;
      now_us := greatest(part.expires_us, now_us);
      -- A calendar's period stays the same: at its end every wait is over.
      if rule.kind <> 'calendar' then m := mete_private._settled(rule, m, now_us); end if;
      m := mete_private._released(rule, m, part.units, part.made_us, now_us);
    end loop;
  end if;
  wait_us := mete_private._wait_alone_us(rule, m, cost, now_us);
  return case when wait_us < 0 then -1 else now_us - asked_us + wait_us end;
end $$;

-- Makes the usage `units`, whatever it was; of a sliding meter by a difference, so that what is charged stays where it was.
create or replace function mete_private._with_used(rule mete.rule, m mete.meters, units bigint, now_us bigint) returns mete.meters
language plpgsql immutable as $$
begin
  if rule.kind = 'sliding' then
    if units > m.units then return mete_private._sliding_charged(rule, m, units - m.units, now_us); end if;
    return mete_private._given_oldest(rule, m, m.units - units);
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

-- The same usage under another rule: redefining never refills. The meter is settled under the old one.
create or replace function mete_private._rebased(old mete.rule, m mete.meters, new mete.rule, now_us bigint) returns mete.meters
language plpgsql stable as $$
declare
  units bigint := mete_private._used(old, m, now_us);
  backlog numeric := mete_private._backlog(old, m, now_us);
begin
  m.start_us := 0;
  m.end_us := 0;
  m.units := 0;
  m.full_at := 0;
  m.older := '{}';
  m.older_units := 0;
  m.is_ring := false;
  m := mete_private._settled(new, m, now_us);
  m := mete_private._with_used(new, m, units, now_us);
  if old.kind = 'bucket' and new.kind = 'bucket' then
    -- Whole units stay, the fraction of one is rounded up.
    m.full_at := now_us::numeric * new.amount + div(backlog, old.period_us) * new.period_us +
      least(mete_private._div_ceil(backlog % old.period_us * new.period_us, old.period_us), new.period_us);
  end if;
  return m;
end $$;
