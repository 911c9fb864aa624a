// ImportTarget: the limit of a Mete server that is imported into. It is asked first how each key stands, and told only
// what is not right already: a second import changes nothing. All but the calls of ImportTarget is pure.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/server_store.h"
#include "cli/import/findings.h"

namespace mete::cli {

// How a key stands on the server: what it has used, and how much it has in all.
struct Standing {
  Amount used = 0;
  Amount amount = 0;
};

// What must be set to bring a key from its standing to its entry; none of it: nothing.
struct Change {
  std::optional<Amount> used;
  std::optional<Amount> amount;

  [[nodiscard]] bool is_none() const { return !used && !amount; }
  bool operator==(const Change&) const = default;
};
Change change_between(const Standing& standing, const Entry& entry);

// Counters as Redis has them, which decide how the limit must be.
enum class CounterForm : std::uint8_t {
  kPairs,   // what is used, and how much there is in all
  kMonths,  // what was used in a month
};

// Whether such counters fit the limit; the error says how to define one that they do.
Result<void> check_fits(const Limit& limit, CounterForm form);
Error no_target_limit(std::string_view name, CounterForm form);

// Sets what the change says. Who has just the limit's amount needs none of his own.
std::vector<std::vector<std::string>> commands_for(const Limit& limit, const std::string& key, const Change& change);

class ImportTarget {
 public:
  // An error if there is no such limit, or one that the counters do not fit.
  static Result<ImportTarget> open(Client client, const std::string& limit, CounterForm form);

  [[nodiscard]] const Limit& limit() const { return limit_; }
  // That of the server's clock and the limit's time zone.
  Result<Month> current_month();
  // standings[i] is that of entry i.
  Result<std::vector<Standing>> standings(std::span<const Entry> entries);
  Result<void> apply(std::span<const std::vector<std::string>> commands);

 private:
  ImportTarget(std::unique_ptr<ServerStore> server, Limit limit)
      : server_(std::move(server)), limit_(std::move(limit)) {}

  std::unique_ptr<ServerStore> server_;
  Limit limit_;
};

}  // namespace mete::cli
