// Call: commands for one server, written as RESP as they are added, and what became of each of them.
//
//     const core::ReadUsage read = {.meter = {"api", "alice"}};
//     Call call(core::is_repeatable(read));
//     call.add(read);
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
#include "core/operation_fields.h"
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
  // When the connection is lost before a reply has come, nobody knows whether the commands were carried out: they are
  // asked once more if that is as good as once.
  explicit Call(bool is_repeatable) : is_repeatable_(is_repeatable) {}

  // STORE, the operation's name, and its fields.
  template <class What>
  void add(const What& operation) {
    wire::append_word_count(bytes_, 2 + core::count_fields(operation));
    wire::append_word(bytes_, "STORE");
    wire::append_word(bytes_, What::kTraits.name);
    WordSink sink(bytes_);
    core::FieldWriter<WordSink> writer(sink);
    writer(operation);
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // For the way there.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool is_repeatable() const { return is_repeatable_; }
  [[nodiscard]] bool is_answered() const { return replies_.size() == size_; }
  void answer(Result<wire::RespValue> reply) { replies_.push_back(std::move(reply)); }
  void fail_rest(const Error& error) { replies_.resize(size_, error); }
  void forget_replies() { replies_.clear(); }

  // What command number `index` got. An error that the server tells is an Error here, as error_of says.
  [[nodiscard]] Result<wire::RespValue>& reply(std::size_t index) { return replies_[index]; }
  [[nodiscard]] std::span<const Result<wire::RespValue>> replies() const { return replies_; }

 private:
  bool is_repeatable_;
  std::string bytes_;
  std::size_t size_ = 0;
  std::vector<Result<wire::RespValue>> replies_;
};

}  // namespace mete::store::servers
