// INFO, CLUSTER, CONFIG, FLUSHALL, TIME, MONITOR, SLOWLOG, TOP.
#include <fmt/format.h>

#include "escrow/nodes/retirement.h"
#include "server/configuration/redis_settings.h"
#include "server/doors/resp/commands/commands.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/doors/resp/resp_session.h"
#include "server/observation/readings.h"
#include "server/running/service.h"
#include "wire/text.h"

namespace mete::server::commands {

namespace {

constexpr std::optional<std::int64_t> kSlowCommandsShown = 10;
constexpr std::int64_t kTopShown = 10;
constexpr std::int64_t kTopShownMax = 100;

// Redis's words, by which clients know that they need not look for its slots, and what to do.
void refuse_without_cluster(CommandContext& context) {
  context.reply.error(
      "ERR", "This instance has cluster support disabled: set escrow.shared and escrow.node to make it a node");
}

}  // namespace

void info(CommandContext& context) { context.reply.verbatim(info_text(context.service, context.arguments.rest())); }

void cluster_info(CommandContext& context) { context.reply.verbatim(cluster_text(context.service.read_cluster())); }

void cluster_nodes(CommandContext& context) {
  const auto status = context.service.read_cluster();
  if (!status) return refuse_without_cluster(context);
  context.reply.array(status->nodes.size());
  for (const escrow::NodeStatus& node : status->nodes) {
    const auto fields = describe_node(node);
    context.reply.map(fields.size());
    write_fields(context.reply, fields);
  }
}

void cluster_retire(CommandContext& context) {
  if (!context.service.retire_node) return refuse_without_cluster(context);
  const auto retired = context.service.retire_node(context.arguments.text(0));
  if (has_failed(context, retired)) return;
  context.reply.array(3);
  context.reply.integer(static_cast<std::int64_t>(retired->lots));
  context.reply.integer(retired->units);
  context.reply.integer(static_cast<std::int64_t>(retired->left));
}

void config_get(CommandContext& context) {
  struct Named {
    std::string_view name;
    std::string value;
  };
  std::vector<Named> found;
  const auto patterns = context.arguments.rest();
  const auto is_asked = [&](std::string_view name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](std::string_view pattern) { return wire::matches_glob(pattern, name); });
  };
  {
    const std::lock_guard lock(context.service.config_mutex);
    for (const ConfigValue& value : list_values(context.service.config)) {
      if (is_asked(value.name)) found.push_back({value.name, value.value});
    }
    for (const RedisSetting& setting : redis_settings()) {
      if (is_asked(setting.name)) found.push_back({setting.name, setting.show(context.service.config)});
    }
  }
  context.reply.map(found.size());
  for (const Named& setting : found) {
    context.reply.bulk(setting.name);
    context.reply.bulk(setting.value);
  }
}

void config_set(CommandContext& context) {
  const auto words = context.arguments.rest();
  if (words.size() % 2 != 0) {
    context.reply.error("ERR", "wrong number of arguments for 'config|set' command");
    return;
  }
  const std::lock_guard lock(context.service.config_mutex);
  Config changed = context.service.config;
  for (std::size_t index = 0; index < words.size(); index += 2) {
    for (std::size_t other = 0; other < index; other += 2) {
      if (!wire::equals_ignoring_case(words[other], words[index])) continue;
      context.reply.error("ERR", fmt::format("{} stands there twice", wire::quote(words[index])));
      return;
    }
    if (has_failed(context, set_while_running(changed, words[index], words[index + 1]))) return;
  }
  context.service.config = std::move(changed);
  context.service.apply_config();
  context.reply.ok();
}

void config_resetstat(CommandContext& context) {
  reset_totals(context.service);
  context.reply.ok();
}

void flushall(CommandContext& context) {
  if (has_failed(context, context.store.clear())) return;
  context.reply.ok();
}

void time(CommandContext& context) {
  const std::uint64_t us = context.store.now().ns() / 1000;
  context.reply.array(2);
  context.reply.bulk(std::to_string(us / 1'000'000));
  context.reply.bulk(std::to_string(us % 1'000'000));
}

void monitor(CommandContext& context) {
  context.reply.ok();
  context.service.clients.set_monitor(context.session->client(), true);
}

void slowlog_get(CommandContext& context) {
  const auto count = context.arguments.has(0) ? wire::parse_integer(context.arguments.text(0)) : kSlowCommandsShown;
  if (!count || *count < -1) {
    context.reply.error("ERR", "count should be greater than or equal to -1");
    return;
  }
  const auto entries = context.service.slow_log.latest(static_cast<std::size_t>(*count));
  context.reply.array(entries.size());
  for (const SlowCommand& entry : entries) {
    context.reply.array(6);
    context.reply.integer(static_cast<std::int64_t>(entry.id));
    context.reply.integer(static_cast<std::int64_t>(entry.unix_seconds));
    context.reply.integer(entry.microseconds);
    context.reply.array(entry.words.size());
    for (const std::string& word : entry.words) context.reply.bulk(word);
    context.reply.bulk(entry.client_address);
    context.reply.bulk(entry.client_name);
  }
}

void slowlog_len(CommandContext& context) {
  context.reply.integer(static_cast<std::int64_t>(context.service.slow_log.size()));
}

void slowlog_reset(CommandContext& context) {
  context.service.slow_log.reset();
  context.reply.ok();
}

void top(CommandContext& context) {
  const std::int64_t count = context.arguments.integer_or(0, kTopShown);
  if (count < 1 || count > kTopShownMax) {
    context.reply.error("ERR", fmt::format("COUNT must be from 1 to {}", kTopShownMax));
    return;
  }
  const auto holds = context.store.oldest_holds(static_cast<std::size_t>(count));
  if (has_failed(context, holds)) return;
  const auto keys = busiest_keys(context.service, static_cast<std::size_t>(count));
  context.reply.map(2);
  context.reply.bulk("keys");
  context.reply.array(keys.size());
  for (const BusyKey& key : keys) {
    context.reply.array(4);
    context.reply.bulk(key.limit);
    context.reply.bulk(key.key);
    context.reply.integer(static_cast<std::int64_t>(key.decisions));
    context.reply.integer(static_cast<std::int64_t>(key.denied));
  }
  context.reply.bulk("holds");
  context.reply.array(holds->size());
  for (const HoldInfo& hold : *holds) {
    context.reply.array(5);
    context.reply.bulk(hold.id);
    context.reply.bulk(hold.charges.empty() ? "" : hold.charges[0].limit);
    context.reply.bulk(hold.charges.empty() ? "" : hold.charges[0].key);
    context.reply.integer(hold.age.ms());
    context.reply.integer(hold.expires_in.ms());
  }
}

}  // namespace mete::server::commands
