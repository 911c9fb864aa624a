#include "server/resp_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/monotonic.h"
#include "server/command_table.h"
#include "store/store_clock.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// How long a wrong password is answered with silence.
constexpr Duration kWrongPasswordDelay = std::chrono::milliseconds(200);

std::string lower_case(std::string_view name) {
  std::string text(name);
  for (char& letter : text) letter = letter == ' ' ? '|' : static_cast<char>(std::tolower(letter));
  return text;
}

// What a browser or a scanner sends to a RESP port. Taking its lines for commands could be turned against us by a page
// that makes a browser send them, so it is cut off, as Redis does.
bool is_http(std::string_view word) {
  return wire::equals_ignoring_case(word, "POST") || wire::equals_ignoring_case(word, "Host:");
}

void refuse_unknown(std::span<const std::string_view> words, bool is_container, wire::RespWriter& reply) {
  if (is_container && words.size() < 2) {
    reply.error("ERR", fmt::format("wrong number of arguments for '{}' command", lower_case(words[0])));
  } else if (is_container) {
    std::string container(words[0]);
    for (char& letter : container) letter = static_cast<char>(std::toupper(letter));
    reply.error("ERR", fmt::format("unknown subcommand {}. Try {} HELP.", wire::quote(words[1]), container));
  } else {
    // As Redis has it: 'X' in single quotes.
    const std::string quoted = wire::quote(words[0]);
    reply.error("ERR", fmt::format("unknown command '{}'", quoted.substr(1, quoted.size() - 2)));
  }
}

}  // namespace

RespSession::RespSession(Service& service, Worker& worker, std::shared_ptr<Client> client)
    : service_(service), worker_(worker), client_(std::move(client)), parser_(wire::kUnauthenticatedLimits) {
  set_role(service_.authentication.is_needed() ? std::nullopt : std::optional(Role::kAdmin));
  service_.clients.add(client_);
}

RespSession::~RespSession() {
  if (is_waiting_) service_.waits.cancel(client_->id);
  service_.clients.remove(*client_);
}

void RespSession::set_role(std::optional<Role> role) {
  role_ = role;
  client_->is_admin = role == Role::kAdmin;
  parser_.set_limits(role ? service_.request_limits : wire::kUnauthenticatedLimits);
}

void RespSession::set_version(wire::RespVersion version) {
  version_ = version;
  client_->resp_version = static_cast<int>(version);
}

void RespSession::reset() {
  set_version(wire::RespVersion::k2);
  set_role(service_.authentication.is_needed() ? std::nullopt : std::optional(Role::kAdmin));
  service_.clients.set_monitor(*client_, false);
  service_.clients.change(*client_, [](Client& client) { client.name.clear(); });
}

void RespSession::block() {
  is_blocked_ = true;
  client_->is_blocked = true;
}

void RespSession::block_waiting() {
  block();
  is_waiting_ = true;
}

void RespSession::delay_reply(std::size_t position) {
  std::string bytes(output_->view().substr(position));
  output_->cut_to(position);
  block();
  worker_.loop.after(kWrongPasswordDelay, [&worker = worker_, id = client_->id, bytes = std::move(bytes)] {
    if (net::Connection* connection = worker.connections.find(id)) connection->resume(bytes);
  });
}

net::Session::Received RespSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
  if (is_blocked_) {
    is_blocked_ = false;
    is_waiting_ = false;
    client_->is_blocked = false;
  }
  const store::BatchTime batch(service_.store.now());
  output_ = &output;
  const Received received = receive_batch(input, output, output_max);
  output_ = nullptr;
  return received;
}

void RespSession::on_overflow(base::Output& output) {
  worker_.metrics.protocol_errors.add();
  wire::RespWriter(output, version_)
      .error("ERR", "Protocol error: the request is longer than server.query_buffer_max allows");
}

net::Session::Received RespSession::receive_batch(std::string_view input, base::Output& output,
                                                  std::size_t output_max) {
  const std::uint64_t started_ns = worker_.loop.now_ns();
  client_->active_at_ns.store(started_ns, std::memory_order_relaxed);
  wire::RespWriter reply(output, version_);
  Received received;
  std::uint64_t commands = 0;
  while (received.next == Next::kRead) {
    const wire::RequestParser::Status status = parser_.parse(input.substr(received.consumed));
    if (status == wire::RequestParser::Status::kNeedMore) break;
    if (status == wire::RequestParser::Status::kError) {
      reply.error("ERR", "Protocol error: " + parser_.error());
      worker_.metrics.protocol_errors.add();
      received.next = Next::kClose;
      break;
    }
    received.consumed += parser_.consumed();
    if (parser_.words().empty()) continue;
    ++commands;
    execute(parser_.words(), reply);
    if (is_closing_) {
      received.next = Next::kClose;
    } else if (is_blocked_) {
      received.next = Next::kBlock;
    } else if (output.size() >= output_max) {
      received.next = Next::kDrain;
    }
  }
  if (commands > 0) {
    worker_.metrics.commands.add(commands);
    worker_.metrics.latency.observe(base::monotonic_ns() - started_ns, commands);
  }
  return received;
}

