// TLS of a client over a socket that does not block.
#pragma once

#include <mete/result.h>
#include <mete/time.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/client/connect.h"

namespace mete::cli {

struct TlsOptions {
  std::string ca = {};           // a file of certificates to trust; empty: those of the system
  std::string certificate = {};  // of this client, where the server asks for one; with its key
  std::string key = {};
  bool verify = true;  // the server's certificate, and that it is the server of this name
};

struct TlsDeleter {
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsSession = std::unique_ptr<SSL, TlsDeleter>;

// Shakes hands over the socket, which must stay open for as long as the session.
Result<TlsSession> start_tls(const net::Descriptor& socket, const net::Address& address, const TlsOptions& options,
                             Duration timeout);

// What SSL_read or SSL_write is waiting for, by its result: POLLIN, POLLOUT, or 0 if it has failed.
short awaited_by_tls(const TlsSession& session, int result);

// What to try when a connection failed, behind the reason: nothing if a certificate was given.
std::string_view certificate_hint(const TlsOptions& options);

// The reason of the last failure, as OpenSSL tells it.
std::string tls_failure();

}  // namespace mete::cli
