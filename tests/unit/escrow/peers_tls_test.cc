// Nodes that know each other by certificates, without a secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "escrow/peers/links.h"
#include "store/store_clock.h"
#include "support/child_process.h"
#include "support/waiting.h"
#include "unit/escrow/peers_fixture.h"

namespace mete::escrow {
namespace {

using support::becomes_true;
using ::testing::HasSubstr;

struct PeerTlsTest : ::testing::Test {
  PeerTlsTest() { std::signal(SIGPIPE, SIG_IGN); }

  // A certificate for 127.0.0.1 that is its own authority.
  PeerTls make_certificate(const std::string& name) {
    const std::string certificate = directory.path() / (name + ".pem");
    const std::string key = directory.path() / (name + ".key");
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=test -addext "
        "subjectAltName=IP:127.0.0.1 -keyout " +
        key + " -out " + certificate + " 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    return {.certificate = certificate, .key = key, .authority = certificate};
  }
  std::unique_ptr<PeerLinks> start(Counters& counters, const PeerTls& tls) {
    return PeerLinks::start({.listen = "127.0.0.1:0", .tls = tls, .clock = &clock}, counters).value();
  }

  support::TemporaryDirectory directory;
  const store::SystemClock clock;
  Counters a{{"a", 1}};
  Counters b{{"b", 1}};
};

TEST_F(PeerTlsTest, NodesOfOneAuthorityConverge) {
  const PeerTls tls = make_certificate("one");
  const auto links_a = start(a, tls);
  const auto links_b = start(b, tls);
  ASSERT_TRUE(links_a->set_peers({{"b", links_b->address()}}).has_value());
  ASSERT_TRUE(links_b->set_peers({{"a", links_a->address()}}).has_value());
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(a.add("key " + std::to_string(i), 1, clock.now()).has_value());
  ASSERT_TRUE(b.add("key 0", 2, clock.now()).has_value());
  EXPECT_TRUE(becomes_true(kLong, [&] { return b.size() == 20'000 && a.get("key 0", clock.now()) == 3; }));
}

TEST_F(PeerTlsTest, ANodeOfAnotherAuthorityIsRefused) {
  const auto links_a = start(a, make_certificate("one"));
  const auto links_b = start(b, make_certificate("two"));
  ASSERT_TRUE(links_b->set_peers({{"a", links_a->address()}}).has_value());
  ASSERT_TRUE(b.add("k", 2, clock.now()).has_value());
  ASSERT_TRUE(becomes_true(kLong, [&] { return !links_b->status()[0].last_error.empty(); }));
  EXPECT_THAT(links_b->status()[0].last_error, HasSubstr("certificate"));
  EXPECT_EQ(a.get("k", clock.now()), std::nullopt);
}

TEST_F(PeerTlsTest, ANodeWithoutCertificateIsRefused) {
  const auto links_a = start(a, make_certificate("one"));
  const auto links_b = start(b, {});
  ASSERT_TRUE(links_b->set_peers({{"a", links_a->address()}}).has_value());
  ASSERT_TRUE(b.add("k", 2, clock.now()).has_value());
  ASSERT_TRUE(becomes_true(kLong, [&] { return !links_b->status()[0].last_error.empty(); }));
  EXPECT_EQ(a.get("k", clock.now()), std::nullopt);
}

}  // namespace
}  // namespace mete::escrow
