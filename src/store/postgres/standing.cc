#include "store/postgres/standing.h"

#include <cctype>

#include "base/check.h"
#include "store/postgres/sql_texts.h"

namespace mete::store::postgres {

namespace {

// A damaged body or a changed search_path may do anything with the owner's rights: so they are compared as they are.
constexpr std::string_view kWrongFunctions = R"sql(
  , found as (
    select n.nspname || '.' || p.proname as name, p.prosrc, p.prosecdef, coalesce(p.proconfig, '{}') as proconfig,
      p.proowner
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('mete', 'mete_private')
  ), nearest as (  -- of several by one name
    select distinct on (f.name) f.* from found f left join expected e on e.name = f.name
    order by f.name, f.prosrc = e.source desc
  )
  select case
      when f.name is null then 'function ' || e.name || ' is missing'
      when f.prosrc <> e.source then 'function ' || e.name || ' has another body'
      when f.prosecdef <> e.is_definer then
        'function ' || e.name || ' runs with the rights of ' || case when f.prosecdef then 'its owner' else 'its caller' end
      when f.proconfig <> e.settings then 'function ' || e.name || ' has other settings: ' || f.proconfig::text
      else 'function ' || e.name || ' belongs to ' || f.proowner::regrole
    end
  from expected e left join nearest f on f.name = e.name
  where f.name is null or f.prosrc <> e.source or f.prosecdef <> e.is_definer or f.proconfig <> e.settings or
    f.proowner <> (select nspowner from pg_catalog.pg_namespace where nspname = 'mete')
  order by 1
)sql";

// Of the name of one of Mete's, with other parameters: a call may mean it.
constexpr std::string_view kOverloads = R"sql(
  , overloads as (
    select p.oid::regprocedure::text as name
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      join expected e on e.name = n.nspname || '.' || p.proname
    where p.prosrc <> e.source and exists (
      select from pg_catalog.pg_proc other
      where other.pronamespace = p.pronamespace and other.proname = p.proname and other.oid <> p.oid)
  )
)sql";

constexpr std::string_view kDropOverloads = R"sql(
  do $drop$
  declare
    overload text;
  begin
    for overload in OVERLOADS select name from overloads loop
      execute 'drop function ' || overload;
    end loop;
  end $drop$
)sql";

// PostgreSQL tells a view's query in its own words: it is compared with that of a view that is made for it, and goes
// with the session.
constexpr std::string_view kWrongViews = R"sql(
  select case
      when v.oid is null then 'view ' || w.name || ' is missing'
      when pg_get_viewdef(v.oid) <> pg_get_viewdef(w.wanted) then 'view ' || w.name || ' has another query'
      when v.reloptions is distinct from (select reloptions from pg_catalog.pg_class where oid = w.wanted) then
        'view ' || w.name || ' has other options'
      else 'view ' || w.name || ' belongs to ' || v.relowner::regrole
    end
  from wanted w left join pg_catalog.pg_class v on v.oid = to_regclass(w.name)
  where v.oid is null or pg_get_viewdef(v.oid) <> pg_get_viewdef(w.wanted) or
    v.reloptions is distinct from (select reloptions from pg_catalog.pg_class where oid = w.wanted) or
    v.relowner <> (select nspowner from pg_catalog.pg_namespace where nspname = 'mete')
  order by 1
)sql";