void RespSession::execute(std::span<const std::string_view> words, wire::RespWriter& reply) {
  const FoundCommand found = find_command(words);
  if (found.command == nullptr) {
    if (is_http(words[0])) {
      close_after_reply();
      return;
    }
    worker_.metrics.command_errors.add();
    if (!role_) {
      reply.error("NOAUTH", "Authentication required.");
    } else {
      refuse_unknown(words, found.is_container, reply);
    }
    return;
  }
  const Command& command = *found.command;
  client_->last_command.store(&command, std::memory_order_relaxed);
  if (!may_run(command, reply)) {
    worker_.metrics.command_errors.add();
    return;
  }
  if (service_.clients.has_monitors()) tell_monitors(command, words);
  const auto count = static_cast<int>(words.size());
  if (found.arity >= 0 ? count != found.arity : count < -found.arity) {
    worker_.metrics.command_errors.add();
    reply.error("ERR", fmt::format("wrong number of arguments for '{}' command", lower_case(command.name)));
    return;
  }
  run(command, words, reply);
}

bool RespSession::may_run(const Command& command, wire::RespWriter& reply) const {
  if (command.access == Access::kAnyone) return true;
  if (!role_) {
    reply.error("NOAUTH", "Authentication required.");
    return false;
  }
  if (command.access == Access::kAdmin && role_ != Role::kAdmin) {
    reply.error("NOPERM", fmt::format("this password may use limits, not run the '{}' command: AUTH with the admin's",
                                      lower_case(command.name)));
    return false;
  }
  return true;
}

void RespSession::run(const Command& command, std::span<const std::string_view> words, wire::RespWriter& reply) {
  Arguments& arguments = worker_.arguments;
  if (const auto read = arguments.read(command, words.subspan(command.name_words())); !read) {
    worker_.metrics.command_errors.add();
    reply.error(read.error());
    return;
  }
  if (command.has(kSlow)) {
    run_beside(command, words);
    return;
  }
  CommandContext context{service_, arguments, reply, worker_.metrics, this};
  if (command.has(kFast)) {
    command.handler(context);
    return;
  }
  const std::uint64_t started_ns = base::monotonic_ns();
  command.handler(context);
  if (!command.has(kSecret)) note_if_slow(words, started_ns);
}

// The command gets copies of the words: the input buffer is not its own.
void RespSession::run_beside(const Command& command, std::span<const std::string_view> words) {
  block();
  auto copies = std::make_shared<const std::vector<std::string>>(words.begin(), words.end());
  const auto task = [&service = service_, &worker = worker_, &command, copies, version = version_, client = client_] {
    base::Output output;
    wire::RespWriter reply(output, version);
    const std::vector<std::string_view> own_words(copies->begin(), copies->end());
    Arguments arguments;
    const auto read = arguments.read(command, std::span(own_words).subspan(command.name_words()));
    LoopMetrics metrics(worker.loop);  // Slow commands decide nothing that is counted.
    const std::uint64_t started_ns = base::monotonic_ns();
    if (read) {
      CommandContext context{service, arguments, reply, metrics, nullptr};
      command.handler(context);
    } else {
      reply.error(read.error());
    }
    const auto elapsed_ns = static_cast<std::int64_t>(base::monotonic_ns() - started_ns);
    if (elapsed_ns >= service.slow_threshold_ns) {
      service.slow_log.add(
          {0, service.store.now().unix_seconds(), elapsed_ns / 1000, shorten(own_words), client->address, {}});
    }
    worker.answer(client->id, std::string(output.view()));
  };
  if (!service_.background.run(task)) {
    base::Output output;
    wire::RespWriter(output, version_).error("ERR", "too many slow commands are waiting: try again later");
    worker_.answer(client_->id, std::string(output.view()));
  }
}

void RespSession::note_if_slow(std::span<const std::string_view> words, std::uint64_t started_ns) {
  const auto elapsed_ns = static_cast<std::int64_t>(base::monotonic_ns() - started_ns);
  if (elapsed_ns < service_.slow_threshold_ns.load(std::memory_order_relaxed)) return;
  service_.slow_log.add(
      {0, service_.store.now().unix_seconds(), elapsed_ns / 1000, shorten(words), client_->address, client_->name});
}

void RespSession::tell_monitors(const Command& command, std::span<const std::string_view> words) {
  const std::uint64_t now_us = service_.store.now().ns() / 1000;
  std::string line = fmt::format("+{}.{:06} [0 {}]", now_us / 1'000'000, now_us % 1'000'000, client_->address);
  for (const std::string_view word : words.first(command.has(kSecret) ? command.name_words() : words.size())) {
    line += ' ';
    line += wire::quote(word, word.size());
  }
  if (command.has(kSecret)) line += " \"(redacted)\"";
  line += "\r\n";
  service_.clients.for_each([&](const Client& client) {
    if (!client.is_monitor) return;
    client.worker->loop.post([&worker = *client.worker, id = client.id, line] {
      if (net::Connection* connection = worker.connections.find(id)) connection->push(line);
    });
  });
}

}  // namespace mete::server
