// Ports of this machine for a cluster: kept for it until its processes are about to start.
//
// Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <vector>

#include "net/descriptor.h"

namespace mete::cli {

class Ports {
 public:
  // The ports from `first` on; an error names the one that is in use.
  Result<void> keep(std::uint16_t first, std::size_t count);
  // So many others, that nobody uses.
  Result<std::vector<std::uint16_t>> find(std::size_t count);

 private:
  std::vector<net::Descriptor> sockets_;
};

}  // namespace mete::cli
