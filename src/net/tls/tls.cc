#include "net/tls/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/errors.h"

namespace mete::net {

namespace {

Error cannot_load(const std::string& what, const std::string& file, std::string_view content) {
  return base::invalid("cannot load the " + what + " from " + file + ": " + tls_file_problem(file, content));
}

class TlsTransport final : public Transport {
 public:
  explicit TlsTransport(SSL* ssl) : ssl_(ssl) {}
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;
  ~TlsTransport() override { ::SSL_free(ssl_); }

  Transferred read(char* to, std::size_t bytes_max) override {
    ::ERR_clear_error();
    const int count = ::SSL_read(ssl_, to, static_cast<int>(std::min<std::size_t>(bytes_max, INT_MAX)));
    return outcome_of(count);
  }
  Transferred write(std::string_view bytes) override {
    ::ERR_clear_error();
    const int count = ::SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    return outcome_of(count);
  }
  [[nodiscard]] bool is_established() const override { return ::SSL_is_init_finished(ssl_) == 1; }
  [[nodiscard]] bool wants_write() const override { return wants_write_; }
  [[nodiscard]] bool has_buffered_input() const override { return ::SSL_pending(ssl_) > 0; }
  void shut_down() override {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_);
  }

 private:
  Transferred outcome_of(int count) {
    wants_write_ = false;
    if (count > 0) return {Transfer::kDone, static_cast<std::size_t>(count)};
    switch (::SSL_get_error(ssl_, count)) {
      case SSL_ERROR_WANT_WRITE:
        wants_write_ = true;
        return {Transfer::kWouldBlock, 0};
      case SSL_ERROR_WANT_READ:
        return {Transfer::kWouldBlock, 0};
      default:
        return {Transfer::kClosed, 0};
    }
  }

  SSL* ssl_;
  bool wants_write_ = false;
};

// Tells the client which of its protocols is spoken: the one of the listener, if the client has it.
int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                    unsigned offered_size, void* /*context*/) {
  const auto* const spoken = static_cast<const char*>(SSL_get_app_data(ssl));
  if (spoken == nullptr) return SSL_TLSEXT_ERR_NOACK;
  for (unsigned at = 0; at < offered_size; at += 1U + offered[at]) {
    const unsigned size = offered[at];
    if (size > offered_size - at - 1) break;
    if (std::string_view(reinterpret_cast<const char*>(offered + at + 1), size) != spoken) continue;
    *chosen = offered + at + 1;
    *chosen_size = static_cast<unsigned char>(size);
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

std::string tls_file_problem(const std::string& file, std::string_view content) {
  // The first error is the one that the others follow from.
  const unsigned long first = ::ERR_get_error();
  ::ERR_clear_error();
  if (::access(file.c_str(), R_OK) != 0) return std::generic_category().message(errno);
  if (std::filesystem::is_directory(file)) return std::generic_category().message(EISDIR);
  if (first != 0 && ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
  const char* const known = first == 0 ? nullptr : ::ERR_reason_error_string(first);
  const std::string_view reason = known == nullptr ? "" : known;
  if (reason == "bad decrypt" || reason == "bad password read") {
    return "it has a passphrase, and nobody is there to be asked for it";
  }
  if (reason == "key values mismatch") return "it does not belong to the certificate";
  return "it is not a PEM file with " + std::string(content) + (reason.empty() ? "" : ": " + std::string(reason));
}

Result<std::shared_ptr<TlsContext>> TlsContext::load(const TlsFiles& files) {
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
  CHECK(context != nullptr);
  std::shared_ptr<TlsContext> owner(new TlsContext(context));
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Answers are sent in pieces from buffers that move; an idle connection needs no buffers.
  ::SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  // A key with a passphrase is refused: nobody is there to be asked for it.
  ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  // Sessions are resumed only where they were made; without this they could not be with client certificates.
  constexpr std::string_view kSessionContext = "mete";
  ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                   kSessionContext.size());
  if (::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return cannot_load("certificate (tls.cert)", files.certificate, "a certificate");
  }
  if (::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot_load("private key (tls.key)", files.key, "a private key");
  }
  if (::SSL_CTX_check_private_key(context) != 1) {
    ::ERR_clear_error();
    return base::invalid("the private key " + files.key + " does not belong to the certificate " + files.certificate);
  }
  if (!files.client_authorities.empty()) {
    if (::SSL_CTX_load_verify_locations(context, files.client_authorities.c_str(), nullptr) != 1) {
      return cannot_load("authorities of clients (tls.client_ca)", files.client_authorities, "certificates");
    }
    ::SSL_CTX_set_client_CA_list(context, ::SSL_load_client_CA_file(files.client_authorities.c_str()));
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return owner;
}

TlsContext::~TlsContext() { ::SSL_CTX_free(context_); }

std::unique_ptr<Transport> TlsContext::make_transport(int socket, const char* protocol) const {
  SSL* const ssl = ::SSL_new(context_);
  CHECK(ssl != nullptr);
  CHECK(::SSL_set_fd(ssl, socket) == 1);
  ::SSL_set_accept_state(ssl);
  SSL_set_app_data(ssl, const_cast<char*>(protocol));  // NOLINT: it is only read
  return std::make_unique<TlsTransport>(ssl);
}

}  // namespace mete::net
