#include "cli/import/import_target.h"

#include "cli/client/reply_reader.h"
#include "wire/text.h"

namespace mete::cli {

Result<ImportTarget> ImportTarget::open(Client client, const std::string& limit, CounterForm form) {
  const auto definition = find_limit(client, limit);
  if (!definition) return tl::unexpected(definition.error());
  if (!*definition) return tl::unexpected(no_target_limit(limit, form));
  ImportTarget target(std::move(client), target_limit(**definition));
  if (const auto fits = check_fits(target.limit_, form); !fits) return tl::unexpected(fits.error());
  return target;
}

Result<Month> ImportTarget::current_month() {
  const auto reply = client_.call({"TIME"});
  if (!reply) return tl::unexpected(reply.error());
  ReplyReader reader(*reply);
  const auto seconds = wire::parse_integer(reader.text());
  reader.text();  // microseconds
  if (!reader.finish() || !seconds || *seconds < 0) return tl::unexpected(unexpected_reply());
  return month_at(Instant::from_unix_seconds(static_cast<std::uint64_t>(*seconds)), limit_.zone);
}

Result<std::vector<Standing>> ImportTarget::standings(std::span<const Entry> entries) {
  std::vector<std::vector<std::string>> commands;
  for (const Entry& entry : entries) commands.push_back({"USAGE", limit_.name, entry.key});
  const auto replies = client_.call_all(commands);
  if (!replies) return tl::unexpected(replies.error());
  std::vector<Standing> standings;
  for (const wire::RespValue& reply : *replies) {
    ReplyReader reader(reply);
    Standing& standing = standings.emplace_back();
    standing.used = reader.integer();
    reader.integer();  // held
    reader.integer();  // remaining
    standing.amount = reader.integer();
    reader.integer();  // reset after
    if (const auto ok = reader.finish(); !ok) return tl::unexpected(ok.error());
  }
  return standings;
}

Result<void> ImportTarget::apply(std::span<const std::vector<std::string>> commands) {
  return client_.call_all(commands).map([](const auto&) { return Done{}; });
}

}  // namespace mete::cli
