// connect(): the way to a session.

#include <libpq-fe.h>
#include <poll.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "net/connect.h"
#include "net/fiber.h"
#include "store/postgres/connection.h"
#include "store/postgres/url.h"

namespace mete::store::postgres {

namespace {

// Keywords and values as libpq wants them: those behind take the place of those in front.
class Settings {
 public:
  void add(const char* keyword, std::string value) { entries_.emplace_back(keyword, std::move(value)); }

  [[nodiscard]] Handle start() const {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : entries_) {
      keywords.push_back(keyword);
      values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    constexpr int kExpandUrl = 1;
    return Handle(PQconnectStartParams(keywords.data(), values.data(), kExpandUrl));
  }

 private:
  std::vector<std::pair<const char*, std::string>> entries_;
};

// Notices are for people at a terminal; libpq would print them to standard error.
void ignore_notice(void* /*context*/, const pg_result* /*notice*/) {}

SqlResult<Handle> connect_once(const Settings& settings, const net::Deadline& deadline) {
  Handle handle = settings.start();
  if (!handle) return lost("no memory for a connection to PostgreSQL");
  PQsetNoticeReceiver(handle.get(), ignore_notice, nullptr);
  auto next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED || PQstatus(handle.get()) == CONNECTION_BAD) {
      return lost(one_line(PQerrorMessage(handle.get())));
    }
    const short awaited = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!net::wait_for_socket(PQsocket(handle.get()), awaited, deadline)) {
      const std::string address = std::string(PQhost(handle.get())) + ":" + PQport(handle.get());
      return lost(address + " does not answer within " + base::duration_text(deadline.timeout()));
    }
    next = PQconnectPoll(handle.get());
  }
  constexpr int kOn = 1;
  if (PQsetnonblocking(handle.get(), kOn) != 0) return lost(one_line(PQerrorMessage(handle.get())));
  return handle;
}

Settings settings_for(const std::string& url, const Host* host) {
  Settings settings;
  settings.add("dbname", url);
  settings.add("fallback_application_name", "mete");
  settings.add("client_encoding", "UTF8");
  if (host == nullptr) return settings;
  settings.add("host", host->name);
  settings.add("hostaddr", host->address);
  settings.add("port", host->port);
  return settings;
}

SqlResult<Handle> connect_to(const Settings& settings, const std::string& options, const net::Deadline& deadline) {
  if (options.empty()) return connect_once(settings, deadline);
  Settings with_options = settings;
  with_options.add("options", options);
  auto handle = connect_once(with_options, deadline);
  constexpr std::string_view kRefusal = "unsupported startup parameter";
  if (handle || handle.error().message.find(kRefusal) == std::string::npos) return handle;
  return connect_once(settings, deadline);
}

}  // namespace

void Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

SqlResult<Handle> connect(const std::string& url, Duration statement_timeout, const net::Deadline& deadline) {
  const auto conninfo = parse_conninfo(url);
  if (!conninfo) return lost(conninfo.error());
  std::string options;
  // In front of the URL's own: of two the last one counts.
  if (!statement_timeout.is_never()) {
    options = "-c statement_timeout=" + std::to_string(statement_timeout.ms()) + " " + conninfo->options;
  }
  const std::vector<Host>& hosts = conninfo->hosts;
  if (hosts.size() < 2) return connect_to(settings_for(url, nullptr), options, deadline);
  std::string failures;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    auto handle = connect_to(settings_for(url, &hosts[i]), options, deadline.share(hosts.size() - i));
    if (handle) return handle;
    failures += (failures.empty() ? "" : "; ") + handle.error().message;
  }
  return lost(std::move(failures));
}

}  // namespace mete::store::postgres
