// The link over TLS, against a real server.
#include <cstdlib>
#include <string>

#include "link_fixture.h"
#include "support/child_process.h"
#include "support/ports.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

// A server that wants TLS on a second port, with a certificate of its own making for 127.0.0.1.
class TlsLink : public ::testing::Test {
 protected:
  // `clients`: "yes" if clients must show a certificate.
  void start(const std::string& clients) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=test -addext "
        "subjectAltName=IP:127.0.0.1 -keyout " +
        key() + " -out " + certificate() + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    port_ = support::free_port();
    server_ = std::make_unique<support::RedisServer>(support::RedisServer::Options{
        .arguments = {"--tls-port", std::to_string(port_), "--tls-cert-file", certificate(), "--tls-key-file", key(),
                      "--tls-ca-cert-file", certificate(), "--tls-auth-clients", clients}});
  }
  [[nodiscard]] std::string certificate() const { return directory_.path() / "certificate.pem"; }
  [[nodiscard]] std::string key() const { return directory_.path() / "key.pem"; }
  [[nodiscard]] std::string url(const std::string& parameters) const {
    return "rediss://127.0.0.1:" + std::to_string(port_) + "?timeout=5s" + parameters;
  }

  support::TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<support::RedisServer> server_;
};

TEST_F(TlsLink, RunsListensAndSurvivesARestart) {
  start("no");
  const auto link = must_open(url("&ca=" + certificate()));
  for (int i = 1; i < 10; ++i) EXPECT_EQ(text_of(run_one(*link, {"INCR", "a"})), std::to_string(i));
  EXPECT_EQ(link->status().connections, 1U);
  EXPECT_EQ(link->status().reconnects, 0U);
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(text_of(run_one(*link, {"ECHO", large})), large);

  EXPECT_FALSE(link->wait_for_message("news", 1ms).value());
  server_->call({"PUBLISH", "news", "x"});
  EXPECT_TRUE(link->wait_for_message("news", 10s).value());

  server_->stop();
  server_->start_again();
  EXPECT_EQ(text_of(run_one(*link, {"PING"})), "PONG");
  EXPECT_EQ(link->status().failures, 0U);
}

TEST_F(TlsLink, ChecksWhoIsThere) {
  start("no");
  const auto stranger = open_link(url(""), store_scripts());
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().message.find("name the authority that signed the server's certificate with ca="),
            std::string::npos)
      << stranger.error().message;
  EXPECT_TRUE(open_link(url("&verify=no"), store_scripts()));
  // The certificate is for the address, and not for this name.
  const auto other =
      open_link("rediss://localhost:" + std::to_string(port_) + "?timeout=5s&ca=" + certificate(), store_scripts());
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("hostname mismatch"), std::string::npos) << other.error().message;
}

TEST_F(TlsLink, ShowsItsOwnCertificate) {
  start("yes");
  const auto without = open_link(url("&ca=" + certificate()), store_scripts());
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().message.find("give one with cert= and key="), std::string::npos) << without.error().message;
  const auto with =
      open_link(url("&ca=" + certificate() + "&cert=" + certificate() + "&key=" + key()), store_scripts());
  EXPECT_TRUE(with) << with.error().message;
  const auto half = open_link(url("&cert=" + certificate()), store_scripts());
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("give both cert= and key="), std::string::npos) << half.error().message;
}

}  // namespace
}  // namespace mete::store::redis
