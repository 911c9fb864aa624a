-- Meters as they were kept before: the usage of the present window and of the one before it. Each is taken for charged as
-- late as can be, so that usage is never made smaller.
do $$
declare
  r record;
  m mete.meters;
  rule mete.rule;
  now_us bigint := mete._now_us();
begin
  for r in select t as meter, v.rule as rule from mete.meters t
           join mete.revisions v on v.limit_id = t.limit_id and v.revision = t.revision
           where (v.rule).kind = 'sliding' loop
    m := r.meter;
    rule := mete._with_amount(r.rule, m.own_amount);
    m.units := 0;
    m.end_us := 0;
    m := mete._charged(rule, m, (r.meter).previous, m.start_us);
    m := mete._charged(rule, m, (r.meter).units, least(now_us, (r.meter).end_us));
    m := mete._settled(rule, m, now_us);
    update mete.meters t
    set units = m.units, previous = 0, start_us = m.start_us, end_us = m.end_us, older = m.older, is_ring = m.is_ring
    where t.limit_id = m.limit_id and t.key = m.key;
  end loop;
end $$;

-- The functions above are for those that are called.
revoke all on all functions in schema mete from public;
