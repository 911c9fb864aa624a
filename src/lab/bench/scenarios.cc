#include "lab/bench/scenarios.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/try.h"
#include "wire/text.h"

namespace mete::lab {

namespace {

// Amounts are so large that every take is allowed: a denial writes nothing, and so would be measured too cheap. Periods
// are so long that nothing comes back meanwhile: a meter that is full again is forgotten, and would be made anew.
constexpr std::string_view kSetBucket = "LIMIT SET bench-bucket BUCKET 1000000 PER 30d";
constexpr std::string_view kSetWindow = "LIMIT SET bench-window WINDOW 1000000 PER 30d";
constexpr std::string_view kSetCalendar = "LIMIT SET bench-calendar CALENDAR 1000000 PER MONTH ZONE Europe/Berlin";
constexpr std::string_view kSetStock = "LIMIT SET bench-stock STOCK 1000000000";

// A token bucket as it is usually written for Redis, for comparison: state in a hash, refilled by the time that has
// passed, expiring when it would be full again. KEYS: bucket. ARGV: capacity, period in microseconds, cost.
constexpr std::string_view kLuaBucket = R"(
local capacity = tonumber(ARGV[1])
local period = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local state = redis.call('HMGET', KEYS[1], 'tokens', 'refilled_at')
local tokens = tonumber(state[1])
local refilled_at = tonumber(state[2])
if tokens == nil then
  tokens = capacity
  refilled_at = now
end
local elapsed = math.max(0, now - refilled_at)
tokens = math.min(capacity, tokens + math.floor(elapsed * capacity / period))
if tokens < cost then
  return {0, tokens, math.ceil((cost - tokens) * period / capacity)}
end
tokens = tokens - cost
redis.call('HSET', KEYS[1], 'tokens', tokens, 'refilled_at', now)
redis.call('EXPIRE', KEYS[1], math.ceil(period / 1000000))
return {1, tokens, 0}
)";

const std::vector<Scenario>& table() {
  static const std::vector<Scenario> kTable = {
      {.name = "ping", .help = "PING: what a request costs that does nothing", .commands = {"PING"}},
      {.name = "incr", .help = "INCR of a counter", .commands = {"INCR key:{key}"}},
      {.name = "lua-bucket",
       .help = "a token bucket as a Lua script, by EVALSHA (for Redis and Valkey)",
       .script = kLuaBucket,
       .commands = {"EVALSHA {script} 1 bucket:{key} 1000000 2592000000000 1"},
       .denial = 0},
      {.name = "take-bucket",
       .help = "TAKE from a bucket",
       .setup = {kSetBucket},
       .commands = {"TAKE bench-bucket key:{key}"},
       .denial = 0},
      {.name = "take-window",
       .help = "TAKE from a fixed window",
       .setup = {kSetWindow},
       .commands = {"TAKE bench-window key:{key}"},
       .denial = 0},
      {.name = "take-calendar",
       .help = "TAKE from a month of Europe/Berlin",
       .setup = {kSetCalendar},
       .commands = {"TAKE bench-calendar key:{key}"},
       .denial = 0},
      {.name = "take-stock",
       .help = "TAKE from a stock",
       .setup = {kSetStock},
       .commands = {"TAKE bench-stock key:{key}"},
       .denial = 0},
      {.name = "take-and",
       .help = "TAKE from a bucket and a stock, all or nothing",
       .setup = {kSetBucket, kSetStock},
       .commands = {"TAKE bench-bucket key:{key} AND bench-stock tenant:{key}"},
       .denial = 0},
      {.name = "cl-throttle",
       .help = "CL.THROTTLE, as redis-cell has it",
       .commands = {"CL.THROTTLE throttle:{key} 999999 1000000 2592000 1"},
       .denial = 1},
      {.name = "increx",
       .help = "INCREX of a counter with a bound",
       .commands = {"INCREX key:{key} UBOUND 1000000000"}},
      {.name = "hold",
       .help = "HOLD of a stock, with an id that the server makes",
       .setup = {kSetStock},
       .commands = {"HOLD bench-stock key:{key} TTL 60s"},
       .denial = 0},
      {.name = "hold-commit",
       .help = "HOLD of a stock, then its COMMIT: two requests",
       .setup = {kSetStock},
       .commands = {"HOLD bench-stock key:{key} TTL 60s ID {seq}", "COMMIT {seq}"},
       .denial = 0},
      {.name = "http-take",
       .help = "POST /v1/take from a bucket, over HTTP with keep-alive",
       .setup = {kSetBucket},
       .commands = {R"({"charges":[{"limit":"bench-bucket","key":"key:{key}","cost":1}]})"},
       .http_path = "/v1/take",
       .denial = 0},
  };
  return kTable;
}

std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(' '), command.size());
    if (end > 0) words.emplace_back(command.substr(0, end));
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return words;
}

