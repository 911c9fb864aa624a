#include "server/doors/authentication.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "base/names.h"

namespace mete::server {

std::string_view to_string(Role role) { return base::name_of(kRoleNames, role); }

std::vector<std::string_view> password_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Authentication::Authentication(const Passwords& passwords) {
  add(passwords.admin, Role::kAdmin);
  add(passwords.use, Role::kUse);
  add(passwords.look, Role::kLook);
}

void Authentication::add(std::string_view lines, Role role) {
  for (const std::string_view line : password_lines(lines)) known_.push_back({digest_of(line), role});
}

std::optional<Identity> Authentication::find(std::string_view password) const {
  if (password.size() > kPasswordBytesMax) return std::nullopt;
  // Digests have one length, so that not even the length of a password shows; and all of them are looked at.
  const Digest given = digest_of(password);
  std::optional<Identity> found;
  for (const Known& known : known_) {
    const bool is_same = ::CRYPTO_memcmp(known.digest.data(), given.data(), given.size()) == 0;
    if (is_same && !found) found = Identity{known.role, credential_of(given)};
  }
  return found;
}

std::optional<Role> Authentication::role_of(Credential credential) const {
  for (const Known& known : known_) {
    if (credential_of(known.digest) == credential) return known.role;
  }
  return std::nullopt;
}

Credential Authentication::credential_of(std::string_view password) { return credential_of(digest_of(password)); }

Credential Authentication::credential_of(const Digest& digest) {
  Credential credential = 0;
  std::memcpy(&credential, digest.data(), sizeof credential);
  return credential | 1;
}

Authentication::Digest Authentication::digest_of(std::string_view password) {
  Digest digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(password.data()), password.size(), digest.data());
  return digest;
}

}  // namespace mete::server
