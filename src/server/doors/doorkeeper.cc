#include "server/doors/doorkeeper.h"

#include "base/monotonic.h"

namespace mete::server {

void Doorkeeper::replace(const Authentication::Passwords& passwords) {
  auto next = std::make_shared<const Authentication>(passwords);
  const std::lock_guard lock(mutex_);
  passwords_ = std::move(next);
  is_needed_ = passwords_->is_needed();
  generation_.fetch_add(1, std::memory_order_release);
}

// Under one lock as a whole: guesses on many connections at once are looked at one after the other.
Admission Doorkeeper::admit(std::string_view password, const GuessSource& source) {
  const std::uint64_t now_ns = base::monotonic_ns();
  const Credential credential = Authentication::credential_of(password.substr(0, kPasswordBytesMax + 1));
  const std::lock_guard lock(mutex_);
  if (const Duration wait = guesses_.wait(source, credential, now_ns); wait > Duration()) {
    return {.outcome = Admission::Outcome::kNotLookedAt, .wait = wait};
  }
  if (const auto identity = passwords_->find(password)) {
    // Of the generation that it was compared with: a replacement after it makes the client be asked again.
    return {.outcome = Admission::Outcome::kRight, .shown = {*identity, generation()}};
  }
  guesses_.note_wrong(source, credential, now_ns);
  return {};
}

bool Doorkeeper::still_holds(Shown& shown) const {
  if (!shown.is_any() || shown.generation == generation()) return shown.is_any();
  const std::lock_guard lock(mutex_);
  const auto role = passwords_->role_of(shown.identity.credential);
  shown = role ? Shown{{*role, shown.identity.credential}, generation()} : Shown{};
  return role.has_value();
}

std::optional<Role> Doorkeeper::role_of(Credential credential) const {
  const std::lock_guard lock(mutex_);
  if (!passwords_->is_needed()) return Role::kAdmin;
  return credential == 0 ? std::nullopt : passwords_->role_of(credential);
}

}  // namespace mete::server
