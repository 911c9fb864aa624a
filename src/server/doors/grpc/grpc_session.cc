#include "server/doors/grpc/grpc_session.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/monotonic.h"
#include "base/random.h"
#include "server/doors/turn.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// Who watches is told of a change within this time.
constexpr Duration kWatchEvery = std::chrono::seconds(1);
// A server that stops waits so long for clients that have not read its notice, and for the rest of their calls.
constexpr Duration kDrainMax = std::chrono::seconds(3);
// Of one message: as often somebody else may undo what was prepared for it.
constexpr std::size_t kPreparationsMax = 3;
// Of a call: answers that wait for the disk; then its messages wait.
constexpr std::size_t kHeldAnswersMax = 1'024;
// What a message that waits costs beside its bytes.
constexpr std::size_t kWaitingMessageBytes = sizeof(std::string);
// Messages of one call that are answered together.
constexpr std::size_t kTogetherMax = 64;

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!wire::equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return authorization.substr(kScheme.size());
}

}  // namespace

// The conversation, and what is under way in it.
struct GrpcSession::Talk : std::enable_shared_from_this<GrpcSession::Talk> {
  Talk(store::Store& with_store, const GrpcHooks& with_hooks, LoopMetrics& with_metrics, GrpcLater with_later,
       GrpcReports with_reports, const GrpcClient& with_client)
      : store(with_store),
        hooks(with_hooks),
        metrics(with_metrics),
        later(std::move(with_later)),
        reports(std::move(with_reports)),
        client(with_client),
        server(needs_password() ? wire::GrpcServer::kStrangerBounds : wire::GrpcServer::kClientBounds),
        has_all_bounds(!needs_password()),
        too_old_at_ns(end_of_age()) {}

  [[nodiscard]] bool needs_password() const { return hooks.doorkeeper != nullptr && hooks.doorkeeper->is_needed(); }
  // Whether the client has shown a password that is still valid.
  [[nodiscard]] bool is_known() { return known.is_any() && hooks.doorkeeper->still_holds(known); }
  // A connection that is kept for the admin has to be the admin's.
  [[nodiscard]] bool is_stranger() {
    if (client.is_reserved) return !is_known() || known.identity.role != Role::kAdmin;
    return needs_password() && !is_known();
  }

  using Status = wire::GrpcStatus;

  struct HeldAnswer {
    store::Ticket ticket = 0;
    std::string bytes = {};
  };

  struct CallUnderWay {
    const GrpcMethod* method = nullptr;
    std::uint64_t begun_ns = 0;
    Duration timeout = Duration::never();
    std::deque<std::string> messages = {};
    std::size_t messages_seen = 0;
    std::size_t preparations = 0;  // of the message that is being answered
    // Answers that wait for what they tell of to be on disk, or for one that does; and how the call ends behind them.
    std::vector<HeldAnswer> held = {};
    std::optional<GrpcFailure> ending = {};
    bool is_at_work = false;
    bool is_put_off = false;  // its messages wait for room, or for the next turn
    bool has_ended = false;   // the client has said all
    bool is_open_to_all = false;
    Shown shown = {};  // none: no password was needed

    [[nodiscard]] bool is_late() const {
      return !timeout.is_never() && base::monotonic_ns() - begun_ns >= static_cast<std::uint64_t>(timeout.ns());
    }
  };

  void handle(wire::GrpcEvent& event) {
    switch (event.kind) {
      case wire::GrpcEvent::Kind::kCall:
        return begin(event.stream);
      case wire::GrpcEvent::Kind::kGone:
        return forget(event.stream);
      case wire::GrpcEvent::Kind::kMessage:
        return add(event.stream, std::move(event.message));
      case wire::GrpcEvent::Kind::kEnd:
        return end(event.stream);
    }
  }

  void forget(std::int32_t stream) {
    const auto found = calls.find(stream);
    if (found == calls.end()) return;
    drop_held(stream, found->second);
    calls.erase(found);
  }

