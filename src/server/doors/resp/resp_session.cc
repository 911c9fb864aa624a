#include "server/doors/resp/resp_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/monotonic.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/resp/command_table.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/running/service.h"
#include "server/running/worker.h"
#include "store/caller.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// Fast commands of few words are not timed: there are at most pipeline_max of them in a turn.
constexpr std::size_t kFewWords = 64;
// Requests of more words are carried out beside the event loop: each may be a key to look up.
constexpr std::size_t kManyWords = 1'000;

// What a browser or a scanner sends to a RESP port. Taking its lines for commands could be turned against us by a page
// that makes a browser send them, so it is cut off, as Redis does.
bool is_http(std::string_view word) {
  return wire::equals_ignoring_case(word, "POST") || wire::equals_ignoring_case(word, "Host:");
}

void refuse_unknown(std::span<const std::string_view> words, bool is_container, wire::RespWriter& reply) {
  if (is_container && words.size() < 2) {
    reply.error("ERR", fmt::format("wrong number of arguments for '{}' command", redis_name(words[0])));
  } else if (is_container) {
    std::string container(words[0]);
    for (char& letter : container) letter = static_cast<char>(std::toupper(letter));
    reply.error("ERR", fmt::format("unknown subcommand {}. Try {} HELP.", wire::single_quote(words[1]), container));
  } else {
    reply.error("ERR", fmt::format("unknown command {}", wire::single_quote(words[0])));
  }
}

// Whether the request is a take of one charge and nothing else.
bool read_plain_take(const LookedAhead& ahead, const Command& take, Charge& charge) {
  const auto words = ahead.request.words();
  if (ahead.found.command != &take || words.size() < 3) return false;
  charge = {words[1], words[2], 1};
  if (words.size() == 3) return true;
  if (words.size() != 5 || !wire::equals_ignoring_case(words[3], "COST")) return false;
  const auto cost = wire::parse_integer(words[4]);
  charge.cost = cost.value_or(0);
  return cost.has_value();
}

}  // namespace

RespSession::RespSession(Service& service, Worker& worker, std::shared_ptr<Client> client)
    : service_(service), worker_(worker), client_(std::move(client)), parser_(wire::kUnauthenticatedLimits) {
  begin_without_password();
  service_.clients.add(client_);
}

RespSession::~RespSession() {
  if (is_waiting_) service_.waits.cancel(client_->id);
  service_.clients.remove(*client_);
}

bool RespSession::may_be_silent() const { return client_->is_monitor; }

// Where no password is needed, whoever has a connection that is kept for the admin has it for a short time alone.
bool RespSession::is_stranger() const {
  return !role_ || (client_->is_reserved && client_->credential == 0) || !has_valid_role();
}

void RespSession::set_role(const Shown& shown) {
  role_ = shown.identity.role;
  generation_ = shown.generation;
  client_->role = shown.identity.role;
  client_->credential = shown.identity.credential;
  parser_.set_limits(service_.request_limits);
}

bool RespSession::may_stay_with(Role role) const { return !client_->is_reserved || role == Role::kAdmin; }

// The generation comes first: passwords that are replaced meanwhile are noticed by it.
void RespSession::begin_without_password() {
  generation_ = service_.doorkeeper.generation();
  if (!service_.doorkeeper.is_needed()) return set_role({{Role::kAdmin, 0}, generation_});
  role_.reset();
  client_->role = Role::kLook;
  client_->credential = 0;
  parser_.set_limits(wire::kUnauthenticatedLimits);
}

bool RespSession::has_valid_role() const {
  return generation_ == service_.doorkeeper.generation() || service_.doorkeeper.role_of(client_->credential) == role_;
}

void RespSession::set_version(wire::RespVersion version) {
  version_ = version;
  client_->resp_version = static_cast<int>(version);
}

void RespSession::reset() {
  set_version(wire::RespVersion::k2);
  begin_without_password();
  is_in_multi_ = false;
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
  worker_.answer_after(kWrongPasswordDelay, client_->id, std::move(bytes));
}

