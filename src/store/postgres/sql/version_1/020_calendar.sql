-- Civil periods of a time zone, as spans of absolute time: the same ones as in the library (src/calendar).
--
-- A day, week, month or year starts at the first instant whose local time is not before the boundary's: where a clock
-- change skips the boundary, just after the gap; where it repeats the boundary, the first time. An hour starts whenever
-- the local clock shows a full hour, so a repeated hour is two periods.

-- Seconds that the zone is ahead of UTC.
create function mete._offset(zone text, at_s bigint) returns bigint
language sql stable as $$
  select extract(epoch from (to_timestamp(at_s) at time zone zone) - (to_timestamp(at_s) at time zone 'UTC'))::bigint
$$;

-- The first second of (from_s, to_s] from which on the zone is ahead as much as at to_s. One change lies between.
create function mete._change(zone text, from_s bigint, to_s bigint) returns bigint
language plpgsql stable as $$
declare
  before bigint := from_s;
  after bigint := to_s;
  target bigint := mete._offset(zone, to_s);
begin
  while after - before > 1 loop
    if mete._offset(zone, (before + after) / 2) = target then
      after := (before + after) / 2;
    else
      before := (before + after) / 2;
    end if;
  end loop;
  return after;
end $$;

-- The first second ever at which the zone's local time is not before the date's 00:00.
create function mete._first_second(zone text, day date) returns bigint
language plpgsql stable as $$
declare
  midnight bigint := extract(epoch from day::timestamp)::bigint;  -- as local time
  before bigint := mete._offset(zone, midnight - 57600);          -- no zone is 16 hours ahead, or behind
  after bigint := mete._offset(zone, midnight + 57600);
begin
  if mete._offset(zone, midnight - before) = before then return midnight - before; end if;
  if mete._offset(zone, midnight - after) = after then return midnight - after; end if;
  -- The clock skips midnight.
  return mete._change(zone, least(midnight - before, midnight - after) - 1, greatest(midnight - before, midnight - after));
end $$;

-- The day of a month that an anchor means: its last where it is shorter.
create function mete._anchored(month date, anchor integer) returns date
language sql immutable as $$
  select least(month + (anchor - 1), (month + interval '1 month')::date - 1)
$$;

-- The date on which the period starts that a date belongs to (ahead: 0), or the next one (ahead: 1).
create function mete._first_date(unit text, anchor integer, day date, ahead integer) returns date
language plpgsql immutable as $$
declare
  month date := date_trunc('month', day::timestamp)::date;
  year date := date_trunc('year', day::timestamp)::date;
begin
  if unit = 'day' then return day + ahead; end if;
  if unit = 'week' then
    return day - ((extract(isodow from day)::integer - coalesce(anchor, 1) + 7) % 7) + 7 * ahead;
  end if;
  if unit = 'month' then
    if mete._anchored(month, coalesce(anchor, 1)) > day then ahead := ahead - 1; end if;
    return mete._anchored((month + make_interval(months => ahead))::date, coalesce(anchor, 1));
  end if;
  anchor := coalesce(anchor, 101);  -- 1 January
  if mete._anchored((year + make_interval(months => anchor / 100 - 1))::date, anchor % 100) > day then
    ahead := ahead - 1;
  end if;
  return mete._anchored((year + make_interval(years => ahead, months => anchor / 100 - 1))::date, anchor % 100);
end $$;

-- The full hour that begins at or before a second, or after it.
create function mete._hour(zone text, at_s bigint, out start_s bigint, out end_s bigint)
language plpgsql stable as $$
declare
  ahead bigint := mete._offset(zone, at_s);
  change bigint;
  shown bigint;
  shown_before bigint;
  other bigint := at_s;
begin
  loop
    start_s := other - (other + ahead) % 3600;
    exit when mete._offset(zone, start_s) = ahead;
    change := mete._change(zone, start_s, other);
    shown := change + ahead;
    shown_before := change - 1 + mete._offset(zone, change - 1);
    start_s := change;
    exit when shown % 3600 = 0 or shown / 3600 > shown_before / 3600;
    other := change - 1;
    ahead := mete._offset(zone, other);
  end loop;
  other := at_s;
  ahead := mete._offset(zone, other);
  loop
    end_s := other - (other + ahead) % 3600 + 3600;
    -- One that begins with the change itself is found below.
    exit when mete._offset(zone, end_s) = ahead;
    change := mete._change(zone, other, end_s);
    shown := change + mete._offset(zone, change);
    shown_before := change - 1 + ahead;
    end_s := change;
    exit when shown % 3600 = 0 or shown / 3600 > shown_before / 3600;
    other := change;
    ahead := mete._offset(zone, other);
  end loop;
end $$;

-- The period that holds an instant: start_us <= at_us < end_us.
create function mete._period(unit text, zone text, anchor integer, at_us bigint, out start_us bigint, out end_us bigint)
language plpgsql stable as $$
declare
  tz text := coalesce(zone, 'UTC');
  at_s bigint := at_us / 1000000;
  day date;
  start_s bigint;
  end_s bigint;
begin
  if unit = 'hour' then
    select h.start_s, h.end_s into start_s, end_s from mete._hour(tz, at_s) h;
  else
    -- The clock shows this date now, so its period has begun. The next may have begun as well, before the clock went back
    -- over midnight.
    day := mete._first_date(unit, anchor, (to_timestamp(at_s) at time zone tz)::date, 0);
    start_s := mete._first_second(tz, day);
    loop
      day := mete._first_date(unit, anchor, day, 1);
      end_s := mete._first_second(tz, day);
      exit when at_s < end_s;
      start_s := end_s;
    end loop;
  end if;
  start_us := greatest(start_s, 0) * 1000000;
  end_us := end_s * 1000000;
end $$;
