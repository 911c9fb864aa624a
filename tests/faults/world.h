// World: a server that keeps limits, of whatever make, and a proxy in front of it. Tests do to both what happens to
// them, and hold for each make.
//
//     const std::unique_ptr<World> world = GetParam().start(Disk::kSynced);
//     Limiter limiter = open(world->url()).value();
//     world->kill_hard();
//     world->start_again();
//
// What it has acknowledged is there again after a kill. Thread safety: the proxy's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/proxy.h"

namespace mete::faults {

class World {
 public:
  // Of a call, by the URL.
  static constexpr std::chrono::milliseconds kTimeout{500};

  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  // Through the proxy.
  [[nodiscard]] virtual std::string url() const = 0;
  // With a time-out that is as long as it takes, for what is no test of time.
  [[nodiscard]] virtual std::string patient_url() const = 0;
  virtual support::Proxy& proxy() = 0;

  virtual void kill_hard() = 0;
  virtual void stop() = 0;
  virtual void start_again() = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// Whether it waits for the disk. Against a kill it need not, and is several times as fast.
enum class Disk : std::uint8_t { kSynced, kCached };

struct Make {
  std::string name;
  std::unique_ptr<World> (*start)(Disk disk);

  friend void PrintTo(const Make& make, std::ostream* out) { *out << make.name; }
};

const std::vector<Make>& makes();

// A world for the time of a test, which the next test with the same make and disk gets too: a start costs more than
// most tests. So each test has keys of its own (unused_key()) and leaves the server up and the proxy passing; a test
// that has failed leaves nothing to the next. Thread safety: none.
class SharedWorld {
 public:
  SharedWorld(const Make& make, Disk disk);
  SharedWorld(const SharedWorld&) = delete;
  SharedWorld& operator=(const SharedWorld&) = delete;
  ~SharedWorld();

  World* operator->() const { return world_.get(); }
  World& operator*() const { return *world_; }

 private:
  std::unique_ptr<World>& idle_;  // where it waits for the next test
  std::unique_ptr<World> world_;
};

// "k-7": one that no test of this program has used.
std::string unused_key();

}  // namespace mete::faults
