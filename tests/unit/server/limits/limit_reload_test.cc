#include "server/limits/limit_reload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "net/side_by_side.h"
#include "net/signal.h"
#include "store/embedded/embedded_store.h"
#include "support/on_fibers.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

FileLimit at_line(int line, Limit limit) { return {std::move(limit), "mete.toml:" + std::to_string(line)}; }

std::unique_ptr<FileLimits> file_limits(std::unique_ptr<store::Store> store) {
  store::Store& own = *store;
  return *FileLimits::open(std::move(store), own);
}

class LimitReloadTest : public ::testing::Test {
 protected:
  Amount used(std::string_view limit) { return store_.usage({limit, "alice"})->used; }
  void take(std::string_view limit, Amount cost) {
    const Charge charges[] = {{limit, "alice", cost}};
    ASSERT_TRUE(store_.take({.charges = charges}).has_value());
  }

  std::unique_ptr<FileLimits> made_ = file_limits(std::make_unique<store::EmbeddedStore>(Options{}));
  FileLimits& store_ = *made_;
  const std::vector<FileLimit> first_ = {
      at_line(1, stock("storage").amount(10)), at_line(5, stock("seats").amount(3)),
      at_line(9, calendar("links").amount(20).per(Unit::kMonth).zone("Europe/Berlin"))};
};

TEST_F(LimitReloadTest, DefinesAtTheStartAndChangesNothingTheSecondTime) {
  const auto started = apply_limits(store_, {.previous = {}, .next = first_});
  ASSERT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(*started, (LimitChanges{.added = {"storage", "seats", "links"}, .changed = {}, .removed = {}}));
  EXPECT_EQ(*store_.limit("links"), first_[2].limit);
  EXPECT_EQ(*apply_limits(store_, {.previous = first_, .next = first_}), LimitChanges{});
}

TEST_F(LimitReloadTest, KeepsUsageAndDropsOnlyWhatStoodInTheFile) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  ASSERT_TRUE(store_.define(stock("by-command").amount(7)).has_value());
  take("storage", 4);

  const std::vector<FileLimit> next = {at_line(1, stock("storage").amount(20)),
                                       at_line(5, bucket("api").amount(1).per(1s))};
  const auto changes = apply_limits(store_, {.previous = first_, .next = next});
  ASSERT_TRUE(changes.has_value()) << changes.error().message;
  EXPECT_EQ(*changes, (LimitChanges{.added = {"api"}, .changed = {"storage"}, .removed = {"seats", "links"}}));
  EXPECT_EQ(used("storage"), 4);
  EXPECT_EQ(*store_.limits(), (std::vector<std::string>{"api", "by-command", "storage"}));
}

