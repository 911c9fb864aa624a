#include "escrow/counters/counter_file.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/try.h"
#include "journal/directory.h"

namespace mete::escrow {

namespace {

constexpr std::uint64_t kHashSeed = 0x6d65746563747231;
constexpr std::size_t kHeadBytes = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

std::string frame_of(std::uint8_t kind, std::string_view rest) {
  std::string frame(kHeadBytes, '\0');
  frame += static_cast<char>(kind);
  frame += rest;
  const std::string_view payload = std::string_view(frame).substr(kHeadBytes);
  const std::uint64_t hash = base::hash_bytes(payload, kHashSeed);
  base::store(frame.data(), static_cast<std::uint32_t>(payload.size()));
  base::store(frame.data() + sizeof(std::uint32_t), hash);
  return frame;
}

// The payload of the frame that begins there; none: it is not whole.
std::optional<std::string_view> payload_of(std::string_view bytes) {
  if (bytes.size() <= kHeadBytes) return std::nullopt;
  const auto size = base::load<std::uint32_t>(bytes.data());
  const auto hash = base::load<std::uint64_t>(bytes.data() + sizeof(std::uint32_t));
  if (size == 0 || size > bytes.size() - kHeadBytes) return std::nullopt;
  const std::string_view payload = bytes.substr(kHeadBytes, size);
  return base::hash_bytes(payload, kHashSeed) == hash ? std::optional(payload) : std::nullopt;
}

// Whether there was no more to read when these were: a busy counter changes again and again.
bool are_last(const Counters::Changes& changes) {
  std::size_t bytes = 0;
  for (const std::string& piece : changes.states) bytes += piece.size();
  return bytes < kBytesAtOnce;
}

}  // namespace

Result<std::unique_ptr<CounterFile>> CounterFile::open(Folder folder, Writer self) {
  std::unique_ptr<CounterFile> counters(new CounterFile(std::move(folder), std::move(self)));
  TRY(counters->read());
  const bool goes_on = counters->has_ended_ && counters->last_identity_ == counters->folder_.identity &&
                       counters->last_writer_.node == counters->self_.node;
  if (goes_on) counters->self_ = counters->last_writer_;
  TRY(counters->append_start());
  return counters;
}

Result<void> CounterFile::read() {
  using enum journal::FileSystem::Mode;
  const std::string path = folder_.directory + "/" + std::string(kCountersFile);
  const auto names = TRY(folder_.files.list(folder_.directory));
  if (std::find(names.begin(), names.end(), kCountersFile) == names.end()) {
    file_ = TRY(folder_.files.open(path, kCreate));
    return folder_.files.sync_directory(folder_.directory);
  }
  file_ = TRY(folder_.files.open(path, kWrite));
  const auto size = TRY(file_->size());
  std::string bytes(size, '\0');
  const auto read = TRY(journal::read_all(*file_, 0, bytes));
  TRY(read_frames(std::string_view(bytes).substr(0, read)));
  size_rewritten_ = size_;
  return size_ == size ? Result<void>() : file_->truncate(size_);
}

Result<void> CounterFile::read_frames(std::string_view bytes) {
  while (const auto payload = payload_of(bytes.substr(size_))) {
    if (!read_frame(*payload)) {
      return base::invalid(folder_.directory + "/" + std::string(kCountersFile) +
                           ": it is of another version; remove it to begin with what the other nodes have");
    }
    size_ += kHeadBytes + payload->size();
  }
  return {};
}

bool CounterFile::read_frame(std::string_view payload) {
  const auto kind = static_cast<Kind>(payload.front());
  payload.remove_prefix(1);
  has_ended_ = kind == Kind::kEnd;
  switch (kind) {
    case Kind::kStart: {
      Decoder decoder(payload);
      last_identity_ = decoder.text();
      last_writer_ = decode_writer(decoder);
      return decoder.is_whole();
    }
    case Kind::kStates:
      loaded_.emplace_back(payload);
      return true;
    case Kind::kEnd:
      return true;
  }
  return false;
}

Result<void> CounterFile::load_into(Counters& counters) {
  for (const std::string& piece : std::exchange(loaded_, {})) {
    const auto states = TRY(decode_states(piece));
    for (const CounterState& state : states) counters.load(state);
  }
  written_ = counters.skip_changes();
  return {};
}

Result<void> CounterFile::append(Kind kind, std::string_view rest) {
  const std::string frame = frame_of(static_cast<std::uint8_t>(kind), rest);
  TRY(journal::write_all(*file_, size_, frame));
  size_ += frame.size();
  return {};
}

Result<void> CounterFile::append_start() {
  Encoder encoder;
  encoder.text(folder_.identity);
  encode_writer(encoder, self_);
  TRY(append(Kind::kStart, encoder.view()));
  return file_->sync();
}

Result<void> CounterFile::write_states(const Counters::Changes& changes) {
  for (const std::string& piece : changes.states) TRY(append(Kind::kStates, piece));
  return {};
}

Result<void> CounterFile::check(Result<void> done) {
  if (!done) failure_ = done.error();
  return done;
}

Result<void> CounterFile::write_changes(Counters& counters, Instant now) {
  if (failure_) return *failure_;
  if (!counters.has_changes_since(written_)) return {};
  const auto write = [&]() -> Result<void> {
    bool is_all = false;
    while (!is_all) {
      const Counters::Changes changes = counters.changes_since(written_, {kNobody, now}, kBytesAtOnce);
      TRY(write_states(changes));
      written_ = changes.cursor;
      is_all = are_last(changes);
    }
    TRY(file_->sync());
    return size_ > 2 * size_rewritten_ + kGrowsBy ? rewrite(counters, now) : Result<void>();
  };
  return check(write());
}

// Beside the one that is there, which counts until this one is whole.
Result<void> CounterFile::rewrite(Counters& counters, Instant now) {
  auto made = TRY(journal::create_temporary(folder_.files, folder_.directory, kCountersFile));
  std::swap(file_, made);
  const std::uint64_t size_before = std::exchange(size_, 0);
  const auto write = [&]() -> Result<void> {
    TRY(append_start());
    Counters::Cursor cursor;
    bool is_all = false;
    while (!is_all) {
      const Counters::Changes changes = counters.changes_since(cursor, {kNobody, now}, kBytesAtOnce);
      TRY(write_states(changes));
      cursor = changes.cursor;
      is_all = are_last(changes);
    }
    TRY(file_->sync());
    TRY(journal::publish_temporary(folder_.files, folder_.directory, kCountersFile));
    written_ = cursor;
    return {};
  };
  auto done = write();
  if (done) {
    size_rewritten_ = size_;
  } else {
    std::swap(file_, made);
    size_ = size_before;
  }
  return done;
}

Result<void> CounterFile::end(Counters& counters, Instant now) {
  TRY(write_changes(counters, now));
  const auto finish = [&]() -> Result<void> {
    TRY(append(Kind::kEnd, {}));
    return file_->sync();
  };
  return check(finish());
}

}  // namespace mete::escrow
