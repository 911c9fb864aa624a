// Copying a data directory: backups, and back again.
//
// A copy is made file by file under other names; the names come when everything is on disk, the watermark's last. A
// copy that was interrupted before that is taken for damaged, or for none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <functional>
#include <string>

#include "journal/file_system.h"
#include "journal/recovery.h"
#include "store/embedded/data_reader.h"
#include "store/embedded/data_view.h"

namespace mete::store {

struct CopyReport {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t files = 0;
  Instant as_of;  // of the last record
};

struct CopyRequest {
  std::string from;
  std::string to;  // does not exist, or is empty
  OnProgress on_check = {};
  OnProgress on_copy = {};
};

// A copy of what a server has on disk at the moment, while it works: everything that it has acknowledged before.
Result<CopyReport> back_up(journal::FileSystem& files, const CopyRequest& request);

// A copy of a backup to be the data of a server, which must not run yet. Only of one that is whole, and whose books
// balance.
Result<CopyReport> restore_backup(journal::FileSystem& files, const CopyRequest& request);

}  // namespace mete::store
