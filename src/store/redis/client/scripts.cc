#include "store/redis/client/scripts.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "store/redis/lua_texts.h"

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

std::array<std::string, kScriptCount> make_digests() {
  std::array<std::string, kScriptCount> digests;
  for (std::size_t i = 0; i < kScriptCount; ++i) digests[i] = sha1_of(script_text(static_cast<Script>(i)));
  return digests;
}

}  // namespace

std::string_view script_text(Script script) {
  switch (script) {
    case Script::kCharge:
      return kChargeLua;
    case Script::kChargeEach:
      return kChargeEachLua;
    case Script::kTake:
      return kTakeLua;
    case Script::kSettle:
      return kSettleLua;
    case Script::kLook:
      return kLookLua;
    case Script::kReplace:
      return kReplaceLua;
    case Script::kDefine:
      return kDefineLua;
    case Script::kKeys:
      return kKeysLua;
  }
  __builtin_unreachable();
}

std::string_view script_digest(Script script) {
  static const std::array<std::string, kScriptCount> kDigests = make_digests();
  return kDigests[static_cast<std::size_t>(script)];
}

}  // namespace mete::store::redis
