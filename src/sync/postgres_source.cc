#include "sync/postgres_source.h"

#include <sys/socket.h>

#include <mutex>
#include <utility>
#include <vector>

#include "base/try.h"
#include "net/deadline.h"
#include "net/descriptor.h"
#include "store/postgres/connection.h"
#include "store/postgres/url.h"

namespace mete::sync {

namespace {

using store::postgres::Connection;
using store::postgres::Rows;
using store::postgres::SqlError;
using store::postgres::SqlResult;

constexpr store::postgres::Statement kLock = {
    "mete_sync_lock_1", "select pg_try_advisory_xact_lock(hashtextextended('mete sync ' || $1, 0))"};
// A run may be waiting for the other side for longer than this setting allows.
constexpr std::string_view kStay = "; set local idle_in_transaction_session_timeout = 0";

Error error_of(const SqlError& error) {
  std::string message = "the source: " + error.message;
  if (!error.hint.empty()) message += " (" + error.hint + ")";
  return {error.is_lost ? ErrorCode::kUnavailable : ErrorCode::kInvalid, std::move(message)};
}

template <class T>
Result<void> done_or(const SqlResult<T>& result) {
  if (result) return {};
  return error_of(result.error());
}

class PostgresSource final : public Source {
 public:
  PostgresSource(Plan plan, store::postgres::Url url) : plan_(std::move(plan)), url_(std::move(url)) {}
  // The lock is gone once this is: the end of a connection alone reaches the server some time later.
  ~PostgresSource() override {
    if (lock_) (void)lock_->run_text("rollback", soon());
  }

  Result<bool> lock() override {
    TRY(open(lock_, "begin"));
    store::postgres::Parameters parameters;
    parameters.add(std::string_view(plan_.limit));
    const auto rows = lock_->run(kLock, parameters, soon());
    if (!rows) return error_of(rows.error());
    return rows->boolean(0, 0, "the lock");
  }

  // The snapshot is taken by the first query, whatever that is.
  Result<void> begin() override {
    TRY(open(reader_, "begin isolation level repeatable read read only"));
    return done_or(reader_->run_text("select 1", soon()));
  }

  Result<void> read(const SeeRow& see) override {
    std::vector<std::optional<std::string_view>> columns;
    const auto see_row = [&](const Rows& rows) {
      columns.clear();
      for (std::size_t i = 0; i < rows.column_count(); ++i) {
        columns.push_back(rows.is_null(0, i) ? std::nullopt : std::optional(rows.text(0, i)));
      }
      return see(columns);
    };
    return done_or(reader_->stream(query_text(plan_.query), see_row, net::Deadline::in(plan_.timeout)));
  }

  Result<void> confirm_lock() override { return done_or(lock_->run_text("select 1", soon())); }

  void cancel() override {
    const std::lock_guard guard(mutex_);
    is_cancelled_ = true;
    for (const net::Descriptor& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
  }

 private:
  [[nodiscard]] net::Deadline soon() const { return net::Deadline::in(url_.timeout); }

  Result<void> open(std::optional<Connection>& connection, std::string_view begin) {
    auto opened = Connection::open(url_.libpq, soon(), plan_.timeout);
    if (!opened) return error_of(opened.error());
    connection.emplace(std::move(*opened));
    {
      const std::lock_guard guard(mutex_);
      sockets_.push_back(connection->share_socket());
      if (is_cancelled_) ::shutdown(sockets_.back().get(), SHUT_RDWR);
    }
    return done_or(connection->run_text(std::string(begin) + std::string(kStay), soon()));
  }

  const Plan plan_;
  const store::postgres::Url url_;
  std::optional<Connection> lock_;
  std::optional<Connection> reader_;
  std::mutex mutex_;  // guards what is below
  std::vector<net::Descriptor> sockets_;
  bool is_cancelled_ = false;
};

}  // namespace

Result<std::unique_ptr<Source>> make_postgres_source(const Plan& plan) {
  auto url = TRY(store::postgres::parse_url(plan.source));
  return std::make_unique<PostgresSource>(plan, std::move(url));
}

std::string query_text(std::string_view query) {
  while (!query.empty() && std::string_view(" \t\r\n;").find(query.back()) != std::string_view::npos) {
    query.remove_suffix(1);
  }
  return "select * from (\n" + std::string(query) + "\n) as mete_sync";
}

}  // namespace mete::sync
