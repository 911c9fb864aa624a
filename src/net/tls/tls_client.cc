#include "net/tls/tls_client.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"
#include "base/errors.h"
#include "net/fiber.h"
#include "net/tls/tls.h"

namespace mete::net {

namespace {

Error cannot_start(std::string_view remedy) {
  return base::unavailable("cannot start TLS: " + tls_failure() + "; " + std::string(remedy));
}

struct NamedFile {
  std::string_view name;  // of the setting
  const std::string& file;
};

Error cannot_read(std::string_view kind, const NamedFile& named, std::string_view content) {
  return base::invalid(std::string(kind) + " '" + std::string(named.name) + "': cannot use '" + named.file +
                       "': " + tls_file_problem(named.file, content));
}

// OpenSSL's own way to a socket writes without MSG_NOSIGNAL: a server that is gone would end the program, and a library
// must not change how its program takes signals. So it has this way.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int send_bytes(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_bytes(BIO* bio, char* room, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = ::recv(socket_of(bio), room, static_cast<std::size_t>(size), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // Nothing is kept back.
}

BIO_METHOD* make_way() {
  BIO_METHOD* const way = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
  CHECK(way != nullptr);
  BIO_meth_set_write(way, send_bytes);
  BIO_meth_set_read(way, receive_bytes);
  BIO_meth_set_ctrl(way, control);
  return way;
}

void use_socket(SSL* session, int socket) {
  static BIO_METHOD* const kWay = make_way();
  BIO* const bio = BIO_new(kWay);
  CHECK(bio != nullptr);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));  // NOLINT(performance-no-int-to-ptr)
  BIO_set_init(bio, 1);
  SSL_set_bio(session, bio, bio);
}

// The certificate must name the host. Servers are told the name too, but never an IP address (RFC 6066).
bool expect_host(SSL* session, const std::string& host) {
  if (is_ip_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1;
  // As the macro SSL_set_tlsext_host_name does it, but for its cast.
  const auto told =
      SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, std::string(host).data());
  return told == 1 && SSL_set1_host(session, host.c_str()) == 1;
}

}  // namespace

void TlsDeleter::operator()(SSL* session) const { SSL_free(session); }

void TlsDeleter::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

Result<TlsClient> TlsClient::load(const TlsClientOptions& options, const TlsClientNames& names) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return cannot_start("is OpenSSL installed as it should be?");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  // A key with a passphrase is refused: nobody is there to be asked for it.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  const bool has_authorities = options.ca.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                                                  : SSL_CTX_load_verify_file(context.get(), options.ca.c_str()) == 1;
  if (!has_authorities) return cannot_read(names.kind, {names.ca, options.ca}, "certificates to trust");
  if (options.certificate.empty() != options.key.empty()) {
    return base::invalid("a certificate needs its key, and a key its certificate: give both " +
                         std::string(names.certificate) + " and " + std::string(names.key));
  }
  const bool has_certificate = !options.certificate.empty();
  if (has_certificate && SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()) != 1) {
    return cannot_read(names.kind, {names.certificate, options.certificate}, "a certificate");
  }
  if (has_certificate && SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot_read(names.kind, {names.key, options.key}, "the certificate's private key");
  }
  if (!options.protocol.empty()) {
    const std::string list = static_cast<char>(options.protocol.size()) + options.protocol;
    const int failed = SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(list.data()),
                                               static_cast<unsigned>(list.size()));
    if (failed != 0) return cannot_start("OpenSSL refused the name of the protocol");
  }
  return TlsClient(std::move(context), names, has_certificate);
}

Result<TlsSession> TlsClient::shake_hands(const Descriptor& socket, const Address& address,
                                          const Deadline& deadline) const {
  TlsSession session(SSL_new(context_.get()));
  if (!session || !expect_host(session.get(), address.host)) return cannot_start("is the host's name right?");
  use_socket(session.get(), socket.get());
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(session.get());
    if (result == 1) return session;
    const short events = awaited_by_tls(session, result);
    if (events == 0) return handshake_failure(session, address);
    if (!wait_for_socket(socket.get(), events, deadline)) {
      return base::unavailable("no answer to TLS from " + address.to_string() +
                               "; does the server speak TLS on this port?");
    }
  }
}

Error TlsClient::handshake_failure(const TlsSession& session, const Address& address) const {
  const std::string what = "cannot use TLS with " + address.to_string() + ": ";
  const long verdict = SSL_get_verify_result(session.get());
  if (verdict != X509_V_OK) {
    return base::unavailable(what + X509_verify_cert_error_string(verdict) +
                             "; name the authority that signed the server's certificate with " +
                             std::string(names_.ca));
  }
  return base::unavailable(what + tls_failure() + "; does the server speak TLS on this port?" + certificate_hint());
}

std::string TlsClient::certificate_hint() const {
  if (has_certificate_) return "";
  return "; if it wants a certificate of its clients, give one with " + std::string(names_.certificate) + " and " +
         std::string(names_.key);
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

std::string tls_failure() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the connection was closed" : reason;
}

}  // namespace mete::net
