// Seals: how nodes prove to each other that they know one secret, and that a frame is from the other, for this link and
// in its place. HMAC-SHA256 of OpenSSL.
//
//     transcript = both hellos, the connector's first: names, incarnations and both nonces
//     proof      = HMAC(secret, "proof" · side · transcript)
//     key        = HMAC(secret, "key" · side · transcript)         one for each direction
//     seal       = HMAC(key, number of the frame · the frame)      numbers from 0, in each direction
//
// The nonces are random: a frame of another link, or of this one from before, or one that is thrown back to its sender,
// has another seal. Thread safety: none for a Seal; functions of their arguments else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "escrow/peers/frame.h"

namespace mete::escrow {

inline constexpr std::size_t kSealBytes = 32;
inline constexpr std::size_t kSecretBytesMin = 16;

enum class Side : std::uint8_t { kConnector, kAcceptor };

constexpr Side other(Side side) { return side == Side::kConnector ? Side::kAcceptor : Side::kConnector; }

// Both bodies of the hellos.
struct Transcript {
  std::string connector;
  std::string acceptor;
};

std::string random_nonce();
// That `side` knows the secret.
std::string proof_of(std::string_view secret, Side side, const Transcript& transcript);
// In a time that does not depend on where they differ.
bool is_equal(std::string_view a, std::string_view b);

// One direction of a link.
class Seal {
 public:
  // Of the frames that `from` sends.
  Seal(std::string_view secret, Side from, const Transcript& transcript);

  // The seal of the next frame: all of it but the seal, which its length counts already.
  std::string next(std::string_view frame);

 private:
  std::string key_;
  std::uint64_t number_ = 0;
};

}  // namespace mete::escrow
