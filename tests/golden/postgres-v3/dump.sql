--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: mete; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA mete;


--
-- Name: SCHEMA mete; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON SCHEMA mete IS 'Mete: limits, usage and holds. Applications call its functions; what begins with _ or store_ is not for them';


--
-- Name: answer; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.answer AS (
	allowed boolean,
	remaining bigint,
	"limit" bigint,
	retry_after interval,
	reset_after interval,
	violated text[],
	amount bigint,
	id text
);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: limits; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.limits (
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    revision integer NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL,
    capacity bigint NOT NULL,
    period_us bigint NOT NULL,
    unit text,
    zone text,
    anchor integer,
    burst bigint,
    durable text,
    on_fail text NOT NULL,
    shadow boolean NOT NULL,
    scope text NOT NULL,
    records boolean NOT NULL,
    only_for name[],
    changed_us bigint NOT NULL,
    is_dropped boolean DEFAULT false NOT NULL,
    is_plain boolean GENERATED ALWAYS AS (((kind = ANY (ARRAY['stock'::text, 'window'::text, 'calendar'::text])) AND (NOT shadow))) STORED,
    CONSTRAINT limits_durable_check CHECK ((durable = ANY (ARRAY['always'::text, 'everysec'::text, 'never'::text]))),
    CONSTRAINT limits_kind_check CHECK ((kind = ANY (ARRAY['bucket'::text, 'window'::text, 'sliding'::text, 'calendar'::text, 'stock'::text]))),
    CONSTRAINT limits_on_fail_check CHECK ((on_fail = ANY (ARRAY['closed'::text, 'open'::text, 'local'::text]))),
    CONSTRAINT limits_scope_check CHECK ((scope = ANY (ARRAY['node'::text, 'shared'::text, 'escrow'::text])))
);


--
-- Name: charged; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.charged AS (
	l mete.limits,
	key text,
	cost bigint,
	charges integer,
	"position" integer
);


--
-- Name: hold_charge; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.hold_charge AS (
	id text,
	state text,
	expires_in_us bigint,
	age_us bigint,
	tag text,
	"limit" text,
	key text,
	amount bigint,
	now_us bigint
);


--
-- Name: part; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.part AS (
	units bigint,
	made_us bigint,
	expires_us bigint,
	id text,
	charge smallint
);


--
-- Name: rule; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.rule AS (
	kind text,
	amount bigint,
	capacity bigint,
	period_us bigint,
	unit text,
	zone text,
	anchor integer
);


