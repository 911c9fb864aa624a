// Doorkeeper: looks at the passwords that clients show, on every door: which are valid now, and whether there have been
// too many wrong ones from where this one comes.
//
// Thread safety: every call from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "server/doors/authentication.h"
#include "server/doors/guesses.h"

namespace mete::server {

// What a client has shown, as of a generation of the passwords. Credential 0: nothing.
struct Shown {
  Identity identity = {Role::kLook, 0};
  std::uint64_t generation = 0;

  [[nodiscard]] bool is_any() const { return identity.credential != 0; }
};

// What became of a password.
struct Admission {
  enum class Outcome : std::uint8_t {
    kRight,
    kWrong,
    kNotLookedAt,  // there were too many wrong ones: `wait` is how long that goes on at least
  };

  Outcome outcome = Outcome::kWrong;
  Shown shown = {};  // a right one
  Duration wait = {};

  [[nodiscard]] bool is_right() const { return outcome == Outcome::kRight; }
};

class Doorkeeper {
 public:
  explicit Doorkeeper(const Authentication::Passwords& passwords)
      : passwords_(std::make_shared<const Authentication>(passwords)), is_needed_(passwords_->is_needed()) {}

  // Other passwords from now on.
  void replace(const Authentication::Passwords& passwords);

  // What whoever uses limits may do besides.
  void set_use(bool may_force, bool may_give) {
    may_force_ = may_force;
    may_give_ = may_give;
  }
  [[nodiscard]] bool may_force(Role role) const { return role == Role::kAdmin || may_force_; }
  [[nodiscard]] bool may_give(Role role) const { return role == Role::kAdmin || may_give_; }

  // Whether any password is; without one, everyone is an admin.
  [[nodiscard]] bool is_needed() const { return is_needed_.load(std::memory_order_relaxed); }
  // Goes up with each replacement: who remembers a role asks again.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  [[nodiscard]] Admission admit(std::string_view password, const GuessSource& source);
  // Whether a password that was right is still valid; its role may be another one by now.
  [[nodiscard]] bool still_holds(Shown& shown) const;
  // The role of a client that has shown this password before, 0 for none; none: it has to go.
  [[nodiscard]] std::optional<Role> role_of(Credential credential) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Authentication> passwords_;
  Guesses guesses_;
  std::atomic<bool> is_needed_;
  std::atomic<bool> may_force_{true};
  std::atomic<bool> may_give_{true};
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace mete::server
