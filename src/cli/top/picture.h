// Picture: what `mete top` shows, out of two readings; as lines for a terminal of any size, and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/reading.h"
#include "wire/json.h"

namespace mete::cli {

struct ScreenSize {
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  std::size_t rows = std::numeric_limits<std::size_t>::max();
};

struct ScreenLine {
  std::string text = {};
  bool is_title = false;
};

struct ClusterRates {
  std::int64_t draws = 0;  // a second
  // Of the decisions between two readings, how many in a thousand waited for nobody, rounded down; none without any.
  std::optional<std::int64_t> local_permille = {};
};

struct Picture {
  std::string server;
  Reading reading;         // the later one
  bool has_rates = false;  // there was an earlier one
  DecisionCount per_second;
  ClusterRates cluster;                                       // of a node
  std::vector<std::pair<std::string, DecisionCount>> limits;  // a second, the busiest first
};

// The first picture has no reading before it.
Picture first_picture(std::string server, Reading reading);
Picture next_picture(std::string server, const Reading& before, Reading after);

// Cut to the size: the tables share the rows that there are.
std::vector<ScreenLine> render(const Picture& picture, ScreenSize size);
// The members of the picture, into an object that is open.
void write_picture(const Picture& picture, wire::JsonWriter& writer);

}  // namespace mete::cli
