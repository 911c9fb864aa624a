#include "store/embedded/data_repair.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "engine/records/snapshot_walk.h"
#include "journal/directory.h"
#include "journal/record_file.h"
#include "journal/snapshot_writer.h"
#include "journal/watermark.h"
#include "store/embedded/data_loader.h"
#include "store/embedded/data_reader.h"
#include "store/embedded/data_view.h"

namespace mete::store {

namespace {

// "2026-11-15T11:03:04.123Z" as a part of a name: "20261115T110304.123Z".
std::string folder_time(Instant now) {
  std::string text = base::time_text(now);
  std::erase_if(text, [](char letter) { return letter == '-' || letter == ':'; });
  return text;
}

Error too_new(const std::string& path, std::string_view problem) {
  return base::unavailable(path + " is not damaged, but not for this version of mete: " + std::string(problem) +
                           "; use the one that wrote it");
}

// What a later version has written would be taken for damage, and be dropped.
Result<void> check_version(DataView& view, const DataView::ViewedFile& viewed) {
  const std::string path = view.directory() + "/" + viewed.name;
  auto file = journal::RecordFile::open(view, path);
  if (!file) return {};  // that is damage
  const auto header = file->read_header(viewed.kind);
  if (header && header->kind == journal::ParsedHeader::Kind::kUnknown) return too_new(path, header->problem);
  if (!header || header->kind != journal::ParsedHeader::Kind::kHeader) return {};
  const journal::Framing framing(header->header.seed);
  while (!file->is_at_end()) {
    const auto parsed = file->next(framing);
    if (parsed && parsed->kind == journal::ParsedRecord::Kind::kUnknown) return too_new(path, parsed->problem);
    const bool is_whole = parsed && parsed->kind == journal::ParsedRecord::Kind::kRecord;
    if (!is_whole && !file->skip(framing, journal::RecordFile::Wanted::kAny)) return {};
  }
  return {};
}

}  // namespace

// A record that cannot be applied is of another version of the program, unless something before it was lost, on which
// it may rest.
Result<SalvagedData> salvage_data(journal::FileSystem& files, const std::string& directory) {
  SalvagedData data;
  DataLoader loader(directory);
  loader.begin(0);
  auto salvaged = TRY(journal::salvage(
      files, {.directory = directory,
              .on_record = [&](std::string_view body, const journal::RecordPosition& place) -> Result<void> {
                auto added = loader.add(body, place);
                if (added || data.damage.empty()) return added;
                data.damage.push_back({.file = std::string(place.file),
                                       .from = place.offset,
                                       .to = place.offset,
                                       .problem = "the record does not fit what is left of those before it"});
                return {};
              },
              .on_damage = [&](const journal::DamagedRange& range) { data.damage.push_back(range); }}));
  data.salvaged = salvaged;
  data.changes_without_limit = loader.changes_without_limit();
  data.engine = loader.take_engine();
  data.engine->finish_restoring(salvaged.latest_time);
  return data;
}

Result<std::unique_ptr<DataRepair>> DataRepair::prepare(journal::FileSystem& files, const std::string& directory) {
  const auto view = TRY(DataView::open(files, directory));
  for (const DataView::ViewedFile& each : view->record_files()) {
    TRY(check_version(*view, each));
  }
  std::unique_ptr<DataRepair> repair(new DataRepair(files, directory));
  repair->lock_ = TRY(files.lock(directory));
  const auto is_healthy = TRY(repair->is_healthy());
  if (is_healthy) return repair;
  TRY(repair->salvage());
  return repair;
}

Result<bool> DataRepair::is_healthy() const {
  const auto loaded = TRY(load_data(files_, directory_, {}));
  return !loaded.problem && loaded.engine->audit(loaded.as_of).problems.empty();
}

Result<void> DataRepair::salvage() {
  data_ = TRY(salvage_data(files_, directory_));
  findings_ = {.damage = data_.damage,
               .changes_without_limit = data_.changes_without_limit,
               .mended = {},
               .records = data_.salvaged.snapshot.records + data_.salvaged.journal.records,
               .audit = {},
               .as_of = data_.salvaged.latest_time};
  // What is taken away may leave others that cannot stand alone; each round leaves fewer.
  while (true) {
    findings_.audit = data_.engine->audit(findings_.as_of);
    if (findings_.audit.problems.empty()) return {};
    for (const engine::AuditProblem& problem : findings_.audit.problems) {
      findings_.mended.push_back(problem.text + ": " + data_.engine->mend(problem));
    }
  }
}

Result<Instant> DataRepair::latest_time() {
  if (data_.engine == nullptr) TRY(salvage());
  return data_.salvaged.latest_time;
}

Result<TurnedBack> DataRepair::bring_back_to(Instant now) {
  const Instant then = TRY(latest_time());
  auto turned = TRY(turn_back(*data_.engine, then, now));
  data_.engine = std::move(turned.engine);
  findings_.as_of = now;
  is_turned_back_ = true;
  return turned;
}

// Up to the snapshot's name nothing counts, and from then on the old files do not. Without the watermark, which goes
// before them, what is left of them would be taken for damaged, and so is never taken for whole.
Result<std::string> DataRepair::carry_out(Instant now) {
  CHECK(!findings_.is_healthy() || is_turned_back_);
  std::string folder = (is_turned_back_ ? "ahead-" : "damaged-") + folder_time(now);
  TRY(files_.make_directory(directory_ + "/" + folder));
  TRY(write_snapshot(now));
  TRY(move_old_files(folder));
  const journal::Position start{data_.salvaged.next_number, 0};
  TRY(journal::replace_watermark(files_, directory_, start));
  return folder;
}

Result<void> DataRepair::write_snapshot(Instant now) {
  auto writer = TRY(journal::SnapshotWriter::create(files_, {.directory = directory_,
                                                             .number = data_.salvaged.next_number,
                                                             .seed = data_.salvaged.seed,
                                                             .created = std::max(now, findings_.as_of)}));
  engine::Engine::SnapshotWalk walk(*data_.engine);
  engine::Encoder record;
  while (walk.next(record)) {
    TRY(writer->append(record.view()));
  }
  return writer->finish();
}

Result<void> DataRepair::move_old_files(const std::string& folder) {
  const auto found = TRY(journal::read_directory(files_, directory_));
  std::vector<std::string> names;
  if (found.has_watermark) names.emplace_back(journal::kWatermarkName);
  for (const std::uint64_t number : found.snapshots) {
    if (number < data_.salvaged.next_number) names.push_back(journal::snapshot_name(number));
  }
  for (const std::uint64_t number : found.segments) names.push_back(journal::segment_name(number));
  const std::string to = directory_ + "/" + folder;
  for (const std::string& name : names) {
    TRY(files_.rename(std::string(directory_).append("/").append(name), std::string(to).append("/").append(name)));
  }
  TRY(files_.sync_directory(to));
  return files_.sync_directory(directory_);
}

}  // namespace mete::store