net::Session::Received RespSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
  if (is_blocked_) {
    is_blocked_ = false;
    is_waiting_ = false;
    beside_.reset();
    client_->is_blocked = false;
  }
  // Between a right password and its answer they may have been replaced.
  if (const std::uint64_t generation = service_.doorkeeper.generation(); generation != generation_) {
    if (has_valid_role()) {
      generation_ = generation;
    } else {
      begin_without_password();
    }
  }
  execution_ = {.waits_for_disk = false};
  turn_ns_ = 0;
  read_clock();
  output_ = &output;
  workspace_ = worker_.borrow_workspace();
  Received received = receive_batch(input, output, output_max);
  worker_.give_back(std::move(workspace_));
  output_ = nullptr;
  received.ticket = worker_.gate.needed(execution_.ticket);
  return received;
}

void RespSession::on_overflow(base::Output& output) {
  refuse_protocol("the request is longer than server.query_buffer_max allows", output);
}

void RespSession::on_lost(base::Output& output) {
  worker_.metrics.command_errors.add();
  wire::RespWriter(output, version_).error(worker_.gate.failure());
}

void RespSession::on_buffers(const Buffers& buffers) {
  client_->input_bytes.store(buffers.input, std::memory_order_relaxed);
  client_->input_bytes_free.store(buffers.input_capacity - buffers.input, std::memory_order_relaxed);
  client_->output_bytes.store(buffers.output, std::memory_order_relaxed);
  client_->output_capacity.store(buffers.output_capacity, std::memory_order_relaxed);
}

// With a writer of its own: its errors are counted apart from those of commands.
void RespSession::refuse_protocol(std::string_view reason, base::Output& output) {
  worker_.metrics.protocol_errors.add();
  service_.security.note_protocol_error(client_->address, reason);
  wire::RespWriter(output, version_).error("ERR", fmt::format("Protocol error: {}", reason));
}

net::Session::Received RespSession::receive_batch(std::string_view input, base::Output& output,
                                                  std::size_t output_max) {
  const std::uint64_t started_ns = worker_.loop.now_ns();
  client_->active_at_ns.store(started_ns, std::memory_order_relaxed);
  wire::RespWriter reply(output, version_);
  Batch batch{reply, output, output_max};
  while (batch.received.next == Next::kRead) {
    const std::string_view rest = input.substr(batch.received.consumed);
    auto requests = look_ahead(rest, service_.pipeline_max - batch.commands);
    if (requests.empty() && !receive_one(rest, batch)) break;
    bool are_expected = false;
    while (!requests.empty() && batch.received.next == Next::kRead) {
      std::size_t served = serve_together(requests, reply);
      if (served == 0) {
        if (!are_expected) expect(requests);
        are_expected = true;
        execute(requests[0].found, requests[0].request.words(), reply);
        served = 1;
      }
      for (const LookedAhead& ahead : requests.first(served)) batch.received.consumed += ahead.request.consumed;
      finish_commands(served, batch);
      requests = requests.subspan(served);
    }
  }
  if (reply.errors() > 0) worker_.metrics.command_errors.add(reply.errors());
  if (batch.commands > 0) {
    worker_.metrics.commands.add(batch.commands);
    worker_.metrics.latency.observe(base::monotonic_ns() - started_ns, batch.commands);
  }
  return batch.received;
}

// The requests that have arrived together, as far as they are of the usual shape.
std::span<const LookedAhead> RespSession::look_ahead(std::string_view input, std::size_t count_max) {
  if (parser_.is_within_request()) return {};
  std::size_t count = 0;
  for (LookedAhead& ahead : workspace_->ahead) {
    if (count == count_max || !ahead.request.read(input)) break;
    if (!role_ && ahead.request.count > wire::kUnauthenticatedLimits.arguments_max) break;
    ahead.found = find_command(ahead.request.words());
    input.remove_prefix(ahead.request.consumed);
    ++count;
  }
  return {workspace_->ahead.data(), count};
}

// What comes alone is fetched from memory together, as what is served together is: one after the other, each would wait
// for its own.
void RespSession::expect(std::span<const LookedAhead> requests) {
  if (requests.size() < 2) return;
  std::size_t keys = 0;
  std::size_t charges = 0;
  for (const LookedAhead& ahead : requests) {
    const Command* const command = ahead.found.command;
    if (command == nullptr) continue;
    const auto words = ahead.request.words().subspan(std::min(ahead.found.name_words, ahead.request.count));
    if (command->takes_key() && !words.empty()) {
      workspace_->keys[keys++] = words[0];
    } else if (command->takes_charges() && words.size() >= 2) {
      workspace_->together.charges[charges++] = {words[0], words[1], 0};
    }
  }
  if (keys > 1) service_.store.expect_keys({workspace_->keys.data(), keys});
  if (charges > 1) service_.store.expect_charges({workspace_->together.charges.data(), charges});
}

