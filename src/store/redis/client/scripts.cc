#include "store/redis/client/scripts.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace mete::store::redis {

namespace {

std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hexadecimal;
  for (unsigned int i = 0; i < size; ++i) {
    hexadecimal += kDigits[digest[i] >> 4];
    hexadecimal += kDigits[digest[i] & 15];
  }
  return hexadecimal;
}

}  // namespace

Script::Script(std::string_view text) : text_(text), digest_(sha1_of(text)) {}

bool ScriptState::begin(std::uint64_t loads_noted) {
  const std::lock_guard lock(mutex_);
  if (is_loading_ || loads_noted != loads()) return false;
  is_loading_ = true;
  return true;
}

void ScriptState::finished(bool with_success) {
  const std::lock_guard lock(mutex_);
  is_loading_ = false;
  if (!with_success) return;
  are_loaded_.store(true, std::memory_order_relaxed);
  loads_.fetch_add(1, std::memory_order_release);
}

}  // namespace mete::store::redis
