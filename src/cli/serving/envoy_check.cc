// `mete envoy check`: what the rules of envoyproxy/ratelimit mean here, and which of them a request meets.
#include <algorithm>
#include <ostream>

#include "base/errors.h"
#include "base/try.h"
#include "cli/commands.h"
#include "server/envoy/match.h"
#include "server/envoy/rule_book.h"
#include "server/limits/limit_fields.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

using server::envoy::Descriptor;
using server::envoy::Entry;
using server::envoy::Level;
using server::envoy::Rule;
using server::envoy::Rules;

std::string value_text_of(const wire::Scalar& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<bool>(value) ? "yes" : "no";
}

// "calendar, amount 5, period day, durable everysec"
std::string meaning_of(const Rule& rule) {
  if (rule.is_unlimited) return "unlimited, and not counted";
  if (rule.is_blocked()) return "blocked: nobody passes";
  if (!rule.limit) return "0 of a shadow: nothing is counted, and nobody is refused";
  std::string text;
  for (const auto& [name, value] : server::describe_limit(*rule.limit)) {
    if (!text.empty()) text += ", ";
    text += name == "kind" ? value_text_of(value) : std::string(name) + " " + value_text_of(value);
  }
  if (rule.is_quota) text += ", quota_mode";
  if (!rule.replaces.empty()) text += ", replaces other rules";
  return text;
}

// What tells meters apart: the values that the rules on the way to this one leave open.
std::string meters_of(const std::vector<const Descriptor*>& way) {
  std::string text;
  for (const Descriptor* const each : way) {
    if (each->is_value_open()) text += (text.empty() ? "" : ", ") + each->key;
  }
  return text.empty() ? "one meter" : "a meter for each " + text;
}

// In the order of the file.
std::vector<const Descriptor*> descriptors_of(const Level& level) {
  std::vector<const Descriptor*> all;
  for (const auto& [key, descriptor] : level.exact) all.push_back(&descriptor);
  for (const Descriptor& descriptor : level.patterns) all.push_back(&descriptor);
  std::sort(all.begin(), all.end(), [](const auto* one, const auto* other) { return one->line < other->line; });
  return all;
}

void print_level(const Level& level, std::vector<const Descriptor*>& way, std::ostream& out) {
  for (const Descriptor* const descriptor : descriptors_of(level)) {
    way.push_back(descriptor);
    if (const auto& rule = descriptor->rule) {
      out << rule->place << "  " << rule->path << "\n    " << meaning_of(*rule) << "\n";
      if (rule->limit) out << "    limit " << rule->limit->name() << ", " << meters_of(way) << "\n";
    }
    if (descriptor->below) print_level(*descriptor->below, way, out);
    way.pop_back();
  }
}

struct Request {
  std::string domain;
  std::vector<std::pair<std::string, std::string>> entries;
};

// "domain:key=value,key=value"; a value may have colons and equals signs.
Result<Request> read_request(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    return base::invalid("--request must be DOMAIN:KEY=VALUE,KEY=VALUE, not " + wire::quote(text));
  }
  Request request{.domain = text.substr(0, colon), .entries = {}};
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      return base::invalid("--request: " + wire::quote(entry) + " is no KEY=VALUE");
    }
    request.entries.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    begin = end + 1;
  }
  return request;
}

int explain(const Rules& rules, const Request& request, std::ostream& out) {
  const Level* const domain = rules.find_domain(request.domain);
  if (domain == nullptr) {
    out << "no file has the domain " << wire::quote(request.domain) << ": the request passes\n";
    return kExitNo;
  }
  std::vector<Entry> entries;
  std::string composite;
  // The levels one after the other: on which of them the way ends.
  for (const auto& [key, value] : request.entries) {
    entries.push_back({key, value});
    const std::string asked = wire::quote(std::string(key).append("=").append(value));
    const Descriptor* const found = server::envoy::find_descriptor(*domain, entries, composite);
    if (found == nullptr) {
      out << asked << " meets no descriptor on its level: the request passes\n";
      return kExitNo;
    }
    const char* const why = found->is_pattern ? "by its pattern" : found->takes_any_value ? "by its key" : "exactly";
    out << asked << " meets " << wire::quote(found->key) << ", " << why << "\n";
  }
  const auto match = server::envoy::match_one(*domain, entries, composite);
  if (match.rule == nullptr) {
    out << "there is no rate_limit where the request ends: it passes\n";
    return kExitNo;
  }
  out << match.rule->place << "  " << match.rule->path << "\n    " << meaning_of(*match.rule) << "\n";
  if (match.rule->limit) {
    out << "    limit " << match.rule->limit->name() << ", key " << wire::quote(match.key) << "\n";
  }
  return kExitDone;
}

Result<int> run_envoy_check(const Invocation& invocation, Console& console) {
  const auto files = TRY(server::envoy::read_rules_files(invocation.arguments[0]));
  const auto rules = TRY(Rules::read(files));
  if (const auto request = invocation.given("request")) {
    return explain(rules, TRY(read_request(*request)), console.out);
  }
  std::vector<const Descriptor*> way;
  for (const auto& [domain, level] : rules.domains()) print_level(level, way, console.out);
  console.out << "the rules are good: " << rules.count() << (rules.count() == 1 ? " rule" : " rules") << " in "
              << rules.domains().size() << (rules.domains().size() == 1 ? " domain" : " domains") << "\n";
  return kExitDone;
}

}  // namespace

Command envoy_check_command() {
  return {.name = "envoy check",
          .summary = "Check rules of envoyproxy/ratelimit, and tell what they mean here",
          .description = {"Reads what 'mete serve --envoy' would read, and prints each rule with its limit and what "
                          "tells its meters apart; or, with --request, which rule a request meets and why."},
          .arguments = {{.type = ArgumentType::kFile, .name = "PATH", .help = "A file of rules, or a folder of them"}},
          .options = {{.word = "request",
                       .type = ArgumentType::kText,
                       .name = "DOMAIN:KEY=VALUE,…",
                       .help = "The domain and the entries of one descriptor"}},
          .examples = {{"mete envoy check /etc/ratelimit", "Every rule of a folder"},
                       {"mete envoy check shop.yaml --request 'shop:tenant=acme,path=/login'",
                        "The rule that a "
                        "request meets"}},
          .statuses = {{kExitNo, "with --request: no rule limits the request"}},
          .run = run_envoy_check};
}

}  // namespace mete::cli