// Tells how many of the first requests it served; none if they cannot be served together, or if there is only one.
std::size_t RespSession::serve_together(std::span<const LookedAhead> requests, wire::RespWriter& reply) {
  const Command* const first = requests[0].found.command;
  if (requests.size() < 2 || first == nullptr || !may_go_together(*first)) return 0;
  if (first->step != nullptr) {
    const std::size_t steps = count_steps(requests);
    if (steps > 0) step_together(requests.first(steps), reply);
    return steps;
  }
  const std::span<const Charge> takes = find_takes(requests);
  if (!takes.empty()) take_together(takes, reply);
  return takes.size();
}

// What the first requests take, which may go together.
std::span<const Charge> RespSession::find_takes(std::span<const LookedAhead> requests) {
  const Command* const first = requests[0].found.command;
  auto& charges = workspace_->together.charges;
  std::size_t count = 0;
  while (count < requests.size() && read_plain_take(requests[count], *first, charges[count])) ++count;
  if (count < 2) return {};
  client_->last_command.store(first, std::memory_order_relaxed);
  return {charges.data(), count};
}

void RespSession::take_together(std::span<const Charge> charges, wire::RespWriter& reply) {
  const std::span<Result<core::Verdict>> answers(workspace_->together.answers.data(), charges.size());
  std::ignore = store::run_for_client(service_.store, core::TakeEach{charges, answers}, execution_);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    answer_take(reply, worker_.metrics, {.charges = charges.subspan(i, 1)}, answers[i]);
  }
}

// How many of the first requests are steps on keys, of any commands that may go together.
std::size_t RespSession::count_steps(std::span<const LookedAhead> requests) {
  std::size_t count = 0;
  for (const Command* last = nullptr; count < requests.size(); ++count) {
    const LookedAhead& ahead = requests[count];
    const Command* const command = ahead.found.command;
    if (command != last) {
      if (command == nullptr || command->step == nullptr || !may_go_together(*command)) break;
      last = command;
    }
    const auto words = ahead.request.words().subspan(ahead.found.name_words);
    if (!command->step->read(words, workspace_->together.steps[count])) break;
  }
  if (count < 2) return 0;
  client_->last_command.store(requests[count - 1].found.command, std::memory_order_relaxed);
  return count;
}

void RespSession::step_together(std::span<const LookedAhead> requests, wire::RespWriter& reply) {
  const std::span steps(workspace_->together.steps.data(), requests.size());
  const std::span answers(workspace_->together.step_answers.data(), requests.size());
  std::ignore = service_.store.run(core::KeysEach{steps, answers}, execution_);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answers[i].has_value()) {
      requests[i].found.command->step->write(reply, *answers[i]);
    } else {
      reply.error(answers[i].error());
    }
  }
}

// Whether nothing has to be said to a request for it before it is carried out: what is refused, or told to others, goes
// the way of a request that comes alone.
bool RespSession::may_go_together(const Command& command) const {
  return command.has(kTogether) && !is_in_multi_ && role_ && allows(*role_, command.access) &&
         (!client_->is_reserved || may_use_reserve(command)) && !service_.clients.has_monitors();
}

// A request of any other shape. False if it has not arrived completely.
bool RespSession::receive_one(std::string_view input, Batch& batch) {
  const wire::RequestParser::Status status = parser_.parse(input);
  if (status == wire::RequestParser::Status::kNeedMore) return false;
  if (status == wire::RequestParser::Status::kError) {
    refuse_protocol(parser_.error(), batch.output);
    batch.received.next = Next::kClose;
    return true;
  }
  batch.received.consumed += parser_.consumed();
  if (parser_.words().empty()) return true;
  execute(find_command(parser_.words()), parser_.words(), batch.reply);
  parser_.release_words();
  finish_commands(1, batch);
  return true;
}

