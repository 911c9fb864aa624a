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
  )
  select case
      when f.name is null then 'function ' || e.name || ' is missing'
      when f.prosrc <> e.source then 'function ' || e.name || ' has another body'
      when f.prosecdef <> e.is_definer then
        'function ' || e.name || ' runs with the rights of ' || case when f.prosecdef then 'its owner' else 'its caller' end
      when f.proconfig <> e.settings then 'function ' || e.name || ' has other settings: ' || f.proconfig::text
      else 'function ' || e.name || ' belongs to ' || f.proowner::regrole
    end
  from expected e left join found f on f.name = e.name
  where f.name is null or f.prosrc <> e.source or f.prosecdef <> e.is_definer or f.proconfig <> e.settings or
    f.proowner <> (select nspowner from pg_catalog.pg_namespace where nspname = 'mete')
  union all select 'view mete.' || v || ' is missing' from unnest(array['holds', 'orphans', 'usage_events']) v
  where to_regclass('mete.' || v) is null
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

std::string check_of(const std::vector<StandingFunction>& functions) {
  std::string check = "with expected (name, source, is_definer, settings) as (values ";
  for (const StandingFunction& function : functions) {
    if (&function != &functions.front()) check += ",\n";
    check += "(" + quoted(function.name) + ", " + quoted(function.source) +
             (function.is_definer ? ", true" : ", false") + ", array[";
    for (const std::string& setting : function.settings) {
      check += (&setting == &function.settings.front() ? "" : ", ") + quoted(setting);
    }
    check += "]::text[])";
  }
  return check + ")" + std::string(kWrongFunctions);
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

std::span<const StandingPart> standing_parts() {
  static const std::string kCheckFunctions = check_of(functions_in(kFunctionsSql));
  static const StandingPart kParts[] = {{.make = kFunctionsSql, .check = kCheckFunctions},
                                        {.make = kRightsSql, .check = kWrongRights}};
  return kParts;
}

}  // namespace mete::store::postgres
