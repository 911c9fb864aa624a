#include "lab/bench/requests.h"

#include <array>

#include "base/check.h"

namespace mete::lab {

namespace {

struct Placeholder {
  std::string_view text;
  Gap::Kind kind;
};
constexpr std::array<Placeholder, 2> kPlaceholders = {{{"{key}", Gap::Kind::kKey}, {"{seq}", Gap::Kind::kSequence}}};

std::size_t digits_of_keys(std::uint64_t keys) { return std::to_string(keys - 1).size(); }

}  // namespace

Request make_request(std::string_view text, std::uint64_t keys) {
  CHECK(keys > 0);
  Request request;
  while (!text.empty()) {
    bool is_gap = false;
    for (const Placeholder& placeholder : kPlaceholders) {
      if (!text.starts_with(placeholder.text)) continue;
      is_gap = true;
      request.gaps.push_back({request.bytes.size(), placeholder.kind});
      request.bytes.append(placeholder.kind == Gap::Kind::kKey ? digits_of_keys(keys) : kSequenceDigits, '0');
      text.remove_prefix(placeholder.text.size());
      break;
    }
    if (is_gap) continue;
    request.bytes += text[0];
    text.remove_prefix(1);
  }
  return request;
}

Request make_command(std::span<const std::string> words, std::uint64_t keys) {
  Request command = {.bytes = "*" + std::to_string(words.size()) + "\r\n"};
  for (const std::string& text : words) {
    const Request word = make_request(text, keys);
    command.bytes += "$" + std::to_string(word.bytes.size()) + "\r\n";
    for (const Gap& gap : word.gaps) command.gaps.push_back({command.bytes.size() + gap.offset, gap.kind});
    command.bytes += word.bytes + "\r\n";
  }
  return command;
}

RequestBatch::RequestBatch(std::span<const Request> steps, std::size_t first_step, std::size_t size, std::uint64_t keys)
    : key_digits_(digits_of_keys(keys)), begins_anew_(first_step == 0) {
  CHECK(first_step < steps.size());
  for (std::size_t step = first_step; step < first_step + size; ++step) {
    const Request& request = steps[step % steps.size()];
    for (const Gap& gap : request.gaps) {
      gaps_.push_back({bytes_.size() + gap.offset, step / steps.size(), gap.kind});
    }
    bytes_ += request.bytes;
  }
}

}  // namespace mete::lab