  void begin(std::int32_t stream) {
    metrics.grpc_calls.add();
    const wire::GrpcCall* const begun = server.call(stream);
    if (begun == nullptr) return;
    const wire::GrpcCall& call = *begun;
    const GrpcMethod* const method = find_grpc_method(call.path);
    if (method == nullptr) {
      return end_call(stream, Status::kUnimplemented, "there is no method " + call.path);
    }
    const bool is_open_to_all = method->access == Access::kAnyone;
    if (!is_open_to_all && !admit(stream, *method, call)) return;
    // Whoever keeps many calls open must not make the server keep as many copies of its password.
    server.forget_password(stream);
    calls[stream] = {.method = method,
                     .begun_ns = base::monotonic_ns(),
                     .timeout = call.timeout,
                     .is_open_to_all = is_open_to_all,
                     .shown = is_open_to_all || !needs_password() ? Shown{} : known};
  }

  // False: the call is answered, or will be.
  bool admit(std::int32_t stream, const GrpcMethod& method, const wire::GrpcCall& call) {
    if (needs_password() && !look_at_password(stream, call)) return false;
    if (client.is_reserved && is_stranger()) {
      end_call(stream, Status::kResourceExhausted, "all connections are taken: this one is kept for the admin");
      return false;
    }
    if (needs_password() && !allows(known.identity.role, method.access)) {
      end_call(stream, Status::kPermissionDenied, "NOPERM this password may look, and not use limits");
      return false;
    }
    return true;
  }

  bool look_at_password(std::int32_t stream, const wire::GrpcCall& call) {
    const auto token = bearer_token(call.authorization);
    if (!token) {
      end_call(stream, Status::kUnauthenticated, "NOAUTH send the password as authorization: Bearer PASSWORD");
      return false;
    }
    if (!is_known() || Authentication::credential_of(*token) != known.identity.credential) {
      const Admission admission = hooks.doorkeeper->admit(*token, client.source);
      if (!admission.is_right()) return refuse_password(stream, admission), false;
      known = admission.shown;
    }
    if (!std::exchange(has_all_bounds, true)) server.set_bounds(wire::GrpcServer::kClientBounds);
    return true;
  }

  // Passwords may be replaced while a call goes on. None: it has ended.
  std::optional<Role> role_of(std::int32_t stream, CallUnderWay& call) {
    if (call.is_open_to_all || !needs_password()) return Role::kAdmin;
    const bool is_valid = hooks.doorkeeper->still_holds(call.shown);
    if (is_valid && allows(call.shown.identity.role, call.method->access)) return call.shown.identity.role;
    finish(stream, Status::kUnauthenticated, "NOAUTH the password of this call is not valid any more");
    return std::nullopt;
  }

  // Guessing takes time.
  void refuse_password(std::int32_t stream, const Admission& admission) {
    if (reports.wrong_password) reports.wrong_password(admission.outcome);
    const std::string words = admission.outcome == Admission::Outcome::kNotLookedAt
                                  ? "WRONGPASS there were too many wrong passwords from this address: this one was not "
                                    "looked at; try again in " +
                                        std::to_string(admission.wait.seconds()) + "s"
                                  : "WRONGPASS the token is not a password here";
    if (!later.after) return end_call(stream, Status::kUnauthenticated, words);
    later.after(kWrongPasswordDelay, [stream, words, weak = weak_from_this()] {
      const auto talk = weak.lock();
      if (!talk) return;
      talk->end_call(stream, Status::kUnauthenticated, words);
      talk->wake();
    });
  }

  void add(std::int32_t stream, std::string message) {
    const auto found = calls.find(stream);
    if (found == calls.end()) return;
    CallUnderWay& call = found->second;
    if (call.ending) return;
    if (++call.messages_seen > 1 && !call.method->has_many_requests) {
      forget(stream);
      return end_call(stream, Status::kInternal, "the method takes one message");
    }
    call.messages.push_back(std::move(message));
    work_on(stream, call);
  }

  void end(std::int32_t stream) {
    const auto found = calls.find(stream);
    if (found == calls.end() || found->second.ending) return;
    found->second.has_ended = true;
    if (found->second.is_at_work || found->second.is_put_off) return;
    if (found->second.method->has_many_requests) return finish(stream, Status::kOk);
    if (found->second.messages_seen == 0) finish(stream, Status::kInternal, "the method takes one message");
  }

  void work_on(std::int32_t stream, CallUnderWay& call) {
    if (call.is_at_work || call.is_put_off) return;
    call.is_at_work = true;
    if (!later.run_waiting) return answer_all(stream, execution);
    later.run_waiting([stream, talk = shared_from_this()] {
      store::Execution own = {.waits_for_disk = false};
      talk->answer_all(stream, own);
      talk->wake();
    });
  }

