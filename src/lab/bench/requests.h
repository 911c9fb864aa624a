// Requests, encoded ahead: only the digits of their keys and numbers are written anew each time.
//
//     *3\r\n$4\r\nTAKE\r\n$3\r\napi\r\n$9\r\nkey:00000\r\n     {key}: as many digits as the largest key has
//
// A scenario's operation is one command or several; all of them have the same key and number. A batch is what a
// connection sends at once. Thread safety: a batch belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mete::lab {

// The key and the number of an operation.
struct Operation {
  std::uint64_t key = 0;
  std::uint64_t sequence = 0;
};

struct Gap {
  enum class Kind : std::uint8_t { kKey, kSequence };
  std::size_t offset = 0;
  Kind kind = Kind::kKey;
};

// Bytes with gaps for digits.
struct Request {
  std::string bytes = {};
  std::vector<Gap> gaps = {};
};

// {seq} has so many digits: numbers count on from the time in nanoseconds, so that no two runs share one.
inline constexpr std::size_t kSequenceDigits = 19;

// Where the text has {key} and {seq}, there are gaps; keys are less than `keys`.
Request make_request(std::string_view text, std::uint64_t keys);
// The same, for the words of a command, encoded.
Request make_command(std::span<const std::string> words, std::uint64_t keys);

class RequestBatch {
 public:
  // `size` requests that go through `steps` over and over, beginning with `first_step`.
  RequestBatch(std::span<const Request> steps, std::size_t first_step, std::size_t size, std::uint64_t keys);

  // Writes the digits. `operation` is the one that the last batch of this connection ended in; where a new one begins,
  // it is moved on by `advance(operation)`. The bytes are good until the next call.
  template <class Advance>
  std::string_view fill(Operation& operation, Advance&& advance) {
    std::size_t place = begins_anew_ ? kNoPlace : 0;
    for (const PlacedGap& gap : gaps_) {
      if (gap.place != place) {
        place = gap.place;
        advance(operation);
      }
      if (gap.kind == Gap::Kind::kKey) {
        write_digits(bytes_.data() + gap.offset, operation.key, key_digits_);
      } else {
        write_digits(bytes_.data() + gap.offset, operation.sequence, kSequenceDigits);
      }
    }
    return bytes_;
  }

 private:
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

  struct PlacedGap {
    std::size_t offset = 0;
    std::size_t place = 0;  // of its operation in the batch
    Gap::Kind kind = Gap::Kind::kKey;
  };

  static void write_digits(char* at, std::uint64_t number, std::size_t digits) {
    for (std::size_t digit = digits; digit-- > 0; number /= 10) at[digit] = static_cast<char>('0' + number % 10);
  }

  std::string bytes_;
  std::vector<PlacedGap> gaps_;
  std::size_t key_digits_;
  bool begins_anew_;  // with the first step of an operation
};

}  // namespace mete::lab
