// ImportTarget: the limit of a Mete server that is imported into.
//
// It is asked first how each key stands, and told only what is not right already: a second import changes nothing.
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <vector>

#include "cli/client/client.h"
#include "cli/import/target_limit.h"

namespace mete::cli {

class ImportTarget {
 public:
  // An error if there is no such limit, or one that the counters do not fit.
  static Result<ImportTarget> open(Client client, const std::string& limit, CounterForm form);

  [[nodiscard]] const TargetLimit& limit() const { return limit_; }
  // That of the server's clock and the limit's time zone.
  Result<Month> current_month();
  // standings[i] is that of entry i.
  Result<std::vector<Standing>> standings(std::span<const Entry> entries);
  Result<void> apply(std::span<const std::vector<std::string>> commands);

 private:
  ImportTarget(Client client, TargetLimit limit) : client_(std::move(client)), limit_(std::move(limit)) {}

  Client client_;
  TargetLimit limit_;
};

}  // namespace mete::cli
