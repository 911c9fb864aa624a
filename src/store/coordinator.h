// Coordinator: an operation whose charges have several homes, which know nothing of each other. All of it happens, or
// nothing.
//
//     recall   the first home is the one that decides: what it remembers of the operation's id holds
//     hold     every other home sets its part aside, for half a minute
//     take     the first home takes its part, and remembers the answer under the id: now it is decided
//     commit   the other parts; or cancel them, where it is denied
//
// Nothing is ever over a limit. Others may see parts that are held although the whole is denied in the end, and some
// parts committed before the rest.
//
// Whoever dies on the way leaves parts that expire by themselves. Whoever gets kUnavailable does not know what was
// decided; so the parts of an operation with an id stay set aside, and the same operation again goes on with them. When
// it comes too late for that, because they have expired, then either nothing was decided and they are set aside anew;
// or the whole was admitted, and they are charged as what has happened.
//
// A part that is set aside has an id made of the operation's. That of a hold which is over is not used again: its
// answer would be told again, although nothing is held. The next one has another number.
//
// Thread safety: none; one for each operation. It refers to its homes and to what its parts name.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operations.h"
#include "core/verdict.h"

namespace mete::store {

// Where some charges are decided in one step: a store, or a place in one.
class Home {
 public:
  Home() = default;
  Home(const Home&) = default;
  Home& operator=(const Home&) = default;
  virtual ~Home() = default;
  virtual Result<core::Verdict> run(const core::Take& take) = 0;
  virtual Result<std::optional<core::Verdict>> run(const core::Recall& recall) = 0;
  virtual Result<Settlement> run(const core::Give& give) = 0;
  virtual Result<core::Verdict> run(const core::Hold& hold) = 0;
  virtual Result<Settlement> run(const core::Commit& commit) = 0;
  virtual Result<Settlement> run(const core::Cancel& cancel) = 0;
  virtual Result<Duration> run(const core::Extend& extend) = 0;
  virtual Result<std::optional<HoldInfo>> run(const core::FindHold& find) = 0;
};

// A home of a function that carries out any of these operations.
template <class Ask>
class HomeOf final : public Home {
 public:
  explicit HomeOf(Ask ask) : ask_(std::move(ask)) {}
  Result<core::Verdict> run(const core::Take& take) override { return ask_(take); }
  Result<std::optional<core::Verdict>> run(const core::Recall& recall) override { return ask_(recall); }
  Result<Settlement> run(const core::Give& give) override { return ask_(give); }
  Result<core::Verdict> run(const core::Hold& hold) override { return ask_(hold); }
  Result<Settlement> run(const core::Commit& commit) override { return ask_(commit); }
  Result<Settlement> run(const core::Cancel& cancel) override { return ask_(cancel); }
  Result<Duration> run(const core::Extend& extend) override { return ask_(extend); }
  Result<std::optional<HoldInfo>> run(const core::FindHold& find) override { return ask_(find); }

 private:
  Ask ask_;
};

// The charges of an operation that have one home.
struct HomePart {
  Home* home = nullptr;
  std::vector<Charge> charges = {};
  std::vector<std::size_t> places = {};  // of the charges in the operation
  bool is_shadow = false;                // none of its limits denies anything

  void add(const Charge& charge, std::size_t place) {
    charges.push_back(charge);
    places.push_back(place);
  }
};

// The answer to some charges of an operation, told of their places in it.
struct PartVerdict {
  core::Verdict verdict;
  bool is_shadow = false;
  std::size_t place = 0;  // of the first
};

core::Verdict placed(core::Verdict verdict, std::span<const std::size_t> places);
// The part with the least remaining stands for the whole, the first such; limits that deny nothing say nothing beside
// others.
core::Verdict merged(std::span<const PartVerdict> parts);

class Coordinator {
 public:
  // How long a part is set aside.
  static constexpr Duration kMoment = std::chrono::seconds(30);

  // The first part decides.
  explicit Coordinator(std::span<const HomePart> parts);

  Result<core::Verdict> take(const core::Take& take);
  Result<std::optional<core::Verdict>> recall(const core::Take& take);
  Result<Settlement> give(const core::Give& give);

 private:
  // A part that is set aside.
  struct Reserved {
    std::string id;
    core::Verdict verdict;
    bool is_settled = false;  // an attempt before this one has committed it
  };

  Result<core::Verdict> look(const core::Take& take, std::size_t known, const core::Verdict& verdict);
  [[nodiscard]] std::uint16_t free_places_on_violated_meters(const core::Verdict& verdict) const;
  // What cannot be undone is not begun if one of the limits is unknown, or a home is away.
  Result<void> check();
  Result<core::Verdict> force(const core::Take& take);
  Result<core::Verdict> decide(const core::Take& take, std::optional<core::Verdict> decided);
  Result<Reserved> reserve(const HomePart& part, const core::Take& take, bool is_decided);
  Result<core::Verdict> commit(const HomePart& part, const core::Take& take, const Reserved& reserved);
  void release(std::span<const Reserved> reserved);
  void release_earlier(const core::Take& take);

  HomePart decider_;
  std::vector<HomePart> others_;  // whose charges all have a cost
  std::vector<HomePart> free_;    // whose charges all have none: they are only looked at
};

}  // namespace mete::store
