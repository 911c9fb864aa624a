#include "escrow/peers/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/check.h"
#include "engine/records/change_codec.h"

namespace mete::escrow {

namespace {

std::string hmac(std::string_view key, std::string_view bytes) {
  std::string digest(kSealBytes, '\0');
  unsigned int size = 0;
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  auto* const to = reinterpret_cast<unsigned char*>(digest.data());
  CHECK(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), to, &size) != nullptr);
  CHECK(size == kSealBytes);
  return digest;
}

std::string derive(std::string_view secret, std::string_view purpose, Side side, const Transcript& transcript) {
  engine::Encoder encoder;
  encoder.text(purpose);
  encoder.byte(static_cast<std::uint8_t>(side));
  encoder.text(transcript.connector);
  encoder.text(transcript.acceptor);
  return hmac(secret, encoder.view());
}

}  // namespace

std::string random_nonce() {
  std::string nonce(kNonceBytes, '\0');
  CHECK(::RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) == 1);
  return nonce;
}

std::string proof_of(std::string_view secret, Side side, const Transcript& transcript) {
  return derive(secret, "mete peer proof", side, transcript);
}

bool is_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Seal::Seal(std::string_view secret, Side from, const Transcript& transcript)
    : key_(derive(secret, "mete peer key", from, transcript)) {}

std::string Seal::next(std::string_view frame) {
  std::string sealed = encode_number(number_++);
  sealed += frame;
  return hmac(key_, sealed);
}

}  // namespace mete::escrow