// Whom a function is for tells its name: those in `mete`, and store_… in `mete_private`, are for mete_admin, and for
// mete_use but for these.
constexpr std::string_view kWrongRights = R"sql(
  with functions as (
    select p.oid, p.oid::regprocedure::text as name,
      n.nspname = 'mete' or p.proname ~ '^store_' or p.proname in ('_now_us', '_timestamp', '_may_use', '_may_use_hold', '_is_reserved_id') as is_for_admin,
      p.proname not in ('define', 'drop_limit', 'override', 'restrict', 'reconcile', 'expire', 'prune', 'audit',
        'store_define', 'store_override', 'store_reconcile', 'store_shift', 'store_clear', 'store_expire') as is_for_use
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('mete', 'mete_private')
  ), relations as (
    select c.oid, c.oid::regclass::text as name, c.relname in ('holds', 'orphans', 'usage_events') as is_for_use
    from pg_catalog.pg_class c where c.relnamespace = 'mete'::regnamespace and c.relkind in ('r', 'p', 'v')
  ), roles as (
    select r.oid, r.rolname from pg_catalog.pg_roles r where r.rolname in ('mete_use', 'mete_admin')
  ), schemas as (
    select n.oid, n.nspname from pg_catalog.pg_namespace n where n.nspname in ('mete', 'mete_private')
  )
  select 'role ' || w || ' is missing' from unnest(array['mete_use', 'mete_admin']) w
  where not exists (select from roles where rolname = w)
  union all select r.rolname || ' may not use the schema ' || s.nspname from roles r, schemas s
  where not has_schema_privilege(r.oid, s.oid, 'usage')
  union all select 'everybody may use the schema ' || nspname from schemas where has_schema_privilege('public', oid, 'usage')
  union all select 'everybody may call ' || name from functions where has_function_privilege('public', oid, 'execute')
  union all select 'everybody may read or change ' || name from relations
  where has_table_privilege('public', oid, 'select, insert, update, delete, truncate')
  union all select r.rolname || ' may not call ' || f.name from roles r, functions f
  where f.is_for_admin and (f.is_for_use or r.rolname = 'mete_admin') and not has_function_privilege(r.oid, f.oid, 'execute')
  union all select r.rolname || ' may call ' || f.name from roles r, functions f
  where not (f.is_for_admin and (f.is_for_use or r.rolname = 'mete_admin')) and has_function_privilege(r.oid, f.oid, 'execute')
  union all select r.rolname || ' may not read ' || t.name from roles r, relations t
  where t.is_for_use and not has_table_privilege(r.oid, t.oid, 'select')
  union all select r.rolname || ' may read or change ' || t.name from roles r, relations t
  where not t.is_for_use and has_table_privilege(r.oid, t.oid, 'select, insert, update, delete, truncate')
)sql";

constexpr std::string_view kCreate = "\ncreate or replace function ";
constexpr std::string_view kBody = " as $$";
constexpr std::string_view kSet = "set ";

// What follows `set` in the text between a function's arguments and its body: search_path = pg_catalog, pg_temp
std::vector<std::string> settings_in(std::string_view head) {
  std::vector<std::string> settings;
  const auto next_set = [&head](std::size_t from) {
    std::size_t at = head.find(kSet, from);
    while (at != std::string_view::npos && at > 0 && std::isspace(static_cast<unsigned char>(head[at - 1])) == 0) {
      at = head.find(kSet, at + 1);
    }
    return at;
  };
  for (std::size_t at = next_set(0); at != std::string_view::npos;) {
    const std::size_t end = next_set(at + 1);
    std::string setting;
    for (const char letter :
         head.substr(at + kSet.size(), end == std::string_view::npos ? end : end - at - kSet.size())) {
      if (letter == '\n') break;
      if (letter != '\'') setting += letter;
    }
    while (setting.ends_with(' ')) setting.pop_back();
    setting.replace(setting.find(" = "), 3, "=");
    settings.push_back(std::move(setting));
    at = end;
  }
  return settings;
}

// $text$…$text$: no function has that in its body.
std::string quoted(std::string_view text) {
  CHECK(text.find("$text$") == std::string_view::npos);
  return "$text$" + std::string(text) + "$text$";
}