  // The messages that have come, and those that come meanwhile. The call may go at any time.
  void answer_all(std::int32_t stream, store::Execution& with) {
    for (;;) {
      auto found = calls.find(stream);
      if (found == calls.end()) return;
      if (found->second.messages.empty()) break;
      if (!has_room(stream, found->second) || is_turn_over()) return put_off(stream, found->second);
      if (!answer(stream, found->second, next_messages(found->second), with)) return;
      if (later.run_waiting) wake();
    }
    CallUnderWay& call = calls.find(stream)->second;
    call.is_at_work = false;
    if (call.method->is_watch) return;
    if (!call.method->has_many_requests || call.has_ended) return finish(stream, Status::kOk);
    if (is_draining) finish(stream, Status::kUnavailable, kStopping);
  }

  // Those that are answered together: what waits for another server waits once.
  std::vector<std::string> next_messages(CallUnderWay& call) const {
    std::vector<std::string> next;
    const std::size_t count_max = later.run_waiting && call.method->answer_many != nullptr ? kTogetherMax : 1;
    while (!call.messages.empty() && next.size() < count_max) {
      next.push_back(std::move(call.messages.front()));
      call.messages.pop_front();
    }
    return next;
  }

  void put_off(std::int32_t stream, CallUnderWay& call) {
    call.is_at_work = false;
    call.is_put_off = true;
    waiting.push_back(stream);
  }

  // Those that were put off, in their order, as far as there is room for their answers now.
  void go_on() {
    for (std::size_t count = waiting.size(); count > 0; --count) {
      const std::int32_t stream = waiting.front();
      waiting.pop_front();
      const auto found = calls.find(stream);
      if (found == calls.end()) continue;
      found->second.is_put_off = false;
      if (has_room(stream, found->second) && !is_turn_over()) {
        work_on(stream, found->second);
      } else {
        put_off(stream, found->second);
      }
    }
  }

  [[nodiscard]] bool has_room(std::int32_t stream, const CallUnderWay& call) const {
    return server.has_room(stream) && call.held.size() < kHeldAnswersMax;
  }
  [[nodiscard]] bool can_go_on() const {
    return std::any_of(waiting.begin(), waiting.end(), [this](std::int32_t stream) {
      const auto found = calls.find(stream);
      return found == calls.end() || has_room(stream, found->second);
    });
  }

  // Who waits for another server gives way by that.
  [[nodiscard]] bool is_turn_over() const { return !later.run_waiting && base::monotonic_ns() >= turn_ends_ns; }