// Once for all requests that are served in one round of the loop. One that had to wait for another server ends in a
// later round.
void RespSession::read_clock() {
  round_ns_ = worker_.loop.now_ns();
  execution_.now = service_.store.now();
}

void RespSession::finish_commands(std::size_t count, Batch& batch) {
  if (worker_.loop.now_ns() != round_ns_) read_clock();
  batch.commands += count;
  if (is_closing_) {
    batch.received.next = Next::kClose;
  } else if (is_blocked_) {
    batch.received.next = Next::kBlock;
  } else if (batch.output.size() >= batch.output_max || batch.commands >= service_.pipeline_max ||
             turn_ns_ >= service_.turn.ns()) {
    batch.received.next = Next::kDrain;
  }
}

void RespSession::execute(const FoundCommand& found, std::span<const std::string_view> words, wire::RespWriter& reply) {
  if (found.command == nullptr) {
    if (is_http(words[0])) {
      close_after_reply();
      return;
    }
    if (!role_) {
      reply.error("NOAUTH", "Authentication required.");
    } else {
      refuse_unknown(words, found.is_container, reply);
    }
    return;
  }
  const Command& command = *found.command;
  client_->last_command.store(&command, std::memory_order_relaxed);
  if (!may_run(command, reply)) return;
  if (client_->is_reserved && !may_use_reserve(command)) {
    reply.error("ERR", "max number of clients reached");
    close_after_reply();
    return;
  }
  if (service_.clients.has_monitors()) tell_monitors(command, words);
  const auto count = static_cast<int>(words.size());
  if (found.arity >= 0 ? count != found.arity : count < -found.arity) {
    reply.error("ERR", fmt::format("wrong number of arguments for '{}' command", redis_name(command.name)));
    return;
  }
  run(command, words, found.name_words, reply);
}

bool RespSession::may_run(const Command& command, wire::RespWriter& reply) const {
  if (is_in_multi_ && !command.has(kInMulti)) {
    reply.error("ERR", "not carried out: it stands between MULTI and EXEC, and MULTI is not supported");
    return false;
  }
  if (command.access == Access::kAnyone) return true;
  if (!role_) {
    reply.error("NOAUTH", "Authentication required.");
    return false;
  }
  if (!allows(*role_, command.access)) {
    reply.error("NOPERM", fmt::format("this password may {}, not run the '{}' command: AUTH with one that may",
                                      *role_ == Role::kLook ? "look" : "use limits", redis_name(command.name)));
    return false;
  }
  return true;
}

// Who has not shown the admin's password may look after the server and its connections, and not use it.
bool RespSession::may_use_reserve(const Command& command) const {
  if (command.access == Access::kAnyone) return true;
  if (role_ != Role::kAdmin) return false;
  return client_->credential != 0 || command.group == Group::kServer || command.group == Group::kConnection;
}

void RespSession::run(const Command& command, std::span<const std::string_view> words, std::size_t name_words,
                      wire::RespWriter& reply) {
  Arguments& arguments = workspace_->arguments;
  if (const auto read = arguments.read(command, words.subspan(name_words)); !read) {
    reply.error(read.error());
    return;
  }
  // What is about the connection itself needs its session.
  const bool is_long = words.size() > kManyWords && command.group != Group::kConnection;
  if ((command.has(kSlow) || is_long) && !service_.is_store_elsewhere) {
    run_beside(command, words);
    return;
  }
  CommandContext context{service_,
                         {&service_.waits, service_.store, execution_},
                         arguments,
                         reply,
                         worker_.metrics,
                         this,
                         role_ == Role::kAdmin};
  if (command.has(kFast) && words.size() <= kFewWords) {
    command.handler(context);
    return;
  }
  const std::uint64_t started_ns = base::monotonic_ns();
  command.handler(context);
  const auto elapsed_ns = static_cast<std::int64_t>(base::monotonic_ns() - started_ns);
  turn_ns_ += elapsed_ns;
  if (!command.has(kSecret)) note_if_slow(words, elapsed_ns);
}

void RespSession::note_if_slow(std::span<const std::string_view> words, std::int64_t elapsed_ns) {
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
    client.worker->reach(client.id, [line](net::Connection& connection) { connection.push(line); });
  });
}

}  // namespace mete::server
