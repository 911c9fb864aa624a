#include "cli/client/server_store.h"

#include <algorithm>

#include "base/time_text.h"
#include "base/try.h"
#include "core/answer_fields.h"
#include "core/limit_fields.h"
#include "server/limits/limit_fields.h"

namespace mete::cli {

namespace {

using Words = std::vector<std::string>;

Words take_words(const core::Take& take, Duration patience) {
  Words words = {"TAKE"};
  for (const Charge& charge : take.charges) {
    if (words.size() > 1) words.emplace_back("AND");
    words.insert(words.end(),
                 {std::string(charge.limit), std::string(charge.key), "COST", std::to_string(charge.cost)});
  }
  if (!take.id.empty()) words.insert(words.end(), {"ID", std::string(take.id)});
  if (take.mode == Mode::kForce) words.emplace_back("FORCE");
  if (take.mode == Mode::kUpTo) words.emplace_back("UPTO");
  words.insert(words.end(), {"WAIT", base::duration_text(patience)});
  return words;
}

// In front stands how much was taken, if as much as fits was asked for: who wants nothing of that is given it.
Result<core::Verdict> read_verdict(const wire::RespValue& reply, std::span<const Charge> charges) {
  ReplyReader reader(reply);
  core::Verdict verdict;
  describe_fields(verdict, [&]<class Value>(std::string_view /*name*/, Value& value, std::string_view /*meaning*/) {
    if constexpr (std::is_same_v<Value, bool>) {
      reader.read(verdict.taken);
    } else {
      reader.read(value);
    }
  });
  const std::vector<std::string> violated = reader.texts();
  TRY(reader.finish());
  verdict.is_allowed = verdict.taken > 0 || violated.empty();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool is_violated = std::find(violated.begin(), violated.end(), charges[i].limit) != violated.end();
    verdict.violated |= static_cast<std::uint16_t>((is_violated ? 1U : 0U) << i);
  }
  return verdict;
}

Words limit_set_words(const Limit& limit) {
  Words words = {"LIMIT", "SET", std::string(limit.name())};
  for (const auto& [name, value] : server::describe_limit(limit)) {
    const std::string_view word = std::ranges::find(core::kLimitFields, name, &core::LimitField::name)->word;
    if (!word.empty()) words.emplace_back(word);
    if (const auto* const number = std::get_if<std::int64_t>(&value)) words.push_back(std::to_string(*number));
    if (const auto* const text = std::get_if<std::string>(&value)) words.push_back(*text);
  }
  return words;
}

std::string encode(const Words& words) {
  return wire::encode_command(std::vector<std::string_view>(words.begin(), words.end()));
}

}  // namespace

Result<core::Verdict> ServerStore::perform(const core::Take& take) {
  if (patience_ == Duration() || take.mode == Mode::kPeek) return perform<core::Take>(take);
  const auto reply = TRY(client_.exchange(encode(take_words(take, patience_))));
  return read_verdict(reply, take.charges);
}

Result<void> ServerStore::perform(const core::Define& define) {
  return client_.exchange(encode(limit_set_words(define.limit))).map([](const wire::RespValue& /*ok*/) {});
}

Result<std::optional<Amount>> ServerStore::outstanding(std::string_view limit) {
  const auto reply = TRY(client_.exchange(encode({"LIMIT", "GET", std::string(limit)})));
  ReplyReader reader(reply);
  while (reader.has_more()) {
    const std::string name = reader.text();
    const wire::RespValue& value = reader.any();
    if (name == "outstanding") return value.integer;
  }
  return std::nullopt;
}

}  // namespace mete::cli