  // False if that was the end of the call.
  bool answer(std::int32_t stream, CallUnderWay& call, const std::vector<std::string>& messages,
              store::Execution& with) {
    if (is_late(stream)) return give_up(stream);
    const auto role = role_of(stream, call);
    if (!role) return false;
    const GrpcMethod& method = *call.method;
    GrpcContext context{{hooks.waits, store, with}, hooks, metrics, *role};
    with.ticket = 0;
    std::vector<Result<std::string, GrpcFailure>> answers;
    if (messages.size() > 1) {
      answers = method.answer_many(context, messages);
    } else {
      answers.push_back(method.answer(context, messages[0]));
    }
    if (calls.find(stream) == calls.end()) return false;
    if (is_late(stream)) return give_up(stream);
    const store::Ticket ticket = later.gate == nullptr ? 0 : later.gate->needed(with.ticket);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) {
        // Of several messages that are answered together none needs any.
        if (answers[i].error().preparation) return prepare(stream, call, messages[i], answers[i].error().preparation);
        finish(stream, answers[i].error().status, answers[i].error().words);
        return false;
      }
      send(stream, call, *answers[i], ticket);
      server.answered(stream, messages[i].size());
    }
    call.preparations = 0;
    if (method.is_watch) watch(stream, messages[0], *answers[0]);
    return true;
  }

  // Once the ticket is reached, and behind the answers before it. An answer that waits is no reason for those of other
  // calls to wait; and it may be too late when it could leave.
  void send(std::int32_t stream, CallUnderWay& call, const std::string& answer, store::Ticket ticket) {
    if (ticket == 0 && call.held.empty()) return server.send(stream, answer);
    if (!call.held.empty()) ticket = std::max(ticket, call.held.back().ticket);
    call.held.push_back({ticket, answer});
    held_bytes += answer.size();
    holding.insert(stream);
    await(ticket);
  }

  void await(store::Ticket ticket) {
    if (std::exchange(is_awaiting, true)) return;
    later.gate->when_synced(ticket, [weak = weak_from_this()] {
      const auto talk = weak.lock();
      if (!talk) return;
      talk->is_awaiting = false;
      talk->release();
      talk->wake();
    });
  }

  void release() {
    const store::Ticket synced = later.gate->synced();
    const std::vector<std::int32_t> meant(holding.begin(), holding.end());
    std::optional<store::Ticket> next;
    for (const std::int32_t stream : meant) {
      const auto found = calls.find(stream);
      if (found == calls.end()) {
        holding.erase(stream);
        continue;
      }
      release(stream, found->second, synced);
      const auto left = calls.find(stream);
      if (left == calls.end() || left->second.held.empty()) continue;
      const store::Ticket first = left->second.held.front().ticket;
      next = std::min(next.value_or(first), first);
    }
    if (next) await(*next);
  }

  void release(std::int32_t stream, CallUnderWay& call, store::Ticket synced) {
    if (call.is_late()) return static_cast<void>(give_up(stream));
    const auto waits = [synced](const HeldAnswer& each) { return each.ticket > synced; };
    const auto first_left = std::find_if(call.held.begin(), call.held.end(), waits);
    for (auto each = call.held.begin(); each != first_left; ++each) {
      held_bytes -= each->bytes.size();
      server.send(stream, each->bytes);
    }
    call.held.erase(call.held.begin(), first_left);
    if (!call.held.empty() && later.gate->has_failed()) {
      drop_held(stream, call);
      call.ending = failure_of(later.gate->failure());
    }
    if (!call.held.empty()) return;
    holding.erase(stream);
    if (const auto ending = std::exchange(call.ending, std::nullopt)) finish(stream, ending->status, ending->words);
  }

  void drop_held(std::int32_t stream, CallUnderWay& call) {
    for (const HeldAnswer& each : call.held) held_bytes -= each.bytes.size();
    call.held.clear();
    holding.erase(stream);
  }

  // The message goes back to the first place, and is answered once that is done. False, as answer() tells the end.
  bool prepare(std::int32_t stream, CallUnderWay& call, const std::string& message,
               const std::function<Result<void>(store::Store&)>& preparation) {
    if (++call.preparations > kPreparationsMax) {
      finish(stream, Status::kAborted, "the limit was dropped again and again");
      return false;
    }
    call.messages.push_front(message);
    const auto done = [stream, weak = weak_from_this()](const Result<void>& result) {
      const auto talk = weak.lock();
      if (!talk) return;
      talk->go_on_with(stream, result);
      talk->wake();
    };
    if (!later.run_beside) {
      // On a fiber, which may wait: or nobody else is waiting.
      done(preparation(store));
    } else if (!later.run_beside([&store = store, preparation] { return preparation(store); }, done)) {
      finish(stream, Status::kResourceExhausted, "too much is waiting to be done: try again later");
    }
    return false;
  }

  void go_on_with(std::int32_t stream, const Result<void>& result) {
    const auto found = calls.find(stream);
    if (found == calls.end()) return;
    if (result.has_value()) return put_off(stream, found->second);
    const GrpcFailure failure = failure_of(result.error());
    finish(stream, failure.status, failure.words);
  }

  void watch(std::int32_t stream, std::string message, std::string told) {
    if (!later.after) return;
    const auto look_again = [stream, message = std::move(message), told = std::move(told), weak = weak_from_this()] {
      const auto talk = weak.lock();
      if (!talk || !talk->calls.contains(stream)) return;
      talk->tell_if_changed(stream, message, told);
    };
    later.after(kWatchEvery, look_again);
  }

  void tell_if_changed(std::int32_t stream, const std::string& message, const std::string& told) {
    const CallUnderWay& call = calls.find(stream)->second;
    store::Execution own = {.waits_for_disk = false};
    GrpcContext context{{hooks.waits, store, own}, hooks, metrics, Role::kAdmin};  // watches are open to all
    const auto answer = call.method->answer(context, message);
    if (!answer) {
      finish(stream, answer.error().status, answer.error().words);
      return wake();
    }
    // Who does not read what it was told is told again once there is room.
    const bool is_news = *answer != told && server.has_room(stream);
    if (is_news) {
      server.send(stream, *answer);
      wake();
    }
    watch(stream, message, is_news ? *answer : told);
  }

  // A call of many messages has all the time that its client gives it as a whole.
  [[nodiscard]] bool is_late(std::int32_t stream) const {
    const auto found = calls.find(stream);
    return found != calls.end() && found->second.is_late();
  }

  bool give_up(std::int32_t stream) {
    metrics.grpc_late.add();
    if (const auto found = calls.find(stream); found != calls.end()) drop_held(stream, found->second);
    finish(stream, Status::kDeadlineExceeded, "the answer came too late");
    return false;
  }

  // Whatever has become of it.
  void end_call(std::int32_t stream, Status status, std::string_view words = {}) {
    metrics.grpc_ends.at(static_cast<std::size_t>(status)).add();
    server.finish(stream, status, words);
  }

  // Calls of many messages last as long as their clients like.
  void note_time(const CallUnderWay& call) const {
    if (!reports.slow || hooks.slow_ns == nullptr || call.method->has_many_requests || call.method->is_watch) return;
    const auto elapsed_ns = static_cast<std::int64_t>(base::monotonic_ns() - call.begun_ns);
    if (elapsed_ns >= hooks.slow_ns->load(std::memory_order_relaxed)) reports.slow(call.method->path, elapsed_ns);
  }

  // When the connection is too old; 0: never. Up to a tenth later, so that those that were opened together do not end
  // together.
  [[nodiscard]] std::uint64_t end_of_age() const {
    const auto age_ns = static_cast<std::uint64_t>(hooks.connection_age.ns());
    return age_ns == 0 ? 0 : base::monotonic_ns() + age_ns + base::random_number() % (age_ns / 10 + 1);
  }

  // Behind what is held of its answers; the first end counts.
  void finish(std::int32_t stream, Status status, std::string_view words = {}) {
    const auto found = calls.find(stream);
    if (found != calls.end() && !found->second.held.empty()) {
      if (!found->second.ending) found->second.ending = {status, std::string(words)};
      return;
    }
    if (found != calls.end()) note_time(found->second);
    calls.erase(stream);
    end_call(stream, status, words);
    has_answered_a_call = has_answered_a_call || status == Status::kOk;
  }

  // Answers that were made outside of receive().
  void wake() const {
    if (later.wake) later.wake();
  }

  // Calls that have begun are answered, those of many messages as far as these have come; those who watch are told that
  // it is over. Strangers are not waited for.
  void drain() {
    is_draining = true;
    if (!later.after || is_stranger()) return end_all();
    server.give_notice();
    finish_if([](const CallUnderWay& call) {
      return call.method->is_watch || (call.method->has_many_requests && !call.is_at_work && call.messages.empty());
    });
    later.after(kDrainMax, [weak = weak_from_this()] {
      const auto talk = weak.lock();
      if (!talk) return;
      talk->end_all();
      talk->wake();
    });
  }

  // What is at work ends by itself.
  void end_all() {
    finish_if([](const CallUnderWay& call) { return !call.is_at_work; });
    server.go_away();
    is_over = true;
  }

  void finish_if(const std::function<bool(const CallUnderWay&)>& is_meant) {
    std::vector<std::int32_t> meant;
    for (const auto& [stream, call] : calls) {
      if (is_meant(call)) meant.push_back(stream);
    }
    for (const std::int32_t stream : meant) finish(stream, Status::kUnavailable, kStopping);
  }

  [[nodiscard]] bool is_any_at_work() const {
    return !holding.empty() ||
           std::any_of(calls.begin(), calls.end(), [](const auto& call) { return call.second.is_at_work; });
  }
  // A watch that is open to everybody is no reason to go away.
  [[nodiscard]] bool is_watching() const {
    return std::any_of(calls.begin(), calls.end(),
                       [](const auto& call) { return call.second.method->is_watch && call.second.messages_seen > 0; });
  }
  [[nodiscard]] std::size_t buffered_bytes() const {
    std::size_t bytes = server.buffered_bytes() + held_bytes;
    for (const std::int32_t stream : waiting) {
      const auto found = calls.find(stream);
      if (found != calls.end()) bytes += found->second.messages.size() * kWaitingMessageBytes;
    }
    return bytes;
  }

  static constexpr std::string_view kStopping = "the server stops";

  store::Store& store;
  const GrpcHooks& hooks;
  LoopMetrics& metrics;
  GrpcLater later;
  GrpcReports reports;
  const GrpcClient client;
  Shown known = {};  // the password that was right last
  wire::GrpcServer server;
  bool has_all_bounds;  // those of clients that are no strangers
  const std::uint64_t too_old_at_ns;
  std::unordered_map<std::int32_t, CallUnderWay> calls;
  std::deque<std::int32_t> waiting;  // that are put off; some may have gone
  std::uint64_t turn_ends_ns = 0;
  store::Execution execution = {};   // of the calls that one receive() brings
  std::set<std::int32_t> holding;    // calls with answers that wait for the disk
  std::size_t held_bytes = 0;        // of these
  bool is_awaiting = false;          // the gate will tell
  bool has_answered_a_call = false;  // since it was last told
  bool is_draining = false;
  bool is_over = false;  // nobody is waited for any more
};

