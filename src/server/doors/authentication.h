// Authentication: which password gives which role, and which roles there are.
//
// Comparing takes the same time whatever is wrong with the password. Thread safety: immutable.
#pragma once

#include <mete/time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::server {

// What a client may do.
enum class Role : std::uint8_t {
  kUse,    // take, hold, and look
  kAdmin,  // everything: define, delete, flush, configure, shut down
};

// Who may do something.
enum class Access : std::uint8_t {
  kAnyone,  // before authentication too
  kUse,
  kAdmin,
};

// How long a wrong password waits for its answer.
inline constexpr Duration kWrongPasswordDelay = std::chrono::milliseconds(200);

class Authentication {
 public:
  // An empty password is none. With neither, everyone is an admin.
  Authentication(std::string_view admin_password, std::string_view use_password);

  [[nodiscard]] bool is_needed() const { return admin_.has_value() || use_.has_value(); }
  [[nodiscard]] std::optional<Role> role_of(std::string_view password) const;

 private:
  using Digest = std::array<unsigned char, 32>;

  [[nodiscard]] static Digest digest_of(std::string_view password);

  std::optional<Digest> admin_;
  std::optional<Digest> use_;
};

}  // namespace mete::server
