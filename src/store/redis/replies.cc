#include "store/redis/replies.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/errors.h"
#include "base/hash.h"
#include "base/try.h"
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

constexpr std::string_view kNotOurs = "which is not of Mete's making";

// Whatever somebody has put there: so much of it is told.
std::string shortened(std::string_view text) {
  constexpr std::size_t kToldBytesMax = 200;
  if (text.size() <= kToldBytesMax) return std::string(text);
  return std::string(text.substr(0, kToldBytesMax)) + "…";
}

template <class Number>
Result<Number> read_number(const wire::RespValue& value) {
  Number number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, number);
  if (read.ec == std::errc{} && read.ptr == end) return number;
  return unexpected_reply("'" + shortened(value.text) + "' where a number should be");
}

}  // namespace

Result<wire::RespValue> unless_error(Result<wire::RespValue> reply, const Batch& batch, std::size_t index) {
  if (!reply || !reply->is_error()) return reply;
  std::string said = shortened(reply->text);
  if (said.starts_with("OOM ")) {
    return base::out_of_memory("Redis has no memory left: raise its maxmemory; it says: " + said);
  }
  if (const std::size_t end = said.find(kNotOurs); end != std::string::npos) {
    said.resize(end + kNotOurs.size());  // Of lua/foreign.lua, which has named the record itself.
    return base::unavailable("Redis refuses: " + said);
  }
  const std::string keys = shortened(batch.keys(index));
  return base::unavailable("Redis refuses: " + said + (keys.empty() ? "" : ", for " + keys));
}

Error unexpected_reply(std::string_view what) {
  return base::unavailable("Redis has " + shortened(what) + ", " + std::string(kNotOurs));
}

Error unreadable_record(std::string_view name, std::string_view text) {
  return base::unavailable("Redis has '" + shortened(text) + "' in " + std::string(name) + ", " +
                           std::string(kNotOurs));
}

const wire::RespValue& element(const wire::RespValue& reply, std::size_t index) {
  static const wire::RespValue kNil;
  return index < reply.elements.size() ? reply.elements[index] : kNil;
}

Result<std::uint64_t> read_natural(const wire::RespValue& value) { return read_number<std::uint64_t>(value); }

Result<Amount> read_units(const wire::RespValue& value) {
  const auto units = TRY(read_number<Amount>(value));
  if (units < 0 || units > kAmountMax) return unexpected_reply("'" + value.text + "' where an amount should be");
  return units;
}

Result<ScanPage> scan_masters(Link& link, std::string_view pattern, std::uint64_t cursor, std::size_t count) {
  const std::uint64_t master = cursor >> kMasterShift;
  Batch batch;
  batch.add({}, {"SCAN", std::to_string(cursor & kOwnCursorMax), "MATCH", pattern, "COUNT", std::to_string(count)});
  Replies replies;
  const auto masters = TRY(link.run_on_node(master, batch, replies));
  auto reply = TRY(unless_error(std::move(replies.front()), batch, 0));
  if (reply.elements.size() != 2) return unexpected_reply("a reply to SCAN");
  const auto own_cursor = TRY(read_number<std::uint64_t>(reply.elements[0]));
  if (own_cursor > kOwnCursorMax) return unexpected_reply("the cursor " + reply.elements[0].text);
  ScanPage page{.cursor = cursor_after(master, own_cursor, masters)};
  for (wire::RespValue& name : reply.elements[1].elements) page.names.push_back(std::move(name.text));
  return page;
}

std::string fingerprint_of(const Parameters& parameters) {
  // The same in every process: an operation may be repeated by another one. Two numbers, so that no two operations
  // share them by chance.
  std::string text;
  for (const std::uint64_t seed : {std::uint64_t{0x6d657465}, std::uint64_t{0x72656469}}) {
    const std::array<char, 2> kind = {parameters.kind, parameters.mode};
    std::uint64_t hash = base::hash_bytes({kind.data(), kind.size()}, seed);
    for (const Charge& charge : parameters.charges) {
      hash = base::hash_bytes(charge.limit, hash);
      hash = base::hash_bytes(charge.key, hash);
      hash = base::hash_number(static_cast<std::uint64_t>(charge.cost), hash);
    }
    hash = base::hash_number(static_cast<std::uint64_t>(parameters.ttl.ns()), hash);
    hash = base::hash_bytes(parameters.tag, hash);
    text += std::to_string(hash) + (text.empty() ? "." : "");
  }
  return text;
}

core::Verdict in_clock_steps(core::Verdict verdict) {
  constexpr std::int64_t kStepNs = 1000;
  const std::int64_t over = verdict.retry_after.ns() % kStepNs;
  if (!verdict.retry_after.is_never() && over > 0) {
    verdict.retry_after = verdict.retry_after + Duration::from_ns(kStepNs - over);
  }
  return verdict;
}

bool is_problem(std::string_view text) {
  constexpr std::array<std::string_view, 5> kProblems = {"stale", "old", "slot", "window", "large"};
  return std::find(kProblems.begin(), kProblems.end(), text) != kProblems.end();
}

bool stands_in_the_way(const wire::RespValue& reply) {
  return !reply.elements.empty() && is_problem(reply.elements[0].text);
}

}  // namespace mete::store::redis
