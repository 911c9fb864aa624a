#include "journal/file_system.h"

#include "base/check.h"
#include "base/try.h"

namespace mete::journal {

Result<void> write_all(File& file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = TRY(file.write(offset, bytes));
    CHECK(written > 0 && written <= bytes.size());
    offset += written;
    bytes.remove_prefix(written);
  }
  return {};
}

Result<std::size_t> read_all(File& file, std::uint64_t offset, std::span<char> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const auto got = TRY(file.read(offset + done, to.subspan(done)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace mete::journal
