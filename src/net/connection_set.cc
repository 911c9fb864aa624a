#include "net/connection_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace mete::net {

namespace {

constexpr Duration kTimeCheckEvery = std::chrono::seconds(1);
// Of sessions that have been served: so many buffers are kept for the next, unless they have grown.
constexpr std::size_t kSpareMax = 256;
constexpr std::size_t kSpareBytesMax = std::size_t{64} << 10;

}  // namespace

ConnectionSet::ConnectionSet(EventLoop& loop, Fibers* fibers)
    : loop_(loop), fibers_(fibers), read_buffer_(new char[kReadBytes]) {  // NOLINT: not filled on purpose
  check_time();
}

ConnectionSet::~ConnectionSet() { loop_.cancel(time_check_); }

void ConnectionSet::add(Descriptor socket, std::uint64_t id, const Protocol& protocol) {
  const int fd = socket.get();
  auto connection = std::make_unique<Connection>(*this, id, std::move(socket), protocol);
  Connection& added = *connection;
  connections_.emplace(id, std::move(connection));
  auto transport = protocol.make_transport ? protocol.make_transport(fd) : nullptr;
  added.start(protocol.make_session(*this, id, fd), std::move(transport));
}

void ConnectionSet::remove(Connection& connection) {
  const auto found = connections_.find(connection.id());
  CHECK(found != connections_.end());
  if (connection.protocol().on_closed) connection.protocol().on_closed(connection.id());
  loop_.bury(std::move(found->second));
  connections_.erase(found);
  if (connections_.empty() && when_empty_) loop_.post(std::exchange(when_empty_, nullptr));
}

std::unique_ptr<Serving> ConnectionSet::borrow_serving() {
  if (spare_.empty()) return std::make_unique<Serving>();
  auto serving = std::move(spare_.back());
  spare_.pop_back();
  return serving;
}

void ConnectionSet::give_back(std::unique_ptr<Serving> serving) {
  const bool is_small = serving->input.capacity() <= kSpareBytesMax && serving->answers.capacity() <= kSpareBytesMax;
  if (spare_.size() >= kSpareMax || !is_small) return;
  serving->input.clear();
  serving->answers.clear();
  spare_.push_back(std::move(serving));
}

void ConnectionSet::finish_all(EventLoop::Task done) {
  if (connections_.empty()) {
    done();
    return;
  }
  when_empty_ = std::move(done);
  for_each([](Connection& connection) { connection.finish(); });
}

void ConnectionSet::note_withheld(const Connection& connection, Ticket ticket) {
  const Ticket last = withheld_.empty() ? 0 : withheld_.back().ticket;
  withheld_.push_back({std::max(last, ticket), connection.id()});
}

void ConnectionSet::release(Ticket reached) {
  while (!withheld_.empty() && withheld_.front().ticket <= reached) {
    const Waiting first = withheld_.front();
    withheld_.pop_front();
    with(first.connection, [&](Connection& connection) { connection.release(reached); });
  }
}

void ConnectionSet::lose_withheld() {
  while (!withheld_.empty()) {
    const Waiting first = withheld_.front();
    withheld_.pop_front();
    with(first.connection, [](Connection& connection) { connection.lose_withheld(); });
  }
}

// By their ids: what is done to one may close it, or others.
void ConnectionSet::for_each(const std::function<void(Connection&)>& act) {
  std::vector<std::uint64_t> ids;
  ids.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  for (const std::uint64_t id : ids) with(id, act);
}

void ConnectionSet::check_time() {
  for_each([this](Connection& connection) { connection.check_time(loop_.now_ns()); });
  time_check_ = loop_.after(kTimeCheckEvery, [this] { check_time(); });
}

}  // namespace mete::net
