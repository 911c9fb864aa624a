-- A meter's due_us is no longer exact: whether something is held of it its holds tell.

-- Deletes, of each at most so many: ids that are forgotten, meters that are as fresh ones, and what dropped limits have left.
-- Transactions that are still open may know a limit as it was, and make meters of that revision, which nobody sees before
-- they end: so old revisions and dropped limits stay for a day.
create or replace function mete._sweep(count_max integer) returns integer
language plpgsql as $$
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
