// SecurityLog: what clients do that they should not: wrong passwords, and bytes that are no request.
//
// A line says who it was, never which password; the log itself leaves out what comes too often, so that nobody can fill
// the disk. Thread safety: every call from any thread, but set_log(), which comes before the first connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/log.h"

namespace mete::server {

class SecurityLog {
 public:
  // Without one, it only counts.
  void set_log(base::Log& log) { log_ = &log; }

  void note_wrong_password(std::string_view address) {
    wrong_passwords_.fetch_add(1, std::memory_order_relaxed);
    if (log_ != nullptr) log_->warning("wrong password", {{"client", address}});
  }
  void note_protocol_error(std::string_view address, std::string_view reason) const {
    if (log_ != nullptr) log_->info("protocol error: connection closed", {{"client", address}, {"reason", reason}});
  }

  [[nodiscard]] std::uint64_t wrong_passwords() const { return wrong_passwords_.load(std::memory_order_relaxed); }

 private:
  base::Log* log_ = nullptr;
  std::atomic<std::uint64_t> wrong_passwords_{0};
};

}  // namespace mete::server
