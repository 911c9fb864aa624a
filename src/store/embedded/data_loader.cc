#include "store/embedded/data_loader.h"

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "store/embedded/data_directory.h"

namespace mete::store {

Result<void> restore_record(engine::Engine& engine, const std::string& directory, std::string_view body,
                            const journal::RecordPosition& place) {
  return engine.restore(body).map_error([&](const Error& error) {
    return base::unavailable(directory + "/" + std::string(place.file) + ", offset " + std::to_string(place.offset) +
                             ": " + error.message +
                             ": it is whole, but not of this version of mete: start the one that wrote it");
  });
}

class DataLoader::Counter final : public engine::ChangeVisitor {
 public:
  explicit Counter(DataLoader& loader) : counts_(loader.counts_), of_limits_(loader.of_limits_) {}

  Result<void> visit(engine::MeterChange& change) override { return count(counts_.meters, change.generation); }
  Result<void> visit(engine::OperationChange& /*change*/) override { return count(counts_.operations); }
  Result<void> visit(engine::OverrideChange& change) override { return count(counts_.overrides, change.generation); }
  Result<void> visit(engine::KeyChange& /*change*/) override { return count(counts_.keys); }
  Result<void> visit(engine::LimitChange& change) override {
    of_limits_[change.generation].is_known = true;
    return count(counts_.limits);
  }
  Result<void> visit(engine::DropChange& change) override {
    of_limits_[change.generation].is_known = true;
    return count(counts_.drops);
  }
  Result<void> visit(engine::ClearChange& /*change*/) override { return count(counts_.clears); }
  Result<void> visit(engine::NumbersChange& /*change*/) override { return {}; }

 private:
  static Result<void> count(std::uint64_t& counter) {
    ++counter;
    return {};
  }
  Result<void> count(std::uint64_t& counter, std::uint64_t generation) {
    ++of_limits_[generation].changes;
    return count(counter);
  }

  ChangeCounts& counts_;
  std::unordered_map<std::uint64_t, OfLimit>& of_limits_;
};

void DataLoader::begin(std::uint64_t seed) {
  engine_ = std::make_unique<engine::Engine>(engine_config(Options(), seed));
  counts_ = {};
  records_.clear();
  of_limits_.clear();
}

Result<void> DataLoader::add(std::string_view body, const journal::RecordPosition& place) {
  CHECK(engine_ != nullptr);
  TRY(restore_record(*engine_, directory_, body, place));
  Counter counter(*this);
  const auto counted = engine::read_changes(body, counter);
  CHECK(counted);
  const auto found = records_.find(place.file);
  ++(found != records_.end() ? found : records_.emplace(place.file, 0).first)->second;
  return {};
}

std::uint64_t DataLoader::records_of(const std::string& file) const {
  const auto found = records_.find(file);
  return found == records_.end() ? 0 : found->second;
}

std::uint64_t DataLoader::changes_without_limit() const {
  std::uint64_t total = 0;
  for (const auto& [generation, of_limit] : of_limits_) total += of_limit.is_known ? 0 : of_limit.changes;
  return total;
}

}  // namespace mete::store
