// Source: a source of truth that tells how much each key has used. One Source is for one run.
//
// Thread safety: none, but for cancel().
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace mete::sync {

class Source {
 public:
  // The columns of a row; none: null. Valid for the call.
  using Row = std::span<const std::optional<std::string_view>>;
  // False: that is enough.
  using SeeRow = std::function<bool(Row)>;

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // Only one at a time syncs a limit, of all who use this source. False: somebody else does. It is held until the
  // Source is gone, or what it is held by fails.
  virtual Result<bool> lock() = 0;
  // From here on it is read as it is now.
  virtual Result<void> begin() = 0;
  // The rows of the query.
  virtual Result<void> read(const SeeRow& see) = 0;
  // That nobody else can have got the lock meanwhile.
  virtual Result<void> confirm_lock() = 0;
  // From any thread: whatever it waits for ends with an error.
  virtual void cancel() = 0;
};

// A row of the query, checked.
struct Truth {
  std::string_view key;
  Amount amount = 0;
};

// The message says what is wrong with the row, and how to write the query instead.
Result<Truth> parse_row(Source::Row row);

}  // namespace mete::sync
