-- The units of the charges before the newest one of a sliding meter are kept as a sum: so an update knows what is in the
-- newest slot without adding up. The window before the present one has not been used since version 2.
alter table mete.meters
  drop column previous,
  add column older_units bigint not null default 0;
update mete.meters t
set older_units = (select sum(o.units) from pg_catalog.unnest(t.older) with ordinality o (units, i) where o.i % 2 = 0)
where t.older <> '{}';