TEST_F(LimitReloadTest, ALimitThatLeavesTheFileComesBackWithWhatWasCounted) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  take("seats", 2);
  const Charge charges[] = {{"seats", "alice", 1}};
  ASSERT_TRUE(store_.hold({.charges = charges, .ttl = 1h, .id = "job"})->is_allowed);

  ASSERT_EQ(apply_limits(store_, {.previous = first_, .next = {}})->removed.size(), 3U);
  EXPECT_TRUE(store_.limits()->empty());
  EXPECT_FALSE(store_.limit("seats")->has_value());
  EXPECT_EQ(store_.take({.charges = charges}).error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(store_.hold({.charges = charges, .ttl = 1h, .id = "other"}).error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(store_.usage({"seats", "alice"}).error().code, ErrorCode::kNoLimit);
  Result<core::Verdict> answers[1];
  store_.take_each(charges, answers);
  EXPECT_EQ(answers[0].error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(store_.statistics().retired_limits, 3U);
  EXPECT_TRUE(store_.commit({.id = "job"}).has_value());  // who holds something can end that

  const auto back = apply_limits(store_, {.previous = {}, .next = first_});
  EXPECT_EQ(back->added.size(), 3U);
  EXPECT_EQ(used("seats"), 3);
  EXPECT_EQ(store_.statistics().retired_limits, 0U);
}

TEST_F(LimitReloadTest, ARetiredLimitComesBackByDefinitionAndGoesByDrop) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  take("seats", 2);
  take("storage", 2);
  ASSERT_TRUE(apply_limits(store_, {.previous = first_, .next = {}}).has_value());
  ASSERT_TRUE(store_.define(stock("seats").amount(5)).has_value());
  EXPECT_EQ(used("seats"), 2);
  EXPECT_TRUE(*store_.drop("storage"));
  EXPECT_FALSE(*store_.drop("storage"));
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  EXPECT_EQ(used("storage"), 0);
}

TEST_F(LimitReloadTest, WhatIsRetiredIsSoAtTheNextStart) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  take("seats", 2);
  ASSERT_TRUE(apply_limits(store_, {.previous = first_, .next = {}}).has_value());
  ASSERT_TRUE(store_.clear().has_value());
  // Another one on the same store is what a process sees that starts.
  class Borrowed final : public store::Store {
   public:
    explicit Borrowed(store::Store& store) : store_(store) {}
    [[nodiscard]] Instant now() const override { return store_.now(); }

   private:
    void execute(const store::Operation& operation, store::Execution& execution) override {
      pass_on(store_, operation, execution);
    }
    store::Store& store_;
  };
  const auto next = file_limits(std::make_unique<Borrowed>(store_.inside()));
  EXPECT_TRUE(next->limits()->empty());
  EXPECT_TRUE(next->is_retired("seats"));
}

TEST_F(LimitReloadTest, WhereTheConfigurationSaysSoALimitIsDropped) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  take("seats", 2);
  ASSERT_TRUE(apply_limits(store_, {.previous = first_, .next = {}, .drops_removed = true}).has_value());
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  EXPECT_EQ(used("seats"), 0);
}

TEST_F(LimitReloadTest, TooManyThatLeaveAtOnceChangeNothing) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  const std::vector<FileLimit> next = {at_line(1, stock("new").amount(20))};
  const auto refused = apply_limits(store_, {.previous = first_, .next = next, .removed_max = 2});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "the file lacks 3 limits that stood there before (\"storage\", \"seats\", \"links\"), and "
            "server.removed_limits_max is 2: if that is meant, say so by a larger one in the same file");
  EXPECT_EQ(*store_.limits(), (std::vector<std::string>{"links", "seats", "storage"}));
  EXPECT_TRUE(apply_limits(store_, {.previous = first_, .next = next, .removed_max = 3}).has_value());
}

TEST_F(LimitReloadTest, ALimitOfTheFileIsNotDroppedByACommand) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  const auto refused = store_.drop("seats");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "limit \"seats\" stands in mete.toml:5: the next start would define it again. Take it out of the file, "
            "and then delete it here to drop its usage as well");
  EXPECT_TRUE(store_.limit("seats")->has_value());
}

TEST_F(LimitReloadTest, TheFileGoesOverWhatACommandHasChanged) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  ASSERT_TRUE(store_.define(stock("seats").amount(99)).has_value());
  ASSERT_TRUE(store_.inside().drop("links").has_value());
  const auto changes = apply_limits(store_, {.previous = first_, .next = first_});
  EXPECT_EQ(*changes, (LimitChanges{.added = {"links"}, .changed = {"seats"}, .removed = {}}));
  EXPECT_EQ((*store_.limit("seats"))->amount(), 3);
}