GrpcSession::GrpcSession(store::Store& store, const GrpcHooks& hooks, LoopMetrics& metrics, GrpcLater later,
                         GrpcReports reports, const GrpcClient& client)
    : talk_(std::make_shared<Talk>(store, hooks, metrics, std::move(later), std::move(reports), client)) {}

GrpcSession::~GrpcSession() = default;

GrpcSession::Received GrpcSession::receive(std::string_view input, base::Output& output, std::size_t output_max) {
  const std::uint64_t started_ns = base::monotonic_ns();
  Talk& talk = *talk_;
  talk.execution = {.waits_for_disk = false};
  talk.turn_ends_ns = started_ns + static_cast<std::uint64_t>(kTurn.ns());
  const bool is_good = talk.server.receive(input);
  auto events = talk.server.take_events();
  if (!talk.later.run_waiting && (!events.empty() || !talk.waiting.empty())) talk.execution.now = talk.store.now();
  talk.go_on();
  std::uint64_t messages = 0;
  for (wire::GrpcEvent& event : events) {
    if (event.kind == wire::GrpcEvent::Kind::kMessage) ++messages;
    talk.handle(event);
  }
  if (!is_good) {
    talk.metrics.protocol_errors.add();
    if (talk.reports.protocol_error) talk.reports.protocol_error("this is no HTTP/2, or against its rules");
  }
  // A connection on which nothing comes is in nobody's way.
  if (talk.too_old_at_ns != 0 && started_ns >= talk.too_old_at_ns && !talk.is_draining) talk.drain();
  Received received{.consumed = input.size(), .next = write(output, output_max)};
  received.is_question_answered = std::exchange(talk.has_answered_a_call, false);
  if (!is_good || talk.server.is_over()) received.next = Next::kClose;
  if (messages > 0) talk.metrics.latency.observe(base::monotonic_ns() - started_ns, messages);
  return received;
}

