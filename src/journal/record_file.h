// RecordFile: reads a segment or a snapshot from its beginning to its end, a piece at a time.
//
// Ownership: owns the file and one buffer; bodies are views into it, good until the next call. Thread safety: one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file_system.h"
#include "journal/format.h"
#include "journal/record.h"

namespace mete::journal {

class RecordFile {
 public:
  static Result<RecordFile> open(FileSystem& files, const std::string& path);

  // Of the size that the file had when it was opened. What is written to it later is not read.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Result<ParsedHeader> read_header(FileKind kind);

  // Where next() goes on. It starts behind the header, and a record that is whole moves it on.
  [[nodiscard]] std::uint64_t offset() const { return start_ + at_; }
  // Reads from there again: what was being written may be whole by now.
  void move_to(std::uint64_t offset);
  [[nodiscard]] bool is_at_end() const { return offset() >= size_; }
  [[nodiscard]] Result<ParsedRecord> next(const Framing& framing);

  // Moves on to the next place at which `framing` finds a whole record of a type that is asked for (kAny: of any), and
  // returns how many of the bytes that were passed over were not zero.
  enum class Wanted : std::uint8_t { kAny, kMarks };
  [[nodiscard]] Result<std::uint64_t> skip(const Framing& framing, Wanted wanted);

 private:
  RecordFile(std::unique_ptr<File> file, std::uint64_t size);

  [[nodiscard]] std::string_view rest() const { return {buffer_.data() + at_, end_ - at_}; }
  // What stands at the offset; reads on as far as a record there needs it.
  Result<ParsedRecord> parse(const Framing& framing);
  // Reads as much as the buffer has room for.
  Result<void> fill();

  std::unique_ptr<File> file_;
  std::uint64_t size_;
  std::vector<char> buffer_;
  std::uint64_t start_ = 0;  // the buffer's place in the file
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace mete::journal
