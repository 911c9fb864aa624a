#include "server/doors/authentication.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace mete::server {

Authentication::Authentication(std::string_view admin_password, std::string_view use_password) {
  if (!admin_password.empty()) admin_ = digest_of(admin_password);
  if (!use_password.empty()) use_ = digest_of(use_password);
}

std::optional<Role> Authentication::role_of(std::string_view password) const {
  // Digests have one length, so that not even the length of a password shows.
  const Digest given = digest_of(password);
  const auto equals = [&](const std::optional<Digest>& wanted) {
    return wanted && ::CRYPTO_memcmp(wanted->data(), given.data(), given.size()) == 0;
  };
  const bool is_admin = equals(admin_);
  const bool is_use = equals(use_);
  if (is_admin) return Role::kAdmin;
  if (is_use) return Role::kUse;
  return std::nullopt;
}

Authentication::Digest Authentication::digest_of(std::string_view password) {
  Digest digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(password.data()), password.size(), digest.data());
  return digest;
}

}  // namespace mete::server
