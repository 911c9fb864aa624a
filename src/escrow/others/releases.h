// Releases: the rounds in which a node that is about to deny asks the others to give back what they have of a meter.
//
//     const auto round = releases.begin(meter);          // 0: not worth it now
//     …                                                  // what else has to be waited for
//     if (round > 0 && releases.wait(meter, round)) …    // something came back: ask the shared store again
//
// There is one round at a time for a meter: whoever else is denied meanwhile waits for it. After one that brought
// nothing there is none for a while, longer and longer: a limit that is used up would cost a round for each denial.
// Thread safety: every call from any thread.
#pragma once

#include <mete/clock.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/operations.h"
#include "escrow/others/others.h"
#include "net/signal.h"

namespace mete::escrow {

class Releases {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(100);
  static constexpr Duration kPauseMax = std::chrono::seconds(1);
  // Meters beyond these are denied without asking: while so many are, the others have better things to do.
  static constexpr std::size_t kMetersMax = 4096;

  // `others`: null where there are none. Both outlive it.
  Releases(Others* others, const Clock& clock) : others_(others), clock_(clock) {}

  std::uint64_t begin(const core::MeterName& meter);
  bool wait(const core::MeterName& meter, std::uint64_t round);

 private:
  struct Entry {
    std::uint64_t round = 0;  // the last one; numbers begin with 1
    bool is_under_way = false;
    bool was_fruitful = false;
    Instant quiet_until = {};
    Duration pause = {};
  };
  // Lives as long as there are rounds under way.
  struct State {
    std::mutex mutex;
    net::Signal changed;
    std::map<std::string, Entry, std::less<>> entries;

    void end(const std::string& name, bool is_fruitful, Instant now);
    void drop_old(Instant now);
  };

  Others* const others_;
  const Clock& clock_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace mete::escrow