TEST_F(LimitReloadTest, ABadLimitChangesNothingAndIsNamedWithItsLine) {
  ASSERT_TRUE(apply_limits(store_, {.previous = {}, .next = first_}).has_value());
  const struct {
    Limit bad;
    std::string_view reason;
  } rows[] = {
      {calendar("bad").amount(1).per(Unit::kDay).zone("Europe/Atlantis"), "Europe/Atlantis"},
      {calendar("bad").amount(1).per(Unit::kWeek).anchor(8), "anchor"},
      {stock("bad"), "amount"},
  };
  for (const auto& row : rows) {
    const std::vector<FileLimit> next = {at_line(1, stock("storage").amount(99)), at_line(7, row.bad)};
    const auto changes = apply_limits(store_, {.previous = first_, .next = next});
    ASSERT_FALSE(changes.has_value()) << row.reason;
    EXPECT_TRUE(changes.error().message.starts_with(R"(mete.toml:7: limit "bad": )")) << changes.error().message;
    EXPECT_NE(changes.error().message.find(row.reason), std::string::npos) << changes.error().message;
    EXPECT_EQ((*store_.limit("storage"))->amount(), 10);
    EXPECT_EQ(store_.limits()->size(), 3U);
    EXPECT_FALSE(check_limit(row.bad).has_value());
  }
}

TEST_F(LimitReloadTest, WithoutAStoreToDrawSharesFromThereAreNone) {
  const std::vector<FileLimit> next = {at_line(1, stock("storage").amount(99)),
                                       at_line(7, stock("shared").amount(1).scope(Scope::kEscrow))};
  const auto changes = apply_limits(store_, {.previous = {}, .next = next});
  EXPECT_EQ(changes.error().message,
            "mete.toml:7: limit \"shared\": scope: escrow needs shared and node in [escrow] of mete.toml: use node or "
            "shared");
  EXPECT_TRUE(store_.limits()->empty());
}

// Keeps definitions alone, and refuses those of one name. `crowd`: it is elsewhere, and answers nobody before so many
// look limits up, or define some: whoever asks for one after the other is late.
class RefusingStore final : public store::StoreOf<RefusingStore> {
 public:
  std::map<std::string, Limit, std::less<>> limits_now;
  std::string refused;
  std::size_t crowd = 0;
  std::size_t drop_crowd = 0;
  bool is_late = false;

  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override {
    return crowd == 0 ? std::nullopt : std::optional<store::RemoteStatus>(std::in_place);
  }

 private:
  friend class store::StoreOf<RefusingStore>;

  static Error unavailable() { return {ErrorCode::kUnavailable, "it is down"}; }
  std::unique_lock<std::mutex> wait_for_crowd(std::size_t& come, std::size_t wanted) {
    std::unique_lock lock(mutex_);
    if (++come >= wanted) changed_.notify_all();
    const bool has_come = changed_.wait(lock, patience_, [&] { return come >= wanted || is_late; });
    if (!has_come) is_late = true;
    return lock;
  }

  template <class What>
  Result<typename What::Answer> perform(const What& /*operation*/) {
    return unavailable();
  }
  Result<void> perform(const core::Define& define) {
    const auto lock = wait_for_crowd(definers_, crowd);
    if (define.limit.name() == refused) return unavailable();
    limits_now.insert_or_assign(define.limit.name(), define.limit);
    return {};
  }
  Result<bool> perform(const core::Drop& drop) {
    const auto lock = wait_for_crowd(droppers_, drop_crowd);
    if (drop.name == refused) return unavailable();
    return limits_now.erase(std::string(drop.name)) > 0;
  }
  Result<std::optional<Limit>> perform(const core::FindLimit& find) {
    const auto lock = wait_for_crowd(finders_, crowd);
    const auto found = limits_now.find(find.name);
    return found != limits_now.end() ? std::optional(found->second) : std::nullopt;
  }

  const net::Deadline patience_ = net::Deadline::in(20s);
  std::mutex mutex_;
  net::Signal changed_;
  std::size_t finders_ = 0;
  std::size_t definers_ = 0;
  std::size_t droppers_ = 0;
};

