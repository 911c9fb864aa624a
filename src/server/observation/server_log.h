// Lines of the log that have rules of their own: about a start that reads files, syncs, and clients that do what they
// should not.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace mete::base {
class Log;
}
namespace mete::store {
struct LoadProgress;
struct PersistenceStatus;
}  // namespace mete::store
namespace mete::sync {
struct RunRecord;
}

namespace mete::server {

struct Config;

// How far a start is: a line every two seconds; none if it is done before that. Thread safety: one thread at a time.
class LoadLog {
 public:
  explicit LoadLog(base::Log& log);

  void note(const store::LoadProgress& progress);

 private:
  base::Log& log_;
  std::uint64_t told_ns_;
};

// What a start has found in its files; nothing if there was nothing.
void log_recovery(const store::PersistenceStatus& status, base::Log& log);

// Warns of files with passwords and keys, and of a configuration that has some, that everybody on the machine can read.
void warn_of_readable_secrets(const Config& config, const std::string& config_file, base::Log& log);

void log_sync(const sync::RunRecord& record, base::Log& log);

// Wrong passwords, and bytes that are no request.
//
// A line says who it was, never which password; the log itself leaves out what comes too often, so that nobody can fill
// the disk. Thread safety: every call from any thread, but set_log(), which comes before the first connection.
class SecurityLog {
 public:
  // Without one, it only counts.
  void set_log(base::Log& log) { log_ = &log; }

  void note_wrong_password(std::string_view address);
  // There had been too many wrong ones.
  void note_not_looked_at(std::string_view address);
  void note_protocol_error(std::string_view address, std::string_view reason) const;
  // Its buffers were the largest when all of them together had become too large.
  void note_cut_off(std::string_view address, std::size_t bytes) const;

  [[nodiscard]] std::uint64_t wrong_passwords() const { return wrong_passwords_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t not_looked_at() const { return not_looked_at_.load(std::memory_order_relaxed); }

 private:
  base::Log* log_ = nullptr;
  std::atomic<std::uint64_t> wrong_passwords_{0};
  std::atomic<std::uint64_t> not_looked_at_{0};
};

}  // namespace mete::server
