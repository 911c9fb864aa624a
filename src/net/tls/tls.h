// TLS for connections: OpenSSL, 1.2 or newer.
//
// A context is made once, from files, and shared by the connections of a listener; each gets a transport of its own.
// Thread safety: make_transport() from any thread; a transport on its connection's.
#pragma once

#include <mete/result.h>

#include <memory>
#include <string>
#include <string_view>

#include "net/transport.h"

struct ssl_ctx_st;

namespace mete::net {

struct TlsFiles {
  std::string certificate;  // PEM, with the chain behind it
  std::string key;
  std::string client_authorities;  // PEM; not empty: clients must show a certificate that one of these has signed
};

// Why OpenSSL could not read the file, in words; `content` is what should stand in it: "a certificate". Clears
// OpenSSL's errors of this thread.
std::string tls_file_problem(const std::string& file, std::string_view content);

class TlsContext {
 public:
  static Result<std::shared_ptr<TlsContext>> load(const TlsFiles& files);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // For the server's end of a connected socket, which stays the caller's. `protocol`: what is spoken over it, where
  // clients ask (ALPN): "h2". Null: nothing is said.
  [[nodiscard]] std::unique_ptr<Transport> make_transport(int socket, const char* protocol = nullptr) const;

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* context_;
};

}  // namespace mete::net
