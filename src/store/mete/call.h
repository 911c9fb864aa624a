// Call: commands for one server, written as RESP as they are added, and what became of each of them.
//
//     Call call(Call::Repeat::kIfLost);
//     call.add("STORE USAGE", MeterMessage{"api", "alice"});
//     call.add_words({"LIMIT", "LIST"});
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "store/mete/messages.h"
#include "wire/resp_command.h"
#include "wire/resp_reply.h"

namespace mete::store::servers {

// Words of a command, for a FieldWriter.
class WordSink {
 public:
  explicit WordSink(std::string& output) : output_(output) {}

  void integer(std::int64_t number) {
    std::array<char, base::kDecimalBytesMax> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
    const char* const end = base::write_decimal(digits.data(), number);
    wire::append_word(output_, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  void text(std::string_view bytes) { wire::append_word(output_, bytes); }

 private:
  std::string& output_;
};

class Call {
 public:
  // When the connection is lost before a reply has come, nobody knows whether the command was carried out.
  enum class Repeat : std::uint8_t {
    kNever,   // twice would not be as good as once
    kIfLost,  // it changes nothing, or has an id, or sets something to what it should be: it is asked once more
  };

  explicit Call(Repeat repeat) : repeat_(repeat) {}

  // `name` is "STORE" and the subcommand.
  template <class... Fields>
  void add(std::string_view name, const Fields&... fields) {
    const std::size_t space = name.find(' ');
    wire::append_word_count(bytes_, 2 + count_fields(fields...));
    wire::append_word(bytes_, name.substr(0, space));
    wire::append_word(bytes_, name.substr(space + 1));
    WordSink sink(bytes_);
    FieldWriter<WordSink> writer(sink);
    writer(fields...);
    ++size_;
  }
  void add_words(std::span<const std::string_view> words) {
    wire::append_command(bytes_, words);
    ++size_;
  }
  void add_words(std::initializer_list<std::string_view> words) { add_words(std::span(words.begin(), words.size())); }

  [[nodiscard]] std::size_t size() const { return size_; }

  // For the way there.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] Repeat repeat() const { return repeat_; }
  [[nodiscard]] bool is_answered() const { return replies_.size() == size_; }
  void answer(Result<wire::RespValue> reply) { replies_.push_back(std::move(reply)); }
  void fail_rest(const Error& error) { replies_.resize(size_, tl::make_unexpected(error)); }
  void forget_replies() { replies_.clear(); }

  // What command number `index` got. An error that the server tells is an Error here, as error_of says.
  [[nodiscard]] Result<wire::RespValue>& reply(std::size_t index) { return replies_[index]; }
  [[nodiscard]] std::span<const Result<wire::RespValue>> replies() const { return replies_; }

 private:
  Repeat repeat_;
  std::string bytes_;
  std::size_t size_ = 0;
  std::vector<Result<wire::RespValue>> replies_;
};

}  // namespace mete::store::servers
