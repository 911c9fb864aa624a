// TzifBytes: the bytes of a time zone file, for zones that do not exist and files that should not.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mete::civil {

struct TzifBytes {
  struct Transition {
    std::int64_t at;
    std::uint8_t type;
  };

  std::vector<std::int32_t> offsets{0};
  std::vector<Transition> transitions{};
  std::string footer = "\n\n";
  char version = '2';
  std::uint32_t leaps = 0;

  static std::string number(std::uint64_t value, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift & 0xff));
    return text;
  }

  [[nodiscard]] std::string header(std::uint32_t times, std::uint32_t types) const {
    return std::string("TZif") + version + std::string(15, '\0') + number(0, 4) + number(0, 4) + number(leaps, 4) +
           number(times, 4) + number(types, 4) + number(4, 4);
  }

  [[nodiscard]] std::string build() const {
    const std::string names = std::string("ABC") + '\0';
    std::string text = header(0, 1) + std::string(6, '\0') + names + std::string(leaps * std::size_t{8}, '\0');
    text += header(static_cast<std::uint32_t>(transitions.size()), static_cast<std::uint32_t>(offsets.size()));
    for (const Transition& transition : transitions) text += number(static_cast<std::uint64_t>(transition.at), 8);
    for (const Transition& transition : transitions) text += static_cast<char>(transition.type);
    for (const std::int32_t offset : offsets) {
      text += number(static_cast<std::uint32_t>(offset), 4) + std::string(2, '\0');
    }
    return text + names + std::string(leaps * std::size_t{12}, '\0') + footer;
  }
};

}  // namespace mete::civil
