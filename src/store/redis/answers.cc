#include "store/redis/answers.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/hash.h"

namespace mete::store::redis {

std::string fingerprint_of(const Parameters& parameters) {
  // The same in every process: an operation may be repeated by another one. Two numbers, so that no two operations
  // share them by chance.
  std::string text;
  for (const std::uint64_t seed : {std::uint64_t{0x6d657465}, std::uint64_t{0x72656469}}) {
    const std::array<char, 2> kind = {parameters.kind, parameters.mode};
    std::uint64_t hash = base::hash_bytes({kind.data(), kind.size()}, seed);
    for (const Charge& charge : parameters.charges) {
      hash = base::hash_bytes(charge.limit, hash);
      hash = base::hash_bytes(charge.key, hash);
      hash = base::hash_number(static_cast<std::uint64_t>(charge.cost), hash);
    }
    hash = base::hash_number(static_cast<std::uint64_t>(parameters.ttl.ns()), hash);
    hash = base::hash_bytes(parameters.tag, hash);
    text += std::to_string(hash) + (text.empty() ? "." : "");
  }
  return text;
}

core::Verdict in_clock_steps(core::Verdict verdict) {
  constexpr std::int64_t kStepNs = 1000;
  const std::int64_t over = verdict.retry_after.ns() % kStepNs;
  if (!verdict.retry_after.is_never() && over > 0) {
    verdict.retry_after = verdict.retry_after + Duration::from_ns(kStepNs - over);
  }
  return verdict;
}

bool is_problem(std::string_view text) {
  constexpr std::array<std::string_view, 5> kProblems = {"stale", "old", "slot", "window", "large"};
  return std::find(kProblems.begin(), kProblems.end(), text) != kProblems.end();
}

bool stands_in_the_way(const wire::RespValue& reply) {
  return !reply.elements.empty() && is_problem(reply.elements[0].text);
}

}  // namespace mete::store::redis