// A store far away, and more limits than are asked for at once.
struct FarAway {
  explicit FarAway(std::size_t crowd) {
    auto made = std::make_unique<RefusingStore>();
    inside = made.get();
    store = file_limits(std::move(made));
    inside->crowd = crowd;
    for (int i = 1; i <= 100; ++i) limits.push_back(at_line(i, stock("limit" + std::to_string(i)).amount(1)));
  }

  RefusingStore* inside;
  std::unique_ptr<FileLimits> store;
  std::vector<FileLimit> limits;
};

TEST(LimitReload, LimitsOfAStoreFarAwayAreLookedUpAndDefinedTogether) {
  FarAway far(64);
  support::on_fibers(1, [&](std::size_t) {
    const auto changes = apply_limits(*far.store, {.previous = {}, .next = far.limits});
    ASSERT_TRUE(changes.has_value()) << changes.error().message;
    EXPECT_EQ(changes->added.size(), 100U);
    EXPECT_EQ(changes->added.front(), "limit1");
    EXPECT_EQ(changes->added.back(), "limit100");
  });
  EXPECT_FALSE(far.inside->is_late);
  EXPECT_EQ(far.inside->limits_now.size(), 100U);
}

TEST(LimitReload, AtTheStartTooWhichIsOnAPlainThread) {
  FarAway far(net::kThreadsSideBySideMax);
  ASSERT_TRUE(apply_limits(*far.store, {.previous = {}, .next = far.limits}).has_value());
  EXPECT_FALSE(far.inside->is_late);
  EXPECT_EQ(far.inside->limits_now.size(), 100U);
}

TEST(LimitReload, LimitsThatLeaveTheFileLeaveTogether) {
  FarAway far(64);
  support::on_fibers(1, [&](std::size_t) {
    ASSERT_TRUE(apply_limits(*far.store, {.previous = {}, .next = far.limits}).has_value());
    far.inside->drop_crowd = 64;
    const auto changes = apply_limits(*far.store, {.previous = far.limits, .next = {}, .drops_removed = true});
    ASSERT_TRUE(changes.has_value()) << changes.error().message;
    EXPECT_EQ(changes->removed.size(), 100U);
    EXPECT_EQ(changes->removed.front(), "limit1");
    EXPECT_EQ(changes->removed.back(), "limit100");
  });
  EXPECT_FALSE(far.inside->is_late);
  EXPECT_TRUE(far.inside->limits_now.empty());
}

TEST(LimitReload, WhatWasDefinedTogetherIsPutBackTogether) {
  FarAway far(net::kThreadsSideBySideMax);
  far.inside->refused = "limit7";
  const auto changes = apply_limits(*far.store, {.previous = {}, .next = far.limits});
  ASSERT_FALSE(changes.has_value());
  EXPECT_EQ(changes.error().message, R"(mete.toml:7: limit "limit7": it is down)");
  EXPECT_TRUE(far.inside->limits_now.empty());
  EXPECT_FALSE(far.inside->is_late);
}

TEST(LimitReload, AStoreThatFailsInBetweenIsPutBack) {
  auto made = std::make_unique<RefusingStore>();
  RefusingStore& inside = *made;
  const auto held = file_limits(std::move(made));
  FileLimits& store = *held;
  const std::vector<FileLimit> first = {at_line(1, stock("a").amount(1)), at_line(2, stock("z").amount(1))};
  ASSERT_TRUE(apply_limits(store, {.previous = {}, .next = first}).has_value());
  const auto before = inside.limits_now;

  inside.refused = "down";
  const std::vector<FileLimit> next = {at_line(1, stock("a").amount(2)), at_line(2, stock("new").amount(1)),
                                       at_line(3, stock("down").amount(1))};
  const auto changes = apply_limits(store, {.previous = first, .next = next});
  ASSERT_FALSE(changes.has_value());
  EXPECT_EQ(changes.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(changes.error().message, R"(mete.toml:3: limit "down": it is down)");
  EXPECT_EQ(inside.limits_now, before);
}

}  // namespace
}  // namespace mete::server
