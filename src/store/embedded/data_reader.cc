#include "store/embedded/data_reader.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "journal/format.h"
#include "journal/record_file.h"

namespace mete::store {

namespace {

DataFile describe(DataView& view, const DataView::ViewedFile& viewed, const DataLoader& loader) {
  DataFile described{.name = viewed.name, .records = loader.records_of(viewed.name), .created = {}};
  auto file = journal::RecordFile::open(view, view.directory() + "/" + viewed.name);
  if (!file) return described;
  described.bytes = file->size();
  const auto parsed = file->read_header(viewed.kind);
  if (parsed && parsed->kind == journal::ParsedHeader::Kind::kHeader) described.created = parsed->header.created;
  return described;
}

}  // namespace

Result<LoadedData> load_data(journal::FileSystem& files, const std::string& directory, const OnProgress& on_progress) {
  DataLoader loader(directory);
  auto viewed =
      TRY(view_data(files, {.directory = directory,
                            .on_record = [&](std::string_view body,
                                             const journal::RecordPosition& place) { return loader.add(body, place); },
                            .on_seed = [&](std::uint64_t seed) { loader.begin(seed); },
                            .on_progress = on_progress}));
  LoadedData loaded{.view = std::move(viewed.view),
                    .engine = loader.take_engine(),
                    .problem = std::move(viewed.problem),
                    .files = {},
                    .counts = loader.counts(),
                    .recovered = std::move(viewed.recovered),
                    .as_of = {}};
  loaded.as_of = loaded.recovered.latest_time;
  for (const DataView::ViewedFile& each : loaded.view->record_files()) {
    loaded.files.push_back(describe(*loaded.view, each, loader));
    const DataFile& file = loaded.files.back();
    if (file.records > 0 && file.created) loaded.as_of = std::max(loaded.as_of, *file.created);
  }
  if (loaded.engine != nullptr) loaded.engine->finish_restoring(loaded.as_of);
  return loaded;
}

}  // namespace mete::store
