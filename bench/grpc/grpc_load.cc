// What the gRPC door costs: `./x bench grpc` runs it, and measures the server beside it.
//
//     mete_grpc_bench calls PORT CONNECTIONS STREAMS MILLISECONDS    ShouldRateLimit, each stream again when answered
//     mete_grpc_bench idle PORT CONNECTIONS STREAMS                  streams that say nothing, until the input ends
//     mete_grpc_bench rules FOLDER                                   rules read, and requests matched
//
// It prints one line of JSON. Frames are written by hand: a client that thinks would take the processor from the
// server.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/monotonic.h"
#include "net/descriptor.h"
#include "server/envoy/match.h"
#include "server/envoy/rule_book.h"

namespace mete {
namespace {

constexpr std::uint64_t kKeys = 100'000;
constexpr std::size_t kKeyDigits = 5;

enum Frame : char { kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kGoAway = 7, kWindowUpdate = 8 };
constexpr char kEndStream = 1;
constexpr char kAck = 1;
constexpr char kEndHeaders = 4;
constexpr std::size_t kFrameHead = 9;

void append_number(std::string& bytes, std::uint32_t number, int octets) {
  for (int shift = (octets - 1) * 8; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFFU);
}

void append_frame(std::string& bytes, Frame kind, char flags, std::uint32_t stream, std::string_view payload) {
  append_number(bytes, static_cast<std::uint32_t>(payload.size()), 3);
  bytes += static_cast<char>(kind);
  bytes += flags;
  append_number(bytes, stream, 4);
  bytes += payload;
}

// A text field of a message of Protocol Buffers, shorter than 128 bytes.
std::string field(int number, std::string_view text) {
  std::string bytes;
  bytes += static_cast<char>(number << 3 | 2);
  bytes += static_cast<char>(text.size());
  return bytes.append(text);
}

// The first names all headers, and so puts them into the table that those behind it point to.
std::string headers(std::string_view path, bool is_first) {
  if (!is_first) return "\x83\x86\xC1\xC0\xBF\xBE";
  std::string bytes = "\x83\x86";  // POST, http
  const std::array<std::array<std::string_view, 2>, 4> fields = {
      {{":path", path}, {":authority", "mete"}, {"te", "trailers"}, {"content-type", "application/grpc"}}};
  for (const auto& [name, value] : fields) {
    bytes += '\x40';
    bytes += static_cast<char>(name.size());
    bytes += name;
    bytes += static_cast<char>(value.size());
    bytes += value;
  }
  return bytes;
}

struct Counts {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t denials = 0;
};

class Connection {
 public:
  explicit Connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {  // NOLINT
      throw std::runtime_error("cannot connect: " + std::generic_category().message(errno));
    }
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    output_ = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    append_frame(output_, kSettings, 0, 0, "");
  }

  [[nodiscard]] int socket() const { return socket_.get(); }

  void ask(std::uint64_t key) {
    std::string digits = std::to_string(key);
    digits.insert(0, kKeyDigits - digits.size(), '0');
    const std::string entry = field(1, "tenant") + field(2, "key:" + digits);
    const std::string message = field(1, "bench") + field(2, field(1, entry));
    std::string data(1, '\0');
    append_number(data, static_cast<std::uint32_t>(message.size()), 4);
    begin("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit");
    append_frame(output_, kData, kEndStream, stream_, data + message);
  }
  void begin(std::string_view path) {
    const bool is_first = stream_ == 0;
    stream_ = is_first ? 1 : stream_ + 2;
    append_frame(output_, kHeaders, kEndHeaders, stream_, headers(path, is_first));
  }

  void send() {
    std::string_view rest = output_;
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the server has closed the connection");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    output_.clear();
  }

  // What there is to read; returns how many calls have ended.
  std::size_t receive(Counts& counts) {
    std::array<char, 65'536> room;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ssize_t size = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (size <= 0) throw std::runtime_error("the server has closed the connection");
    input_.append(room.data(), static_cast<std::size_t>(size));
    std::size_t ended = 0;
    std::string_view rest = input_;
    while (rest.size() >= kFrameHead) {
      const std::size_t length = byte(rest, 0) << 16U | byte(rest, 1) << 8U | byte(rest, 2);
      if (rest.size() < kFrameHead + length) break;
      ended += handle(static_cast<Frame>(rest[3]), rest[4], rest.substr(kFrameHead, length), counts) ? 1U : 0U;
      rest.remove_prefix(kFrameHead + length);
    }
    input_.erase(0, input_.size() - rest.size());
    return ended;
  }