std::string expected_of(const std::vector<StandingFunction>& functions) {
  std::string expected = "with expected (name, source, is_definer, settings) as (values ";
  for (const StandingFunction& function : functions) {
    if (&function != &functions.front()) expected += ",\n";
    expected += "(" + quoted(function.name) + ", " + quoted(function.source) +
                (function.is_definer ? ", true" : ", false") + ", array[";
    for (const std::string& setting : function.settings) {
      expected += (&setting == &function.settings.front() ? "" : ", ") + quoted(setting);
    }
    expected += "]::text[])";
  }
  return expected + ")";
}

std::string check_of(const std::vector<StandingView>& views) {
  std::string check = "select set_config('search_path', 'pg_catalog, pg_temp', true);\n";
  std::string wanted = "with wanted (name, wanted) as (values ";
  for (const StandingView& view : views) {
    const std::string copy = "mete_wanted_" + view.name.substr(view.name.find('.') + 1);
    check += "create or replace temporary view " + copy + " with (security_barrier) as" + view.query + ";\n";
    wanted += (&view == &views.front() ? "('" : ", ('") + view.name + "', 'pg_temp." + copy + "'::regclass)";
  }
  return check + wanted + ")" + std::string(kWrongViews);
}

std::string drop_of(const std::string& overloads) {
  constexpr std::string_view kPlace = "OVERLOADS";
  std::string drop(kDropOverloads);
  return drop.replace(drop.find(kPlace), kPlace.size(), overloads);
}

}  // namespace

std::vector<StandingFunction> functions_in(std::string_view sql) {
  std::vector<StandingFunction> functions;
  for (std::size_t at = sql.find(kCreate); at != std::string_view::npos; at = sql.find(kCreate, at)) {
    at += kCreate.size();
    const std::size_t language = sql.find("language ", at);
    const std::size_t body = sql.find(kBody, language);
    const std::size_t end = sql.find("$$;", body + kBody.size());
    CHECK(end != std::string_view::npos);
    const std::string_view head = sql.substr(language, body - language);
    functions.push_back({.name = std::string(sql.substr(at, sql.find('(', at) - at)),
                         .source = std::string(sql.substr(body + kBody.size(), end - body - kBody.size())),
                         .is_definer = head.find("security definer") != std::string_view::npos,
                         .settings = settings_in(head)});
    at = end;
  }
  return functions;
}

std::vector<StandingView> views_in(std::string_view sql) {
  constexpr std::string_view kCreateView = "\ncreate or replace view ";
  constexpr std::string_view kQuery = " with (security_barrier) as";
  std::vector<StandingView> views;
  for (std::size_t at = sql.find(kCreateView); at != std::string_view::npos; at = sql.find(kCreateView, at)) {
    at += kCreateView.size();
    const std::size_t query = sql.find(kQuery, at);
    const std::size_t end = sql.find(";\n", query);
    CHECK(end != std::string_view::npos);
    views.push_back({.name = std::string(sql.substr(at, query - at)),
                     .query = std::string(sql.substr(query + kQuery.size(), end - query - kQuery.size()))});
    at = end;
  }
  return views;
}

std::span<const StandingPart> standing_parts() {
  static const std::string kExpected = expected_of(functions_in(kFunctionsSql));
  static const std::string kCheckFunctions = kExpected + std::string(kWrongFunctions);
  static const std::string kExpectedOverloads = kExpected + std::string(kOverloads);
  static const std::string kCheckOverloads =
      kExpectedOverloads + "select 'function ' || name || ' is not of Mete''s making' from overloads order by 1";
  static const std::string kMakeOverloads = drop_of(kExpectedOverloads);
  static const std::string kCheckViews = check_of(views_in(kFunctionsSql));
  static const StandingPart kParts[] = {{.make = kFunctionsSql, .check = kCheckFunctions},
                                        {.make = kMakeOverloads, .check = kCheckOverloads},
                                        {.make = kFunctionsSql, .check = kCheckViews},
                                        {.make = kRightsSql, .check = kWrongRights}};
  return kParts;
}

}  // namespace mete::store::postgres
