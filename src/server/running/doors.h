// Doors: where clients come in. It listens, gives each connection its place and its session, and turns away who has
// none.
//
//     listener ── accept ──▶ place? ──▶ a worker's loop ── session of its language ──▶ Service
//
// Ownership: borrows what it is given. Thread safety: on the first loop alone, but for replace_certificate(), which any
// thread may call. Sessions are made on their worker's thread.
#pragma once

#include <mete/result.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/connection_set.h"
#include "net/listener.h"
#include "net/tls/tls.h"
#include "server/doors/grpc/method.h"
#include "server/doors/http/api.h"
#include "server/envoy/rule_book.h"
#include "server/running/banner.h"
#include "server/running/service.h"

namespace mete::server {

class Doors {
 public:
  // `rules`: null where none are configured; `tls` null: plain text.
  Doors(Service& service, base::Log& log, envoy::RuleBook* rules, std::shared_ptr<net::TlsContext> tls);
  Doors(const Doors&) = delete;
  Doors& operator=(const Doors&) = delete;

  // Listens where the configuration says, or on the sockets that systemd has passed.
  Result<void> open();
  // Lets nobody in any more.
  void close() { listeners_.clear(); }
  // For those who come from now on.
  void replace_certificate(std::shared_ptr<net::TlsContext> certificate);
  // Fills in where it listens, and what it asks of clients.
  void describe(Banner& banner) const;

 private:
  enum class Language : std::uint8_t { kResp, kHttp, kGrpc };
  static constexpr std::array kLanguages = {Language::kResp, Language::kHttp, Language::kGrpc};
  // Something of each language.
  template <class Value>
  using ByLanguage = std::array<Value, kLanguages.size()>;
  template <class Value>
  static Value& of(Language language, ByLanguage<Value>& values) {
    return values[static_cast<std::size_t>(language)];
  }

  Result<void> listen();
  Result<void> listen(const std::vector<std::string>& addresses, Language language);
  Result<void> check_exposure(const net::SocketAddress& address) const;
  void warn_if_open_to_all(const net::SocketAddress& address);
  void add_listener(net::Descriptor socket, Language language);
  void make_protocols();
  // One of a door's protocols: for its usual places, or for those that are kept.
  net::Protocol make_protocol(Language language, Places::Place place);
  std::unique_ptr<net::Session> make_resp_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved);
  std::unique_ptr<net::Session> make_http_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved,
                                                  const wire::HttpLimits& limits);
  std::unique_ptr<net::Session> make_grpc_session(Worker& worker, std::uint64_t id, int socket, bool is_reserved);
  [[nodiscard]] std::function<void(Admission::Outcome)> wrong_password_reporter(const std::string& address);
  [[nodiscard]] Worker& worker_of(const net::ConnectionSet& set);
  void accept(net::Descriptor socket, Language language);

  Service& service_;
  base::Log& log_;
  HttpApi http_api_;
  const GrpcHooks grpc_hooks_;
  std::mutex tls_mutex_;
  std::shared_ptr<net::TlsContext> tls_;  // null: plain text
  ByLanguage<net::Protocol> protocols_;
  ByLanguage<net::Protocol> reserved_protocols_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  ByLanguage<std::vector<std::string>> addresses_;
  std::uint64_t next_connection_ = 1;
  std::size_t next_worker_ = 0;
};

}  // namespace mete::server
