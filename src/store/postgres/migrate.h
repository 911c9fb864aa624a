// migrate(): brings the schema `mete` of a database to a version, in one transaction: all of it is done, or nothing.
//
// Two that run at once are safe: the second waits, and finds it done. Thread safety: as the connection.
#pragma once

#include <mete/result.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/postgres/connection.h"
#include "store/postgres/migrations.h"

namespace mete::store::postgres {

inline constexpr int kServerVersionMin = 130000;
inline constexpr Duration kMigrationMax = std::chrono::minutes(30);  // whoever holds locks meanwhile is waited for

struct MigrationReport {
  struct Step {
    int version = 0;
    std::string name = {};
    bool is_up = true;

    bool operator==(const Step&) const = default;
  };
  int from = 0;  // 0: nothing was installed
  int to = 0;
  std::vector<Step> steps = {};  // in the order in which they were done
};

// `to`: by default the last one; 0 takes away everything. Nothing is changed by an error, which says what to do; a
// version is left for one before only where nothing is lost by that.
Result<MigrationReport> migrate(Connection& connection, std::optional<int> to);
Result<MigrationReport> migrate(Connection& connection, std::span<const Migration> list, std::optional<int> to);

// 0: none.
Result<int> installed_version(Connection& connection);

}  // namespace mete::store::postgres
