#include "escrow/others/peers.h"

#include <utility>

#include "base/try.h"

namespace mete::escrow {

// While a password is being replaced, a node may know the old one only, or the new one only.
Result<PeerConnection> PeerLogin::connect(const std::string& address,
                                          std::shared_ptr<const PeerCredentials> credentials,
                                          const net::Deadline& deadline) {
  const auto parsed = TRY(net::parse_address(address));
  if (credentials != credentials_) {
    credentials_ = credentials;
    password_ = 0;
  }
  const auto& [passwords, tls] = *credentials;
  std::size_t which = password_;
  for (std::size_t tried = 1;; ++tried) {
    auto client = store::RespClient::open({.address = parsed,
                                           .user = {},
                                           .password = passwords.empty() ? std::string() : passwords[which],
                                           .tls = tls ? &*tls : nullptr},
                                          deadline);
    if (client) {
      // Another fiber may have gone on to newer ones.
      if (credentials == credentials_) password_ = which;
      return PeerConnection{std::move(credentials), std::move(*client)};
    }
    const bool is_refused = client.error().code != ErrorCode::kUnavailable;
    if (!is_refused || tried >= passwords.size()) return client.error();
    which = (which + 1) % passwords.size();
  }
}

}  // namespace mete::escrow
