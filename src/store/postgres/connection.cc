#include "store/postgres/connection.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/time_text.h"
#include "base/try.h"
#include "net/fiber.h"

namespace mete::store::postgres {

namespace {

constexpr const char* kUnknownStatement = "26000";
constexpr const char* kDuplicateStatement = "42P05";
// "cached plan must not change result type": the schema was changed under a statement that is prepared.
constexpr const char* kOutdatedPlan = "0A000";
constexpr const char* kNoText = "22021";

bool is_about_names(const SqlError& error) {
  return error.state == kUnknownStatement || error.state == kDuplicateStatement || error.state == kOutdatedPlan;
}

bool has_nul(const std::optional<std::string>& value) { return value && value->find('\0') != std::string::npos; }

std::vector<const char*> pointers_to(const Parameters& parameters) {
  std::vector<const char*> pointers;
  pointers.reserve(parameters.values().size());
  for (const auto& value : parameters.values()) pointers.push_back(value ? value->c_str() : nullptr);
  return pointers;
}

bool is_failure(ExecStatusType status) {
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE || status == PGRES_PIPELINE_ABORTED;
}

bool is_copy(ExecStatusType status) {
  return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

SqlError lost_before() { return lost("the connection to PostgreSQL is lost"); }

}  // namespace

SqlResult<Connection> Connection::open(const std::string& url, const net::Deadline& deadline,
                                       Duration statement_timeout) {
  auto handle = TRY(connect(url, statement_timeout, deadline));
  return Connection(std::move(handle));
}

Connection::Connection(Handle handle)
    : handle_(std::move(handle)),
      socket_(::fcntl(PQsocket(handle_.get()), F_DUPFD_CLOEXEC, 0)),
      address_(std::string(PQhost(handle_.get())) + ":" + PQport(handle_.get())),
      server_version_(PQserverVersion(handle_.get())) {}

bool Connection::is_idle() const {
  if (is_lost_ || !turns_.empty()) return false;
  return PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF || PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
}

bool Connection::is_quiet() const {
  if (!is_idle()) return false;
  char byte = 0;
  const ssize_t peeked = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return peeked < 0 && (errno == EAGAIN || errno == EINTR);
}

net::Descriptor Connection::share_socket() const {
  CHECK(!is_lost_);
  return net::Descriptor(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
}

SqlResult<Rows> Connection::run(const Statement& statement, const Parameters& parameters,
                                const net::Deadline& deadline) {
  if (is_lost_) return lost_before();
  if (std::ranges::any_of(parameters.values(), has_nul)) {
    return SqlError{.state = kNoText, .message = "a text for PostgreSQL cannot hold a NUL"};
  }
  if (PQpipelineStatus(handle_.get()) == PQ_PIPELINE_OFF) {
    if (PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) {
      if (!send(Manner::kUnnamed, statement, parameters)) return give_up();
      TRY(flush(deadline));
      return collect(deadline);
    }
    if (PQenterPipelineMode(handle_.get()) == 0) return give_up();
  }
  Manner manner = prepared_.contains(statement.name) ? Manner::kPrepared : Manner::kPreparing;
  auto rows = attempt(manner, statement, parameters, deadline);
  if (rows || !is_about_names(rows.error())) return rows;
  // Nothing was done. The next attempt may be in another server process, where it is the other way round again.
  manner = manner == Manner::kPrepared ? Manner::kPreparing : Manner::kPrepared;
  rows = attempt(manner, statement, parameters, deadline);
  if (rows || !is_about_names(rows.error())) return rows;
  return attempt(Manner::kUnnamed, statement, parameters, deadline);
}

SqlResult<Rows> Connection::attempt(Manner manner, const Statement& statement, const Parameters& parameters,
                                    const net::Deadline& deadline) {
  if (is_lost_) return lost_before();
  if (!send(manner, statement, parameters)) return give_up();
  // Where that fails it may be prepared or not: the next run finds out.
  if (manner == Manner::kPreparing) prepared_.insert(statement.name);
  auto result = TRY(finish_turn(deadline));
  if (is_failure(PQresultStatus(result.get()))) return error_of(result.get());
  return Rows(std::move(result));
}

SqlResult<Duration> Connection::measure_distance(const net::Deadline& deadline) {
  if (PQenterPipelineMode(handle_.get()) == 0) return give_up();
  const Instant begun = base::monotonic_now();
  TRY(finish_turn(deadline));
  return base::monotonic_now() - begun;
}

SqlResult<OwnedResult> Connection::finish_turn(const net::Deadline& deadline) {
  // This writes at once, as much as the socket takes.
  if (PQpipelineSync(handle_.get()) == 0) return give_up();
  const auto turn = std::make_shared<SqlTurn>();
  turns_.push_back(turn);
  if (PQflush(handle_.get()) != 0) write(deadline);
  TRY(hand_out(true));  // where the socket took no more for a moment, libpq has read
  TRY(await(*turn, deadline, [&] { return turn->is_over; }));
  return std::move(turn->result);
}

// Where the socket takes no more, libpq reads, so that neither end waits for the other. So whoever writes hands out
// what has come, too: the one who reads waits for the socket, which has nothing any more.
SqlResult<void> Connection::write_added(const net::Deadline& deadline) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left < 0) return give_up();
    TRY(hand_out(true));
    if (left == 0) return {};
    if (!net::wait_for_socket(socket_.get(), POLLIN | POLLOUT, deadline)) return no_answer(deadline);
  }
}

SqlResult<void> Connection::read_some(const net::Deadline& deadline) {
  if (!net::wait_for_socket(socket_.get(), POLLIN, deadline)) return no_answer(deadline);
  // What came before the end of the connection may be the reason for it, as a result.
  return hand_out(PQconsumeInput(handle_.get()) != 0);
}

