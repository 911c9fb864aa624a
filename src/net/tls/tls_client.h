// TlsClient: TLS of a client, over sockets that do not block. OpenSSL, 1.2 or newer.
//
// It is made once, from files, and every connection shakes hands on its own. Thread safety: shake_hands() from any
// thread; a session is its connection's.
#pragma once

#include <mete/result.h>
#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "net/address.h"
#include "net/deadline.h"
#include "net/descriptor.h"

namespace mete::net {

struct TlsClientOptions {
  std::string ca = {};           // a file of certificates to trust; empty: those of the system
  std::string certificate = {};  // of this client, where the server asks for one; with its key
  std::string key = {};
  bool verify = true;         // the server's certificate, and that it is the server of this name
  std::string protocol = {};  // what is spoken over it (ALPN), where the server wants to be told: "h2"
};

// What these are called where the user writes them: errors say what to change.
struct TlsClientNames {
  std::string_view kind;  // "option"
  std::string_view ca;
  std::string_view certificate;
  std::string_view key;
};

struct TlsDeleter {
  void operator()(SSL* session) const;
  void operator()(SSL_CTX* context) const;
};
using TlsSession = std::unique_ptr<SSL, TlsDeleter>;

class TlsClient {
 public:
  static Result<TlsClient> load(const TlsClientOptions& options, const TlsClientNames& names);

  // Shakes hands over the socket, which must stay open for as long as the session.
  Result<TlsSession> shake_hands(const Descriptor& socket, const Address& address, const Deadline& deadline) const;

  // What to try when a connection failed, behind the reason: nothing if a certificate was given.
  [[nodiscard]] std::string certificate_hint() const;

 private:
  using Context = std::unique_ptr<SSL_CTX, TlsDeleter>;
  TlsClient(Context context, const TlsClientNames& names, bool has_certificate)
      : context_(std::move(context)), names_(names), has_certificate_(has_certificate) {}
  [[nodiscard]] Error handshake_failure(const TlsSession& session, const Address& address) const;

  Context context_;
  TlsClientNames names_;
  bool has_certificate_;
};

// What SSL_read or SSL_write is waiting for, by its result: POLLIN, POLLOUT, or 0 if it has failed.
short awaited_by_tls(const TlsSession& session, int result);

// The reason of the last failure, as OpenSSL tells it.
std::string tls_failure();

}  // namespace mete::net
