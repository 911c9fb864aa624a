#include "store/redis/client/batch.h"

#include <array>
#include <charconv>

#include "base/check.h"
#include "store/hash_tag.h"
#include "store/redis/client/routing.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

// CRC-16 with the polynomial x^16 + x^12 + x^5 + 1, highest bit first, from 0: what Redis Cluster has chosen.
constexpr std::array<std::uint16_t, 256> make_crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned int byte = 0; byte < table.size(); ++byte) {
    unsigned int remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder << 1 ^ ((remainder & 0x8000) != 0 ? 0x1021U : 0U);
    table[byte] = static_cast<std::uint16_t>(remainder);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kCrcTable = make_crc_table();

std::uint16_t route(std::string_view routing_key) {
  return routing_key.empty() ? Batch::kAnySlot : slot_of(routing_key);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
  unsigned int crc = 0;
  for (const char byte : hashed_part(key)) {
    crc = (crc << 8 & 0xffff) ^ kCrcTable[(crc >> 8 ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return static_cast<std::uint16_t>(crc % kSlots);
}

void Batch::add(std::string_view routing_key, std::span<const std::string_view> words) {
  CHECK(!words.empty());
  Command& command = commands_.emplace_back();
  command.begin = bytes_.size();
  command.slot = route(routing_key);
  command.word_count = words.size();
  wire::append_command(bytes_, words);
  command.end = bytes_.size();
}

void Batch::add_script(std::string_view routing_key, const Script& script, std::size_t keys,
                       std::span<const std::string_view> words) {
  CHECK(keys <= words.size());
  constexpr std::size_t kOwnWords = 3;  // EVALSHA, the digest, and how many keys there are
  Command& command = commands_.emplace_back();
  command.begin = bytes_.size();
  command.slot = route(routing_key);
  command.script = &script;
  command.word_count = kOwnWords + words.size();
  wire::append_word_count(bytes_, command.word_count);
  wire::append_word(bytes_, "EVALSHA");
  wire::append_word(bytes_, script.digest());
  command.rest = bytes_.size();
  std::array<char, base::kDecimalBytesMax> count{};
  wire::append_word(bytes_, {count.data(), base::write_decimal(count.data(), static_cast<std::int64_t>(keys))});
  for (const std::string_view word : words) wire::append_word(bytes_, word);
  command.end = bytes_.size();
}

std::string Batch::keys(std::size_t index) const {
  const Command& command = commands_[index];
  std::string_view rest(bytes_);
  rest = rest.substr(0, command.end).substr(command.rest != 0 ? command.rest : command.begin);
  const auto next = [&rest]() -> std::string_view {
    const std::size_t begin = rest.find('\n') + 1;  // behind "$LENGTH\r\n"
    std::size_t length = 0;
    std::from_chars(rest.data() + 1, rest.data() + begin, length);
    const std::string_view word = rest.substr(begin, length);
    rest.remove_prefix(begin + length + 2);
    return word;
  };
  std::size_t count = 1;
  if (command.rest != 0) {
    const std::string_view number = next();
    std::from_chars(number.data(), number.data() + number.size(), count);
  } else {
    rest.remove_prefix(rest.find('\n') + 1);  // the number of words
    (void)next();
    count = command.slot == kAnySlot ? 0 : 1;
  }
  std::string keys;
  for (std::size_t i = 0; i < count; ++i) keys.append(keys.empty() ? "" : ", ").append(next());
  return keys;
}

void Batch::clear() {
  bytes_.clear();
  commands_.clear();
}

void append_eval(std::string& output, const Batch& batch, const Batch::Command& command) {
  CHECK(command.rest != 0);
  wire::append_word_count(output, command.word_count);
  wire::append_word(output, "EVAL");
  wire::append_word(output, command.script->text());
  output += batch.bytes().substr(command.rest, command.end - command.rest);
}

}  // namespace mete::store::redis
