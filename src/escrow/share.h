// Share: one node's part of one meter: the lots it holds, the draw under way, and what it knows of the whole. Pure:
// time is an argument, and what is wanted of the shared store comes out as orders.
//
//     take ── enough in the lots? ── yes ── spent; below half of a batch, the next draw is wanted
//                │ no
//                ├─ a draw is under way: wait for it
//                ├─ the shared store has just denied as little: denied
//                └─ a draw of what is needed, or of a batch if that is more
//
// A bucket's take that its lots do not cover is decided by the shared store itself: what is drawn of a bucket leaks at
// once, so the last unit of a lot could never be spent. Its lots are all drawn ahead. Of a sliding window none is
// drawn: every take is decided there.
//
// A batch is a tenth of the limit at first, then what is asked for in a second, and never more than a quarter of what
// is left of the whole: so batches shrink, down to 1, as the limit is used up, and the last units go to who asks for
// them. Who spends more than that in two round trips gets so much: it is gone before it could be missed elsewhere.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "escrow/demand.h"
#include "escrow/lot.h"
#include "escrow/statistics.h"
#include "escrow/terms.h"

namespace mete::escrow {

// The ids of a node's draws: random, because whoever knows the id of a hold can end it.
class DrawNames {
 public:
  using MakeId = std::function<std::string()>;  // 128 random bits as text

  explicit DrawNames(MakeId make_id) : make_id_(std::move(make_id)) {}

  [[nodiscard]] std::string next(std::string_view key) const;

 private:
  const MakeId make_id_;
};

// What a take has spent of which lot: only there can it be undone.
struct SpentPart {
  std::uint64_t lot = 0;
  Amount units = 0;
};
using Spent = boost::container::small_vector<SpentPart, 2>;

// What has to be written into the book of lots before a take is answered.
struct Booking {
  std::string id;
  std::uint64_t lot = 0;
  Amount units = 0;  // below 0: of what was undone
};

class alignas(64) Share {
 public:
  enum class Outcome : std::uint8_t {
    kDecided,
    kDraw,    // nothing is spent: ask again when the order has its answer
    kAsk,     // nothing is spent: the shared store decides on this take itself
    kWait,    // the same, and the order is another one's
    kFailed,  // nothing is spent: the shared store does not answer, or refuses; see failure()
  };

  Share(std::string limit, std::string key, std::shared_ptr<const Terms> terms);

