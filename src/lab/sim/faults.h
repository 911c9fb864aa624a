// Faults: makes things go wrong, by the seed, until all is to be well again. Thread safety: one thread.
#pragma once

#include <vector>

namespace mete::sim {

class Cluster;

class Faults {
 public:
  explicit Faults(Cluster& cluster);

  // From now on, until the cluster has no faults any more.
  void begin();

 private:
  using Fault = void (Faults::*)();

  void next();
  [[nodiscard]] std::size_t any_node();

  void change_weather();
  void part_one();
  void part_minority();
  void flap();
  void crash();
  void pause();
  void fail_store();
  void redefine();
  void change_override();
  void move_node();

  // Cuts one direction or both, or heals them.
  void cut(std::size_t node, int directions);

  Cluster& cluster_;
  std::vector<Fault> possible_;
};

}  // namespace mete::sim
