-- Functions and views have the rights of their owner, who is the schema's.
do $$
declare
  f record;
  v record;
begin
  for f in select p.oid::regprocedure as name, o.rolname as owner
           from pg_catalog.pg_proc p, pg_catalog.pg_namespace n join pg_catalog.pg_roles o on o.oid = n.nspowner
           where n.nspname = 'mete' and p.pronamespace in ('mete'::regnamespace, 'mete_private'::regnamespace) and
             p.proowner <> n.nspowner loop
    execute pg_catalog.format('alter function %s owner to %I', f.name, f.owner);
  end loop;
  for v in select c.oid::regclass as name, o.rolname as owner
           from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             join pg_catalog.pg_roles o on o.oid = n.nspowner
           where n.nspname = 'mete' and c.relkind = 'v' and c.relowner <> n.nspowner loop
    execute pg_catalog.format('alter view %s owner to %I', v.name, v.owner);
  end loop;
end $$;
