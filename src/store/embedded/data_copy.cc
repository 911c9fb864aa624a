#include "store/embedded/data_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "journal/directory.h"
#include "journal/file_system.h"
#include "journal/watermark.h"

namespace mete::store {

namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;  // at a time
constexpr std::string_view kLockName = "lock";

Error not_empty(const std::string& directory, const std::string& name) {
  return base::invalid(directory + " is not empty: '" + name +
                       "' is in it; give a directory that is empty or does not "
                       "exist, or move that one away first");
}

// The lock of a server that has ended is no data.
Result<void> check_empty(journal::FileSystem& files, const std::string& directory) {
  const auto names = TRY(files.list(directory));
  const auto found = std::find_if(names.begin(), names.end(), [](const auto& name) { return name != kLockName; });
  if (found != names.end()) return not_empty(directory, *found);
  return {};
}

class Copy {
 public:
  Copy(DataView& from, journal::FileSystem& files, const CopyRequest& request);

  Result<CopyReport> run(const journal::Recovered& recovered);

 private:
  Result<void> copy_file(const std::string& name);
  Result<void> publish(const journal::Continuation& continuation);
  // Reads what was written.
  Result<void> check(const journal::Recovered& recovered);

  DataView& from_;
  journal::FileSystem& files_;
  const CopyRequest& request_;
  std::vector<char> buffer_;
  journal::Progress progress_;
  CopyReport report_;
};

Copy::Copy(DataView& from, journal::FileSystem& files, const CopyRequest& request)
    : from_(from), files_(files), request_(request), buffer_(kCopyBytes) {}

Result<CopyReport> Copy::run(const journal::Recovered& recovered) {
  TRY(files_.make_directory(request_.to));
  progress_.bytes_total = recovered.snapshot.bytes + recovered.journal.bytes;
  for (const DataView::ViewedFile& each : from_.record_files()) {
    TRY(copy_file(each.name));
  }
  TRY(publish(recovered.continuation));
  TRY(check(recovered));
  report_.records = recovered.snapshot.records + recovered.journal.records;
  report_.as_of = recovered.latest_time;
  return report_;
}

Result<void> Copy::copy_file(const std::string& name) {
  const auto source = TRY(from_.open(from_.directory() + "/" + name, journal::FileSystem::Mode::kRead));
  const auto copy = TRY(journal::create_temporary(files_, request_.to, name));
  for (std::uint64_t offset = 0;;) {
    const auto size = TRY(journal::read_all(*source, offset, buffer_));
    if (size == 0) break;
    TRY(journal::write_all(*copy, offset, {buffer_.data(), size}));
    offset += size;
    report_.bytes += size;
    progress_.bytes_done += size;
    if (request_.on_copy) request_.on_copy(progress_);
  }
  ++report_.files;
  return copy->sync();
}

// The snapshot after the segments: with the watermark missing they are not taken for all there is.
Result<void> Copy::publish(const journal::Continuation& continuation) {
  std::vector<std::string> names;
  for (const DataView::ViewedFile& each : from_.record_files()) names.push_back(each.name);
  std::reverse(names.begin(), names.end());
  for (const std::string& name : names) {
    TRY(journal::publish_temporary(files_, request_.to, name));
  }
  const bool has_segments = continuation.next_segment > continuation.oldest_segment;
  const journal::Position end = has_segments
                                    ? journal::Position{continuation.next_segment - 1, continuation.previous_length}
                                    : journal::Position{continuation.next_segment, 0};
  return journal::replace_watermark(files_, request_.to, end);
}

Result<void> Copy::check(const journal::Recovered& recovered) {
  const auto copy = TRY(view_data(files_, {.directory = request_.to}));
  if (copy.problem) return *copy.problem;
  const journal::Recovered& found = copy.recovered;
  const bool is_same = found.seed == recovered.seed && found.snapshot.records == recovered.snapshot.records &&
                       found.journal.records == recovered.journal.records;
  if (is_same) return {};
  return base::unavailable(request_.to +
                           " does not hold what was written to it: do not "
                           "use it, and check the disk");
}

// The error for what is not worth a copy.
Error not_copied(const Error& problem, const std::string& from) {
  return {problem.code, "nothing was copied, since " + from + " is not whole: " + problem.message};
}

Result<void> check_target(journal::FileSystem& files, const std::string& directory) {
  const auto names = TRY(files.list(directory));
  if (std::find(names.begin(), names.end(), kLockName) != names.end()) {
    TRY(files.lock(directory));  // for now: to tell who has it
  }
  return check_empty(files, directory);
}

}  // namespace

Result<CopyReport> back_up(journal::FileSystem& files, const CopyRequest& request) {
  TRY(check_target(files, request.to));
  auto viewed = TRY(view_data(files, {.directory = request.from, .on_progress = request.on_check}));
  if (viewed.problem) return not_copied(*viewed.problem, request.from);
  return Copy(*viewed.view, files, request).run(viewed.recovered);
}

Result<CopyReport> restore_backup(journal::FileSystem& files, const CopyRequest& request) {
  TRY(check_target(files, request.to));
  auto loaded = TRY(load_data(files, request.from, request.on_check));
  if (loaded.problem) return not_copied(*loaded.problem, request.from);
  const engine::Audit audit = loaded.engine->audit(loaded.as_of);
  if (!audit.problems.empty()) {
    const Error problem = base::unavailable(audit.problems.front().text + "; 'mete verify " + request.from +
                                            "' tells more, and 'mete repair' mends a copy of it");
    return not_copied(problem, request.from);
  }
  // From here on no server may begin there.
  TRY(files.make_directory(request.to));
  TRY(files.lock(request.to));
  TRY(check_empty(files, request.to));
  return Copy(*loaded.view, files, request).run(loaded.recovered);
}

}  // namespace mete::store
