#include "cli/data/change_lines.h"

#include <cstring>
#include <optional>

#include "base/math.h"
#include "base/time_text.h"
#include "core/sliding.h"
#include "server/limits/limit_fields.h"

namespace mete::cli {

namespace {

using Fields = wire::NamedValues;

std::optional<core::State> state_of(Kind kind, std::string_view bytes) {
  core::State state;
  if (kind == Kind::kSliding) {
    const auto sliding = core::sliding::read_state(bytes);
    if (!sliding) return std::nullopt;
    state.sliding = *sliding;
    return state;
  }
  if (bytes.size() != core::state_size({kind, 1, 1, {}})) return std::nullopt;
  std::memcpy(&state, bytes.data(), bytes.size());
  return state;
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

struct Shape {
  Kind kind = Kind::kStock;
  Amount amount = 0;
};

// What a state says under a rule.
void add_state_fields(const Shape& shape, const core::State& state, Fields& fields) {
  switch (shape.kind) {
    case Kind::kBucket: {
      const auto full_at = base::div_ceil(state.bucket.full_at(), base::to_unsigned(shape.amount));
      fields.push_back({"full_at", base::time_text(Instant::from_ns(static_cast<std::uint64_t>(full_at)))});
      return;
    }
    case Kind::kWindow:
    case Kind::kCalendar:
      fields.push_back({"window", base::time_text(state.window.start)});
      fields.push_back({"used", state.window.used});
      return;
    case Kind::kSliding:
      fields.push_back({"newest", base::time_text(state.sliding.start)});
      fields.push_back({"used", state.sliding.used()});
      return;
    case Kind::kStock:
      fields.push_back({"used", state.stock.used});
      return;
  }
}

std::string parts_text(const engine::PartChanges& parts) {
  std::string text;
  for (const engine::PartChange& part : parts) {
    text += (text.empty() ? "" : ", ");
    if (!part.id.empty()) text += std::to_string(part.units) + " for " + std::string(part.id) + " ";
    text += "#" + std::to_string(part.serial) + "." + std::to_string(part.charge) + " until " +
            base::time_text(part.expires_at);
  }
  return text;
}

std::string charges_text(const engine::HoldRecord& hold) {
  std::string text;
  for (const engine::HoldCharge& charge : hold.charges) {
    text += (text.empty() ? "" : ", ") + charge.limit + " " + charge.key + " " + std::to_string(charge.units);
    if (!charge.is_backed) text += " (shadow)";
  }
  return text;
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

std::string ChangeLines::name_of(std::uint64_t generation) const {
  const auto found = limits_.find(generation);
  return found == limits_.end() ? "#" + std::to_string(generation) : found->second.limit.name();
}

Result<void> ChangeLines::visit(engine::MeterChange& change) {
  Fields fields = {{"limit", name_of(change.generation)}, {"key", std::string(change.key)}};
  add_state(change, fields);
  if (change.expired_until != Instant()) fields.push_back({"expired_until", base::time_text(change.expired_until)});
  if (!change.removed.empty()) fields.push_back({"released", parts_text(change.removed)});
  if (!change.added.empty()) fields.push_back({"held", parts_text(change.added)});
  on_line_({"meter", std::move(fields)});
  return {};
}

// The bytes themselves where their limit is not known, or has another rule by now.
void ChangeLines::add_state(const engine::MeterChange& change, Fields& fields) const {
  if (change.state.empty()) {
    fields.push_back({"gone", true});
    return;
  }
  const auto found = limits_.find(change.generation);
  const bool is_known = found != limits_.end() && found->second.is_even == change.is_even;
  const auto state = is_known ? state_of(found->second.limit.kind(), change.state) : std::nullopt;
  if (!state) {
    fields.push_back({"state", hex_text(change.state)});
    return;
  }
  const KnownLimit& known = found->second;
  const auto own = known.overrides.find(change.key);
  const Amount amount = own != known.overrides.end() ? own->second : known.limit.amount();
  add_state_fields({known.limit.kind(), amount}, *state, fields);
}

Result<void> ChangeLines::visit(engine::OperationChange& change) {
  Fields fields = {{"id", std::string(change.id)},
                   {"made_at", base::time_text(change.record.made_at)},
                   {"allowed", change.record.verdict.is_allowed}};
  if (change.hold) {
    const engine::HoldRecord& hold = *change.hold;
    fields.push_back({"hold", std::string(to_string(hold.state))});
    fields.push_back({"serial", number(hold.serial)});
    fields.push_back({"expires_at", base::time_text(hold.expires_at)});
    if (!hold.tag.empty()) fields.push_back({"tag", hold.tag});
    fields.push_back({"charges", charges_text(hold)});
  }
  on_line_({"operation", std::move(fields)});
  return {};
}

Result<void> ChangeLines::visit(engine::OverrideChange& change) {
  Fields fields = {{"limit", name_of(change.generation)}, {"key", std::string(change.key)}};
  const auto found = limits_.find(change.generation);
  if (change.amount) {
    fields.push_back({"amount", *change.amount});
    if (found != limits_.end()) found->second.overrides[std::string(change.key)] = *change.amount;
  } else {
    fields.push_back({"gone", true});
    if (found != limits_.end()) found->second.overrides.erase(std::string(change.key));
  }
  on_line_({"override", std::move(fields)});
  return {};
}

Result<void> ChangeLines::visit(engine::KeyChange& change) {
  Fields fields = {{"key", std::string(change.key)}};
  if (change.type == core::KeyType::kNone) {
    fields.push_back({"gone", true});
  } else if (change.type == core::KeyType::kCounter) {
    fields.push_back({"type", std::string("counter")});
    fields.push_back({"value", change.value});
    if (change.expires_at != Instant::max()) fields.push_back({"expires_at", base::time_text(change.expires_at)});
  } else {
    fields.push_back({"type", std::string(core::to_string(change.type))});
    fields.push_back({"amount", change.rule.amount});
    if (const auto state = state_of(change.rule.kind, change.state)) {
      add_state_fields({change.rule.kind, change.rule.amount}, *state, fields);
    }
  }
  on_line_({"key", std::move(fields)});
  return {};
}

Result<void> ChangeLines::visit(engine::LimitChange& change) {
  Fields fields = {{"limit", change.limit.name()}, {"generation", number(change.generation)}};
  for (wire::NamedValue& value : server::describe_limit(change.limit)) fields.push_back(std::move(value));
  const auto [known, is_new] = limits_.try_emplace(change.generation, KnownLimit{change.limit, change.is_even});
  if (!is_new) {
    known->second.limit = change.limit;
    known->second.is_even = change.is_even;
  }
  on_line_({"limit", std::move(fields)});
  return {};
}

Result<void> ChangeLines::visit(engine::DropChange& change) {
  on_line_({"drop", {{"limit", name_of(change.generation)}, {"generation", number(change.generation)}}});
  limits_.erase(change.generation);
  return {};
}

Result<void> ChangeLines::visit(engine::ClearChange& /*change*/) {
  on_line_({"clear", {}});
  return {};
}

Result<void> ChangeLines::visit(engine::NumbersChange& change) {
  on_line_(
      {"numbers", {{"next_generation", number(change.next_generation)}, {"next_serial", number(change.next_serial)}}});
  return {};
}

}  // namespace mete::cli
