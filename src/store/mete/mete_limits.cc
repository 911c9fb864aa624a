// Limits, which every server has, and overrides, which the server of their key has.

#include <algorithm>
#include <optional>

#include "base/monotonic.h"
#include "store/mete/mete_store.h"

namespace mete::store::servers {

using enum Call::Repeat;

namespace {

// One server has not done what the others may have.
Error only_at_the_others(const Error& error, const Server& server, std::string_view name) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {error.code, error.message + "; limit '" + std::string(name) + "' may be as it was at " +
                          server.address().to_string() + ": repeat this when it answers, which is safe"};
}

}  // namespace

Result<void> MeteStore::do_define(const Limit& limit) {
  Result<void> done;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask<Nothing>(*server, kIfLost, "STORE DEFINE", LimitMessage(limit));
    if (!there && done) done = tl::make_unexpected(only_at_the_others(there.error(), *server, limit.name()));
  }
  if (done) known_.learn(limit, base::monotonic_now());
  return done;
}

Result<bool> MeteStore::do_drop(std::string_view name) {
  known_.forget(name);
  Result<bool> was_there = false;
  for (const auto& server : group_->servers()) {
    auto reply = ServerGroup::ask_words(*server, kNever, {"LIMIT", "DEL", name});
    if (reply && reply->type != wire::RespType::kInteger) {
      reply = tl::make_unexpected(unexpected_reply("LIMIT DEL", server->address()));
    }
    if (!reply) {
      if (was_there) was_there = tl::make_unexpected(only_at_the_others(reply.error(), *server, name));
    } else if (was_there) {
      was_there = *was_there || reply->integer == 1;
    }
  }
  return was_there;
}

Result<std::optional<Limit>> MeteStore::do_limit(std::string_view name) {
  Result<std::optional<Limit>> found = std::nullopt;
  bool has_answer = false;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask<std::optional<LimitMessage>>(*server, kIfLost, "STORE LIMIT", name);
    if (there && *there) return (*there)->limit();
    if (there) {
      found = std::nullopt;
    } else if (!has_answer) {
      found = tl::make_unexpected(there.error());
    }
    has_answer = has_answer || there.has_value();
  }
  return found;
}

Result<std::vector<std::string>> MeteStore::do_limits() {
  std::vector<std::string> names;
  std::optional<Error> absence;
  std::size_t absent = 0;
  for (const auto& server : group_->servers()) {
    const auto there =
        read_strings(server->address(), "LIMIT LIST", ServerGroup::ask_words(*server, kIfLost, {"LIMIT", "LIST"}));
    if (there) {
      names.insert(names.end(), there->begin(), there->end());
    } else {
      absence = there.error();
      ++absent;
    }
  }
  // Each has them all: one is enough.
  if (absent == group_->servers().size()) return tl::make_unexpected(*absence);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<void> MeteStore::do_set_override(const MeterName& meter, std::optional<Amount> amount) {
  const std::string text = amount ? std::to_string(*amount) : "NONE";
  const auto reply =
      ServerGroup::ask_words(group_->home_of(meter.key), kIfLost, {"LIMIT", "OVERRIDE", meter.limit, meter.key, text});
  return reply.map([](const wire::RespValue&) { return Done{}; });
}

Result<std::optional<Amount>> MeteStore::do_override_of(const MeterName& meter) {
  return group_->ask<std::optional<Amount>>(group_->home_of(meter.key), kIfLost, "STORE OVERRIDE",
                                            MeterMessage{meter.limit, meter.key});
}

}  // namespace mete::store::servers
