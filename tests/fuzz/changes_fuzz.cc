// Any bytes as the body of a record: its changes are read or refused. What was read and is written again reads the
// same, and is then written the same to the byte.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "engine/records/change.h"
#include "engine/records/change_codec.h"

namespace {

using namespace mete::engine;  // NOLINT(google-build-using-namespace): a test of it alone

class Writer final : public ChangeVisitor {
 public:
  mete::Result<void> visit(MeterChange& change) override { return write(change); }
  mete::Result<void> visit(OperationChange& change) override {
    OperationRecord record = change.record;
    record.hold = change.hold ? &*change.hold : nullptr;
    write_operation(record_, change.id, record);
    return {};
  }
  mete::Result<void> visit(OverrideChange& change) override { return write(change); }
  mete::Result<void> visit(KeyChange& change) override { return write(change); }
  mete::Result<void> visit(LimitChange& change) override { return write(change); }
  mete::Result<void> visit(DropChange& change) override { return write(change); }
  mete::Result<void> visit(ClearChange& change) override { return write(change); }
  mete::Result<void> visit(NumbersChange& change) override { return write(change); }

  [[nodiscard]] std::string_view written() const { return record_.view(); }

 private:
  template <class Change>
  mete::Result<void> write(const Change& change) {
    write_change(record_, change);
    return {};
  }

  Encoder record_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Writer first;
  const auto read = read_changes({reinterpret_cast<const char*>(data), size}, first);
  if (!read) CHECK(!read.error().message.empty());
  Writer second;
  CHECK(read_changes(first.written(), second));
  CHECK(first.written() == second.written());
  return 0;
}
