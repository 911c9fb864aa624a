-- Functions that are not for applications go to a schema of their own. What is left in `mete` is what applications call,
-- and, for servers of version 3 that go on for a while, the functions that these call.
create schema if not exists mete_private;
comment on schema mete_private is 'Mete''s own functions, for mete serve and the library';

do $$
declare
  f regprocedure;
begin
  if exists (select from pg_catalog.pg_class where relnamespace = 'mete_private'::regnamespace) then
    raise exception 'this database has a schema mete_private that is not Mete''s: it has tables; rename it, or use another database';
  end if;
  -- Left there by a schema `mete` that somebody has dropped.
  for f in select p.oid from pg_catalog.pg_proc p where p.pronamespace = 'mete_private'::regnamespace loop
    execute pg_catalog.format('drop function %s cascade', f);
  end loop;
  for f in select p.oid from pg_catalog.pg_proc p
           where p.pronamespace = 'mete'::regnamespace and p.proname ~ '^(_|store_)' loop
    execute pg_catalog.format('alter function %s set schema mete_private', f);
  end loop;
end $$;
drop function mete_private._slot_us, mete_private._newest;
alter default privileges in schema mete_private revoke execute on functions from public;
