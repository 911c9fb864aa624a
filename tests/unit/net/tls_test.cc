#include "net/tls/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <string>

#include "net/connection_set.h"

namespace mete::net {
namespace {

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* pointer) const { Free(pointer); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Freer<SSL, SSL_free>>;
using TlsSession = std::unique_ptr<SSL_SESSION, Freer<SSL_SESSION, SSL_SESSION_free>>;

Key make_key() { return Key(::EVP_EC_gen("P-256")); }

// Signed by itself.
Certificate make_certificate(EVP_PKEY* key) {
  Certificate certificate(::X509_new());
  ::X509_set_version(certificate.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), 3600);
  ::X509_set_pubkey(certificate.get(), key);
  X509_NAME* const name = ::X509_get_subject_name(certificate.get());
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  ::X509_set_issuer_name(certificate.get(), name);
  EXPECT_GT(::X509_sign(certificate.get(), key, ::EVP_sha256()), 0);
  return certificate;
}

class EchoSession final : public Session {
 public:
  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override {
    const std::string_view answered = input.substr(0, output_max);
    output.append(answered);
    const bool is_over = answered.find("bye") != std::string_view::npos;
    return {answered.size(), is_over ? Next::kClose : answered.size() < input.size() ? Next::kDrain : Next::kRead};
  }
};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "mete-tls-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    write("cert.pem", [&](std::FILE* file) { return ::PEM_write_X509(file, certificate.get()); });
    write("key.pem", [&](std::FILE* file) {
      return ::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    write("client.pem", [&](std::FILE* file) { return ::PEM_write_X509(file, client_certificate.get()); });
    protocol.make_session = [](ConnectionSet&, std::uint64_t, int) { return std::make_unique<EchoSession>(); };
    protocol.make_transport = [this](int socket) { return context->make_transport(socket); };
    protocol.limits.output_max = 20'000;
  }
  ~TlsTest() override { std::filesystem::remove_all(folder); }

  template <class Write>
  void write(const std::string& name, Write how) {
    std::FILE* const file = std::fopen((folder / name).c_str(), "w");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(how(file), 1) << name;
    std::fclose(file);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder / name; }

  void load(const std::string& client_authorities = {}) {
    auto loaded = TlsContext::load({path("cert.pem"), path("key.pem"), client_authorities});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    context = *loaded;
  }

  // A new connection: the client's end, not blocking.
  Descriptor connect() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    set.add(Descriptor(ends[1]), ++last_id, protocol);
    return Descriptor(ends[0]);
  }
  static Ssl make_client(const Descriptor& socket, SSL_CTX* with) {
    Ssl ssl(::SSL_new(with));
    ::SSL_set_fd(ssl.get(), socket.get());
    ::SSL_set_connect_state(ssl.get());
    return ssl;
  }
  void settle() {
    for (int round = 0; round < 5; ++round) {
      loop.stop();
      loop.run();
    }
  }
  // Repeats the step, with the server's turns in between, until it succeeds or fails for good.
  template <class Step>
  int drive(SSL* ssl, Step step) {
    for (int round = 0; round < 10'000; ++round) {
      const int result = step(ssl);
      if (result > 0) return result;
      const int error = ::SSL_get_error(ssl, result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return -error;
      settle();
    }
    return 0;
  }
  std::string echo(SSL* ssl, const std::string& text) {
    std::string answer;
    std::size_t sent = 0;
    std::array<char, 4096> bytes{};
    while (answer.size() < text.size()) {
      if (sent < text.size()) {
        const int count =
            ::SSL_write(ssl, text.data() + sent, static_cast<int>(std::min<std::size_t>(text.size() - sent, 9000)));
        if (count > 0) sent += static_cast<std::size_t>(count);
      }
      settle();
      const int count = ::SSL_read(ssl, bytes.data(), static_cast<int>(bytes.size()));
      if (count > 0) {
        answer.append(bytes.data(), static_cast<std::size_t>(count));
      } else if (const int error = ::SSL_get_error(ssl, count); error != SSL_ERROR_WANT_READ) {
        return answer + "(failed)";
      }
    }
    return answer;
  }

  Key key = make_key();
  Certificate certificate = make_certificate(key.get());
  Key client_key = make_key();
  Certificate client_certificate = make_certificate(client_key.get());
  Context client_context{::SSL_CTX_new(::TLS_client_method())};
  std::filesystem::path folder;
  std::shared_ptr<TlsContext> context;
  EventLoop loop;
  Protocol protocol;
  ConnectionSet set{loop};
  std::uint64_t last_id = 0;
};

TEST_F(TlsTest, CarriesBytesOfAnyNumber) {
  load();
  const Descriptor socket = connect();
  const Ssl ssl = make_client(socket, client_context.get());
  ASSERT_GT(drive(ssl.get(), ::SSL_connect), 0);
  EXPECT_EQ(echo(ssl.get(), "hello"), "hello");
  std::string large;
  for (int index = 0; large.size() < 300'000; ++index) large += std::to_string(index);
  EXPECT_EQ(echo(ssl.get(), large), large);
}

TEST_F(TlsTest, SaysGoodbye) {
  load();
  const Descriptor socket = connect();
  const Ssl ssl = make_client(socket, client_context.get());
  ASSERT_GT(drive(ssl.get(), ::SSL_connect), 0);
  EXPECT_EQ(echo(ssl.get(), "bye"), "bye");
  char byte = 0;
  EXPECT_EQ(drive(ssl.get(), [&](SSL* each) { return ::SSL_read(each, &byte, 1); }), -SSL_ERROR_ZERO_RETURN);
  ::SSL_shutdown(ssl.get());
  ::shutdown(socket.get(), SHUT_WR);
  settle();
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(TlsTest, ClosesOnWhatIsNoTls) {
  load();
  const Descriptor socket = connect();
  ASSERT_GT(::send(socket.get(), "PING\r\nPING\r\nPING\r\n", 18, MSG_NOSIGNAL), 0);
  settle();
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(TlsTest, RefusesOldVersions) {
  load();
  ::SSL_CTX_set_security_level(client_context.get(), 0);
  ::SSL_CTX_set_max_proto_version(client_context.get(), TLS1_1_VERSION);
  const Descriptor socket = connect();
  const Ssl ssl = make_client(socket, client_context.get());
  EXPECT_LT(drive(ssl.get(), ::SSL_connect), 0);
}

TEST_F(TlsTest, AsksForClientCertificatesAndResumesTheirSessions) {
  load(path("client.pem"));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Context own(::SSL_CTX_new(::TLS_client_method()));
    ::SSL_CTX_set_max_proto_version(own.get(), version);
    {
      const Descriptor socket = connect();
      const Ssl ssl = make_client(socket, own.get());
      std::ignore = drive(ssl.get(), ::SSL_connect);  // TLS 1.3 tells the client only later
      EXPECT_EQ(echo(ssl.get(), "without one"), "(failed)");
    }
    ::SSL_CTX_use_certificate(own.get(), client_certificate.get());
    ::SSL_CTX_use_PrivateKey(own.get(), client_key.get());
    TlsSession session;
    for (int round = 0; round < 2; ++round) {
      const Descriptor socket = connect();
      const Ssl ssl = make_client(socket, own.get());
      if (session) ::SSL_set_session(ssl.get(), session.get());
      ASSERT_GT(drive(ssl.get(), ::SSL_connect), 0) << "round " << round;
      EXPECT_EQ(echo(ssl.get(), "with one"), "with one") << "round " << round;
      EXPECT_EQ(::SSL_session_reused(ssl.get()), round) << version;
      session.reset(::SSL_get1_session(ssl.get()));
      ::SSL_shutdown(ssl.get());
    }
  }
}

TEST_F(TlsTest, SaysWhatIsWrongWithItsFiles) {
  write("encrypted.pem", [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, key.get(), ::EVP_aes_256_cbc(), reinterpret_cast<const unsigned char*>("pass"),
                                  4, nullptr, nullptr);
  });
  write("other.pem", [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, client_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  const struct {
    TlsFiles files;
    std::string reason;
  } rows[] = {
      {{path("none"), path("key.pem"), ""},
       "cannot load the certificate (tls.cert) from " + path("none") + ": No such file or directory"},
      {{path("key.pem"), path("key.pem"), ""},
       "the certificate (tls.cert) from " + path("key.pem") + ": it is not a PEM file with a certificate"},
      {{path(""), path("key.pem"), ""}, "the certificate (tls.cert) from " + path("") + ": Is a directory"},
      {{path("cert.pem"), path("none"), ""},
       "the private key (tls.key) from " + path("none") + ": No such file or directory"},
      {{path("cert.pem"), path("cert.pem"), ""}, "it is not a PEM file with a private key"},
      {{path("cert.pem"), path("encrypted.pem"), ""},
       "the private key (tls.key) from " + path("encrypted.pem") + ": it has a passphrase"},
      {{path("cert.pem"), path("other.pem"), ""}, "does not belong to the certificate"},
      {{path("cert.pem"), path("key.pem"), path("none")},
       "the authorities of clients (tls.client_ca) from " + path("none") + ": No such file or directory"},
      {{path("cert.pem"), path("key.pem"), path("key.pem")}, "it is not a PEM file with certificates"},
  };
  for (const auto& row : rows) {
    const auto loaded = TlsContext::load(row.files);
    ASSERT_FALSE(loaded.has_value()) << row.reason;
    EXPECT_NE(loaded.error().message.find(row.reason), std::string::npos) << loaded.error().message;
  }
}

}  // namespace
}  // namespace mete::net