--
-- Name: meters; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.meters (
    limit_id integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    revision integer NOT NULL,
    units bigint NOT NULL,
    previous bigint NOT NULL,
    full_at numeric,
    start_us bigint NOT NULL,
    end_us bigint NOT NULL,
    settled_us bigint NOT NULL,
    due_us bigint NOT NULL,
    own_amount bigint,
    serial bigint NOT NULL,
    older bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    is_ring boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY mete.meters ALTER COLUMN older SET STORAGE PLAIN;


--
-- Name: opened; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.opened AS (
	rule mete.rule,
	m mete.meters,
	parts mete.part[],
	has_remade_parts boolean,
	is_carried boolean
);


--
-- Name: outcome; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.outcome AS (
	allowed boolean,
	amount bigint,
	remaining bigint,
	capacity bigint,
	retry_us bigint,
	reset_us bigint,
	violated integer,
	now_us bigint,
	id text,
	usages bigint[]
);


--
-- Name: standing; Type: TYPE; Schema: mete; Owner: -
--

CREATE TYPE mete.standing AS (
	used bigint,
	held bigint,
	remaining bigint,
	"limit" bigint,
	reset_after interval
);


--
-- Name: _anchored(date, integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._anchored(month date, anchor integer) RETURNS date
    LANGUAGE sql IMMUTABLE
    AS $$
  select least(month + (anchor - 1), (month + interval '1 month')::date - 1)
$$;


--
-- Name: _answer(mete.outcome, text[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._answer(r mete.outcome, limits text[]) RETURNS mete.answer
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare
  violated text[] := '{}';
begin
  for i in 1 .. case when r.violated > 0 then cardinality(limits) else 0 end loop
    if r.violated >> (i - 1) & 1 = 1 then violated := violated || limits[i]; end if;
  end loop;
  return row(r.allowed, r.remaining, r.capacity, mete._interval(r.retry_us), mete._interval(r.reset_us), violated, r.amount,
             r.id)::mete.answer;
end $$;


--
-- Name: _answer_of(mete.outcome); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._answer_of(r mete.outcome) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE
    AS $$
  select array[r.allowed::integer, r.amount, r.remaining, r.capacity, r.retry_us, r.reset_us, r.violated, r.now_us]
$$;


--
-- Name: _audit(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._audit(OUT "limit" text, OUT key text, OUT balance bigint, OUT recorded bigint, OUT held bigint) RETURNS SETOF record
    LANGUAGE sql STABLE
    AS $$
  select l.name, m.key, m.units, coalesce(s.recorded, 0)::bigint, coalesce(h.held, 0)::bigint
  from mete.limits l join mete.meters m on m.limit_id = l.id
  left join lateral (select sum(e.amount) as recorded from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete._timestamp(m.start_us)) s on true
  left join lateral (select sum(o.part_units) as held from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.held_us > m.settled_us and o.is_backed and
      o.part_us >= m.start_us) h on true
  where not l.is_dropped and l.records and l.kind not in ('bucket', 'sliding') and m.revision = l.revision and
    m.end_us > 0 and m.units <> coalesce(s.recorded, 0) + coalesce(h.held, 0)
$$;


--
-- Name: _backlog(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._backlog(rule mete.rule, m mete.meters, now_us bigint) RETURNS numeric
    LANGUAGE sql IMMUTABLE
    AS $$
  select greatest(m.full_at - now_us::numeric * rule.amount, 0)
$$;


--
-- Name: _catch_up(integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._catch_up(count_max integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  m mete.meters;
  l mete.limits;
  now_us bigint;
begin
  -- As long as there are such meters, the numbers that they have are kept: so others are not even looked at.
  for m in select t.* from mete.limits k join mete.meters t on t.limit_id = k.id and t.revision < k.revision
           where not k.is_dropped and
             exists (select from mete.revisions r where r.limit_id = k.id and r.revision < k.revision)
           order by t.limit_id, t.key limit count_max for update of t skip locked loop
    select * into l from mete.limits t where t.id = m.limit_id;
    now_us := greatest(mete._now_us(), m.start_us, m.settled_us);
    perform mete._opened_locked(l, m, now_us, true);
  end loop;
end $$;


--
-- Name: _caught_up(mete.limits, mete.opened); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._caught_up(l mete.limits, o mete.opened) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
declare
  m mete.meters := o.m;
  r mete.revisions;
begin
  for r in select * from mete.revisions t where t.limit_id = l.id and t.revision >= m.revision and t.revision <= l.revision
           order by t.revision loop
    if r.revision = m.revision then
      o.rule := mete._with_amount(r.rule, m.own_amount);
    else
      o := mete._expired(o, r.since_us);
      o := mete._moved(o, mete._with_amount(r.rule, m.own_amount), r.since_us);
    end if;
  end loop;
  m := o.m;
  m.revision := l.revision;
  o.m := m;
  o.is_carried := true;
  return o;
end $$;


--
-- Name: _change(text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._change(zone text, from_s bigint, to_s bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _charged(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._charged(rule mete.rule, m mete.meters, cost bigint, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _charged_meters(text[], text[], bigint[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._charged_meters(limits text[], keys text[], costs bigint[]) RETURNS mete.charged[]
    LANGUAGE plpgsql STABLE
    AS $$
declare
  result mete.charged[];
begin
  if cardinality(limits) = 1 then
    return array[row(mete._limit(limits[1]), keys[1], costs[1], 1, 1)::mete.charged];
  end if;
  select array_agg(row(mete._limit(c.name), c.key, c.cost, c.charges, c.position)::mete.charged
                   order by (select t.id from mete.limits t where t.name = c.name and not t.is_dropped), c.key)
  into result
  from (select u.name collate "C", u.key collate "C", sum(u.cost)::bigint, sum(1 << (u.i - 1)::integer)::integer,
               min(u.i)::integer
        from unnest(limits, keys, costs) with ordinality u (name, key, cost, i)
        group by 1, 2) c (name, key, cost, charges, position);
  return result;
end $$;


--
-- Name: _charges_of(jsonb); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._charges_of(charges jsonb, OUT limits text[], OUT keys text[], OUT costs bigint[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare
  unknown text;
begin
  if jsonb_typeof(charges) is distinct from 'array' or
     exists (select from jsonb_array_elements(charges) c where jsonb_typeof(c) <> 'object') then
    perform mete._refuse_argument('charges must be an array of objects: [{"limit": "api", "key": "alice", "cost": 1}]');
  end if;
  select k into unknown from jsonb_array_elements(charges) c, jsonb_object_keys(c) k
  where k not in ('limit', 'key', 'cost') limit 1;
  if found then perform mete._refuse_argument(format('charges: unknown field ''%s''', unknown)); end if;
  if exists (select from jsonb_array_elements(charges) c, unnest(array['limit', 'key']) k
             where jsonb_typeof(c -> k) <> 'string') then
    perform mete._refuse_argument('charges: a limit and a key are strings');
  end if;
  if exists (select from jsonb_array_elements(charges) c
             where case when not c ? 'cost' then false when jsonb_typeof(c -> 'cost') <> 'number' then true else
               (c ->> 'cost')::numeric % 1 <> 0 or (c ->> 'cost')::numeric not between 0 and 9007199254740991 end) then
    perform mete._refuse_argument('charges: a cost is a whole number, 0 to 9007199254740991');
  end if;
  select array_agg(c ->> 'limit' order by i), array_agg(c ->> 'key' order by i),
         array_agg(coalesce((c ->> 'cost')::numeric, 1)::bigint order by i)
  into limits, keys, costs
  from jsonb_array_elements(charges) with ordinality e (c, i);
end $$;


--
-- Name: operations; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.operations (
    id text NOT NULL COLLATE pg_catalog."C",
    charge smallint NOT NULL,
    serial bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    fingerprint uuid,
    answer bigint[],
    made_us bigint NOT NULL,
    due_us bigint NOT NULL,
    held_us bigint,
    final_us bigint,
    tag text COLLATE pg_catalog."C",
    limit_id integer,
    key text COLLATE pg_catalog."C",
    amount bigint,
    is_backed boolean,
    part_units bigint,
    part_us bigint,
    ended bigint[]
);


--
-- Name: _check_amounts(mete.operations[], bigint[], boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_amounts(rows mete.operations[], amounts bigint[], allows_overage boolean) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
declare
  row mete.operations;
  name text;
begin
  if amounts is null then return; end if;
  if cardinality(amounts) <> cardinality(rows) then
    perform mete._refuse_argument(format('amounts: the hold has %s %s, not %s', cardinality(rows),
      case when cardinality(rows) = 1 then 'charge' else 'charges' end, cardinality(amounts)));
  end if;
  for i in 1 .. cardinality(rows) loop
    row := rows[i];
    perform mete._check_range('amount', amounts[i], 0);
    if amounts[i] > row.amount and not allows_overage then
      select l.name into name from mete.limits l where l.id = row.limit_id;
      perform mete._refuse('MT005', format('amount %s for ''%s'' exceeds the %s held: commit less, or allow overage',
                                           amounts[i], name, row.amount));
    end if;
  end loop;
end $$;


--
-- Name: _check_charges(text[], text[], bigint[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_charges(limits text[], keys text[], costs bigint[], lowest bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if limits is null or cardinality(limits) not between 1 and 16 then
    perform mete._refuse_argument(format('charges: an operation has 1 to 16, not %s', coalesce(cardinality(limits), 0)));
  end if;
  for i in 1 .. cardinality(limits) loop
    -- Told apart from how it is wrong, which is seldom asked: a call costs ten times as much as a condition.
    continue when octet_length(limits[i]) between 1 and 128 and octet_length(keys[i]) between 1 and 512 and
      costs[i] between lowest and 9007199254740991;
    perform mete._check_text('limit name', limits[i], 128);
    perform mete._check_text('key', keys[i], 512);
    perform mete._check_range(format('cost of ''%s''', limits[i]), costs[i], lowest);
  end loop;
end $$;


--
-- Name: _check_limit(mete.limits); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_limit(l mete.limits) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  takes_period boolean := l.kind in ('bucket', 'window', 'sliding');
begin
  perform mete._check_text('limit name', l.name, 128);
  if l.name ~ '[\x01-\x1f\x7f]' then perform mete._refuse_argument('limit name must not have control characters'); end if;
  if lower(l.name) = 'tag' then
    perform mete._refuse_argument(format('limit name must not be ''%s'': HOLDS TAG lists the holds with a tag', l.name));
  end if;
  if l.kind is null or l.kind not in ('bucket', 'window', 'sliding', 'calendar', 'stock') then
    perform mete._refuse_argument(format('kind must be bucket, window, sliding, calendar or stock, not %s',
                                         coalesce(l.kind, 'null')));
  end if;
  perform mete._check_range('amount', l.amount, 1);
  if takes_period and (l.period_us < 1000 or l.period_us > 3653 * 86400000000) then
    perform mete._refuse_argument(format('period must be 1 ms to 10 years (3653 days), not %s seconds',
                                         trim_scale(l.period_us / 1000000.0)));
  end if;
  if takes_period and l.unit is not null then
    perform mete._refuse_argument(format('period: a %s takes a length, such as 1 minute, not %s', l.kind, l.unit));
  end if;
  if l.kind = 'calendar' and (l.unit is null or l.unit not in ('hour', 'day', 'week', 'month', 'year')) then
    perform mete._refuse_argument('period: a calendar needs hour, day, week, month or year');
  end if;
  if l.kind <> 'bucket' and l.burst is not null then
    perform mete._refuse_argument(format('burst: a %s takes none', l.kind));
  end if;
  if l.burst is not null then perform mete._check_range('burst', l.burst, 1); end if;
  if l.kind <> 'calendar' and (l.zone is not null or l.anchor is not null) then
    perform mete._refuse_argument(format('%s: a %s takes none', case when l.zone is null then 'anchor' else 'zone' end, l.kind));
  end if;
  if l.zone is not null and not exists (select from pg_timezone_names z where z.name = l.zone) then
    perform mete._refuse_argument(format('zone: unknown time zone ''%s'': use a name such as Europe/Berlin', l.zone));
  end if;
  if l.anchor is not null and not (case l.unit
       when 'week' then l.anchor between 1 and 7
       when 'month' then l.anchor between 1 and 31
       when 'year' then l.anchor / 100 between 1 and 12 and l.anchor % 100 between 1 and
         extract(day from make_date(2000, l.anchor / 100, 1) + interval '1 month - 1 day')
       else false end) then
    perform mete._refuse_argument(format('anchor %s: a week has 1 to 7, a month 1 to 31, a year month * 100 + day, an hour '
                                         'or a day none', l.anchor));
  end if;
  if l.durable is not null and l.durable not in ('always', 'everysec', 'never') then
    perform mete._refuse_argument(format('durable must be always, everysec or never, not %s', l.durable));
  end if;
  if l.on_fail is null or l.on_fail not in ('closed', 'open', 'local') then
    perform mete._refuse_argument(format('on_fail must be closed, open or local, not %s', coalesce(l.on_fail, 'null')));
  end if;
  if l.shadow is null then perform mete._refuse_argument('shadow must be true or false, not null'); end if;
  if l.scope is null or l.scope not in ('node', 'shared', 'escrow') then
    perform mete._refuse_argument(format('scope must be node, shared or escrow, not %s', coalesce(l.scope, 'null')));
  end if;
end $$;


--
-- Name: _check_range(text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_range(field text, value bigint, lowest bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if value is null then perform mete._refuse_argument(format('%s is missing', field)); end if;
  if value < lowest or value > 9007199254740991 then
    perform mete._refuse_argument(format('%s must be %s to 9007199254740991, not %s', field, lowest, value));
  end if;
end $$;


--
-- Name: _check_role(mete.limits); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_role(l mete.limits) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
begin
  if mete._may_use(l.only_for) then return; end if;
  raise exception using errcode = 'insufficient_privilege',
    message = format('limit ''%s'' is not for role %s', l.name, session_user),
    hint = 'mete.restrict() says who may use it';
end $$;


--
-- Name: _check_roles(text[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_roles(limits text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
declare
  l mete.limits;
begin
  for l in select * from mete.limits t where t.name = any (limits) and not t.is_dropped and t.only_for is not null loop
    perform mete._check_role(l);
  end loop;
end $$;


--
-- Name: _check_text(text, text, integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_text(field text, value text, bytes_max integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if value is null then perform mete._refuse_argument(format('%s is missing', field)); end if;
  if octet_length(value) not between 1 and bytes_max then
    perform mete._refuse_argument(format('%s must have 1 to %s bytes, not %s', field, bytes_max, octet_length(value)));
  end if;
end $$;


--
-- Name: _check_ttl(interval); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._check_ttl(ttl interval) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  ttl_us bigint := mete._micros(ttl);
begin
  if ttl_us is null then perform mete._refuse_argument('ttl is missing'); end if;
  if ttl_us <= 0 or ttl_us > 366 * 86400000000 then
    perform mete._refuse_argument(format('ttl must be above 0 and at most 1 year (366 days), not %s', ttl));
  end if;
  return ttl_us;
end $$;


--
-- Name: _checked_hold(text[], text[], bigint[], interval, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._checked_hold(limits text[], keys text[], costs bigint[], ttl interval, id text, tag text) RETURNS mete.answer
    LANGUAGE plpgsql
    AS $$
declare
  is_random boolean := id is null and tag is null;
  ttl_us bigint := mete._micros(ttl);
begin
  perform mete._check_charges(limits, keys, costs, 1);
  if id is not null then
    perform mete._check_text('id', id, 128);
    if tag is not null then perform mete._check_text('tag', tag, 512); end if;
  elsif tag is not null then
    perform mete._check_text('tag, where it is the id as well,', tag, 128);
  end if;
  if not coalesce(ttl_us between 1 and 366 * 86400000000, false) then perform mete._check_ttl(ttl); end if;
  return mete._answer(mete._take(limits, keys, costs, 'take',
                                 coalesce(id, tag, replace(gen_random_uuid()::text, '-', '')), ttl_us, tag, is_random,
                                 id is not null, mete._retention_us(), 0, false), limits);
end $$;


--
-- Name: _checked_take(text[], text[], bigint[], text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._checked_take(limits text[], keys text[], costs bigint[], id text, mode text) RETURNS mete.answer
    LANGUAGE plpgsql
    AS $$
begin
  perform mete._check_charges(limits, keys, costs, 0);
  if id is not null then perform mete._check_text('id', id, 128); end if;
  if mode is null or mode not in ('take', 'up_to', 'force') then
    perform mete._refuse_argument(format('mode must be take, up_to or force, not %s', coalesce(mode, 'null')));
  end if;
  if mode = 'up_to' and cardinality(limits) > 1 then
    perform mete._refuse_argument(format('mode: up_to takes one charge, not %s', cardinality(limits)));
  end if;
  return mete._answer(mete._take(limits, keys, costs, mode, id, null, null, false, true, mete._retention_us(), 0, false),
                      limits);
end $$;


--
-- Name: _clear(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._clear() RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  now_us bigint;
begin
  lock table mete.meters in exclusive mode;
  lock table mete.operations in exclusive mode;
  now_us := mete._now_us();
  insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
  select mete._timestamp(now_us), m.limit_id, m.key, 'carry', -s.amount, mete._timestamp(now_us), m.revision
  from mete.meters m join mete.limits l on l.id = m.limit_id and l.records
  cross join lateral (select sum(e.amount) as amount from mete.events e
    where e.limit_id = m.limit_id and e.key = m.key and e.revision = m.revision and
      e.charged_at >= mete._timestamp(m.start_us)) s
  where s.amount <> 0 and m.end_us > now_us;  -- a window that has passed stays as it was
  delete from mete.operations;
  delete from mete.meters where own_amount is null;
  update mete.meters t
  set units = 0, previous = 0, full_at = 0, start_us = 0, end_us = 0, due_us = 9223372036854775807, revision = l.revision,
      settled_us = now_us
  from mete.limits l where l.id = t.limit_id;
end $$;


--
-- Name: _close(text, text, bigint[], boolean, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._close(id text, operation text, amounts bigint[], allows_overage boolean, ttl_us bigint, retention_us bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql
    AS $$
declare
  rows mete.operations[];
  again mete.operations[];
  row mete.operations;
  first mete.operations;
  charged mete.charged[];
  opened mete.opened[];
  meter_of integer[];              -- of each charge; null: none any more
  now_us bigint;
  total bigint := 0;
  is_of_all boolean := true;
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  before bigint;
  amount bigint;
  overage bigint[];
  r mete.outcome;
begin
  -- Which meters to lock is known once the hold has been seen. What became of it in between is seen then.
  rows := mete._rows_of(id);
  if rows is null then perform mete._no_hold(id); end if;
  charged := mete._meters_of(rows);
  for j in 1 .. coalesce(cardinality(charged), 0) loop
    c := charged[j];
    l := c.l;
    if l.only_for is not null then perform mete._check_role(l); end if;
  end loop;
  now_us := greatest(floor_us, mete._now_us());
  r := mete._repeated(rows, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  if charged is not null then
    select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  end if;
  perform from mete.operations t where t.id = _close.id order by t.charge for update;
  again := mete._rows_of(id);
  if again is null then perform mete._no_hold(id); end if;
  first := rows[1];
  row := again[1];
  if row.serial <> first.serial then perform mete._refuse('40001', 'the hold was replaced at the same time'); end if;
  r := mete._repeated(again, operation, amounts, now_us, retention_us);
  if r.now_us is not null then return r; end if;
  rows := again;
  if operation = 'commit' then perform mete._check_amounts(rows, amounts, allows_overage); end if;
  -- Under new numbers what is left of a part is what its meter says.
  for i in 1 .. cardinality(rows) loop
    row := rows[i];
    for j in 1 .. coalesce(cardinality(charged), 0) loop
      c := charged[j];
      l := c.l;
      if row.is_backed and l.id = row.limit_id and c.key = row.key then meter_of[i] := j; end if;
    end loop;
    amount := case when operation = 'commit' then coalesce(amounts[i], row.amount) end;
    if meter_of[i] is not null then
      o := mete._without_part(opened[meter_of[i]], row.id, row.charge);
      m := o.m;
      if operation = 'cancel' then
        before := mete._used(o.rule, m, now_us);
        o.m := mete._released(o.rule, m, row.part_units, row.part_us, now_us);
        total := total + before - mete._used(o.rule, o.m, now_us);
      elsif operation = 'commit' then
        o.m := mete._released(o.rule, m, row.part_units - least(row.part_units, amount), row.part_us, now_us);
        if amount > row.amount then
          overage[meter_of[i]] := coalesce(overage[meter_of[i]], 0) + amount - row.amount;
        end if;
      end if;
      opened[meter_of[i]] := o;
    end if;
    total := total + coalesce(amount, 0);
    is_of_all := is_of_all and amount is not distinct from row.amount;
  end loop;
  if overage is not null then
    select w.opened, w.overage into opened, overage from mete._with_overage(charged, opened, overage, now_us) w;
  end if;
  perform mete._write_closed(rows, operation, amounts, charged, opened, meter_of, ttl_us, retention_us, now_us);
  if operation = 'commit' then perform mete._record_commit(rows, amounts, overage, charged, meter_of, now_us); end if;
  r := mete._settlement(total, charged, opened, now_us);
  if operation <> 'extend' then
    update mete.operations t set ended = array[r.amount, r.remaining, r.capacity, r.reset_us, is_of_all::integer]
    where t.id = _close.id and t.charge = 0;
  end if;
  return r;
end $$;


--
-- Name: _closed(text, mete.outcome); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._closed(hold text, r mete.outcome) RETURNS mete.answer
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  r.id := hold;
  return mete._answer(r, '{}');
end $$;


--
-- Name: _counts_until_us(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._counts_until_us(rule mete.rule, m mete.meters, start_us bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select start_us + rule.period_us + case when m.is_ring then (rule.period_us + 124) / 125 else 0 end
$$;


--
-- Name: _define(mete.limits, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._define(l mete.limits, floor_us bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  old mete.limits;
  rows integer;
begin
  perform mete._check_limit(l);
  l.period_us := coalesce(l.period_us, 0);
  l.capacity := coalesce(l.burst, l.amount);
  l.records := coalesce(l.durable, case when l.kind in ('stock', 'calendar') then 'always' end) is not distinct from 'always';
  loop
    select * into old from mete.limits t where t.name = l.name and not t.is_dropped for update;
    if found then
      l.changed_us := greatest(mete._now_us(), floor_us, old.changed_us);
      l.revision := old.revision;
      if mete._rule(l) is distinct from mete._rule(old) or l.records <> old.records then
        l.revision := old.revision + 1;
        insert into mete.revisions values (old.id, l.revision, mete._rule(l), l.changed_us);
      end if;
      update mete.limits t
      set revision = l.revision, kind = l.kind, amount = l.amount, capacity = l.capacity, period_us = l.period_us,
          unit = l.unit, zone = l.zone, anchor = l.anchor, burst = l.burst, durable = l.durable, on_fail = l.on_fail,
          shadow = l.shadow, scope = l.scope, records = l.records, changed_us = l.changed_us
      where t.id = old.id;
      return l.changed_us;
    end if;
    l.changed_us := greatest(mete._now_us(), floor_us);
    insert into mete.limits (name, revision, kind, amount, capacity, period_us, unit, zone, anchor, burst, durable, on_fail,
                             shadow, scope, records, changed_us)
    values (l.name, 1, l.kind, l.amount, l.capacity, l.period_us, l.unit, l.zone, l.anchor, l.burst, l.durable, l.on_fail,
            l.shadow, l.scope, l.records, l.changed_us)
    on conflict do nothing;
    get diagnostics rows = row_count;
    if rows = 1 then
      insert into mete.revisions
      select t.id, 1, mete._rule(l), l.changed_us from mete.limits t where t.name = l.name and not t.is_dropped;
      return l.changed_us;
    end if;
  end loop;
end $$;


--
-- Name: _div_ceil(numeric, numeric); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._div_ceil(x numeric, y numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE
    AS $$
  select div(x + y - 1, y)
$$;


--
-- Name: _drain_us(mete.rule, numeric); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._drain_us(rule mete.rule, ticks numeric) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select least(mete._div_ceil(ticks, rule.amount), 9223372036854776)::bigint
$$;


--
-- Name: _drop(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._drop(name text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  update mete.limits t set is_dropped = true, changed_us = greatest(mete._now_us(), t.changed_us)
  where t.name = _drop.name and not t.is_dropped;
  return found;
end $$;


--
-- Name: _expire_holds(integer, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._expire_holds(count_max integer, retention_us bigint) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
  due record;
  l mete.limits;
  m mete.meters;
  now_us bigint := mete._now_us();
  rows integer;
  total integer := 0;
begin
  -- In the order of locks, which _clear keeps to for whole tables.
  lock table mete.meters in row exclusive mode;
  -- Charges that have no meter: of dropped limits, and of those in shadow.
  update mete.operations t set state = 'expired', held_us = null, final_us = t.due_us, due_us = t.due_us + retention_us
  where (t.id, t.charge) in (
    select o.id, o.charge from mete.operations o left join mete.limits k on k.id = o.limit_id
    where o.state = 'held' and o.due_us <= now_us and (not o.is_backed or k.id is null or k.is_dropped)
    limit count_max for update of o skip locked);
  get diagnostics total = row_count;
  for due in
    select o.limit_id, o.key from (
      select o.limit_id, o.key from mete.operations o join mete.limits k on k.id = o.limit_id and not k.is_dropped
      where o.state = 'held' and o.due_us <= now_us and o.is_backed order by o.due_us limit count_max) o
    group by o.limit_id, o.key order by o.limit_id, o.key
  loop
    exit when total >= count_max;
    select * into m from mete.meters t where t.limit_id = due.limit_id and t.key = due.key for update skip locked;
    continue when not found;
    select * into l from mete.limits t where t.id = due.limit_id;
    continue when m.revision > l.revision;
    now_us := greatest(mete._now_us(), m.start_us, m.settled_us);
    perform mete._write(mete._opened_locked(l, m, now_us, true), now_us);
    -- Of one meter there may be many: those that are left have come back already, and are put away the next time.
    update mete.operations t set state = 'expired', held_us = null, final_us = t.due_us, due_us = t.due_us + retention_us
    where (t.id, t.charge) in (
      select o.id, o.charge from mete.operations o
      where o.limit_id = due.limit_id and o.key = due.key and o.held_us <= now_us and o.is_backed
      order by o.due_us limit count_max - total);
    get diagnostics rows = row_count;
    total := total + rows;
  end loop;
  return total;
end $$;


--
-- Name: _expired(mete.opened, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._expired(o mete.opened, until_us bigint) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
declare
  m mete.meters := o.m;
  rule mete.rule := o.rule;
  part mete.part;
  count integer := 0;
begin
  if o.parts is null then return o; end if;
  foreach part in array o.parts loop
    exit when part.expires_us > until_us;
    m := mete._settled(rule, m, greatest(part.expires_us, m.start_us));
    m := mete._released(rule, m, part.units, part.made_us, greatest(part.expires_us, m.start_us));
    count := count + 1;
  end loop;
  if count > 0 then
    o.parts := case when count < cardinality(o.parts) then o.parts[count + 1:] end;
    m.settled_us := greatest(m.settled_us, until_us);
    o.m := m;
  end if;
  return o;
end $$;


--
-- Name: _fingerprint(text, text[], text[], bigint[], bigint, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._fingerprint(kind text, limits text[], keys text[], costs bigint[], ttl_us bigint, tag text) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    AS $$
  select md5(array[kind, ttl_us::text, tag]::text || limits::text || keys::text || costs::text)::uuid
$$;


--
-- Name: _first_date(text, integer, date, integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._first_date(unit text, anchor integer, day date, ahead integer) RETURNS date
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _first_second(text, date); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._first_second(zone text, day date) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _fits(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._fits(rule mete.rule, m mete.meters, cost bigint, now_us bigint) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  if rule.kind = 'bucket' then
    return mete._backlog(rule, m, now_us) + cost::numeric * rule.period_us <= rule.capacity::numeric * rule.period_us;
  end if;
  return mete._used(rule, m, now_us) + cost <= rule.capacity;
end $$;


--
-- Name: _fresh(integer, text, integer, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._fresh(limit_id integer, key text, revision integer, at_us bigint) RETURNS mete.meters
    LANGUAGE sql IMMUTABLE
    AS $$
  select row(limit_id, key, revision, 0, 0, 0, 0, 0, at_us, 9223372036854775807, null, 0, '{}', false)::mete.meters
$$;


--
-- Name: _give(text[], text[], bigint[], text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._give(limits text[], keys text[], costs bigint[], id text, retention_us bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql
    AS $$
declare
  fingerprint uuid;
  charged mete.charged[];
  opened mete.opened[];
  now_us bigint;
  r mete.outcome;
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  rule mete.rule;
  given bigint[];
begin
  if id is not null then
    fingerprint := mete._fingerprint('give', limits, keys, costs, null, null);
    r := mete._recalled(id, fingerprint, greatest(mete._now_us(), floor_us), retention_us);
    if r.now_us is not null then
      perform mete._check_roles(limits);
      return r;
    end if;
  end if;
  charged := mete._charged_meters(limits, keys, costs);
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    o := opened[i];
    m := o.m;
    rule := o.rule;
    given[i] := least(greatest(mete._used(rule, m, now_us) - mete._held(rule, m, o.parts, now_us), 0), c.cost);
    if rule.kind = 'sliding' then
      o.m := mete._given_oldest(rule, m, given[i]);
    else
      o.m := mete._released(rule, m, given[i], now_us, now_us);
    end if;
    opened[i] := o;
  end loop;
  r := mete._settlement((select sum(g)::bigint from unnest(given) g), charged, opened, now_us);
  if id is not null and
     not mete._remember(limits, keys, costs, id, fingerprint, r, null, null, charged, retention_us) then
    return mete._recalled(id, fingerprint, now_us, retention_us);
  end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    perform mete._write(opened[i], now_us);
    l := c.l;
    if l.records and given[i] > 0 then
      perform mete._record(l, c.key, 'give', -given[i], now_us, now_us, id, null);
    end if;
  end loop;
  return r;
end $$;


--
-- Name: _given_oldest(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._given_oldest(rule mete.rule, m mete.meters, units bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare
  left_over bigint := m.units - units;
begin
  if units > 0 then
    m := mete._taken_from_older(rule, m, units, null);
    m.units := left_over;
  end if;
  return m;
end $$;


--
-- Name: _held(mete.rule, mete.meters, mete.part[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._held(rule mete.rule, m mete.meters, parts mete.part[], now_us bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare
  total bigint := 0;
  part mete.part;
begin
  if parts is null then return 0; end if;
  foreach part in array parts loop
    total := least(total + mete._still_charged(rule, m, part.units, part.made_us, now_us, true), 9007199254740991);
  end loop;
  return least(total, mete._used(rule, m, now_us));
end $$;


--
-- Name: _hold_charge(mete.operations, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._hold_charge(o mete.operations, name text, now_us bigint) RETURNS mete.hold_charge
    LANGUAGE sql IMMUTABLE
    AS $$
  select row(o.id, case when o.state = 'held' and o.due_us <= now_us then 'expired' else o.state end,
             case when o.state = 'held' then greatest(o.due_us - now_us, 0) else 0 end, greatest(now_us - o.made_us, 0),
             o.tag, name, o.key, o.amount, now_us)::mete.hold_charge
$$;


--
-- Name: _hold_id(text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._hold_id(id text, tag text) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
declare
  ids text[];
begin
  if (id is null) = (tag is null) then
    perform mete._refuse_argument('give the id of the hold, or its tag');
  end if;
  if id is not null then return id; end if;
  select array_agg(distinct o.id) into ids from mete.operations o
  where o.tag = _hold_id.tag and o.held_us > mete._now_us();
  if cardinality(ids) > 1 then
    perform mete._refuse_argument(format('tag ''%s'' has %s open holds: name one by its id', tag, cardinality(ids)));
  end if;
  if ids is not null then return ids[1]; end if;
  return coalesce((select o.id from mete.operations o
                   where o.tag = _hold_id.tag and o.kind = 'hold' and o.state <> 'answered'
                   order by o.serial desc limit 1), tag);
end $$;


--
-- Name: _hour(text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._hour(zone text, at_s bigint, OUT start_s bigint, OUT end_s bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _interval(bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._interval(us bigint) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when us >= 0 then us * interval '1 microsecond' end
$$;


--
-- Name: _judge(mete.charged[], mete.opened[], text, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._judge(charged mete.charged[], opened mete.opened[], mode text, now_us bigint, wants_usages boolean, OUT r mete.outcome, OUT after mete.opened[]) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
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
      c.cost := greatest(1, least(c.cost, greatest(rule.capacity - mete._used(rule, o.m, now_us), 0)));
      charged[1] := c;
    end if;
  end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    l := c.l;
    o := opened[i];
    if mode = 'force' then
      fits[i] := true;
      if mete._used(o.rule, o.m, now_us) + c.cost > 9007199254740991 then
        perform mete._refuse_argument(format('cost: usage of ''%s'' would pass 9007199254740991', l.name));
      end if;
    else
      fits[i] := mete._fits(o.rule, o.m, c.cost, now_us);
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
        o.m := mete._charged(rule, o.m, c.cost, now_us);
        after[i] := o;
      end if;
    elsif not l.shadow then
      -- Only a limit that denies can make one wait.
      wait_us := mete._wait_us(rule, o.m, c.cost, now_us, o.parts);
      if wait_us < 0 or r.retry_us < 0 then
        r.retry_us := -1;
      else
        r.retry_us := greatest(r.retry_us, wait_us);
      end if;
    end if;
    -- The meter with the least left, the first such, stands for the operation; shadow limits only where there are no
    -- others.
    left_over := greatest(rule.capacity - mete._used(rule, o.m, now_us), 0);
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
  r.reset_us := mete._reset_us(rule, o.m, now_us);
  if wants_usages then r.usages := mete._usages(charged, after, now_us); end if;
end $$;


--
-- Name: _keep_charges(text[], text[], bigint[], text, uuid, mete.outcome, bigint, text, mete.charged[], integer, integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._keep_charges(limits text[], keys text[], costs bigint[], id text, fingerprint uuid, r mete.outcome, ttl_us bigint, tag text, charged mete.charged[], first integer, last integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us, held_us, tag, limit_id, key,
                               amount, is_backed, part_units, part_us)
  select _keep_charges.id, u.i - 1, 'hold', 'held', case when u.i = 1 then _keep_charges.fingerprint end,
         case when u.i = 1 then mete._answer_of(r) end, r.now_us, r.now_us + ttl_us, r.now_us + ttl_us, _keep_charges.tag,
         (c.l).id, u.key, u.cost, r.violated & c.charges = 0, u.cost, r.now_us
  from unnest(limits, keys, costs) with ordinality u (name, key, cost, i)
  join unnest(charged) c on (c.charges >> (u.i - 1)::integer) & 1 = 1
  where u.i between first and last
  on conflict do nothing;
  return found;
end $$;


--
-- Name: _limit(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._limit(name text) RETURNS mete.limits
    LANGUAGE plpgsql STABLE
    AS $$
declare
  l mete.limits;
begin
  select * into l from mete.limits t where t.name = _limit.name and not t.is_dropped;
  if not found then
    perform mete._refuse('MT002', format('unknown limit ''%s''', name), 'define it: select mete.define(…)');
  end if;
  if l.only_for is not null then perform mete._check_role(l); end if;
  return l;
end $$;


--
-- Name: _locked(mete.limits, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._locked(l mete.limits, key text) RETURNS mete.meters
    LANGUAGE plpgsql
    AS $$
declare
  m mete.meters;
begin
  loop
    select * into m from mete.meters t where t.limit_id = l.id and t.key = _locked.key for update;
    exit when found;
    insert into mete.meters (limit_id, key, revision, units, previous, full_at, start_us, end_us, settled_us, due_us)
    values (l.id, _locked.key, l.revision, 0, 0, 0, 0, 0, mete._now_us(), 9223372036854775807)
    on conflict do nothing;
  end loop;
  return m;
end $$;


--
-- Name: _may_use(name[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._may_use(only_for name[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return pg_has_role(session_user, 'mete_admin', 'member') or
    exists (select from unnest(only_for) r join pg_roles on rolname = r where pg_has_role(session_user, r, 'member'));
end $$;


--
-- Name: _meters_of(mete.operations[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._meters_of(rows mete.operations[]) RETURNS mete.charged[]
    LANGUAGE plpgsql STABLE
    AS $$
begin
  return (
    select array_agg(row(l, o.key, 0, o.charges, o.position)::mete.charged order by l.id, o.key)
    from (select r.limit_id, r.key, sum(1 << r.charge)::integer as charges, min(r.charge)::integer as position
          from unnest(rows) r where r.is_backed group by 1, 2) o
    join mete.limits l on l.id = o.limit_id and not l.is_dropped);
end $$;


--
-- Name: _micros(interval); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._micros(length interval) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select (case when abs(date_part('epoch', length)) >= 1e12 then 1e12 else date_part('epoch', length) end * 1000000)::bigint
$$;


--
-- Name: _moved(mete.opened, mete.rule, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._moved(o mete.opened, new mete.rule, at_us bigint) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _newest(mete.meters); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._newest(m mete.meters) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select m.units - coalesce((select sum(u) from unnest(m.older) with ordinality o (u, i) where i % 2 = 0), 0)::bigint
$$;


--
-- Name: _no_hold(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._no_hold(id text) RETURNS void
    LANGUAGE sql
    AS $$
  select mete._refuse('MT003', format('no hold ''%s'': it is unknown, or was forgotten', id))
$$;


--
-- Name: _now_us(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._now_us() RETURNS bigint
    LANGUAGE sql
    AS $$
  select (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000000)::pg_catalog.int8
$$;


--
-- Name: _offset(text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._offset(zone text, at_s bigint) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
  select extract(epoch from (to_timestamp(at_s) at time zone zone) - (to_timestamp(at_s) at time zone 'UTC'))::bigint
$$;


--
-- Name: _open_all(mete.charged[], bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._open_all(INOUT charged mete.charged[], floor_us bigint, wants_parts boolean, OUT opened mete.opened[], OUT now_us bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
    m := mete._locked(l, c.key);
    -- Somebody has seen a newer definition: that one counts.
    if m.revision > l.revision then
      l := mete._limit(l.name);
      if m.revision > l.revision then perform mete._refuse('40001', 'the limit was redefined at the same time'); end if;
      c.l := l;
      charged[i] := c;
    end if;
    ms[i] := m;
    now_us := greatest(now_us, m.start_us, m.settled_us);
  end loop;
  now_us := greatest(now_us, mete._now_us());
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    opened[i] := mete._opened_locked(c.l, ms[i], now_us, wants_parts);
  end loop;
end $$;


--
-- Name: _opened(mete.limits, mete.meters, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._opened(l mete.limits, m mete.meters, now_us bigint, wants_parts boolean) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
declare
  o mete.opened;
begin
  o.m := m;
  o.has_remade_parts := false;
  o.is_carried := false;
  if m.due_us < 9223372036854775807 and (wants_parts or m.due_us <= now_us or m.revision <> l.revision) then
    o.parts := mete._parts(m);
  end if;
  if m.revision = l.revision then
    o.rule := mete._with_amount(mete._rule(l), m.own_amount);
  else
    o := mete._caught_up(l, o);
  end if;
  if m.due_us <= now_us then o := mete._expired(o, now_us); end if;
  o.m := mete._settled(o.rule, o.m, now_us);
  return o;
end $$;


--
-- Name: _opened_locked(mete.limits, mete.meters, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._opened_locked(l mete.limits, m mete.meters, now_us bigint, wants_parts boolean) RETURNS mete.opened
    LANGUAGE plpgsql
    AS $$
declare
  o mete.opened := mete._opened(l, m, now_us, wants_parts);
  rule mete.rule := o.rule;
  carried bigint;
begin
  if not o.is_carried then return o; end if;
  if o.has_remade_parts then perform mete._write_parts(o); end if;
  perform mete._write(o, now_us);
  m := o.m;
  -- Of this window: a sliding one's window before has sums of its own.
  carried := case when rule.kind = 'bucket' then mete._used(rule, m, now_us) else m.units end -
    mete._held(rule, m, o.parts, now_us);
  if l.records and carried <> 0 then
    perform mete._record(l, m.key, 'carry', carried, now_us, now_us, null, null);
  end if;
  o.has_remade_parts := false;
  return o;
end $$;


--
-- Name: _outcome_of(bigint[], text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._outcome_of(answer bigint[], id text, now_us bigint) RETURNS mete.outcome
    LANGUAGE sql IMMUTABLE
    AS $$
  select row(answer[1] = 1, answer[2], answer[3], answer[4], answer[5], answer[6], answer[7], now_us, id,
             null)::mete.outcome
$$;


--
-- Name: _override(text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._override(name text, key text, amount bigint, floor_us bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  charged mete.charged[] := mete._charged_meters(array[name], array[key], array[0::bigint]);
  opened mete.opened[];
  now_us bigint;
  c mete.charged;
  o mete.opened;
  m mete.meters;
begin
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  c := charged[1];
  o := opened[1];
  m := o.m;
  m.own_amount := amount;
  o.m := m;
  o := mete._moved(o, mete._with_amount(mete._rule(c.l), amount), now_us);
  if o.has_remade_parts then perform mete._write_parts(o); end if;
  perform mete._write(o, now_us);
  return now_us;
end $$;


--
-- Name: _part_ticks(mete.rule, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._part_ticks(rule mete.rule, units bigint, made_us bigint, now_us bigint) RETURNS numeric
    LANGUAGE sql IMMUTABLE
    AS $$
  select greatest(units::numeric * rule.period_us - greatest(now_us - made_us, 0)::numeric * rule.amount, 0)
$$;


--
-- Name: _parts(mete.meters); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._parts(m mete.meters) RETURNS mete.part[]
    LANGUAGE plpgsql STABLE
    AS $$
begin
  return (
    select array_agg(row(o.part_units, o.part_us, o.due_us, o.id, o.charge)::mete.part order by o.due_us, o.serial)
    from mete.operations o
    where o.limit_id = m.limit_id and o.key = m.key and o.held_us > m.settled_us and o.is_backed);
end $$;


--
-- Name: _peek(text[], text[], bigint[], bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._peek(limits text[], keys text[], costs bigint[], floor_us bigint, wants_usages boolean) RETURNS mete.outcome
    LANGUAGE plpgsql STABLE
    AS $$
declare
  charged mete.charged[] := mete._charged_meters(limits, keys, costs);
  ms mete.meters[];
  opened mete.opened[];
  now_us bigint := floor_us;
  c mete.charged;
  m mete.meters;
  j record;
begin
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    m := mete._seen(c.l, c.key);
    ms[i] := m;
    now_us := greatest(now_us, m.start_us, m.settled_us);
  end loop;
  now_us := greatest(now_us, mete._now_us());
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    opened[i] := mete._opened(c.l, ms[i], now_us, true);
  end loop;
  j := mete._judge(charged, opened, 'take', now_us, wants_usages);
  return j.r;
end $$;


--
-- Name: _period(text, text, integer, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._period(unit text, zone text, anchor integer, at_us bigint, OUT start_us bigint, OUT end_us bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _period_us(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._period_us(period text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
declare
  length interval;
begin
  length := period::interval;
  if extract(year from length) <> 0 or extract(month from length) <> 0 then
    perform mete._refuse_argument(format('period: ''%s'' has no fixed length: say it in days, or define a calendar', period));
  end if;
  return mete._micros(length);
exception when data_exception then
  perform mete._refuse_argument(format('period: ''%s'' is no length of time, such as 1 minute', period));
end $$;


--
-- Name: _place_us(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._place_us(rule mete.rule, m mete.meters, at_us bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when m.is_ring then at_us - at_us % ((rule.period_us + 124) / 125) else at_us end
$$;


--
-- Name: _prune(timestamp with time zone); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._prune(before timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  total bigint;
begin
  with gone as (
    delete from mete.events e where e.at < before returning e.*
  ), kept as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select before, g.limit_id, g.key, 'carry', sum(g.amount), max(g.charged_at), g.revision
    from gone g
    join (select l.id, l.revision, w.start_us from mete.limits l, mete._window(mete._rule(l), mete._now_us()) w
          where not l.is_dropped and l.records and l.kind <> 'bucket') l on l.id = g.limit_id and l.revision = g.revision
    left join mete.meters m on m.limit_id = g.limit_id and m.key = g.key and m.revision = g.revision and m.end_us > 0
    where g.charged_at >= mete._timestamp(coalesce(m.start_us, l.start_us))
    group by g.limit_id, g.key, g.revision having sum(g.amount) <> 0
  )
  select count(*) into total from gone;
  return total;
end $$;


--
-- Name: _quantum(mete.rule); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._quantum(rule mete.rule) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when rule.capacity <= 100 then 1 else (rule.capacity + 803) / 804 end
$$;


--
-- Name: _rebased(mete.rule, mete.meters, mete.rule, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._rebased(old mete.rule, m mete.meters, new mete.rule, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _recalled(text, uuid, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._recalled(id text, fingerprint uuid, now_us bigint, retention_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql STABLE
    AS $$
declare
  o mete.operations;
begin
  select * into o from mete.operations t where t.id = _recalled.id and t.charge = 0;
  if not found then return null; end if;
  if now_us >= o.due_us + (case when o.state = 'held' then retention_us else 0 end) then return null; end if;
  if o.fingerprint <> fingerprint then
    perform mete._refuse('MT006', format('id ''%s'' was used for an operation with other parameters: give each '
                                         'operation an id of its own', id));
  end if;
  return mete._outcome_of(o.answer, case when o.state <> 'answered' or o.kind = 'hold' then id end, now_us);
end $$;


--
-- Name: _reconcile(text, text, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._reconcile(name text, key text, used bigint, since_us bigint, floor_us bigint, OUT used_before bigint, OUT used_now bigint, OUT is_late boolean, OUT now_us bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  charged mete.charged[] := mete._charged_meters(array[name], array[key], array[0::bigint]);
  opened mete.opened[];
  c mete.charged;
  l mete.limits;
  o mete.opened;
  m mete.meters;
  held bigint;
  units_before bigint;
begin
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, true) a;
  c := charged[1];
  l := c.l;
  o := opened[1];
  m := o.m;
  units_before := m.units;
  held := mete._held(o.rule, m, o.parts, now_us);
  used_before := mete._used(o.rule, m, now_us) - held;
  is_late := since_us < m.start_us;
  used_now := case when is_late then used_before when since_us is null then used else greatest(used_before + used, 0) end;
  if used_now > 9007199254740991 - held then
    perform mete._refuse_argument(format('amount: usage of ''%s'' would pass 9007199254740991', name));
  end if;
  if is_late or used_now = used_before and since_us is not null then return; end if;
  m := mete._with_used(o.rule, m, used_now + held, now_us);
  o.m := m;
  perform mete._write(o, now_us);
  if l.records and m.units <> units_before then
    perform mete._record(l, c.key, 'reconcile', m.units - units_before, now_us, now_us, null, null);
  end if;
end $$;


--
-- Name: _record(mete.limits, text, text, bigint, bigint, bigint, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._record(l mete.limits, key text, kind text, amount bigint, now_us bigint, charged_us bigint, operation text, tag text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
  values (mete._timestamp(now_us), l.id, key, kind, amount, mete._timestamp(charged_us), operation, tag, l.revision);
end $$;


--
-- Name: _record_commit(mete.operations[], bigint[], bigint[], mete.charged[], integer[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._record_commit(rows mete.operations[], amounts bigint[], overage bigint[], charged mete.charged[], meter_of integer[], now_us bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  row mete.operations;
  c mete.charged;
  l mete.limits;
  amount bigint;
begin
  for i in 1 .. cardinality(rows) loop
    continue when meter_of[i] is null;
    row := rows[i];
    c := charged[meter_of[i]];
    l := c.l;
    continue when not l.records;
    amount := least(coalesce(amounts[i], row.amount), row.amount);
    if amount > 0 then
      perform mete._record(l, c.key, 'commit', amount, now_us, row.part_us, row.id, row.tag);
    end if;
    if row.part_units < amount then
      perform mete._record(l, c.key, 'carry', row.part_units - amount, now_us, row.part_us, row.id, row.tag);
    end if;
  end loop;
  for j in 1 .. coalesce(cardinality(charged), 0) loop
    c := charged[j];
    l := c.l;
    if l.records and overage[j] > 0 then
      perform mete._record(l, c.key, 'commit', overage[j], now_us, now_us, row.id, row.tag);
    end if;
  end loop;
end $$;


--
-- Name: _refuse(text, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._refuse(code text, message text, hint text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if hint is null then
    raise exception using errcode = code, message = message;
  end if;
  raise exception using errcode = code, message = message, hint = hint;
end $$;


--
-- Name: _refuse_argument(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._refuse_argument(message text) RETURNS void
    LANGUAGE sql
    AS $$
  select mete._refuse('MT001', message)
$$;


--
-- Name: _released(mete.rule, mete.meters, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _remember(text[], text[], bigint[], text, uuid, mete.outcome, bigint, text, mete.charged[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._remember(limits text[], keys text[], costs bigint[], id text, fingerprint uuid, r mete.outcome, ttl_us bigint, tag text, charged mete.charged[], retention_us bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare
  count integer := cardinality(limits);
begin
  for attempt in 1 .. 2 loop
    if ttl_us is not null and r.allowed then
      -- Whoever has the first charge has the id.
      if mete._keep_charges(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, 1, 1) then
        return count = 1 or
          mete._keep_charges(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, 2, count);
      end if;
    else
      insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us)
      values (_remember.id, 0, case when ttl_us is null then 'take' else 'hold' end, 'answered', _remember.fingerprint,
              mete._answer_of(r), r.now_us, r.now_us + retention_us)
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


--
-- Name: _repeated(mete.operations[], text, bigint[], bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._repeated(rows mete.operations[], operation text, amounts bigint[], now_us bigint, retention_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql STABLE
    AS $$
declare
  first mete.operations := rows[1];
  row mete.operations;
  is_same boolean := operation = 'commit' and amounts is not null;
begin
  if now_us >= first.due_us + (case when first.state = 'held' then retention_us else 0 end) then
    perform mete._no_hold(first.id);
  end if;
  if first.state = 'expired' or (first.state = 'held' and first.due_us <= now_us) then
    perform mete._refuse('MT004', format('hold ''%s'' has expired: make a new one, and extend it in time', first.id));
  end if;
  if first.state = 'held' then return null; end if;
  if first.state <> (case operation when 'commit' then 'committed' when 'cancel' then 'cancelled' else '' end) or
     first.ended is null then
    perform mete._refuse('MT003', format('hold ''%s'' is %s already: a hold is final once', first.id, first.state));
  end if;
  if operation = 'commit' then
    perform mete._check_amounts(rows, amounts, true);
    is_same := case when amounts is null then first.ended[5] = 1 else true end;
    for i in 1 .. coalesce(cardinality(amounts), 0) loop
      row := rows[i];
      is_same := is_same and row.amount = amounts[i];
    end loop;
    if not is_same then
      perform mete._refuse('MT006', format('hold ''%s'' is committed already, with other amounts: a hold is final once',
                                           first.id));
    end if;
  end if;
  return row(true, first.ended[1], first.ended[2], first.ended[3], 0, first.ended[4], 0, now_us, first.id, null)::mete.outcome;
end $$;


--
-- Name: _replayed(mete.rule, mete.meters, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._replayed(rule mete.rule, m mete.meters, is_ring boolean) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _reset_us(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._reset_us(rule mete.rule, m mete.meters, now_us bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _retention_us(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._retention_us() RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$select 86400000000$$;


--
-- Name: _rows_of(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._rows_of(id text) RETURNS mete.operations[]
    LANGUAGE plpgsql STABLE
    AS $$
begin
  return (select array_agg(o order by o.charge) from mete.operations o
          where o.id = _rows_of.id and o.kind = 'hold' and o.state <> 'answered');
end $$;


--
-- Name: _rule(mete.limits); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._rule(l mete.limits) RETURNS mete.rule
    LANGUAGE sql IMMUTABLE
    AS $$
  select row(l.kind, l.amount, l.capacity, l.period_us, l.unit, l.zone, l.anchor)::mete.rule
$$;


--
-- Name: _seen(mete.limits, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._seen(l mete.limits, key text) RETURNS mete.meters
    LANGUAGE plpgsql STABLE
    AS $$
declare
  m mete.meters;
begin
  select * into m from mete.meters t where t.limit_id = l.id and t.key = _seen.key;
  if not found then m := mete._fresh(l.id, key, l.revision, 0); end if;
  return m;
end $$;


--
-- Name: _settled(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._settled(rule mete.rule, m mete.meters, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _settlement(bigint, mete.charged[], mete.opened[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._settlement(amount bigint, charged mete.charged[], opened mete.opened[], now_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql STABLE
    AS $$
declare
  j record;
  r mete.outcome;
  nothing mete.charged[];
  c mete.charged;
begin
  if cardinality(charged) > 0 then
    for i in 1 .. cardinality(charged) loop
      c := charged[i];
      c.cost := 0;
      nothing[i] := c;
    end loop;
    -- As after a charge of nothing that is forced.
    j := mete._judge(nothing, opened, 'force', now_us, false);
    r := j.r;
  else
    r.remaining := 0;
    r.capacity := 0;
    r.reset_us := 0;
  end if;
  r.allowed := true;
  r.amount := amount;
  r.violated := 0;
  r.retry_us := 0;
  r.now_us := now_us;
  return r;
end $$;


--
-- Name: _shift(text, text[], bigint[], bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._shift(name text, keys text[], changes bigint[], since_us bigint, floor_us bigint) RETURNS TABLE(i bigint, change bigint, is_late boolean)
    LANGUAGE plpgsql
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
  l mete.limits := mete._limit(name);
  now_us bigint := greatest(mete._now_us(), floor_us);
  w record := mete._window(mete._rule(l), now_us);
  done_i bigint[];
  done_change bigint[];
  plain_i bigint[];
  is_gone boolean;
  u record;
  r record;
begin
  if l.kind in ('bucket', 'sliding') then
    perform mete._refuse_argument(format('a %s cannot be brought to a source of truth: its usage comes back with time',
                                         l.kind));
  end if;
  if exists (select from unnest(keys) c
             where not exists (select from mete.meters t where t.limit_id = l.id and t.key = c)) then
    -- Makes those that are missing, and locks the others, in the order of locks: a row that is there is locked by this,
    -- though the condition is never true, and is not returned.
    with charges as materialized (
      select distinct on (c.key collate "C") c.key collate "C" as key, c.change, c.i
      from unnest(keys, changes) with ordinality c (key, change, i) order by c.key collate "C", c.i
    ), made as (
      insert into mete.meters as m (limit_id, key, revision, units, previous, full_at, start_us, end_us, settled_us, due_us)
      select l.id, c.key, l.revision, case when since_us < w.start_us then 0 else greatest(c.change, 0) end, 0, 0, w.start_us,
        w.end_us, now_us, 9223372036854775807 from charges c order by c.key
      on conflict (limit_id, key) do update set units = m.units where false
      returning m.key, m.units
    ), recorded as (
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      select mete._timestamp(now_us), l.id, m.key, 'reconcile', m.units, mete._timestamp(now_us), l.revision
      from made m where l.records and m.units > 0
    )
    select array_agg(c.i), array_agg(m.units) into done_i, done_change from made m join charges c on c.key = m.key
    where since_us >= w.start_us;
    return query select p.i, p.change, false from unnest(done_i, done_change) p (i, change);
    if cardinality(done_i) = cardinality(keys) then return; end if;
    now_us := greatest(mete._now_us(), floor_us);
  end if;
  done_i := coalesce(done_i, '{}');
  with charges as materialized (
    select distinct on (c.key collate "C") c.key collate "C" as key, c.change, c.i
    from unnest(keys, changes) with ordinality c (key, change, i) where c.i not in (select unnest(done_i))
    order by c.key collate "C", c.i
  ), locked as materialized (  -- in the order of locks
    select c.i, c.key, c.change, m.* from charges c left join lateral (
      select t.ctid, t.units,
        t.revision = l.revision and t.due_us = 9223372036854775807 and t.end_us > now_us and
        t.start_us <= least(now_us, since_us) and t.units + c.change <= 9007199254740991 as is_plain
      from mete.meters t where t.limit_id = l.id and t.key = c.key limit 1 for update) m on true
  ), changed as (
    update mete.meters m set units = greatest(k.units + k.change, 0) from locked k where k.is_plain and m.ctid = k.ctid
    returning k.i, k.key, m.units - k.units as change
  ), recorded as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select mete._timestamp(now_us), l.id, c.key, 'reconcile', c.change, mete._timestamp(now_us), l.revision
    from changed c where l.records and c.change <> 0
  )
  select array_agg(c.i), array_agg(c.change), exists (select from locked k where k.ctid is null)
  into plain_i, done_change, is_gone from changed c;
  -- To make one now would be out of the order of locks.
  if is_gone then perform mete._refuse('40001', 'meters were cleared at the same time'); end if;
  return query select p.i, p.change, false from unnest(plain_i, done_change) p (i, change);
  done_i := done_i || plain_i;
  for u in select c.key, c.change, c.i from unnest(keys, changes) with ordinality c (key, change, i)
           where c.i not in (select unnest(done_i)) order by c.key collate "C" loop
    r := mete._reconcile(name, u.key, u.change, since_us, floor_us);
    i := u.i;
    change := r.used_now - r.used_before;
    is_late := r.is_late;
    return next;
  end loop;
end $$;


--
-- Name: _sliding_charged(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._sliding_charged(rule mete.rule, m mete.meters, cost bigint, at_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _sliding_released(mete.rule, mete.meters, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._sliding_released(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _slot_us(mete.rule); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._slot_us(rule mete.rule) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
  select (rule.period_us + 124) / 125
$$;


--
-- Name: _standing(mete.opened, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._standing(o mete.opened, now_us bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
declare
  rule mete.rule := o.rule;
  used bigint := mete._used(o.rule, o.m, now_us);
  held bigint := mete._held(o.rule, o.m, o.parts, now_us);
begin
  return array[used - held, held, greatest(rule.capacity - used, 0), rule.capacity,
               mete._reset_us(rule, o.m, now_us)];
end $$;


--
-- Name: _still_charged(mete.rule, mete.meters, bigint, bigint, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._still_charged(rule mete.rule, m mete.meters, units bigint, made_us bigint, now_us bigint, rounds_up boolean) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _sweep(integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._sweep(count_max integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
  now_us bigint := mete._now_us();
  old_us bigint := now_us - 86400000000;
  rows integer;
  total integer := 0;
begin
  delete from mete.operations t where t.ctid in (
    select o.ctid from mete.operations o
    where o.state = any('{answered,committed,cancelled,expired}') and o.due_us <= now_us limit count_max
    for update skip locked);
  get diagnostics total = row_count;
  perform mete._catch_up(count_max);
  delete from mete.meters t where t.ctid in (
    select m.ctid from mete.meters m join mete.limits l on l.id = m.limit_id
    where l.is_dropped or (m.own_amount is null and m.revision = l.revision and
      case l.kind
        when 'stock' then m.units = 0
        when 'bucket' then m.full_at < (now_us - 1000000)::numeric * l.amount
        when 'sliding' then m.units = 0 and m.previous = 0 or m.end_us + l.period_us < now_us
        else m.units = 0 or m.end_us < now_us
      end and
      -- They are put away by their meter.
      not exists (select from mete.operations o where o.limit_id = m.limit_id and o.key = m.key and o.held_us > 0 and o.is_backed))
    limit count_max for update of m skip locked);
  get diagnostics rows = row_count;
  total := total + rows;
  delete from mete.revisions r using mete.limits l
  where l.id = r.limit_id and
    coalesce((select n.since_us from mete.revisions n where n.limit_id = r.limit_id and n.revision = r.revision + 1),
             case when l.is_dropped then l.changed_us end) < old_us and
    not exists (select from mete.meters m where m.limit_id = r.limit_id and m.revision <= r.revision);
  delete from mete.limits l where l.is_dropped and l.changed_us < old_us and
    not exists (select from mete.meters m where m.limit_id = l.id) and
    not exists (select from mete.operations o where o.limit_id = l.id) and
    not exists (select from mete.events e where e.limit_id = l.id);
  return total;
end $$;


--
-- Name: _take(text[], text[], bigint[], text, text, bigint, text, boolean, boolean, bigint, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._take(limits text[], keys text[], costs bigint[], mode text, id text, ttl_us bigint, tag text, is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint, wants_usages boolean) RETURNS mete.outcome
    LANGUAGE plpgsql
    AS $$
declare
  fingerprint uuid;
  r mete.outcome;
begin
  if id is not null and not is_id_random then
    fingerprint := mete._fingerprint(case when ttl_us is null then mode else 'hold' end, limits, keys, costs, ttl_us, tag);
    r := mete._recalled(id, fingerprint, greatest(mete._now_us(), floor_us), retention_us);
    if r.now_us is not null then
      perform mete._check_roles(limits);
      return r;
    end if;
  end if;
  return mete._take_generally(limits, keys, costs, mode, id, fingerprint, ttl_us, tag, is_id_random, remembers_denial,
                              retention_us, floor_us, wants_usages);
end $$;


--
-- Name: _take_generally(text[], text[], bigint[], text, text, uuid, bigint, text, boolean, boolean, bigint, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._take_generally(limits text[], keys text[], costs bigint[], mode text, id text, fingerprint uuid, ttl_us bigint, tag text, is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint, wants_usages boolean) RETURNS mete.outcome
    LANGUAGE plpgsql
    AS $$
declare
  charged mete.charged[] := mete._charged_meters(limits, keys, costs);
  opened mete.opened[];
  now_us bigint;
  j record;
  r mete.outcome;
  c mete.charged;
  l mete.limits;
  o mete.opened;
begin
  select a.charged, a.opened, a.now_us into charged, opened, now_us from mete._open_all(charged, floor_us, wants_usages) a;
  j := mete._judge(charged, opened, mode, now_us, wants_usages);
  r := j.r;
  if not r.allowed and not wants_usages then
    -- A wait depends on what is held.
    opened := mete._with_parts(opened);
    j := mete._judge(charged, opened, mode, now_us, false);
    r := j.r;
  end if;
  if ttl_us is not null and (r.allowed or not is_id_random) then r.id := id; end if;
  if id is not null and (r.allowed or (remembers_denial and not is_id_random)) and
     not mete._remember(limits, keys, costs, id, fingerprint, r, ttl_us, tag, charged, retention_us) then
    -- Somebody with the same id was quicker.
    return mete._recalled(id, fingerprint, now_us, retention_us);
  end if;
  if not r.allowed then return r; end if;
  for i in 1 .. cardinality(charged) loop
    c := charged[i];
    continue when c.cost = 0 or (r.violated & c.charges <> 0);
    o := j.after[i];
    if ttl_us is not null then o := mete._with_due(o, now_us, now_us + ttl_us); end if;
    perform mete._write(o, now_us);
    l := c.l;
    if l.records and ttl_us is null then
      -- Of a single charge not all may have been taken.
      perform mete._record(l, c.key, 'take', case when cardinality(charged) = 1 then r.amount else c.cost end, now_us,
                           now_us, id, null);
    end if;
  end loop;
  return r;
end $$;


--
-- Name: _taken_from_older(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._taken_from_older(rule mete.rule, m mete.meters, units bigint, place_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _timestamp(bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._timestamp(at_us bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
  select pg_catalog.timestamptz 'epoch' operator(pg_catalog.+) (at_us operator(pg_catalog.*) interval '1 microsecond')
$$;


--
-- Name: _uncharge(integer, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._uncharge(limit_id integer, key text, cost bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update mete.meters t set units = t.units - cost where t.limit_id = _uncharge.limit_id and t.key = _uncharge.key;
end $$;


--
-- Name: _usage(text, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._usage(name text, key text, floor_us bigint, OUT used bigint, OUT held bigint, OUT remaining bigint, OUT capacity bigint, OUT reset_us bigint, OUT now_us bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
declare
  r mete.outcome := mete._peek(array[name], array[key], array[0::bigint], floor_us, true);
begin
  used := r.usages[1];
  held := r.usages[2];
  remaining := r.usages[3];
  capacity := r.usages[4];
  reset_us := r.usages[5];
  now_us := r.now_us;
end $$;


--
-- Name: _usages(mete.charged[], mete.opened[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._usages(charged mete.charged[], opened mete.opened[], now_us bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
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
        usages := usages || mete._standing(opened[i], now_us);
        is_last := false;
      end if;
    end loop;
    exit when is_last;
    charge := charge + 1;
  end loop;
  return usages;
end $$;


--
-- Name: _used(mete.rule, mete.meters, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._used(rule mete.rule, m mete.meters, now_us bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  if rule.kind = 'bucket' then return mete._div_ceil(mete._backlog(rule, m, now_us), rule.period_us); end if;
  return m.units;
end $$;


--
-- Name: _wait_alone_us(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._wait_alone_us(rule mete.rule, m mete.meters, cost bigint, now_us bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _wait_us(mete.rule, mete.meters, bigint, bigint, mete.part[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._wait_us(rule mete.rule, m mete.meters, cost bigint, now_us bigint, parts mete.part[]) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
declare
  asked_us bigint := now_us;
  wait_us bigint;
  part mete.part;
begin
  if cost > rule.capacity then return -1; end if;
  if parts is not null then
    foreach part in array parts loop
      wait_us := mete._wait_alone_us(rule, m, cost, now_us);
      if wait_us >= 0 and now_us + wait_us <= part.expires_us then return now_us - asked_us + wait_us; end if;
      now_us := greatest(part.expires_us, now_us);
      -- A calendar's period stays the same: at its end every wait is over.
      if rule.kind <> 'calendar' then m := mete._settled(rule, m, now_us); end if;
      m := mete._released(rule, m, part.units, part.made_us, now_us);
    end loop;
  end if;
  wait_us := mete._wait_alone_us(rule, m, cost, now_us);
  return case when wait_us < 0 then -1 else now_us - asked_us + wait_us end;
end $$;


--
-- Name: _window(mete.rule, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._window(rule mete.rule, at_us bigint, OUT start_us bigint, OUT end_us bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
begin
  if rule.kind = 'calendar' then
    select p.start_us, p.end_us into start_us, end_us from mete._period(rule.unit, rule.zone, rule.anchor, at_us) p;
  elsif rule.period_us = 0 or rule.kind = 'bucket' then
    start_us := 0;
    end_us := 9223372036854775807;
  else
    start_us := at_us - at_us % rule.period_us;
    end_us := start_us + rule.period_us;
  end if;
end $$;


--
-- Name: _with_amount(mete.rule, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._with_amount(rule mete.rule, own_amount bigint) RETURNS mete.rule
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  if own_amount is not null then
    rule.capacity := least(mete._div_ceil(rule.capacity::numeric * own_amount, rule.amount), 9007199254740991);
    rule.amount := own_amount;
  end if;
  return rule;
end $$;


--
-- Name: _with_due(mete.opened, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._with_due(o mete.opened, now_us bigint, expires_us bigint) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
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


--
-- Name: _with_overage(mete.charged[], mete.opened[], bigint[], bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._with_overage(charged mete.charged[], INOUT opened mete.opened[], INOUT overage bigint[], now_us bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
declare
  c mete.charged;
  l mete.limits;
  o mete.opened;
begin
  for j in 1 .. cardinality(charged) loop
    continue when overage[j] is null;
    c := charged[j];
    l := c.l;
    o := opened[j];
    if mete._fits(o.rule, o.m, overage[j], now_us) then
      o.m := mete._charged(o.rule, o.m, overage[j], now_us);
      opened[j] := o;
    elsif not l.shadow then
      perform mete._refuse('MT005', format('the overage of %s for ''%s'' does not fit: commit what is held, or less',
                                           overage[j], l.name));
    else
      overage[j] := null;
    end if;
  end loop;
end $$;


--
-- Name: _with_parts(mete.opened[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._with_parts(opened mete.opened[]) RETURNS mete.opened[]
    LANGUAGE plpgsql STABLE
    AS $$
declare
  o mete.opened;
  m mete.meters;
begin
  for i in 1 .. cardinality(opened) loop
    o := opened[i];
    m := o.m;
    if o.parts is null and m.due_us < 9223372036854775807 then
      o.parts := mete._parts(m);
      opened[i] := o;
    end if;
  end loop;
  return opened;
end $$;


--
-- Name: _with_used(mete.rule, mete.meters, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._with_used(rule mete.rule, m mete.meters, units bigint, now_us bigint) RETURNS mete.meters
    LANGUAGE plpgsql IMMUTABLE
    AS $$
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


--
-- Name: _without_part(mete.opened, text, smallint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._without_part(o mete.opened, id text, charge smallint) RETURNS mete.opened
    LANGUAGE plpgsql STABLE
    AS $$
begin
  o.parts := (select array_agg(row(p.units, p.made_us, p.expires_us, p.id, p.charge)::mete.part order by p.i)
              from unnest(o.parts) with ordinality p (units, made_us, expires_us, id, charge, i)
              where p.id <> _without_part.id or p.charge <> _without_part.charge);
  return o;
end $$;


--
-- Name: _write(mete.opened, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._write(o mete.opened, now_us bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: _write_closed(mete.operations[], text, bigint[], mete.charged[], mete.opened[], integer[], bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._write_closed(rows mete.operations[], operation text, amounts bigint[], charged mete.charged[], opened mete.opened[], meter_of integer[], ttl_us bigint, retention_us bigint, now_us bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  first mete.operations := rows[1];
  o mete.opened;
  m mete.meters;
begin
  for j in 1 .. coalesce(cardinality(opened), 0) loop
    o := opened[j];
    -- Without parts nothing is due.
    if o.parts is null then
      m := o.m;
      m.due_us := 9223372036854775807;
      o.m := m;
    end if;
    if operation = 'extend' then o := mete._with_due(o, now_us, now_us + ttl_us); end if;
    perform mete._write(o, now_us);
  end loop;
  update mete.operations t
  set state = case operation when 'commit' then 'committed' when 'cancel' then 'cancelled' else 'held' end,
      due_us = now_us + case when operation = 'extend' then ttl_us else retention_us end,
      held_us = case when operation = 'extend' then now_us + ttl_us end,
      final_us = case when operation <> 'extend' then now_us end,
      amount = case when operation = 'commit' and amounts is not null then amounts[t.charge + 1] else t.amount end
  where t.id = first.id;
end $$;


--
-- Name: _write_parts(mete.opened); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete._write_parts(o mete.opened) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  part mete.part;
begin
  if o.parts is null then return; end if;
  foreach part in array o.parts loop
    update mete.operations t set part_units = part.units, part_us = part.made_us
    where t.id = part.id and t.charge = part.charge;
  end loop;
end $$;


--
-- Name: audit(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.audit(OUT "limit" text, OUT key text, OUT balance bigint, OUT recorded bigint, OUT held bigint) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return query select * from mete._audit();
end $$;


--
-- Name: FUNCTION audit(OUT "limit" text, OUT key text, OUT balance bigint, OUT recorded bigint, OUT held bigint); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.audit(OUT "limit" text, OUT key text, OUT balance bigint, OUT recorded bigint, OUT held bigint) IS 'Where a balance is not what its events and holds add up to; no rows if the books are right';


--
-- Name: cancel(text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.cancel(id text DEFAULT NULL::text, tag text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  hold text := id;
  wanted bigint := 0;
  ended_as text := 'cancelled';
  retention_us bigint := 86400000000;
  floor_us bigint;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
  -- What nearly every end of a hold is: of one charge on a meter of stock, window or calendar that is up to date, in the
  -- window that the hold was made in, without overage. Then this is all of it. If it is not that nothing has changed, and
  -- the general way finds out why.
  --
  -- The functions that have this part have `hold`, its id; `wanted`, what is committed, null for all that is held;
  -- `ended_as`, committed or cancelled; retention_us and floor_us. The meter is locked first, as everywhere. When nothing
  -- is held of it any more is not looked for: due_us may be earlier than the first part that expires, never later.
  update mete.meters t
  set units = t.units - o.amount + coalesce(wanted, o.amount)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.part_units = o.amount and
    o.answer[2] = o.amount and  -- there is no other charge
    coalesce(wanted, o.amount) between 0 and o.amount and not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and
    t.key = o.key and t.revision = l.revision and t.units >= o.amount and o.part_us >= t.start_us and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, hold_tag, hold_key, held, kept, part_from_us, limit_number, limit_revision, is_recorded, remaining,
    capacity, now_us, reset_us;
  if found then
    update mete.operations t
    set state = ended_as, due_us = now_us + retention_us, held_us = null, final_us = now_us,
        amount = case when ended_as = 'committed' then kept else held end,
        ended = array[case when ended_as = 'committed' then kept else held end, remaining, capacity, reset_us,
                      (kept = held)::integer]
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      if is_recorded and kept > 0 then
        insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], held, hold);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  return mete._closed(hold, mete._close(hold, 'cancel', null, false, null, retention_us, 0));
end $$;


--
-- Name: FUNCTION cancel(id text, tag text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.cancel(id text, tag text) IS 'Returns what is held. The same again gets the same answer';


--
-- Name: commit(text, bigint[], boolean, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.commit(id text DEFAULT NULL::text, amounts bigint[] DEFAULT NULL::bigint[], overage boolean DEFAULT false, tag text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  hold text := id;
  wanted bigint := amounts[1];
  ended_as text := 'committed';
  retention_us bigint := 86400000000;
  floor_us bigint;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
  if amounts is null or array_length(amounts, 1) = 1 and wanted is not null then
  -- What nearly every end of a hold is: of one charge on a meter of stock, window or calendar that is up to date, in the
  -- window that the hold was made in, without overage. Then this is all of it. If it is not that nothing has changed, and
  -- the general way finds out why.
  --
  -- The functions that have this part have `hold`, its id; `wanted`, what is committed, null for all that is held;
  -- `ended_as`, committed or cancelled; retention_us and floor_us. The meter is locked first, as everywhere. When nothing
  -- is held of it any more is not looked for: due_us may be earlier than the first part that expires, never later.
  update mete.meters t
  set units = t.units - o.amount + coalesce(wanted, o.amount)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.part_units = o.amount and
    o.answer[2] = o.amount and  -- there is no other charge
    coalesce(wanted, o.amount) between 0 and o.amount and not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and
    t.key = o.key and t.revision = l.revision and t.units >= o.amount and o.part_us >= t.start_us and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, hold_tag, hold_key, held, kept, part_from_us, limit_number, limit_revision, is_recorded, remaining,
    capacity, now_us, reset_us;
  if found then
    update mete.operations t
    set state = ended_as, due_us = now_us + retention_us, held_us = null, final_us = now_us,
        amount = case when ended_as = 'committed' then kept else held end,
        ended = array[case when ended_as = 'committed' then kept else held end, remaining, capacity, reset_us,
                      (kept = held)::integer]
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      if is_recorded and kept > 0 then
        insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], kept, hold);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  end if;
  return mete._closed(hold, mete._close(hold, 'commit', amounts, coalesce(overage, false), null, retention_us, 0));
end $$;


--
-- Name: FUNCTION commit(id text, amounts bigint[], overage boolean, tag text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.commit(id text, amounts bigint[], overage boolean, tag text) IS 'Charges what is held, or an amount for each charge, and returns the rest. The same again gets the same answer';


--
-- Name: define(text, text, bigint, text, bigint, text, integer, text, text, boolean, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.define(name text, kind text, amount bigint, period text DEFAULT NULL::text, burst bigint DEFAULT NULL::bigint, zone text DEFAULT NULL::text, anchor integer DEFAULT NULL::integer, durable text DEFAULT NULL::text, on_fail text DEFAULT 'closed'::text, shadow boolean DEFAULT false, scope text DEFAULT 'node'::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  l mete.limits;
begin
  l.name := name;
  l.kind := kind;
  l.amount := amount;
  if period in ('hour', 'day', 'week', 'month', 'year') then
    l.unit := period;
  elsif period is not null then
    l.period_us := mete._period_us(period);
  elsif kind in ('bucket', 'window', 'sliding') then
    perform mete._refuse_argument(format('period is missing: a %s needs one, such as 1 minute', kind));
  end if;
  if kind = 'stock' and period is not null then perform mete._refuse_argument('period: a stock takes none'); end if;
  l.burst := burst;
  l.zone := zone;
  l.anchor := anchor;
  l.durable := durable;
  l.on_fail := on_fail;
  l.shadow := shadow;
  l.scope := scope;
  perform mete._define(l, 0);
end $$;


--
-- Name: FUNCTION define(name text, kind text, amount bigint, period text, burst bigint, zone text, anchor integer, durable text, on_fail text, shadow boolean, scope text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.define(name text, kind text, amount bigint, period text, burst bigint, zone text, anchor integer, durable text, on_fail text, shadow boolean, scope text) IS 'Defines a limit, or changes it; usage is kept';


--
-- Name: drop_limit(text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.drop_limit(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_text('limit name', name, 128);
  return mete._drop(name);
end $$;


--
-- Name: FUNCTION drop_limit(name text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.drop_limit(name text) IS 'Forgets a limit with all that is used and held of it; false if there is none';


--
-- Name: expire(integer); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.expire(batch integer DEFAULT 100, OUT expired integer, OUT swept integer, OUT orphans bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if batch is null or batch < 1 then perform mete._refuse_argument('batch must be at least 1'); end if;
  expired := mete._expire_holds(batch, mete._retention_us());
  swept := mete._sweep(batch);
  select count(*) into orphans from mete.operations o where o.state = 'expired';
end $$;


--
-- Name: FUNCTION expire(batch integer, OUT expired integer, OUT swept integer, OUT orphans bigint); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.expire(batch integer, OUT expired integer, OUT swept integer, OUT orphans bigint) IS 'Lets holds expire, forgets old ids, and deletes what is as fresh';


--
-- Name: extend(text, interval, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.extend(id text DEFAULT NULL::text, ttl interval DEFAULT NULL::interval, tag text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  hold text := id;
  ttl_us bigint := mete._check_ttl(ttl);
  floor_us bigint;
  hold_serial bigint;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if tag is not null or hold is null then hold := mete._hold_id(id, tag); end if;
  -- As in plain_end.sql, of extend, which has `hold` and ttl_us.
  update mete.meters t
  set due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.start_us, t.settled_us) + ttl_us)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.answer[2] = o.amount and
    not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and t.key = o.key and t.revision = l.revision and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, remaining, capacity, now_us, reset_us;
  if found then
    update mete.operations t set due_us = now_us + ttl_us, held_us = now_us + ttl_us
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], 0::bigint, hold);
    end if;
  end if;
  return mete._closed(hold, mete._close(hold, 'extend', null, false, ttl_us, mete._retention_us(), 0));
end $$;


--
-- Name: FUNCTION extend(id text, ttl interval, tag text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.extend(id text, ttl interval, tag text) IS 'Lets an open hold expire ttl from now';


--
-- Name: give(text, text, bigint, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.give("limit" text, key text, cost bigint DEFAULT 1, id text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(array["limit"], array[key], array[cost], 1);
  if id is not null then perform mete._check_text('id', id, 128); end if;
  return mete._answer(mete._give(array["limit"], array[key], array[cost], id, mete._retention_us(), 0), array["limit"]);
end $$;


--
-- Name: FUNCTION give("limit" text, key text, cost bigint, id text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.give("limit" text, key text, cost bigint, id text) IS 'Gives back what was taken, at most what is used';


--
-- Name: give_all(jsonb, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.give_all(charges jsonb, id text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  c record := mete._charges_of(charges);
begin
  perform mete._check_charges(c.limits, c.keys, c.costs, 1);
  if id is not null then perform mete._check_text('id', id, 128); end if;
  return mete._answer(mete._give(c.limits, c.keys, c.costs, id, mete._retention_us(), 0), c.limits);
end $$;


--
-- Name: FUNCTION give_all(charges jsonb, id text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.give_all(charges jsonb, id text) IS 'Gives back several charges';


--
-- Name: hold(text, text, bigint, interval, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.hold("limit" text, key text, cost bigint, ttl interval, id text DEFAULT NULL::text, tag text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  ttl_us bigint := mete._micros(ttl);
  floor_us bigint;
  hold_id text := coalesce(id, tag);
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if ttl_us between 1 and 366 * 86400000000 and octet_length(coalesce(hold_id, '-')) between 1 and 128 and
     octet_length(coalesce(tag, '-')) between 1 and 512 then
    -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and l.is_plain and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
    if found then
    if hold_id is null then
      insert into mete.operations (id, charge, kind, state, answer, made_us, due_us, held_us, tag, limit_id, key, amount,
                                   is_backed, part_units, part_us)
      values (replace(gen_random_uuid()::text, '-', ''), 0, 'hold', 'held',
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      returning operations.id into hold_id;
    else
      insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us, held_us, tag, limit_id,
                                   key, amount, is_backed, part_units, part_us)
      values (hold_id, 0, 'hold', 'held',
              mete._fingerprint('hold', array[$1], array[$2], array[$3], ttl_us, tag),
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      on conflict do nothing;
    end if;
      if found then
        return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], cost, hold_id);
      end if;
      perform mete._uncharge(limit_number, key, cost);
    end if;
  end if;
  return mete._checked_hold(array["limit"], array[key], array[cost], ttl, id, tag);
end $_$;


--
-- Name: FUNCTION hold("limit" text, key text, cost bigint, ttl interval, id text, tag text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.hold("limit" text, key text, cost bigint, ttl interval, id text, tag text) IS 'Sets cost units aside until they are committed, cancelled, or the ttl is over. Without an id the tag is the id';


--
-- Name: hold_all(jsonb, interval, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.hold_all(charges jsonb, ttl interval, id text DEFAULT NULL::text, tag text DEFAULT NULL::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  c record := mete._charges_of(charges);
begin
  return mete._checked_hold(c.limits, c.keys, c.costs, ttl, id, tag);
end $$;


--
-- Name: FUNCTION hold_all(charges jsonb, ttl interval, id text, tag text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.hold_all(charges jsonb, ttl interval, id text, tag text) IS 'Sets several charges aside, all or nothing';


--
-- Name: override(text, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.override("limit" text, key text, amount bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(array["limit"], array[key], array[0::bigint], 0);
  if amount is not null then perform mete._check_range('amount', amount, 1); end if;
  perform mete._override("limit", key, amount, 0);
end $$;


--
-- Name: FUNCTION override("limit" text, key text, amount bigint); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.override("limit" text, key text, amount bigint) IS 'Another amount for one key; null: that of the limit again';


--
-- Name: peek(text, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.peek("limit" text, key text, cost bigint DEFAULT 1) RETURNS mete.answer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(array["limit"], array[key], array[cost], 0);
  return mete._answer(mete._peek(array["limit"], array[key], array[cost], 0, false), array["limit"]);
end $$;


--
-- Name: FUNCTION peek("limit" text, key text, cost bigint); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.peek("limit" text, key text, cost bigint) IS 'The answer that take would give; nothing changes';


--
-- Name: peek_all(jsonb); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.peek_all(charges jsonb) RETURNS mete.answer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  c record := mete._charges_of(charges);
begin
  perform mete._check_charges(c.limits, c.keys, c.costs, 0);
  return mete._answer(mete._peek(c.limits, c.keys, c.costs, 0, false), c.limits);
end $$;


--
-- Name: FUNCTION peek_all(charges jsonb); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.peek_all(charges jsonb) IS 'The answer that take_all would give; nothing changes';


--
-- Name: prune(timestamp with time zone); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.prune(before timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  if before is null then perform mete._refuse_argument('before is missing'); end if;
  -- What meters still count of them becomes an event of that instant.
  if before > clock_timestamp() then perform mete._refuse_argument(format('before must not be to come: %s is', before)); end if;
  return mete._prune(before);
end $$;


--
-- Name: FUNCTION prune(before timestamp with time zone); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.prune(before timestamp with time zone) IS 'Deletes events from before an instant, and keeps the sums of the present windows';


--
-- Name: reconcile(text, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.reconcile("limit" text, key text, used bigint, OUT used_before bigint, OUT used_now bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(array["limit"], array[key], array[0::bigint], 0);
  perform mete._check_range('amount', used, 0);
  select r.used_before, r.used_now into used_before, used_now from mete._reconcile("limit", key, used, null, 0) r;
end $$;


--
-- Name: FUNCTION reconcile("limit" text, key text, used bigint, OUT used_before bigint, OUT used_now bigint); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.reconcile("limit" text, key text, used bigint, OUT used_before bigint, OUT used_now bigint) IS 'Sets what a key has used, from a source of truth; what is held stays held';


--
-- Name: restrict(text, name[]); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.restrict("limit" text, roles name[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  l mete.limits;
  unknown name;
begin
  perform mete._check_text('limit name', "limit", 128);
  l := mete._limit("limit");
  select coalesce(r, 'null') into unknown from unnest(roles) r where not exists (select from pg_roles where rolname = r) limit 1;
  if found then perform mete._refuse_argument(format('roles: there is no role %s', unknown)); end if;
  update mete.limits t set only_for = roles where t.id = l.id;
end $$;


--
-- Name: FUNCTION restrict("limit" text, roles name[]); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.restrict("limit" text, roles name[]) IS 'Keeps a limit for some roles; null: for all who may use Mete';


--
-- Name: store_clear(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_clear() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._clear();
end $$;


--
-- Name: store_close(text, text, bigint[], boolean, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_close(id text, operation text, amounts bigint[], allows_overage boolean, ttl_us bigint, retention_us bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  hold text := id;
  wanted bigint := case when operation = 'cancel' then 0 else amounts[1] end;
  ended_as text := case when operation = 'cancel' then 'cancelled' else 'committed' end;
  hold_serial bigint;
  hold_tag text;
  hold_key text;
  held bigint;
  kept bigint;
  part_from_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if operation = 'extend' then
  -- As in plain_end.sql, of extend, which has `hold` and ttl_us.
  update mete.meters t
  set due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.start_us, t.settled_us) + ttl_us)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.answer[2] = o.amount and
    not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and t.key = o.key and t.revision = l.revision and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, remaining, capacity, now_us, reset_us;
  if found then
    update mete.operations t set due_us = now_us + ttl_us, held_us = now_us + ttl_us
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      return (true, 0::bigint, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
    end if;
  end if;
  elsif amounts is null or array_length(amounts, 1) = 1 then
  -- What nearly every end of a hold is: of one charge on a meter of stock, window or calendar that is up to date, in the
  -- window that the hold was made in, without overage. Then this is all of it. If it is not that nothing has changed, and
  -- the general way finds out why.
  --
  -- The functions that have this part have `hold`, its id; `wanted`, what is committed, null for all that is held;
  -- `ended_as`, committed or cancelled; retention_us and floor_us. The meter is locked first, as everywhere. When nothing
  -- is held of it any more is not looked for: due_us may be earlier than the first part that expires, never later.
  update mete.meters t
  set units = t.units - o.amount + coalesce(wanted, o.amount)
  from mete.operations o join mete.limits l on l.id = o.limit_id
  where o.id = hold and o.charge = 0 and o.state = 'held' and o.is_backed and o.part_units = o.amount and
    o.answer[2] = o.amount and  -- there is no other charge
    coalesce(wanted, o.amount) between 0 and o.amount and not l.is_dropped and l.is_plain and t.limit_id = o.limit_id and
    t.key = o.key and t.revision = l.revision and t.units >= o.amount and o.part_us >= t.start_us and
    least(t.end_us, t.due_us, o.due_us) > greatest(mete._now_us(), floor_us) and
    (l.only_for is null or mete._may_use(l.only_for))
  returning o.serial, o.tag, o.key, o.amount, coalesce(wanted, o.amount), o.part_us, l.id, l.revision, l.records,
    greatest(coalesce(t.own_amount, l.capacity) - t.units, 0), coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into hold_serial, hold_tag, hold_key, held, kept, part_from_us, limit_number, limit_revision, is_recorded, remaining,
    capacity, now_us, reset_us;
  if found then
    update mete.operations t
    set state = ended_as, due_us = now_us + retention_us, held_us = null, final_us = now_us,
        amount = case when ended_as = 'committed' then kept else held end,
        ended = array[case when ended_as = 'committed' then kept else held end, remaining, capacity, reset_us,
                      (kept = held)::integer]
    where t.id = hold and t.charge = 0 and t.serial = hold_serial and t.state = 'held' and t.due_us > now_us;
    if found then
      if is_recorded and kept > 0 then
        insert into mete.events (at, limit_id, key, kind, amount, charged_at, operation, tag, revision)
        values (mete._timestamp(now_us), limit_number, hold_key, 'commit', kept, mete._timestamp(part_from_us), hold,
                hold_tag, limit_revision);
      end if;
      return (true, case when operation = 'cancel' then held else kept end, remaining, capacity, 0::bigint, reset_us, 0, now_us,
              null::text, null::bigint[]);
    end if;
    -- It has ended at the same time.
    perform mete._uncharge(limit_number, hold_key, kept - held);
  end if;
  end if;
  return mete._close(id, operation, amounts, allows_overage, ttl_us, retention_us, floor_us);
end $$;


--
-- Name: store_define(text, text, bigint, bigint, text, text, integer, bigint, text, text, boolean, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_define(name text, kind text, amount bigint, period_us bigint, unit text, zone text, anchor integer, burst bigint, durable text, on_fail text, shadow boolean, scope text, floor_us bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  l mete.limits;
begin
  l.name := name;
  l.kind := kind;
  l.amount := amount;
  l.period_us := period_us;
  l.unit := unit;
  l.zone := zone;
  l.anchor := anchor;
  l.burst := burst;
  l.durable := durable;
  l.on_fail := on_fail;
  l.shadow := shadow;
  l.scope := scope;
  return mete._define(l, floor_us);
end $$;


--
-- Name: store_each(text[], text[], bigint[], text[], bigint[], text[], bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_each(limits text[], keys text[], costs bigint[], ids text[], ttls_us bigint[], tags text[], retention_us bigint, floor_us bigint) RETURNS SETOF mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '50ms'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_indexonlyscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
  results mete.outcome[];
  rest integer[];
  is_gone boolean;
  i integer;
begin
  if exists (select from unnest(costs) c where c is null or c not between 0 and 9007199254740991) then
    perform mete._refuse_argument('costs must be 0 to 9007199254740991');
  end if;
  if exists (select from unnest(limits, keys) c (name, key) join mete.limits l on l.name = c.name and not l.is_dropped
             where (select t.key from mete.meters t where t.limit_id = l.id and t.key = c.key) is null) then
    -- Makes those that are missing, in the order of locks among the others: those are locked by this, though its
    -- condition is never true. They begin in the present window, so that what follows finds them up to date.
    insert into mete.meters as m (limit_id, key, revision, units, previous, full_at, start_us, end_us, settled_us, due_us)
    select c.id, c.key, c.revision, 0, 0, 0, c.start_us, c.end_us, mete._now_us(), 9223372036854775807
    from (select distinct l.id, u.key collate "C" as key, l.revision, l.start_us, l.end_us
          from (select t.id, t.name, t.revision, w.start_us, w.end_us
                from mete.limits t, lateral mete._window(mete._rule(t), greatest(mete._now_us(), floor_us)) w
                where t.name = any (limits) and not t.is_dropped) l
          join unnest(limits, keys) u (name, key) on u.name = l.name) c
    order by c.id, c.key
    on conflict (limit_id, key) do update set units = m.units where false;
  end if;
  with charges as materialized (
    select c.i::integer as i, c.key collate "C" as key, c.cost, nullif(c.id, '') as id, c.ttl_us,
      nullif(c.tag, '') as tag, l.id as limit_id, l.revision, l.capacity, l.records, l.kind <> 'stock' as has_end,
      l.is_plain and (l.only_for is null or mete._may_use(l.only_for)) as is_plain,
      (sum(c.cost) over (partition by l.id, c.key order by c.i))::bigint as total
    from unnest(limits, keys, costs, ids, ttls_us, tags) with ordinality c (name, key, cost, id, ttl_us, tag, i)
    left join mete.limits l on l.name = c.name and not l.is_dropped
  ), sums as (
    select c.limit_id, c.key, min(c.revision) as revision, min(c.capacity) as capacity, bool_and(c.is_plain) as is_plain,
      max(c.total) as total, min(c.ttl_us) filter (where c.id is not null) as ttl_us
    from charges c where c.limit_id is not null group by c.limit_id, c.key
  ), locked as (
    select t.limit_id, t.key, s.total, s.ttl_us, s.capacity, s.is_plain and t.revision = s.revision as is_plain
    from sums s join mete.meters t on t.limit_id = s.limit_id and t.key = s.key
    order by t.limit_id, t.key for update of t
  ), charged as (
    update mete.meters t
    set units = t.units + s.total,
        due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + s.ttl_us)
    from locked s
    where s.is_plain and t.limit_id = s.limit_id and t.key = s.key and s.total > 0 and
      t.units <= coalesce(t.own_amount, s.capacity) - s.total and
      least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us)
    returning t.limit_id, t.key, coalesce(t.own_amount, s.capacity) - t.units + s.total as remaining,
      coalesce(t.own_amount, s.capacity) as capacity, greatest(mete._now_us(), floor_us, t.start_us, t.settled_us) as now_us,
      t.end_us
  ), done as materialized (
    select c.i, c.key, c.cost, c.id, c.ttl_us, c.tag, c.limit_id, c.revision, c.records, m.now_us, m.capacity,
      m.remaining - c.total as remaining, case when c.has_end then greatest(m.end_us - m.now_us, 0) else -1 end as reset_us
    from charges c left join charged m on m.limit_id = c.limit_id and m.key = c.key
  ), held as (
    insert into mete.operations (id, charge, kind, state, answer, made_us, due_us, held_us, tag, limit_id, key, amount,
                                 is_backed, part_units, part_us)
    select d.id, 0, 'hold', 'held', array[1, d.cost, d.remaining, d.capacity, 0, d.reset_us, 0, d.now_us], d.now_us,
      d.now_us + d.ttl_us, d.now_us + d.ttl_us, d.tag, d.limit_id, d.key, d.cost, true, d.cost, d.now_us
    from done d where d.now_us is not null and d.id is not null
  ), recorded as (
    insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
    select mete._timestamp(d.now_us), d.limit_id, d.key, 'take', d.cost, mete._timestamp(d.now_us), d.revision
    from done d where d.now_us is not null and d.id is null and d.records and d.cost > 0
  )
  select array_agg(case when d.now_us is not null then
                     (true, d.cost, d.remaining, d.capacity, 0, d.reset_us, 0, d.now_us, d.id, null)::mete.outcome
                   end order by d.i),
    array_agg(d.i order by d.limit_id, d.key, d.i) filter (where d.now_us is null and d.limit_id is not null),
    (select count(*) from sums) > (select count(*) from locked)
  into results, rest, is_gone from done d;
  if is_gone then perform mete._refuse('40001', 'meters were cleared at the same time'); end if;
  foreach i in array coalesce(rest, '{}') loop
    if coalesce(ids[i], '') = '' then
      results[i] := mete.store_take_one(limits[i], keys[i], costs[i], floor_us);
    else
      results[i] := mete.store_hold_one(limits[i], keys[i], costs[i], ids[i], ttls_us[i], nullif(tags[i], ''), true,
                                        retention_us, floor_us);
    end if;
  end loop;
  return query select * from unnest(results);
end $$;


--
-- Name: store_expire(integer, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_expire(batch integer, retention_us bigint, sweeps boolean, OUT expired integer, OUT swept integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  expired := mete._expire_holds(batch, retention_us);
  swept := case when sweeps then mete._sweep(batch) else 0 end;
end $$;


--
-- Name: store_find_hold(text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_find_hold(id text, retention_us bigint, floor_us bigint) RETURNS SETOF mete.hold_charge
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  now_us bigint := greatest(mete._now_us(), floor_us);
begin
  return query select (mete._hold_charge(o, l.name, now_us)).* from mete.operations o join mete.limits l on l.id = o.limit_id
    where o.id = store_find_hold.id and o.kind = 'hold' and o.state <> 'answered' and
      now_us < o.due_us + case when o.state = 'held' then retention_us else 0 end and
      (l.only_for is null or mete._may_use(l.only_for))
    order by o.charge;
end $$;


--
-- Name: store_give(text[], text[], bigint[], text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_give(limits text[], keys text[], costs bigint[], id text, retention_us bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(limits, keys, costs, 0);
  return mete._give(limits, keys, costs, id, retention_us, floor_us);
end $$;


--
-- Name: store_hold_one(text, text, bigint, text, bigint, text, boolean, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_hold_one("limit" text, key text, cost bigint, id text, ttl_us bigint, tag text, is_id_random boolean, retention_us bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  hold_id text := id;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and l.is_plain and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
  if found then
    if hold_id is null then
      insert into mete.operations (id, charge, kind, state, answer, made_us, due_us, held_us, tag, limit_id, key, amount,
                                   is_backed, part_units, part_us)
      values (replace(gen_random_uuid()::text, '-', ''), 0, 'hold', 'held',
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      returning operations.id into hold_id;
    else
      insert into mete.operations (id, charge, kind, state, fingerprint, answer, made_us, due_us, held_us, tag, limit_id,
                                   key, amount, is_backed, part_units, part_us)
      values (hold_id, 0, 'hold', 'held',
              mete._fingerprint('hold', array[$1], array[$2], array[$3], ttl_us, tag),
              array[1, $3, remaining, capacity, 0, reset_us, 0, now_us], now_us, now_us + ttl_us, now_us + ttl_us, tag,
              limit_number, $2, $3, true, $3, now_us)
      on conflict do nothing;
    end if;
    if found then
      return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, hold_id, null::bigint[]);
    end if;
    perform mete._uncharge(limit_number, key, cost);
  end if;
  return mete._take(array["limit"], array[key], array[cost], 'take', id, ttl_us, tag, is_id_random, true, retention_us,
                    floor_us, false);
end $_$;


--
-- Name: store_holds(text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_holds("limit" text, key text, count_max bigint, floor_us bigint) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  l mete.limits := mete._limit("limit");
  now_us bigint := greatest(mete._now_us(), floor_us);
begin
  return query select h.id from (
      select o.id, min(o.due_us) as due_us, min(o.serial) as serial from mete.operations o
      where o.limit_id = l.id and o.key = store_holds.key and o.held_us > now_us and o.is_backed
      group by o.id) h
    order by h.due_us, h.serial limit count_max;
end $$;


--
-- Name: store_holds_tagged(text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_holds_tagged(tag text, floor_us bigint) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  now_us bigint := greatest(mete._now_us(), floor_us);
begin
  return query select h.id from (
      select o.id, min(o.due_us) as due_us, min(o.serial) as serial
      from mete.operations o join mete.limits l on l.id = o.limit_id
      where o.tag = store_holds_tagged.tag and o.held_us > now_us and (l.only_for is null or mete._may_use(l.only_for))
      group by o.id) h
    order by h.id;
end $$;


--
-- Name: store_limits(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_limits() RETURNS SETOF mete.limits
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return query select * from mete.limits l where not l.is_dropped and (l.only_for is null or mete._may_use(l.only_for))
    order by l.name;
end $$;


--
-- Name: store_oldest_holds(bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_oldest_holds(count_max bigint, floor_us bigint) RETURNS SETOF mete.hold_charge
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  now_us bigint := greatest(mete._now_us(), floor_us);
begin
  return query select (mete._hold_charge(o, l.name, now_us)).*
    from (select f.id, f.serial from mete.operations f where f.state = 'held' and f.charge = 0 and f.due_us > now_us
          order by f.serial limit count_max) first
    join mete.operations o on o.id = first.id join mete.limits l on l.id = o.limit_id
    where (l.only_for is null or mete._may_use(l.only_for))
    order by first.serial, o.charge;
end $$;


--
-- Name: store_override(text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_override("limit" text, key text, amount bigint, floor_us bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return mete._override("limit", key, amount, floor_us);
end $$;


--
-- Name: store_override_of(text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_override_of("limit" text, key text) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  l mete.limits := mete._limit("limit");
begin
  return (select m.own_amount from mete.meters m where m.limit_id = l.id and m.key = store_override_of.key);
end $$;


--
-- Name: store_peek(text[], text[], bigint[], bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_peek(limits text[], keys text[], costs bigint[], floor_us bigint, wants_usages boolean) RETURNS mete.outcome
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(limits, keys, costs, 0);
  return mete._peek(limits, keys, costs, floor_us, wants_usages);
end $$;


--
-- Name: store_recall(text[], text[], bigint[], text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_recall(limits text[], keys text[], costs bigint[], mode text, id text, retention_us bigint, floor_us bigint) RETURNS SETOF mete.outcome
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  r mete.outcome := mete._recalled(id, mete._fingerprint(mode, limits, keys, costs, null, null),
                                   greatest(mete._now_us(), floor_us), retention_us);
begin
  if r.now_us is null then return; end if;
  perform mete._check_roles(limits);
  return next r;
end $$;


--
-- Name: store_reconcile(text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_reconcile("limit" text, key text, used bigint, floor_us bigint, OUT used_before bigint, OUT used_now bigint, OUT now_us bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  select r.used_before, r.used_now, r.now_us into used_before, used_now, now_us
  from mete._reconcile("limit", key, used, null, floor_us) r;
end $$;


--
-- Name: store_scan(text, bigint, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_scan("limit" text, before bigint, count_max bigint, floor_us bigint) RETURNS TABLE(next bigint, key text, used bigint, held bigint, remaining bigint, capacity bigint, reset_us bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_sort TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  l mete.limits := mete._limit("limit");
  time_us bigint := greatest(mete._now_us(), floor_us);
  is_counted boolean := l.kind in ('stock', 'window', 'calendar');
  below bigint := case when before = 0 then 9223372036854775807 else before end;
begin
  return query
  with page as materialized (
    select t.*,
      -- Plain to see, without opening it.
      is_counted and t.due_us = 9223372036854775807 and t.revision = l.revision and t.start_us <= time_us and
        time_us < t.end_us as is_plain
    from mete.meters t where t.limit_id = l.id and t.serial < below order by t.serial desc limit count_max
  )
  select null::bigint, p.key, p.units, 0::bigint, greatest(coalesce(p.own_amount, l.capacity) - p.units, 0),
    coalesce(p.own_amount, l.capacity), case when l.kind = 'stock' then -1 else p.end_us - time_us end
  from page p where p.is_plain and p.units > 0
  union all
  select null, p.key, u.used, u.held, u.remaining, u.capacity, u.reset_us
  from page p, lateral mete._usage(l.name, p.key, floor_us) u where not p.is_plain and u.used + u.held > 0
  union all
  select case when count(*) < count_max then 0 else min(p.serial) end, null, null, null, null, null, null from page p;
end $$;


--
-- Name: store_shift(text, text[], bigint[], bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_shift("limit" text, keys text[], changes bigint[], since_us bigint, floor_us bigint) RETURNS TABLE(change bigint, is_late boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  return query select s.change, s.is_late from mete._shift("limit", keys, changes, since_us, floor_us) s order by s.i;
end $$;


--
-- Name: store_statistics(); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_statistics(OUT limits bigint, OUT rules bigint, OUT meters bigint, OUT overrides bigint, OUT ids bigint, OUT open_holds bigint, OUT orphans bigint, OUT bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  select count(*), count(distinct mete._rule(l)) into limits, rules from mete.limits l where not l.is_dropped;
  select greatest(c.reltuples, 0)::bigint into meters from pg_class c where c.oid = 'mete.meters'::regclass;
  select greatest(c.reltuples, 0)::bigint into ids from pg_class c where c.oid = 'mete.operations'::regclass;
  -- Of the meters too: keys with an amount of their own are few, and are not counted apart.
  overrides := 0;
  select count(*) into open_holds from mete.operations o
  where o.state = 'held' and o.charge = 0 and o.due_us > mete._now_us();
  select count(*) into orphans from mete.operations o where o.state = 'expired' and o.charge = 0;
  bytes := pg_total_relation_size('mete.meters') + pg_total_relation_size('mete.operations');
end $$;


--
-- Name: store_take(text[], text[], bigint[], text, text, bigint, text, boolean, boolean, bigint, bigint, boolean); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_take(limits text[], keys text[], costs bigint[], mode text, id text, ttl_us bigint, tag text, is_id_random boolean, remembers_denial boolean, retention_us bigint, floor_us bigint, wants_usages boolean) RETURNS mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  perform mete._check_charges(limits, keys, costs, 0);
  return mete._take(limits, keys, costs, mode, id, ttl_us, tag, is_id_random, remembers_denial, retention_us, floor_us,
                    wants_usages);
end $$;


--
-- Name: store_take_one(text, text, bigint, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_take_one("limit" text, key text, cost bigint, floor_us bigint) RETURNS mete.outcome
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  ttl_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date; or of a sliding window, in its newest slot while no other leaves. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    (l.is_plain or
     t.is_ring and not l.shadow and greatest(mete._now_us(), floor_us) <
       (l.period_us + 124) / 125 + least(t.start_us, l.period_us + coalesce(t.older[1], t.start_us))) and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
  if found then
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete._timestamp(now_us), limit_number, $2, 'take', $3, mete._timestamp(now_us), limit_revision);
    end if;
    return (true, cost, remaining, capacity, 0::bigint, reset_us, 0, now_us, null::text, null::bigint[]);
  end if;
  return mete._take_generally(array["limit"], array[key], array[cost], 'take', null, null, null, null, false, false, 0,
                              floor_us, false);
end $_$;


--
-- Name: store_usage(text, text, bigint); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.store_usage("limit" text, key text, floor_us bigint, OUT used bigint, OUT held bigint, OUT remaining bigint, OUT capacity bigint, OUT reset_us bigint, OUT now_us bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
  select * into used, held, remaining, capacity, reset_us, now_us from mete._usage("limit", key, floor_us);
end $$;


--
-- Name: take(text, text, bigint, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.take("limit" text, key text, cost bigint DEFAULT 1, id text DEFAULT NULL::text, mode text DEFAULT 'take'::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
  ttl_us bigint;
  floor_us bigint;
  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
begin
  if mode is distinct from 'take' or id is not null then
    return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
  end if;
  -- What nearly every operation is: one charge, which fits, on a meter of stock, window or calendar that is there and up to
  -- date; or of a sliding window, in its newest slot while no other leaves. Then this is all of it. If it is not that nothing has changed, and the general way finds out why.
  --
  -- PL/pgSQL prepares each expression anew in each transaction, and a call of another function costs as much as this
  -- update: so it is a part of the functions that need it, which have $1, $2 and $3 for the limit, the key and the cost, and
  -- ttl_us and floor_us, or null. The conditions are judged again if somebody else had the row, by the time it is then.
  update mete.meters t
  set units = t.units + $3,
      due_us = least(t.due_us, greatest(mete._now_us(), floor_us, t.settled_us) + ttl_us)
  from mete.limits l
  where l.name = $1 and not l.is_dropped and t.limit_id = l.id and t.key = $2 and t.revision = l.revision and
    (l.is_plain or
     t.is_ring and not l.shadow and greatest(mete._now_us(), floor_us) <
       (l.period_us + 124) / 125 + least(t.start_us, l.period_us + coalesce(t.older[1], t.start_us))) and
    t.units <= coalesce(t.own_amount, l.capacity) - $3 and t.units < t.units + $3 and
    least(t.end_us, t.due_us) > greatest(mete._now_us(), floor_us) and (l.only_for is null or mete._may_use(l.only_for))
  returning l.id, l.revision, l.records, coalesce(t.own_amount, l.capacity) - t.units, coalesce(t.own_amount, l.capacity),
    greatest(mete._now_us(), floor_us, t.start_us, t.settled_us),
    case when l.kind = 'stock' then -1 else greatest(t.end_us - greatest(mete._now_us(), floor_us, t.start_us, t.settled_us), 0) end
  into limit_number, limit_revision, is_recorded, remaining, capacity, now_us, reset_us;
  if found then
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete._timestamp(now_us), limit_number, $2, 'take', $3, mete._timestamp(now_us), limit_revision);
    end if;
    return (true, remaining, capacity, interval '0', mete._interval(reset_us), '{}'::text[], cost, null::text);
  end if;
  return mete._checked_take(array["limit"], array[key], array[cost], id, mode);
end $_$;


--
-- Name: FUNCTION take("limit" text, key text, cost bigint, id text, mode text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.take("limit" text, key text, cost bigint, id text, mode text) IS 'Takes cost units of the limit for the key, if they fit. The same id again gets the same answer. mode: take, up_to, force';


--
-- Name: take_all(jsonb, text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.take_all(charges jsonb, id text DEFAULT NULL::text, mode text DEFAULT 'take'::text) RETURNS mete.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  c record := mete._charges_of(charges);
begin
  return mete._checked_take(c.limits, c.keys, c.costs, id, mode);
end $$;


--
-- Name: FUNCTION take_all(charges jsonb, id text, mode text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.take_all(charges jsonb, id text, mode text) IS 'Takes several charges, all or nothing: [{"limit": "api", "key": "alice", "cost": 1}, ...]';


--
-- Name: usage(text, text); Type: FUNCTION; Schema: mete; Owner: -
--

CREATE FUNCTION mete.usage("limit" text, key text) RETURNS mete.standing
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
  u record;
begin
  perform mete._check_charges(array["limit"], array[key], array[0::bigint], 0);
  u := mete._usage("limit", key, 0);
  return row(u.used, u.held, u.remaining, u.capacity, mete._interval(u.reset_us))::mete.standing;
end $$;


--
-- Name: FUNCTION usage("limit" text, key text); Type: COMMENT; Schema: mete; Owner: -
--

COMMENT ON FUNCTION mete.usage("limit" text, key text) IS 'How a key stands: used, held, remaining, limit';


--
-- Name: events; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.events (
    at timestamp with time zone NOT NULL,
    limit_id integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    amount bigint NOT NULL,
    charged_at timestamp with time zone NOT NULL,
    operation text COLLATE pg_catalog."C",
    tag text COLLATE pg_catalog."C",
    revision integer NOT NULL
)
PARTITION BY RANGE (at);


--
-- Name: events_other; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.events_other (
    at timestamp with time zone NOT NULL,
    limit_id integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    amount bigint NOT NULL,
    charged_at timestamp with time zone NOT NULL,
    operation text COLLATE pg_catalog."C",
    tag text COLLATE pg_catalog."C",
    revision integer NOT NULL
);


--
-- Name: holds; Type: VIEW; Schema: mete; Owner: -
--

CREATE VIEW mete.holds WITH (security_barrier='true') AS
 SELECT o.id,
    o.charge,
    o.tag,
    l.name AS "limit",
    o.key,
    o.amount,
        CASE
            WHEN ((o.state = 'held'::text) AND (o.due_us <= mete._now_us())) THEN 'expired'::text
            ELSE o.state
        END AS state,
    mete._timestamp(o.made_us) AS made_at,
        CASE
            WHEN (o.state = 'held'::text) THEN mete._timestamp(o.due_us)
            ELSE NULL::timestamp with time zone
        END AS expires_at,
    mete._timestamp(o.final_us) AS final_at
   FROM (mete.operations o
     JOIN mete.limits l ON ((l.id = o.limit_id)))
  WHERE ((o.kind = 'hold'::text) AND (o.state <> 'answered'::text) AND ((l.only_for IS NULL) OR mete._may_use(l.only_for)));


--
-- Name: limits_id_seq; Type: SEQUENCE; Schema: mete; Owner: -
--

ALTER TABLE mete.limits ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mete.limits_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: meters_serial_seq; Type: SEQUENCE; Schema: mete; Owner: -
--

ALTER TABLE mete.meters ALTER COLUMN serial ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mete.meters_serial_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: operations_serial_seq; Type: SEQUENCE; Schema: mete; Owner: -
--

ALTER TABLE mete.operations ALTER COLUMN serial ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mete.operations_serial_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: orphans; Type: VIEW; Schema: mete; Owner: -
--

CREATE VIEW mete.orphans WITH (security_barrier='true') AS
 SELECT o.id,
    o.tag,
    l.name AS "limit",
    o.key,
    o.amount,
    mete._timestamp(o.made_us) AS made_at,
    mete._timestamp(COALESCE(o.final_us, o.due_us)) AS expired_at
   FROM (mete.operations o
     JOIN mete.limits l ON ((l.id = o.limit_id)))
  WHERE (((o.state = 'expired'::text) OR (o.held_us <= mete._now_us())) AND ((l.only_for IS NULL) OR mete._may_use(l.only_for)));


--
-- Name: revisions; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.revisions (
    limit_id integer NOT NULL,
    revision integer NOT NULL,
    rule mete.rule NOT NULL,
    since_us bigint NOT NULL
);


--
-- Name: schema_version; Type: TABLE; Schema: mete; Owner: -
--

CREATE TABLE mete.schema_version (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: usage_events; Type: VIEW; Schema: mete; Owner: -
--

CREATE VIEW mete.usage_events WITH (security_barrier='true') AS
 SELECT e.at,
    l.name AS "limit",
    e.key,
    e.kind,
    e.amount,
    e.charged_at,
    e.operation,
    e.tag
   FROM (mete.events e
     JOIN mete.limits l ON ((l.id = e.limit_id)))
  WHERE ((l.only_for IS NULL) OR mete._may_use(l.only_for));


--
-- Name: events_other; Type: TABLE ATTACH; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.events ATTACH PARTITION mete.events_other DEFAULT;


--
-- Data for Name: events_other; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.events_other VALUES ('2026-11-19 04:39:22.038117+00', 1, 'alice', 'take', 5, '2026-11-19 04:39:22.038117+00', NULL, NULL, 1);
INSERT INTO mete.events_other VALUES ('2026-11-19 04:39:22.043311+00', 1, 'alice', 'commit', 5, '2026-11-19 04:39:22.042176+00', 'committed', NULL, 1);


--
-- Data for Name: limits; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.limits OVERRIDING SYSTEM VALUE VALUES (1, 'credits', 1, 'stock', 100, 100, 0, NULL, NULL, NULL, NULL, NULL, 'closed', false, 'node', true, NULL, 1795063162030306, false, DEFAULT);
INSERT INTO mete.limits OVERRIDING SYSTEM VALUE VALUES (2, 'login', 1, 'sliding', 100, 100, 864000000000, NULL, NULL, NULL, NULL, NULL, 'closed', false, 'node', false, NULL, 1795063162035634, false, DEFAULT);


--
-- Data for Name: meters; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.meters OVERRIDING SYSTEM VALUE VALUES (1, 'alice', 1, 15, 0, 0, 0, 9223372036854775807, 1795063162037910, 9000000000000000, NULL, 1, '{}', false);
INSERT INTO mete.meters OVERRIDING SYSTEM VALUE VALUES (2, 'bob', 1, 15, 0, 0, 1795060224000000, 1795931136000000, 1795063162047222, 9223372036854775807, NULL, 2, '{1795040224000000,4,1795050224000000,5}', true);


--
-- Data for Name: operations; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.operations OVERRIDING SYSTEM VALUE VALUES ('committed', 0, 2, 'hold', 'committed', '3c66fcb4-a6e1-d0d7-2395-39022e01f281', '{1,5,85,100,0,-1,0,1795063162042176}', 1795063162042176, 9000000000000000, NULL, 1795063162043311, NULL, 1, 'alice', 5, true, 5, 1795063162042176, '{5,85,100,-1,1}');
INSERT INTO mete.operations OVERRIDING SYSTEM VALUE VALUES ('open', 0, 1, 'hold', 'held', '4d3a4e24-a803-9f01-c86b-a0ac61d46164', '{1,5,90,100,0,-1,0,1795063162041112}', 1795063162041112, 9000000000000000, 9000000000000000, NULL, NULL, 1, 'alice', 5, true, 5, 1795063162041112, NULL);


--
-- Data for Name: revisions; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.revisions VALUES (1, 1, '(stock,100,100,0,,,)', 1795063162030306);
INSERT INTO mete.revisions VALUES (2, 1, '(sliding,100,100,864000000000,,,)', 1795063162035634);


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: mete; Owner: -
--

INSERT INTO mete.schema_version VALUES (1, 'tables and functions', '2026-11-19 04:39:21.973532+00');
INSERT INTO mete.schema_version VALUES (2, 'exact sliding windows', '2026-11-19 04:39:21.983504+00');
INSERT INTO mete.schema_version VALUES (3, 'commits and cancels again', '2026-11-19 04:39:21.991055+00');


--
-- Name: limits_id_seq; Type: SEQUENCE SET; Schema: mete; Owner: -
--

SELECT pg_catalog.setval('mete.limits_id_seq', 2, true);


--
-- Name: meters_serial_seq; Type: SEQUENCE SET; Schema: mete; Owner: -
--

SELECT pg_catalog.setval('mete.meters_serial_seq', 2, true);


--
-- Name: operations_serial_seq; Type: SEQUENCE SET; Schema: mete; Owner: -
--

SELECT pg_catalog.setval('mete.operations_serial_seq', 2, true);


--
-- Name: limits limits_pkey; Type: CONSTRAINT; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (id);


--
-- Name: meters meters_pkey; Type: CONSTRAINT; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.meters
    ADD CONSTRAINT meters_pkey PRIMARY KEY (limit_id, key);


--
-- Name: operations operations_pkey; Type: CONSTRAINT; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (id, charge);


--
-- Name: revisions revisions_pkey; Type: CONSTRAINT; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (limit_id, revision);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: mete; Owner: -
--

ALTER TABLE ONLY mete.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);


--
-- Name: events_meter; Type: INDEX; Schema: mete; Owner: -
--

CREATE INDEX events_meter ON ONLY mete.events USING btree (limit_id, key, at);


--
-- Name: events_other_limit_id_key_at_idx; Type: INDEX; Schema: mete; Owner: -
--

CREATE INDEX events_other_limit_id_key_at_idx ON mete.events_other USING btree (limit_id, key, at);


--
-- Name: limits_name; Type: INDEX; Schema: mete; Owner: -
--

CREATE UNIQUE INDEX limits_name ON mete.limits USING btree (name) WHERE (NOT is_dropped);


--
-- Name: meters_serial; Type: INDEX; Schema: mete; Owner: -
--

CREATE UNIQUE INDEX meters_serial ON mete.meters USING btree (limit_id, serial);


--
-- Name: operations_due; Type: INDEX; Schema: mete; Owner: -
--

CREATE INDEX operations_due ON mete.operations USING btree (state, due_us);


--
-- Name: operations_held; Type: INDEX; Schema: mete; Owner: -
--

CREATE INDEX operations_held ON mete.operations USING btree (limit_id, key, held_us);


--
-- Name: operations_tag; Type: INDEX; Schema: mete; Owner: -
--

CREATE INDEX operations_tag ON mete.operations USING btree (tag, held_us);


--
-- Name: events_other_limit_id_key_at_idx; Type: INDEX ATTACH; Schema: mete; Owner: -
--

ALTER INDEX mete.events_meter ATTACH PARTITION mete.events_other_limit_id_key_at_idx;


--
-- PostgreSQL database dump complete
--


