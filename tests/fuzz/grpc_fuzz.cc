// Any bytes from a client of gRPC: behind the greeting of HTTP/2 and without it, whole and cut in two. The session
// answers or sends it away; what it keeps stays within its bounds, and however the bytes were cut the calls are the
// same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/doors/grpc/method.h"
#include "wire/grpc/grpc_server.h"

namespace {

using namespace mete;

constexpr std::string_view kGreeting =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    "\0\0\0\4\0\0\0\0\0";  // and empty settings

// What the events were, in a row.
std::string play(std::string_view first, std::string_view second) {
  wire::GrpcServer server;
  std::string told;
  for (const std::string_view piece : {std::string_view(kGreeting.data(), 33), first, second}) {
    if (!server.receive(piece)) break;
    for (const wire::GrpcEvent& event : server.take_events()) {
      told +=
          std::to_string(static_cast<int>(event.kind)) + ":" + std::to_string(event.stream) + ":" + event.message + ";";
    }
    const wire::GrpcBounds& bounds = wire::GrpcServer::kClientBounds;
    CHECK(server.calls_under_way() <= bounds.streams + 1);
    CHECK(server.buffered_bytes() <= bounds.input + (bounds.streams + 1) * wire::GrpcServer::kCallBytes);
  }
  base::Output output;
  static_cast<void>(server.write(output, std::size_t{1} << 20));
  return told;
}

// Every method reads any message, or says what is wrong with it; and so does reflection.
void describe(std::string_view input) {
  const std::string name(input);
  static_cast<void>(server::grpc_files().find_symbol(name));
  static_cast<void>(server::grpc_files().find_file(name));
  static_cast<void>(server::find_grpc_method(name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = play(input, "");
  for (std::size_t cut = 1; cut < input.size(); cut += 1 + input.size() / 16) {
    CHECK(play(input.substr(0, cut), input.substr(cut)) == whole);
  }
  wire::GrpcServer stranger;
  static_cast<void>(stranger.receive(input));
  describe(input);
  return 0;
}