 private:
  static std::size_t byte(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

  // Whether a call has ended.
  bool handle(Frame kind, char flags, std::string_view payload, Counts& counts) {
    if (kind == kGoAway) throw std::runtime_error("the server sends its clients away");
    if (kind == kSettings && (flags & kAck) == 0) append_frame(output_, kSettings, kAck, 0, "");
    if (kind == kPing && (flags & kAck) == 0) append_frame(output_, kPing, kAck, 0, payload);
    if (kind == kData) {
      // overall_code: OK is 1, and stands first.
      if (payload.size() < 7 || payload[6] != 1) ++counts.denials;
      ++answers_;
      give_back(payload.size());
    }
    if (kind != kHeaders || (flags & kEndStream) == 0) return false;
    ++counts.calls;
    if (answers_ == 0) {
      ++counts.errors;
    } else {
      --answers_;
    }
    return true;
  }

  // The server may send as much again.
  void give_back(std::size_t bytes) {
    constexpr std::size_t kEvery = 32'768;
    taken_ += bytes;
    if (taken_ < kEvery) return;
    std::string increment;
    append_number(increment, static_cast<std::uint32_t>(taken_), 4);
    append_frame(output_, kWindowUpdate, 0, 0, increment);
    taken_ = 0;
  }

  net::Descriptor socket_;
  std::uint32_t stream_ = 0;
  std::size_t taken_ = 0;
  std::uint64_t answers_ = 0;  // whose calls have not ended
  std::string output_;
  std::string input_;
};

std::vector<Connection> connect(std::uint16_t port, std::size_t count) {
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < count; ++i) connections.emplace_back(port);
  return connections;
}

void load(std::uint16_t port, std::size_t connection_count, std::size_t streams, std::uint64_t milliseconds) {
  auto connections = connect(port, connection_count);
  std::minstd_rand random(1);
  std::vector<pollfd> polled;
  for (Connection& connection : connections) {
    for (std::size_t i = 0; i < streams; ++i) connection.ask(random() % kKeys);
    connection.send();
    polled.push_back({connection.socket(), POLLIN, 0});
  }
  Counts counts;
  const std::uint64_t begin_ns = base::monotonic_ns();
  const std::uint64_t end_ns = begin_ns + milliseconds * 1'000'000;
  while (base::monotonic_ns() < end_ns) {
    if (::poll(polled.data(), polled.size(), 100) <= 0) continue;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      for (std::size_t ended = connections[i].receive(counts); ended > 0; --ended) connections[i].ask(random() % kKeys);
      connections[i].send();
    }
  }
  std::printf("{\"calls\": %llu, \"errors\": %llu, \"denials\": %llu, \"seconds\": %.6f}\n",
              static_cast<unsigned long long>(counts.calls), static_cast<unsigned long long>(counts.errors),
              static_cast<unsigned long long>(counts.denials),
              static_cast<double>(base::monotonic_ns() - begin_ns) / 1e9);
}

void idle(std::uint16_t port, std::size_t connection_count, std::size_t streams) {
  auto connections = connect(port, connection_count);
  Counts counts;
  for (Connection& connection : connections) {
    // As a client may that was told how many streams there may be.
    connection.send();
    connection.receive(counts);
    for (std::size_t i = 0; i < streams; ++i) connection.begin("/mete.v1.Mete/Takes");
    connection.send();
  }
  std::printf("{\"streams\": %zu}\n", connection_count * streams);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

void rules(const std::string& folder) {
  using server::envoy::Entry;
  using server::envoy::Level;
  using server::envoy::Rules;
  const std::uint64_t begin_ns = base::monotonic_ns();
  const auto files = server::envoy::read_rules_files(folder);
  const auto read = files ? Rules::read(*files) : files.error();
  if (!read) throw std::runtime_error(read.error().message);
  const std::uint64_t read_ns = base::monotonic_ns() - begin_ns;
  const Level& domain = read->domains().begin()->second;
  constexpr std::size_t kMatches = 1'000'000;
  std::vector<std::string> values;  // each tenant has two rules
  for (std::size_t i = 0; i < read->count() / 2; ++i) values.push_back("tenant-" + std::to_string(i));
  std::minstd_rand random(1);
  std::string composite;
  std::size_t found = 0;
  const std::uint64_t match_ns = base::monotonic_ns();
  for (std::size_t i = 0; i < kMatches; ++i) {
    const std::array<Entry, 2> entries = {Entry{"tenant", values[random() % values.size()]}, Entry{"path", "/login"}};
    found += server::envoy::match_one(domain, entries, composite).rule == nullptr ? 0U : 1U;
  }
  std::printf("{\"rules\": %zu, \"read_ns\": %llu, \"match_ns\": %.1f, \"found\": %zu, \"matches\": %zu}\n",
              read->count(), static_cast<unsigned long long>(read_ns),
              static_cast<double>(base::monotonic_ns() - match_ns) / kMatches, found, kMatches);
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t at) { return std::stoull(arguments.at(at)); };
  try {
    const auto port = [&] { return static_cast<std::uint16_t>(number(1)); };
    if (arguments.at(0) == "calls") {
      load(port(), number(2), number(3), number(4));
    } else if (arguments[0] == "idle") {
      idle(port(), number(2), number(3));
    } else {
      rules(arguments.at(1));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mete_grpc_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace mete

int main(int count, char** words) { return mete::run({words + 1, words + count}); }
