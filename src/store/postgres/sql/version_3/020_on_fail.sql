-- on_fail may be local: whoever uses the store decides by a share of its own while the database is away.
alter table mete.limits drop constraint limits_on_fail_check;
alter table mete.limits add constraint limits_on_fail_check check (on_fail in ('closed', 'open', 'local'));

-- The function checks much else, which stays as it is.
do $$
declare
  source constant text := pg_get_functiondef('mete._check_limit(mete.limits)'::regprocedure);
begin
  execute replace(replace(source, $q$not in ('closed', 'open')$q$, $q$not in ('closed', 'open', 'local')$q$),
                  'on_fail must be closed or open, not', 'on_fail must be closed, open or local, not');
end $$;
