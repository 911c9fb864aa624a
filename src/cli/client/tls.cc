#include "cli/client/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <array>
#include <csignal>

#include "net/tls.h"

namespace mete::cli {

namespace {

using TlsContext = std::unique_ptr<SSL_CTX, TlsDeleter>;

tl::unexpected<Error> failed(ErrorCode code, const std::string& what, std::string_view remedy) {
  return tl::unexpected(Error{code, what + ": " + tls_failure() + "; " + std::string(remedy)});
}

tl::unexpected<Error> cannot_read(std::string_view option, const std::string& file, std::string_view content) {
  return tl::unexpected(Error{ErrorCode::kInvalid, "option '--" + std::string(option) + "': cannot use '" + file +
                                                       "': " + net::tls_file_problem(file, content)});
}

Result<TlsContext> make_context(const TlsOptions& options) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return failed(ErrorCode::kUnavailable, "cannot start TLS", "is OpenSSL installed as it should be?");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const bool has_authorities = options.ca.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                                  : SSL_CTX_load_verify_file(context.get(), options.ca.c_str()) == 1;
  if (!has_authorities) {
    return cannot_read("tls-ca", options.ca, "certificates to trust");
  }
  if (options.certificate.empty() != options.key.empty()) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid,
              "a certificate needs its key, and a key its certificate: give both --tls-cert and --tls-key"});
  }
  if (options.certificate.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()) != 1) {
    return cannot_read("tls-cert", options.certificate, "a certificate");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot_read("tls-key", options.key, "the certificate's private key");
  }
  return context;
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes = {};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// The certificate must name the host. Servers are told the name too, but never an IP address (RFC 6066).
bool expect_host(SSL* session, const std::string& host) {
  if (is_ip_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1;
  // As the macro SSL_set_tlsext_host_name does it, but for its cast.
  const auto told =
      SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, std::string(host).data());
  return told == 1 && SSL_set1_host(session, host.c_str()) == 1;
}

Error handshake_failure(const TlsSession& session, const net::Address& address, const TlsOptions& options) {
  const std::string what = "cannot use TLS with " + address.to_string() + ": ";
  const long verdict = SSL_get_verify_result(session.get());
  if (verdict != X509_V_OK) {
    return {ErrorCode::kUnavailable, what + X509_verify_cert_error_string(verdict) +
                                         "; name the authority that signed the server's certificate with --tls-ca"};
  }
  return {ErrorCode::kUnavailable,
          what + tls_failure() + "; does the server speak TLS on this port?" + std::string(certificate_hint(options))};
}

}  // namespace

Result<TlsSession> start_tls(const net::Descriptor& socket, const net::Address& address, const TlsOptions& options,
                             Duration timeout) {
  if (address.is_unix()) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid, "TLS needs a host, not a socket of this machine: leave out --tls"});
  }
  // OpenSSL writes without MSG_NOSIGNAL, and a server that is gone must be an error, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  auto context = make_context(options);
  if (!context) return tl::unexpected(context.error());
  TlsSession session(SSL_new(context->get()));
  const bool is_ready =
      session && expect_host(session.get(), address.host) && SSL_set_fd(session.get(), socket.get()) == 1;
  if (!is_ready) return failed(ErrorCode::kUnavailable, "cannot start TLS", "is the host's name right?");
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(session.get());
    if (result == 1) return session;
    const short events = awaited_by_tls(session, result);
    if (events == 0) return tl::unexpected(handshake_failure(session, address, options));
    if (!wait_for_socket(socket, events, timeout)) {
      return tl::unexpected(Error{ErrorCode::kUnavailable, "no answer to TLS from " + address.to_string() +
                                                               "; does the server speak TLS on this port?"});
    }
  }
}

short awaited_by_tls(const TlsSession& session, int result) {
  switch (SSL_get_error(session.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

std::string_view certificate_hint(const TlsOptions& options) {
  if (!options.certificate.empty()) return "";
  return "; if it wants a certificate of its clients, give one with --tls-cert and --tls-key";
}

std::string tls_failure() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the connection was closed" : reason;
}

}  // namespace mete::cli