// What is written makes room, in which those that were put off go on.
net::Session::Next GrpcSession::write(base::Output& output, std::size_t output_max) {
  Talk& talk = *talk_;
  for (;;) {
    if (talk.server.write(output, output_max)) return Next::kDrain;
    if (!talk.can_go_on()) return Next::kRead;
    if (talk.is_turn_over()) return Next::kDrain;
    talk.go_on();
  }
}

void GrpcSession::on_finish() { talk_->drain(); }

void GrpcSession::on_timeout(base::Output& output) {
  talk_->end_all();
  talk_->server.write(output, std::numeric_limits<std::size_t>::max());
}

bool GrpcSession::has_answers_to_come() const {
  const Talk& talk = *talk_;
  if (talk.is_any_at_work()) return true;
  if (!talk.is_draining) return false;
  if (talk.server.has_something_to_write()) return true;
  return !talk.is_over && (!talk.server.has_gone_away() || talk.server.calls_under_way() > 0);
}

bool GrpcSession::is_stranger() const { return talk_->is_stranger(); }

// What a stranger has begun, and does not go on with, is no reason to wait for it.
bool GrpcSession::may_be_silent() const { return talk_->is_stranger() ? talk_->is_watching() : !talk_->calls.empty(); }

std::size_t GrpcSession::buffered_bytes() const { return talk_->buffered_bytes(); }

}  // namespace mete::server
