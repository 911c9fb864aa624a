-- They run with the rights of their owner, who is the schema's.
do $$
declare
  f record;
begin
  for f in select p.oid::regprocedure as name, o.rolname as owner
           from pg_catalog.pg_proc p, pg_catalog.pg_namespace n join pg_catalog.pg_roles o on o.oid = n.nspowner
           where n.nspname = 'mete' and p.pronamespace in ('mete'::regnamespace, 'mete_private'::regnamespace) and
             p.proowner <> n.nspowner loop
    execute pg_catalog.format('alter function %s owner to %I', f.name, f.owner);
  end loop;
end $$;
