#include "store/redis/client/slots.h"

#include <utility>

#include "wire/text.h"

namespace mete::store::redis {

namespace {

using wire::RespType;
using wire::RespValue;

bool is_integer_up_to(const RespValue& value, std::int64_t last) {
  return value.type == RespType::kInteger && value.integer >= 0 && value.integer <= last;
}

// [first, last, [host, port, id, …] of the master, [host, port, id, …] of each replica]
bool is_range(const RespValue& value) {
  if (value.elements.size() < 3) return false;
  const RespValue& master = value.elements[2];
  return is_integer_up_to(value.elements[0], kSlots - 1) && is_integer_up_to(value.elements[1], kSlots - 1) &&
         value.elements[0].integer <= value.elements[1].integer && master.elements.size() >= 2 &&
         (master.elements[0].type == RespType::kBulk || master.elements[0].type == RespType::kNull) &&
         is_integer_up_to(master.elements[1], 65'535) && master.elements[1].integer != 0;
}

}  // namespace

Result<std::vector<SlotRange>> parse_slots(const RespValue& reply, const net::Address& asked) {
  std::vector<SlotRange> ranges;
  for (const RespValue& range : reply.elements) {
    if (!is_range(range)) {
      return tl::unexpected(Error{ErrorCode::kUnavailable, asked.to_string() +
                                                               " told of its Cluster's slots in a way "
                                                               "that cannot be read; is it Redis or Valkey?"});
    }
    const RespValue& master = range.elements[2];
    const std::string& host = master.elements[0].text;
    const bool is_same_host = host.empty() || host == "?";
    ranges.push_back({.first = static_cast<std::uint16_t>(range.elements[0].integer),
                      .last = static_cast<std::uint16_t>(range.elements[1].integer),
                      .master = {.host = is_same_host ? asked.host : host,
                                 .port = static_cast<std::uint16_t>(master.elements[1].integer),
                                 .path = {}}});
  }
  return ranges;
}

}  // namespace mete::store::redis
