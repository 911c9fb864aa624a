-- Who may do what, as of the last version: `mete migrate` makes it so again where it is not. mete_use: take, hold, and what
-- belongs to it. mete_admin: also define, set and clean up. Nobody else may do anything, and nobody touches the tables.

do $$
declare
  role text;
begin
  foreach role in array array['mete_use', 'mete_admin'] loop
    continue when exists (select from pg_catalog.pg_roles where rolname = role);
    begin
      if role = 'mete_use' then
        create role mete_use nologin;
      else
        create role mete_admin nologin;
      end if;
    exception
      when duplicate_object or unique_violation then null;  -- in another database, at the same time
      when insufficient_privilege then
        raise exception using errcode = 'insufficient_privilege',
          message = pg_catalog.format('role %s is missing, and %s may not create it', role, current_user),
          hint = 'let an administrator run: create role mete_use nologin; create role mete_admin nologin;';
    end;
  end loop;
end $$;

revoke all on schema mete, mete_private from public, mete_use, mete_admin;
grant usage on schema mete, mete_private to mete_use, mete_admin;
revoke all on all tables in schema mete from public, mete_use, mete_admin;
revoke all on all functions in schema mete, mete_private from public, mete_use, mete_admin;
alter default privileges in schema mete revoke execute on functions from public;
alter default privileges in schema mete_private revoke execute on functions from public;

grant select on mete.holds, mete.orphans, mete.usage_events to mete_use, mete_admin;
-- What the views are made of.
grant execute on function mete_private._now_us, mete_private._timestamp, mete_private._may_use,
  mete_private._may_use_hold, mete_private._is_reserved_id to mete_use, mete_admin;

grant execute on function
  mete.take, mete.take_all, mete.peek, mete.peek_all, mete.give, mete.give_all, mete.hold, mete.hold_all,
  mete.commit, mete.cancel, mete.extend, mete.usage
to mete_use, mete_admin;
grant execute on function
  mete.define, mete.drop_limit, mete.override, mete.restrict, mete.reconcile, mete.expire, mete.prune, mete.audit
to mete_admin;

-- What servers call: those of this version, and of the one before.
do $$
declare
  schema text;
begin
  foreach schema in array array['mete.', 'mete_private.'] loop
    execute pg_catalog.replace($grants$
      grant execute on function
        mete.store_take, mete.store_take_one, mete.store_hold_one, mete.store_each, mete.store_recall, mete.store_peek,
        mete.store_give, mete.store_close,
        mete.store_find_hold, mete.store_oldest_holds, mete.store_holds, mete.store_holds_tagged, mete.store_scan,
        mete.store_usage, mete.store_override_of, mete.store_limits, mete.store_statistics
      to mete_use, mete_admin;
      grant execute on function
        mete.store_define, mete.store_override, mete.store_reconcile, mete.store_shift, mete.store_clear,
        mete.store_expire
      to mete_admin$grants$, 'mete.', schema);
  end loop;
end $$;