// The reply's text; an error reply is an Error that says which command it was.
Result<std::string> set_up(cli::Connection& control, std::span<const std::string_view> words) {
  const auto reply = TRY(control.call(words));
  if (!reply.is_error()) return reply.text;
  std::string command;
  for (const std::string_view word : words) command += (command.empty() ? "" : " ") + std::string(word.substr(0, 40));
  return base::invalid("the server refused to be set up: " + command + ": " + reply.text +
                       "; is this the right server for the scenario?");
}

// For a command of the user's own: which integer its reply of a denial begins with.
std::optional<std::int64_t> denial_of(std::string_view command) {
  struct Row {
    std::string_view command;
    std::int64_t denial;
  };
  static constexpr std::array<Row, 6> kRows = {
      {{"TAKE", 0}, {"PEEK", 0}, {"HOLD", 0}, {"THROTTLE", 0}, {"CL.THROTTLE", 1}, {"GCRA", 1}}};
  for (const Row& row : kRows) {
    if (wire::equals_ignoring_case(row.command, command)) return row.denial;
  }
  return std::nullopt;
}

Result<Request> make_http_request(const BenchOptions& options, const Scenario& scenario) {
  const auto host = TRY(address_of_url(options.http));
  const Request body = make_request(scenario.commands[0], options.keys);
  std::string head = "POST " + std::string(scenario.http_path) + " HTTP/1.1\r\nHost: " + host +
                     "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.bytes.size()) +
                     "\r\n";
  if (!options.server.password.empty()) head += "Authorization: Bearer " + options.server.password + "\r\n";
  return make_request(head + "\r\n" + std::string(scenario.commands[0]), options.keys);
}

Result<Workload> prepare_scenario(const BenchOptions& options, const Scenario& scenario, cli::Connection& control) {
  Workload workload = {.name = options.scenario, .denial = scenario.denial, .is_http = !scenario.http_path.empty()};
  for (const std::string_view command : scenario.setup) {
    const std::vector<std::string> words = words_of(command);
    const std::vector<std::string_view> views(words.begin(), words.end());
    TRY(set_up(control, views));
  }
  std::string script_id;
  if (!scenario.script.empty()) {
    script_id = TRY(set_up(control, std::array<std::string_view, 3>{"SCRIPT", "LOAD", scenario.script}));
  }
  if (workload.is_http) {
    auto request = TRY(make_http_request(options, scenario));
    workload.steps.push_back(std::move(request));
    return workload;
  }
  for (const std::string_view command : scenario.commands) {
    std::vector<std::string> words = words_of(command);
    std::replace(words.begin(), words.end(), std::string("{script}"), script_id);
    workload.steps.push_back(make_command(words, options.keys));
  }
  return workload;
}

}  // namespace

std::span<const Scenario> scenarios() { return table(); }

Result<Workload> prepare_workload(const BenchOptions& options, cli::Connection& control) {
  if (!options.command.empty()) {
    Workload workload = {.name = options.command[0], .denial = denial_of(options.command[0])};
    workload.steps.push_back(make_command(options.command, options.keys));
    return workload;
  }
  for (const Scenario& scenario : scenarios()) {
    if (scenario.name == options.scenario) return prepare_scenario(options, scenario, control);
  }
  std::string names;
  for (const Scenario& scenario : scenarios()) names += (names.empty() ? "" : ", ") + std::string(scenario.name);
  return base::invalid("no scenario " + wire::quote(options.scenario) + "; there are: " + names);
}

Result<std::string> address_of_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view address = url;
  if (address.starts_with(kScheme)) address.remove_prefix(kScheme.size());
  if (address.ends_with('/')) address.remove_suffix(1);
  if (url.starts_with(kScheme) && address.find('/') == std::string_view::npos && net::parse_address(address)) {
    return std::string(address);
  }
  return base::invalid(wire::quote(url) + " is not the URL of an HTTP server; write it as http://127.0.0.1:8380");
}

}  // namespace mete::lab
