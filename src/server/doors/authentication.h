// Authentication: which password gives which role, and what a role allows.
//
// A role can have several passwords: while one is being replaced, the old and the new one are valid. Comparing takes
// the same time whatever is wrong with the password. Thread safety: immutable.
#pragma once

#include <mete/time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mete::server {

// What a client may do; each may do what those before it may.
enum class Role : std::uint8_t {
  kLook,   // see limits, meters, holds and metrics
  kUse,    // take, give and hold
  kAdmin,  // everything: define, delete, flush, configure, shut down
};
inline constexpr std::string_view kRoleNames = "look|use|admin";
std::string_view to_string(Role role);

// Who may do something.
enum class Access : std::uint8_t {
  kAnyone,  // before authentication too
  kLook,
  kUse,
  kAdmin,
};

constexpr bool allows(Role role, Access access) {
  return access == Access::kAnyone || static_cast<int>(role) + 1 >= static_cast<int>(access);
}

// How long a wrong password waits for its answer.
inline constexpr Duration kWrongPasswordDelay = std::chrono::milliseconds(200);
inline constexpr std::size_t kPasswordBytesMax = 512;

// The passwords of a setting: a line each.
std::vector<std::string_view> password_lines(std::string_view text);

// Which of the passwords was shown; never 0.
using Credential = std::uint64_t;

struct Identity {
  Role role;
  Credential credential;
};

class Authentication {
 public:
  // A password in each line. With none at all, everyone is an admin.
  struct Passwords {
    std::string_view admin = {};
    std::string_view use = {};
    std::string_view look = {};
  };
  explicit Authentication(const Passwords& passwords);

  [[nodiscard]] bool is_needed() const { return !known_.empty(); }
  [[nodiscard]] std::optional<Identity> find(std::string_view password) const;
  // The role that a password gives which was shown before; none: it is not valid any more.
  [[nodiscard]] std::optional<Role> role_of(Credential credential) const;
  // Of any password, valid or not.
  [[nodiscard]] static Credential credential_of(std::string_view password);

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Known {
    Digest digest;
    Role role;
  };

  [[nodiscard]] static Digest digest_of(std::string_view password);
  [[nodiscard]] static Credential credential_of(const Digest& digest);
  void add(std::string_view lines, Role role);

  std::vector<Known> known_;
};

}  // namespace mete::server
