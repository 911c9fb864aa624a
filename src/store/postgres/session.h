// Session: how the store's calls reach PostgreSQL, and what becomes of the errors.
//
// A statement that PostgreSQL has undone because of others at the same time (a deadlock, a serialization failure) is
// made again; one whose connection is lost only if it is as good as once when it is done twice, for then nobody knows
// whether it was done.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include "store/postgres/pool.h"
#include "store/remote_clock.h"

namespace mete::store::postgres {

// Of what a refusal by the functions in sql/, or any other failure, is to users.
Error to_error(const SqlError& error);
// The same, and whose rows the statement was about.
Error about(Error error, const Parameters& parameters);

class Session {
 public:
  enum class Effect : std::uint8_t { kChanges, kRepeatable };

  // `clock_step_max`: as RemoteClock has it.
  explicit Session(Url url, Duration clock_step_max = {}) : pool_(std::move(url)), clock_(clock_step_max) {}

  Result<Rows> run(const Statement& statement, const Parameters& parameters, Effect effect = Effect::kChanges);
  // Never made again: for whoever knows what else to do then.
  SqlResult<Rows> try_once(const Statement& statement, const Parameters& parameters) {
    return run_once(statement, parameters, net::Deadline::in(pool_.url().timeout));
  }

  [[nodiscard]] Pool& pool() { return pool_; }
  [[nodiscard]] const Pool& pool() const { return pool_; }
  [[nodiscard]] RemoteClock& clock() { return clock_; }
  [[nodiscard]] const RemoteClock& clock() const { return clock_; }

 private:
  SqlResult<Rows> run_once(const Statement& statement, const Parameters& parameters, const net::Deadline& deadline);

  Pool pool_;
  RemoteClock clock_;
};

}  // namespace mete::store::postgres
