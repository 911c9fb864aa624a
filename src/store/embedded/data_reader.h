// Reading a data directory without being its server: what is in it, and whether that is whole. The directory may be in
// use, and it may be damaged; it is only looked at.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "journal/file_system.h"
#include "journal/recovery.h"
#include "store/embedded/data_loader.h"
#include "store/embedded/data_view.h"

namespace mete::store {

using OnProgress = std::function<void(const journal::Progress&)>;

struct DataFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;       // that were read
  std::optional<Instant> created;  // none: its header cannot be read
};

struct LoadedData {
  std::unique_ptr<DataView> view;
  std::unique_ptr<engine::Engine> engine;  // null if nothing could be read
  std::optional<Error> problem;            // the damage up to which it was read
  std::vector<DataFile> files;
  ChangeCounts counts;
  journal::Recovered recovered;  // if there is no problem
  Instant as_of;                 // the time of the last record, as far as it is known
};

// An error: there is nothing to read.
Result<LoadedData> load_data(journal::FileSystem& files, const std::string& directory, const OnProgress& on_progress);

}  // namespace mete::store
