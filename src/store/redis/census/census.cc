#include "store/redis/census/census.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/monotonic.h"
#include "base/try.h"
#include "core/reserved.h"
#include "store/redis/names.h"
#include "store/redis/replies.h"
#include "store/redis/scripts.h"

namespace mete::store::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPageKeys = "1000";
// A twentieth of the time, so that Redis hardly notices.
constexpr Duration kStretch = 20ms;
constexpr Duration kPause = 400ms;
constexpr std::size_t kHoldsMax = 1'000'000;  // that are told apart; what is more is not counted
constexpr std::size_t kReplyParts = 7;

std::uint64_t ns_of(Duration length) { return static_cast<std::uint64_t>(length.ns()); }

}  // namespace

Result<void> Census::go_on(const Present& present) {
  const std::uint64_t now_ns = base::monotonic_ns();
  if (!is_walking_) {
    if (began_ns_ != 0 && now_ns - began_ns_ < ns_of(every_)) return {};
    walk_ = Walk();
    is_walking_ = true;
    began_ns_ = now_ns;
  } else if (now_ns - went_on_ns_ < ns_of(kPause)) {
    return {};
  }
  while (is_walking_ && base::monotonic_ns() - now_ns < ns_of(kStretch)) {
    const bool is_last = TRY(count_page(present));
    if (is_last) finish();
  }
  went_on_ns_ = base::monotonic_ns();
  return {};
}

// True if there is no other.
Result<bool> Census::count_page(const Present& present) {
  const std::string epoch = std::to_string(present.epoch);
  const std::string now = std::to_string(present.now_us);
  const std::string_view words[] = {walk_.cursor, kPageKeys, epoch, now};
  Batch batch;
  batch.add_script({}, script(StoreScript::kCensus), 0, words);
  Replies replies;
  const auto nodes = TRY(link_.run_on_node(walk_.node, batch, replies));
  const auto page = TRY(unless_error(std::move(replies.front()), batch, 0));
  if (page.elements.size() != kReplyParts) return unexpected_reply("a page of the census");
  walk_.cursor = page.elements[0].text;
  walk_.meters += static_cast<std::size_t>(page.elements[1].integer);
  walk_.keys += static_cast<std::size_t>(page.elements[2].integer);
  walk_.ids += static_cast<std::size_t>(page.elements[3].integer);
  add_holds(page.elements[4], walk_.open);
  add_holds(page.elements[5], walk_.expired);
  for (const wire::RespValue& name : page.elements[6].elements) unsettled_.push_back(name.text);
  if (walk_.cursor != "0") return false;
  return ++walk_.node >= nodes;
}

void Census::add_holds(const wire::RespValue& names, Holds& holds) const {
  for (const wire::RespValue& name : names.elements) {
    const auto id = parse_id_key(name.text, link_.is_cluster());
    // A node that is gone is no worker that has died.
    if (!id || core::is_reserved_id(id->id) || holds.size() == kHoldsMax) continue;
    holds.insert(std::hash<std::string>()(id->id));
  }
}

void Census::finish() {
  const auto is_new = [this](std::uint64_t hold) { return !expired_before_.contains(hold); };
  if (has_walked_) expired_ever_ += static_cast<std::size_t>(std::ranges::count_if(walk_.expired, is_new));
  core::Statistics counts;
  counts.meters = walk_.meters;
  counts.keys = walk_.keys;
  counts.ids = walk_.ids;
  counts.open_holds = walk_.open.size();
  counts.orphans = walk_.expired.size();
  counts.expired_holds = expired_ever_;
  expired_before_ = std::move(walk_.expired);
  has_walked_ = true;
  is_walking_ = false;
  const std::lock_guard guard(mutex_);
  counts_ = counts;
}

core::Statistics Census::counts() const {
  const std::lock_guard guard(mutex_);
  return counts_;
}

}  // namespace mete::store::redis