SqlResult<void> Connection::hand_out(bool is_readable) {
  while (!turns_.empty() && (PQisBusy(handle_.get()) == 0 || !is_readable)) {
    OwnedResult result(PQgetResult(handle_.get()));
    const bool is_bad = PQstatus(handle_.get()) == CONNECTION_BAD;
    if (!result && is_bad) return give_up();
    if (!result) continue;  // the end of one command of the pipeline
    SqlTurn& first = *turns_.front();
    const ExecStatusType status = PQresultStatus(result.get());
    if (is_copy(status)) return give_up(lost("a statement may not be a COPY here"));
    if (status == PGRES_PIPELINE_SYNC) {
      first.is_over = true;
      first.changed.notify_all();
      turns_.pop_front();
    } else if (is_failure(status) && (is_bad || error_of(result.get()).is_lost)) {
      return give_up(error_of(result.get()));
    } else if (!first.result || !is_failure(PQresultStatus(first.result.get()))) {
      first.result = std::move(result);
    }
  }
  return {};
}

bool Connection::send(Manner manner, const Statement& statement, const Parameters& parameters) {
  const std::vector<const char*> values = pointers_to(parameters);
  const auto count = static_cast<int>(values.size());
  constexpr int kText = 0;
  if (manner == Manner::kUnnamed) {
    return PQsendQueryParams(handle_.get(), statement.text, count, nullptr, values.data(), nullptr, nullptr, kText) !=
           0;
  }
  const bool prepares = manner == Manner::kPreparing;
  if (prepares && PQsendPrepare(handle_.get(), statement.name, statement.text, 0, nullptr) == 0) return false;
  if (PQsendQueryPrepared(handle_.get(), statement.name, count, values.data(), nullptr, nullptr, kText) == 0) {
    return false;
  }
  return true;
}

SqlResult<void> Connection::send_text(const std::string& text) {
  if (is_lost_) return lost_before();
  if (PQexitPipelineMode(handle_.get()) == 0) return give_up();
  if (PQsendQuery(handle_.get(), text.c_str()) == 0) return give_up();
  return {};
}

SqlResult<Rows> Connection::run_text(const std::string& text, const net::Deadline& deadline) {
  TRY(send_text(text));
  TRY(flush(deadline));
  return collect(deadline);
}

SqlResult<void> Connection::stream(const std::string& query, const std::function<bool(const Rows&)>& see,
                                   const net::Deadline& deadline) {
  TRY(send_text(query));
  if (PQsetSingleRowMode(handle_.get()) == 0) return give_up();
  TRY(flush(deadline));
  for (;;) {
    auto next = TRY(next_result(deadline));
    if (PQresultStatus(next.get()) != PGRES_SINGLE_TUPLE) {
      auto last = judge(std::move(next));
      if (!last && last.error().is_lost) return std::move(last).error();
      auto rest = collect(deadline);
      if (!last) return std::move(last).error();
      if (!rest) return std::move(rest).error();
      return {};
    }
    if (!see(Rows(std::move(next)))) {
      give_up(lost("the rest of the rows was not wanted"));
      return {};
    }
  }
}

SqlResult<void> Connection::flush(const net::Deadline& deadline) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left == 0) return {};
    if (left < 0) return give_up();
    // A server that is sending does not read: its answers must be taken in meanwhile.
    if (!net::wait_for_socket(socket_.get(), POLLIN | POLLOUT, deadline)) return give_up_waiting(deadline);
    if (PQconsumeInput(handle_.get()) == 0) return give_up();
  }
}

SqlResult<OwnedResult> Connection::next_result(const net::Deadline& deadline) {
  while (PQisBusy(handle_.get()) != 0) {
    if (!net::wait_for_socket(socket_.get(), POLLIN, deadline)) return give_up_waiting(deadline);
    // What came before the end of the connection may be the reason for it, as a result.
    if (PQconsumeInput(handle_.get()) == 0) break;
  }
  return OwnedResult(PQgetResult(handle_.get()));
}

SqlResult<Rows> Connection::collect(const net::Deadline& deadline) {
  OwnedResult kept;
  for (;;) {
    auto result = TRY(next_result(deadline));
    if (!result) break;
    if (is_copy(PQresultStatus(result.get()))) return give_up(lost("a statement may not be a COPY here"));
    if (!kept || !is_failure(PQresultStatus(kept.get()))) kept = std::move(result);
  }
  return judge(std::move(kept));
}

SqlResult<Rows> Connection::judge(OwnedResult result) {
  const bool is_bad = PQstatus(handle_.get()) == CONNECTION_BAD;
  if (!result || !is_failure(PQresultStatus(result.get()))) {
    if (is_bad) return give_up();
    return Rows(std::move(result));
  }
  SqlError error = error_of(result.get());
  if (error.is_lost || is_bad) return give_up(std::move(error));
  return error;
}

SqlError Connection::give_up() { return give_up(lost(one_line(PQerrorMessage(handle_.get())))); }

SqlError Connection::give_up(SqlError error) {
  ::shutdown(socket_.get(), SHUT_RDWR);
  is_lost_ = true;
  error.is_lost = true;
  fail(error);
  return error;
}

SqlError Connection::give_up_waiting(const net::Deadline& deadline) { return give_up(no_answer(deadline)); }

SqlError Connection::no_answer(const net::Deadline& deadline) {
  is_silent_ = true;
  return lost(address_ + " does not answer within " + base::duration_text(deadline.timeout()));
}

}  // namespace mete::store::postgres
