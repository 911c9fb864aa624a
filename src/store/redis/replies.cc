#include "store/redis/replies.h"

#include <charconv>

#include "store/redis/client/routing.h"

namespace mete::store::redis {

namespace {

// A cursor is the number of the master and, in its lower bits, that master's own. There are no more masters than slots,
// which leaves the sign free: some clients read it as a signed number. Redis makes its cursors of a place in its table,
// and so they stay far below the limit.
constexpr int kMasterShift = 49;
static_assert(std::uint64_t{kSlots} << kMasterShift <= std::uint64_t{1} << 63);
constexpr std::uint64_t kOwnCursorMax = (std::uint64_t{1} << kMasterShift) - 1;

// Where to go on after a page: on the same master, on the next one, or nowhere.
std::uint64_t cursor_after(std::uint64_t master, std::uint64_t own_cursor, std::size_t masters) {
  if (own_cursor != 0) return master << kMasterShift | own_cursor;
  return master + 1 < masters ? (master + 1) << kMasterShift : 0;
}

}  // namespace

Result<wire::RespValue> unless_error(Result<wire::RespValue> reply) {
  if (!reply || !reply->is_error()) return reply;
  if (reply->text.starts_with("OOM ")) {
    return tl::make_unexpected(
        Error{ErrorCode::kOutOfMemory, "Redis has no memory left: raise its maxmemory; it says: " + reply->text});
  }
  return tl::make_unexpected(Error{ErrorCode::kUnavailable, "Redis refuses: " + reply->text});
}

Error unexpected_reply(std::string_view what) {
  return {ErrorCode::kUnavailable, "Redis has " + std::string(what) + ", which is not of Mete's making"};
}

Result<ScanPage> scan_masters(Link& link, std::string_view pattern, std::uint64_t cursor, std::size_t count) {
  const std::uint64_t master = cursor >> kMasterShift;
  Batch batch;
  batch.add({}, {"SCAN", std::to_string(cursor & kOwnCursorMax), "MATCH", pattern, "COUNT", std::to_string(count)});
  Replies replies;
  const auto masters = link.run_on_node(master, batch, replies);
  if (!masters) return tl::make_unexpected(masters.error());
  auto reply = unless_error(std::move(replies.front()));
  if (!reply) return tl::make_unexpected(reply.error());
  if (reply->elements.size() != 2) return tl::make_unexpected(unexpected_reply("a reply to SCAN"));
  const std::string& text = reply->elements[0].text;
  std::uint64_t own_cursor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), own_cursor);
  if (error != std::errc{} || end != text.data() + text.size() || own_cursor > kOwnCursorMax) {
    return tl::make_unexpected(unexpected_reply("the cursor " + text));
  }
  ScanPage page{.cursor = cursor_after(master, own_cursor, *masters)};
  for (wire::RespValue& name : reply->elements[1].elements) page.names.push_back(std::move(name.text));
  return page;
}

}  // namespace mete::store::redis
