// What tests of WatchedStore share: a log to read, and a store elsewhere that several servers use, and that can be
// wiped, copied and restored.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "serving/fickle_store.h"
#include "store/away/watched_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::store {

// Thread safety: none.
class LogText {
 public:
  ~LogText() { std::fclose(file_); }

  base::Log& log() { return log_; }
  // The lines since the last call.
  std::string read() {
    std::string text;
    std::fseek(file_, read_, SEEK_SET);
    for (int byte = std::fgetc(file_); byte != EOF; byte = std::fgetc(file_)) text += static_cast<char>(byte);
    read_ += static_cast<long>(text.size());
    return text;
  }

 private:
  std::FILE* const file_ = std::tmpfile();
  long read_ = 0;
  base::Log log_{::fileno(file_)};
};

// A store whose overrides can be copied, and set back to a copy: as a Redis of which an old dump is restored.
class CopiedStore final : public StoreOf<CopiedStore> {
 public:
  using Name = std::pair<std::string, std::string>;
  using Copy = std::map<Name, Amount>;

  explicit CopiedStore(const Options& options) : held_(options) {}

  [[nodiscard]] Instant now() const override { return held_.now(); }
  [[nodiscard]] Copy copy() const { return overrides_; }
  // Meters are left alone: what is looked at are overrides.
  void restore(const Copy& copy) {
    for (const auto& [name, amount] : overrides_) {
      if (!copy.contains(name)) held_.set_override({name.first, name.second}, std::nullopt).value();
    }
    for (const auto& [name, amount] : copy) held_.set_override({name.first, name.second}, amount).value();
    overrides_ = copy;
  }
  void wipe() {
    const auto names = held_.limits().value();
    for (const std::string& name : names) held_.drop(name).value();
    overrides_.clear();
  }

 private:
  friend class StoreOf<CopiedStore>;

  template <class What>
  Result<typename What::Answer> perform(const What& operation, Execution& execution) {
    auto answer = held_.run(operation, execution);
    if constexpr (std::is_same_v<What, core::Override>) {
      const Name name{operation.meter.limit, operation.meter.key};
      if (answer.has_value() && operation.amount) {
        overrides_[name] = *operation.amount;
      } else if (answer.has_value()) {
        overrides_.erase(name);
      }
    }
    return answer;
  }

  EmbeddedStore held_;
  Copy overrides_;
};

// One of several ways to a store that somebody else owns; on some of them nothing may be kept there.
class WayThere final : public StoreOf<WayThere> {
 public:
  WayThere(Store& store, const bool& may_keep) : store_(store), may_keep_(may_keep) {}
  [[nodiscard]] Instant now() const override { return store_.now(); }

 private:
  friend class StoreOf<WayThere>;

  template <class What>
  Result<typename What::Answer> perform(const What& operation, Execution& execution) {
    constexpr bool kKeeps = std::is_same_v<What, core::Override> || std::is_same_v<What, core::Define>;
    if (kKeeps && !may_keep_) return Error{ErrorCode::kInvalid, "it may not do that"};
    return store_.run(operation, execution);
  }

  Store& store_;
  const bool& may_keep_;
};

// A server's way to such a store, which can be cut; and what it logs.
struct WatchingServer {
  WatchingServer(Store& store, const Clock& with_clock) : shared(store), clock(with_clock) { start(); }

  // Also once more: a restart.
  void start(WhenWiped when_wiped = WhenWiped::kClosed) {
    watched.reset();
    auto way = std::make_unique<serving::FickleStore>(std::make_unique<WayThere>(shared, may_keep));
    way->mood = [this](std::string_view /*operation*/) {
      return is_away ? serving::Mood::kAway : serving::Mood::kWell;
    };
    watched = WatchedStore::open(
                  std::move(way),
                  {.name = "it", .when_wiped = when_wiped, .log = &log.log(), .clock = &clock, .has_thread = false})
                  .value();
  }
  Result<core::Verdict> take(std::string_view limit) {
    const Charge charge{limit, "k", 1};
    return watched->take({.charges = {&charge, 1}});
  }
  [[nodiscard]] bool refuses(std::string_view limit) {
    const auto answer = take(limit);
    return !answer.has_value() && answer.error().code == ErrorCode::kUnavailable;
  }
  [[nodiscard]] bool has_noticed() { return log.read().find("the store has lost its state") != std::string::npos; }

  Store& shared;
  const Clock& clock;
  LogText log;
  bool is_away = false;
  bool may_keep = true;
  std::unique_ptr<WatchedStore> watched;
};

}  // namespace mete::store
