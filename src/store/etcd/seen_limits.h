// SeenLimits: the limits that were seen, for the time when etcd is away: what a take is answered then is the limit's
// own choice (on_fail). Thread safety: every call from any thread.
#pragma once

#include <mete/limit.h>

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "core/operations.h"
#include "core/verdict.h"
#include "store/etcd/image.h"
#include "store/open_admission.h"

namespace mete::store::etcd {

class SeenLimits {
 public:
  // Every limit that the image has an entry for.
  void note(const Image& image);

  // The answer to a take while etcd is away; none unless each of its limits is known to be open then.
  [[nodiscard]] std::optional<core::Verdict> admit_open(const core::Take& request) const;

 private:
  struct Known {
    Revision revision = 0;
    WhenAway when_away;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> limits_;  // under mutex_
};

}  // namespace mete::store::etcd
