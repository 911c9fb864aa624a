// Answers that wait for the disk: each for its own ticket, and none after its client's deadline.
#include <gtest/gtest.h>

#include <map>

#include "base/monotonic.h"
#include "server/doors/grpc/grpc_session.h"
#include "unit/server/doors/synced_store.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

constexpr char kData = 0;
constexpr char kHeaders = 1;

std::string frame(char kind, char flags, std::int32_t stream, const std::string& payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xFF);
  bytes += kind;
  bytes += flags;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xFF);
  return bytes + payload;
}

// Each as a literal that no table has.
std::string headers(const std::vector<std::pair<std::string, std::string>>& all) {
  std::string bytes;
  for (const auto& [name, value] : all) {
    bytes += '\0';
    bytes += static_cast<char>(name.size());
    bytes += name;
    bytes += static_cast<char>(value.size());
    bytes += value;
  }
  return bytes;
}

class DurableAnswers : public ::testing::Test {
 protected:
  DurableAnswers() {
    EXPECT_TRUE(store.define(stock("s").amount(10)).has_value());
    gate.guard(store.disk);
    store.disk.on_progress([this] { gate.note_progress(); });
    receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, ""));
  }

  // A call of one message; its charge is of s and k.
  void call(std::int32_t stream, const std::string& method, const std::string& timeout = "") {
    std::vector<std::pair<std::string, std::string>> fields = {
        {":method", "POST"},    {":scheme", "http"}, {":path", "/mete.v1.Mete/" + method},
        {":authority", "here"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    if (!timeout.empty()) fields.emplace_back("grpc-timeout", timeout);
    const std::string message("\0\0\0\0\x08\x0a\x06\x0a\x01s\x12\x01k", 13);
    receive(frame(kHeaders, 4, stream, headers(fields)) + frame(kData, 1, stream, message));
  }

  void receive(const std::string& bytes) {
    base::Output output;
    const auto received = session.receive(bytes, output, 1 << 20);
    EXPECT_EQ(received.ticket, 0U) << "nothing that is written waits";
    std::string_view rest = output.view();
    while (!rest.empty()) {
      ASSERT_GE(rest.size(), 9U);
      const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(rest[at])); };
      const std::size_t size = byte(0) << 16U | byte(1) << 8U | byte(2);
      frames[static_cast<std::int32_t>(byte(8))] += rest[3] == kData ? 'D' : rest[3] == kHeaders ? 'H' : '.';
      rest.remove_prefix(9 + size);
    }
  }

  // What the loop has to do, and for so long at least.
  void run(Duration at_least = Duration()) {
    loop.after(at_least, [this] { loop.stop(); });
    loop.run();
    if (std::exchange(is_woken, false)) receive("");
  }

  testing::SyncedStore store;
  net::EventLoop loop;
  net::ConnectionSet connections{loop, nullptr};
  SyncGate gate{loop, connections};
  LoopMetrics metrics{loop};
  GrpcHooks hooks;
  bool is_woken = false;
  std::map<std::int32_t, std::string> frames;  // by stream: D for data, H for headers
  GrpcSession session{
      store, hooks, metrics,
      GrpcLater{.run_waiting = {}, .run_beside = {}, .after = {}, .wake = [this] { is_woken = true; }, .gate = &gate}};
};

TEST_F(DurableAnswers, EachLeavesWhenItsOwnIsOnDisk) {
  call(1, "Take");
  call(3, "Peek");
  call(5, "Take");
  run();
  EXPECT_EQ(frames[1], "");
  EXPECT_EQ(frames[3], "HDH") << "what changes nothing waits for nobody";
  EXPECT_TRUE(session.has_answers_to_come());
  store.disk.sync_to(1);
  run();
  EXPECT_EQ(frames[1], "HDH");
  EXPECT_EQ(frames[5], "");
  store.disk.sync_to(2);
  run();
  EXPECT_EQ(frames[5], "HDH");
  EXPECT_FALSE(session.has_answers_to_come());
  EXPECT_EQ(metrics.grpc_late.get(), 0U);
}

TEST_F(DurableAnswers, AnAnswerThatCouldLeaveTooLateIsNone) {
  call(1, "Take", "300m");
  call(3, "Take");
  run(350ms);
  store.disk.sync_all();
  run();
  EXPECT_EQ(frames[1], "H") << "a status and no answer";
  EXPECT_EQ(frames[3], "HDH");
  EXPECT_EQ(metrics.grpc_late.get(), 1U);
}

TEST_F(DurableAnswers, AFailureEndsTheCallsThatWait) {
  call(1, "Take");
  run();
  store.disk.fail("the disk is full");
  run();
  EXPECT_EQ(frames[1], "H");
  call(3, "Peek");
  run();
  EXPECT_EQ(frames[3], "HDH");
  EXPECT_FALSE(session.has_answers_to_come());
}

}  // namespace
}  // namespace mete::server
