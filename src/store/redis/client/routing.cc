#include "store/redis/client/routing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "wire/text.h"

namespace mete::store::redis {

namespace {

struct Code {
  std::string_view text;
  ReplyKind kind;
};
constexpr Code kCodes[] = {
    {"NOSCRIPT", ReplyKind::kNoScript},   {"LOADING", ReplyKind::kLater},
    {"BUSY", ReplyKind::kLater},          {"TRYAGAIN", ReplyKind::kLater},
    {"READONLY", ReplyKind::kNotHere},    {"MASTERDOWN", ReplyKind::kNotHere},
    {"CLUSTERDOWN", ReplyKind::kNotHere}, {"UNBLOCKED", ReplyKind::kNotHere},
    {"MOVED", ReplyKind::kMoved},         {"ASK", ReplyKind::kAsk},
};

// The words of "MOVED 3999 127.0.0.1:6381" behind the first.
std::optional<net::Address> parse_node(std::string_view text, const net::Address& asked) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const auto port = wire::parse_integer(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65'535) return std::nullopt;
  const bool is_same_host = host.empty() || host == "?";
  return net::Address{
      .host = is_same_host ? asked.host : std::string(host), .port = static_cast<std::uint16_t>(*port), .path = {}};
}

bool is_integer_up_to(const wire::RespValue& value, std::int64_t last) {
  return value.type == wire::RespType::kInteger && value.integer >= 0 && value.integer <= last;
}

// [first, last, [host, port, id, …] of the master, [host, port, id, …] of each replica]
bool is_range(const wire::RespValue& value) {
  if (value.elements.size() < 3) return false;
  const wire::RespValue& master = value.elements[2];
  return is_integer_up_to(value.elements[0], kSlots - 1) && is_integer_up_to(value.elements[1], kSlots - 1) &&
         value.elements[0].integer <= value.elements[1].integer && master.elements.size() >= 2 &&
         (master.elements[0].type == wire::RespType::kBulk || master.elements[0].type == wire::RespType::kNull) &&
         is_integer_up_to(master.elements[1], 65'535) && master.elements[1].integer != 0;
}

}  // namespace

ReplyKind kind_of(const wire::RespValue& reply) {
  if (!reply.is_error()) return ReplyKind::kAnswer;
  const std::string_view code = std::string_view(reply.text).substr(0, reply.text.find(' '));
  const auto* const found = std::ranges::find(kCodes, code, &Code::text);
  return found == std::end(kCodes) ? ReplyKind::kAnswer : found->kind;
}

std::optional<Redirection> redirection_of(const wire::RespValue& reply, const net::Address& asked) {
  std::string_view rest = reply.text;
  rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto slot = wire::parse_integer(rest.substr(0, space));
  auto address = parse_node(rest.substr(space + 1), asked);
  if (!slot || *slot < 0 || *slot >= std::int64_t{kSlots} || !address) return std::nullopt;
  return Redirection{.slot = static_cast<std::uint16_t>(*slot), .address = std::move(*address)};
}

Result<std::vector<SlotRange>> parse_slots(const wire::RespValue& reply, const net::Address& asked) {
  std::vector<SlotRange> ranges;
  for (const wire::RespValue& range : reply.elements) {
    if (!is_range(range)) {
      return base::unavailable(asked.to_string() +
                               " told of its Cluster's slots in a way "
                               "that cannot be read; is it Redis or Valkey?");
    }
    const wire::RespValue& master = range.elements[2];
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
