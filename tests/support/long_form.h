// How long tests search: in their long form, METE_TEST_LONG=1, which `./x test --long` sets, and with sanitizers.
// docs/testing.md says what each form proves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

namespace mete::support {

inline bool is_long_form() noexcept {
  const char* const value = std::getenv("METE_TEST_LONG");
  return value != nullptr && std::string_view(value) == "1";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kIsSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kIsSanitized = false;
#endif

// How far a search through many random cases goes. Sanitizers look for what is wrong on a path, and few cases go all
// paths; rare orders of events are looked for by the release build, which is many times as fast.
inline std::uint64_t search_size(std::uint64_t cases) {
  constexpr std::uint64_t kSanitizedShare = 4;
  return kIsSanitized && !is_long_form() ? cases / kSanitizedShare : cases;
}

// Where the short form begins in lists of which it tries a part: at another place in each run, which the test's output
// names; METE_TEST_TURN=… begins there again.
inline std::size_t first_turn() {
  constexpr std::size_t kTurns = 1000;
  const char* const wanted = std::getenv("METE_TEST_TURN");
  const std::size_t turn = wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : std::random_device()() % kTurns;
  if (!is_long_form()) std::printf("cases from METE_TEST_TURN=%zu on\n", turn);
  return turn;
}

// Of a list of cases that each of many things is tried with: all of them in the long form, in the short one `count`,
// from the place on where the thing before has ended, and at first from first_turn().
template <class Case, std::size_t kSize>
std::vector<Case> cases_in_turn(const Case (&list)[kSize], std::size_t count, std::size_t& turn) {
  if (is_long_form()) return {std::begin(list), std::end(list)};
  std::vector<Case> cases;
  for (std::size_t i = 0; i < count; ++i) cases.push_back(list[turn++ % kSize]);
  return cases;
}

}  // namespace mete::support