  // Has what a take reads on its way from memory, all of it at once.
  void prefetch() const {
    const auto* const lines = reinterpret_cast<const char*>(this);
    for (std::size_t line = 0; line < kHotLines; ++line) __builtin_prefetch(lines + line * kLineBytes);
  }
  [[nodiscard]] const std::string& limit() const { return limit_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const Terms* terms() const { return terms_.get(); }
  // The limit was redefined. Lots that mean something else under the new terms go back.
  void revise(std::shared_ptr<const Terms> terms, Instant now);

  // Spends, or tells what must happen first; `verdict` is the answer if it is decided. kTake or kUpTo.
  Outcome take(Amount cost, Mode mode, Instant now, core::Verdict& verdict);
  // Spends all of it if the lots have it, and nothing else.
  bool spend_at_once(Amount cost, Instant now, core::Verdict& verdict);
  // By the last take.
  [[nodiscard]] const Spent& spent() const { return spent_; }
  [[nodiscard]] std::vector<Booking> take_bookings() { return std::exchange(bookings_, {}); }
  // That booking is in the book.
  void booked(std::uint64_t number, Amount units);
  // The take that has spent that goes on elsewhere. Until it has ended, none of these lots is settled: once the shared
  // store knows how much was spent of a lot, nothing can be undone there.
  void keep_open(const Spent& spent);
  // It has ended: that was used.
  void close(const Spent& spent, Instant now);
  // It has ended: that was not used. It goes back to the lots that it was spent of; of those whose window has ended, to
  // nobody. Tells how much went back.
  Amount unspend(const Spent& spent, Instant now);
  // The answer to a take of nothing.
  [[nodiscard]] core::Verdict standing(Instant now) const { return admitted(0, usable(now), now); }
  // What the shared store said of the whole besides its answers to orders.
  void know(const MeterStanding& standing, Instant now);
  // Whether the next draw should be made before it is needed.
  [[nodiscard]] bool wants_draw(Instant now) const;

  // The draw that take() or wants_draw() asks for. From then on it is under way.
  Order draw(DrawNames& names, Instant now);
  // The order that kAsk asks for, and what was said to it.
  Order ask(Instant now);
  void answered(const Order& order, const core::Verdict& verdict, Instant now);
  // `held`: what is held in the shared store of the meter, for whomever.
  void granted(const Order& order, const core::Verdict& verdict, Amount held, Instant now);
  void denied(const Order& order, const core::Verdict& verdict, Amount held, Instant now);
  // kUnavailable: nobody knows what became of it, and it is asked again. Anything else is a refusal: there is no such
  // limit, or no such hold.
  void failed(const Order& order, const Error& error, Instant now);
  void settled(const Order& order, std::optional<MeterStanding> standing, Instant now);

  // What is to be done without being asked: settles what is idle, too much, spent or old, and asks again what has no
  // answer.
  void tend(DrawNames& names, Instant now, std::vector<Order>& orders);
  // Everything goes back.
  void settle_all(Instant now, std::vector<Order>& orders);
  // What was granted from then on was granted by a store that has forgotten what it granted before: it is not spent,
  // and goes back to nobody.
  void distrust(Instant since);
  // Whether others hold some of the meter, as of the last answer, and may give it back: nodes their shares, or clients.
  [[nodiscard]] bool can_come_back() const { return others_hold_ && goes_back(*terms_); }
  // Others have given something back: what was denied is asked for anew.
  void reconsider() { denial_.reset(); }
  // Nothing is left that anybody would miss.
  [[nodiscard]] bool is_forgettable(Instant now) const;

  [[nodiscard]] Amount usable(Instant now) const;
  // What is charged in the shared store for this node and was not spent, by all that it knows.
  [[nodiscard]] Amount outstanding() const;
  // Held in the shared store for its lots, and what of it is spent.
  [[nodiscard]] Amount held() const;
  [[nodiscard]] Amount held_and_spent() const;
  // What remains of the whole, as of the last answer.
  [[nodiscard]] Amount known_remaining(Instant now) const;
  [[nodiscard]] Amount capacity() const { return capacity_; }
  [[nodiscard]] const Lots& lots() const { return lots_; }
  [[nodiscard]] bool has_order_under_way() const;
  // Why the last draw failed.
  [[nodiscard]] const Error& failure() const { return failure_; }
  [[nodiscard]] const ShareStatistics& statistics() const { return statistics_; }

 private:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::size_t kHotLines = 5;

  // An order, and when it is asked again: longer and longer pauses while there is no answer.
  struct Asking {
    Order order;
    bool is_under_way = false;
    Instant ask_at;
    Duration pause = {};

    void put_off(Instant now);
  };
  struct Draw : Asking {
    std::shared_ptr<const Terms> terms;
  };
  struct Settling : Asking {
    Amount rest = 0;
    Instant until;  // then there is nothing to give it back to
  };
  // What the shared store said no to. It holds no more once this node has given something back.
  struct Denial {
    Amount need = 0;
    Instant until;     // not asked again before
    Instant retry_at;  // when it fits, if nothing happens
    Duration pause;
  };

  void spend(Amount cost, Instant now);
  void book(Lot& lot, Amount units);
  void settle(Lot lot, Instant now);
  void settle_closed(Instant now);
  Lot* find_lot(std::uint64_t number);
  void settle_lots(Instant now);
  void settle_spent(Instant now);
  void ask_settling(Instant now, std::vector<Order>& orders);
  void drop_dead(Instant now);
  void give_up_draw(Instant now);
  void note_denial(const Order& order, const core::Verdict& verdict, Instant now);
  [[nodiscard]] bool is_denied(Amount need, Instant now) const;
  [[nodiscard]] bool has_too_much(Instant now) const;
  // What is asked for in about a second; more of it of a limit that is asked seldom.
  [[nodiscard]] Amount expected(Instant now) const;
  [[nodiscard]] Amount batch(Instant now) const;
  [[nodiscard]] Duration horizon() const;
  [[nodiscard]] Duration far_horizon(Instant now) const;
  [[nodiscard]] core::Verdict admitted(Amount cost, Amount here, Instant now) const;
  [[nodiscard]] core::Verdict turned_down(Amount cost, Instant now) const;

  const std::string limit_;
  const std::string key_;
  std::shared_ptr<const Terms> terms_;

  // What every take reads comes first, close together.
  Lots lots_;  // the first to die first
  Spent spent_;
  std::vector<Booking> bookings_;
  Demand demand_;
  Amount last_batch_ = 0;
  bool is_known_ = false;  // there was an answer
  bool others_hold_ = false;
  Amount remaining_ = 0;
  Amount capacity_ = 0;
  Instant known_at_;
  Instant resets_at_;

  std::optional<Draw> draw_;
  std::vector<Settling> settling_;
  std::vector<Lot> leaving_;  // in use no more, and settled when the takes that have spent of them have ended
  Amount need_ = 0;           // of the take that asked for a draw
  int denials_in_a_row_ = 0;  // of draws
  Duration round_trip_;
  Instant window_ends_at_;  // as of the last grant
  Instant given_back_at_;   // all of it, because others want it
  std::optional<Denial> denial_;
  Error failure_;
  Instant refused_until_;
  ShareStatistics statistics_;
};

}  // namespace mete::escrow
