#include "net/connection.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/connection_set.h"

namespace mete::net {

namespace {

// A client that does not close its side after a goodbye is closed after this long.
constexpr Duration kLingerMax = std::chrono::seconds(1);
// Answers are made in a shared buffer; one batch with huge answers must not keep its memory for ever.
constexpr std::size_t kAnswerBytesKept = std::size_t{1} << 20;
// Of a stranger, so many bytes are read at a time.
constexpr std::size_t kStrangerReadBytes = std::size_t{4} << 10;

bool has_passed(std::uint64_t since_ns, std::uint64_t now_ns, Duration length) {
  return now_ns > since_ns && now_ns - since_ns > static_cast<std::uint64_t>(length.ns());
}

}  // namespace

Connection::Connection(ConnectionSet& set, std::uint64_t id, Descriptor socket, const Protocol& protocol)
    : set_(set),
      id_(id),
      socket_(std::move(socket)),
      protocol_(protocol),
      limits_(protocol.limits),
      active_at_ns_(set.loop().now_ns()),
      stranger_since_ns_(active_at_ns_),
      stranger_begun_ns_(active_at_ns_) {}

Connection::~Connection() { count_buffers(0); }

std::size_t Connection::buffered_bytes() const {
  const std::size_t serving = serving_ == nullptr ? 0 : serving_->input.size() + serving_->answers.size();
  return input_.capacity() + output_.capacity() + withheld_.capacity() + serving + session_->buffered_bytes();
}

void Connection::count_buffers(std::size_t bytes) {
  if (bytes != counted_bytes_) set_.note_buffers(*this, std::exchange(counted_bytes_, bytes), bytes);
}

void Connection::start(std::unique_ptr<Session> session, std::unique_ptr<Transport> transport) {
  session_ = std::move(session);
  transport_ = std::move(transport);
  interest_ = EPOLLIN;
  if (!set_.loop().watch(socket_.get(), interest_, *this)) {
    state_ = State::kClosed;
    set_.remove(*this);
    return;
  }
  look_who_it_is();
}

void Connection::look_who_it_is() {
  const bool is_stranger = (transport_ != nullptr && !transport_->is_established()) || session_->is_stranger();
  if (is_stranger == is_stranger_) return;
  is_stranger_ = is_stranger;
  stranger_since_ns_ = set_.loop().now_ns();
  stranger_begun_ns_ = stranger_since_ns_;
  if (!is_stranger && protocol_.on_known) protocol_.on_known(id_);
}

void Connection::on_events(std::uint32_t events) {
  if (state_ == State::kClosed) return;
  if ((events & EPOLLOUT) != 0) {
    if (transport_ != nullptr && transport_->wants_write()) read();
    if (state_ != State::kClosed && !output_.empty()) flush();
    if (can_go_on()) process_kept();
  }
  if (state_ == State::kClosed) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    // A client is not read while it has enough to do, but one that has gone must not wait on.
    if ((interest_ & EPOLLIN) != 0) {
      read();
    } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
      close();
    } else if ((events & EPOLLRDHUP) != 0) {
      end_input();
    }
  }
  if (state_ != State::kClosed) update_interest();
}

bool Connection::read() {
  bool has_received = false;
  do {
    // What is left over of the last request must stand in front of what arrives.
    const bool is_kept = !input_.empty() && state_ != State::kLingering;
    const std::size_t bytes_max = is_stranger_ ? kStrangerReadBytes : ConnectionSet::kReadBytes;
    char* const to = is_kept ? input_.reserve(bytes_max) : set_.read_buffer();
    const Transferred received = receive(to, bytes_max);
    if (is_stranger_) look_who_it_is();
    if (received.outcome == Transfer::kClosed) {
      end_input();
      return false;
    }
    if (received.outcome == Transfer::kWouldBlock) return has_received;
    has_received = true;
    set_.count_in(received.bytes);
    if (state_ == State::kLingering || state_ == State::kFinishing) continue;
    active_at_ns_ = set_.loop().now_ns();
    if (is_kept) {
      input_.advance_to(to + received.bytes);
      process_kept();
    } else if (state_ == State::kBlocked || serving_ != nullptr) {
      input_.append({to, received.bytes});
    } else {
      process({to, received.bytes});
    }
  } while (state_ != State::kClosed && transport_ != nullptr && transport_->has_buffered_input());
  return has_received;
}

// A client may end its side as soon as it has asked, and still want its answers. One that has gone altogether looks the
// same until something is sent to it.
void Connection::end_input() {
  is_input_over_ = true;
  is_finishing_soon_ = true;
  if (state_ == State::kBlocked && session_->answers_half_closed()) return;
  if (state_ == State::kOpen && (wants_drain_ || serving_ != nullptr || session_->has_answers_to_come())) return;
  const bool has_more_to_send =
      (state_ == State::kOpen && has_answers()) || (state_ == State::kBlocked && !withheld_.empty());
  if (has_more_to_send) {
    state_ = State::kFinishing;
    return;
  }
  close();
}

// Input that lies in the shared buffer: what is left of it is kept.
void Connection::process(std::string_view input) {
  if (set_.fibers() != nullptr) {
    std::unique_ptr<Serving> serving = set_.borrow_serving();
    serving->input.append(input);
    return serve_on_fiber(std::move(serving), 0);
  }
  base::Output& answers = set_.answer_buffer();
  const Session::Received received = session_->receive(input, answers, output_max());
  if (received.consumed < input.size() && received.next != Session::Next::kClose) {
    input_.append(input.substr(received.consumed));
  }
  after(received, answers);
}

// `ticket` is of what is in the answer buffer already.
void Connection::process_kept(Ticket ticket) {
  if (state_ != State::kOpen || serving_ != nullptr) return;
  if (set_.fibers() != nullptr) {
    std::unique_ptr<Serving> serving = set_.borrow_serving();
    std::swap(serving->input, input_);
    return serve_on_fiber(std::move(serving), ticket);
  }
  base::Output& answers = set_.answer_buffer();
  auto received = session_->receive(input_.view(), answers, output_max());
  input_.drop(received.consumed);
  if (input_.empty()) input_ = base::Output();
  received.ticket = std::max(ticket, received.ticket);
  after(received, answers);
}

// The session has buffers that are its own for as long as it is at work: the loop's are used by others meanwhile.
void Connection::serve_on_fiber(std::unique_ptr<Serving> serving, Ticket ticket) {
  serving_ = serving.get();
  serving->ticket = ticket;
  std::swap(serving->answers, set_.answer_buffer());
  // What the function captures fits into it: nothing is allocated.
  set_.fibers()->run([this, serving = serving.release()] { serve(*serving); });
}

void Connection::serve(Serving& borrowed) {
  std::unique_ptr<Serving> serving(&borrowed);
  for (;;) {
    auto received = session_->receive(serving->input.view(), serving->answers, output_max());
    const bool has_more_come = !input_.empty();
    serving->input.drop(received.consumed);
    if (has_more_come) {  // What is left stands in front of it.
      serving->input.append(input_.view());
      input_ = base::Output();
    }
    serving->ticket = std::max(serving->ticket, received.ticket);
    if (state_ == State::kClosed) break;
    if (received.next == Session::Next::kRead && has_more_come) continue;
    serving_ = nullptr;
    const bool is_any_kept = received.next != Session::Next::kClose && !serving->input.empty();
    if (is_any_kept) std::swap(input_, serving->input);
    received.ticket = serving->ticket;
    after(received, serving->answers);
    set_.give_back(std::move(serving));
    return;
  }
  serving_ = nullptr;
  set_.give_back(std::move(serving));
  leave_set();
}

void Connection::after(const Session::Received& received, base::Output& answers) {
  const auto [consumed, next, ticket, is_question_answered] = received;
  look_who_it_is();
  if (is_question_answered) stranger_since_ns_ = set_.loop().now_ns();
  if (next == Session::Next::kBlock) state_ = State::kBlocked;
  const bool is_all_answered = next == Session::Next::kRead && is_finishing_soon_ && !session_->has_answers_to_come();
  if (next == Session::Next::kClose || is_all_answered) state_ = State::kFinishing;
  wants_drain_ = next == Session::Next::kDrain;
  const bool is_incomplete = next == Session::Next::kRead && !input_.empty();
  if (is_incomplete && input_.size() > input_max() && state_ == State::kOpen) {
    session_->on_overflow(answers);
    state_ = State::kFinishing;
  }
  if (!is_incomplete) {
    waiting_since_ns_ = 0;
  } else if (waiting_since_ns_ == 0) {
    waiting_since_ns_ = set_.loop().now_ns();
  }
  if (ticket != 0 || !withheld_.empty()) {
    withheld_.add(answers.view(), ticket);
    if (ticket != 0 && !answers.empty()) set_.note_withheld(*this, ticket);
  } else if (!send_or_keep(answers.view())) {
    answers.clear();
    return;
  }
  answers.clear();
  if (answers.capacity() > kAnswerBytesKept) answers = base::Output();
  if (state_ == State::kFinishing && !has_answers()) end_output();
  if (state_ == State::kBlocked && is_input_over_) end_input();
  if (can_go_on()) go_on_next_round();
  if (state_ != State::kClosed) update_interest();
}

bool Connection::send_or_keep(std::string_view answers) {
  if (!output_.empty()) {
    output_.append(answers);
    return true;
  }
  if (answers.empty()) return true;
  const Transferred written = send(answers);
  if (written.outcome == Transfer::kClosed) {
    close();
    return false;
  }
  if (written.bytes < answers.size()) {
    output_.append(answers.substr(written.bytes));
    active_at_ns_ = set_.loop().now_ns();
  }
  return true;
}

// Not at once: other clients get their turn.
void Connection::go_on_next_round() {
  set_.loop().post([&set = set_, id = id_] {
    set.with(id, [](Connection& connection) {
      if (connection.can_go_on()) connection.process_kept();
      if (connection.state_ != State::kClosed) connection.update_interest();
    });
  });
}

void Connection::flush() {
  const Transferred written = send(output_.view());
  if (written.outcome == Transfer::kClosed) {
    close();
    return;
  }
  if (written.bytes > 0) active_at_ns_ = set_.loop().now_ns();
  output_.drop(written.bytes);
  if (!output_.empty()) return;
  output_ = base::Output();
  if (state_ == State::kFinishing && withheld_.empty()) end_output();
}

// All has been sent. Closing now would throw the answers away if the client is still sending: its bytes would be
// answered with a reset. So only our side is closed, and theirs read until it ends.
void Connection::end_output() {
  if (transport_ != nullptr) transport_->shut_down();
  ::shutdown(socket_.get(), SHUT_WR);
  state_ = State::kLingering;
  input_ = base::Output();
  active_at_ns_ = set_.loop().now_ns();
}

bool Connection::resume(std::string_view answer, Ticket ticket) {
  if (state_ != State::kBlocked) return false;
  state_ = State::kOpen;
  active_at_ns_ = set_.loop().now_ns();  // It was not the client that was silent.
  set_.answer_buffer().append(answer);
  process_kept(ticket);
  return true;
}

void Connection::release(Ticket reached) {
  if (state_ == State::kClosed) return;
  const bool was_empty = output_.empty();
  withheld_.release(reached, output_);
  if (was_empty && !output_.empty()) {
    active_at_ns_ = set_.loop().now_ns();  // It was not the client that kept them waiting.
    flush();
  }
  if (can_go_on()) go_on_next_round();
  if (state_ != State::kClosed) update_interest();
}

void Connection::lose_withheld() {
  if (withheld_.empty() || state_ == State::kClosed) return;
  withheld_.clear();
  input_ = base::Output();
  session_->on_lost(output_);
  state_ = State::kFinishing;
  flush();
  if (state_ != State::kClosed) update_interest();
}

void Connection::push(std::string_view bytes) {
  if (state_ != State::kOpen && state_ != State::kBlocked) return;
  if (is_output_full()) {
    close();
    return;
  }
  if (!withheld_.empty()) return withheld_.add(bytes, 0);
  output_.append(bytes);
  flush();
  if (state_ != State::kClosed) update_interest();
}

void Connection::wake() {
  if (state_ != State::kOpen || wants_drain_) return;
  wants_drain_ = true;
  if (can_go_on()) go_on_next_round();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  set_.loop().forget(socket_.get());
  socket_.close();
  if (serving_ == nullptr) leave_set();
}

void Connection::leave_set() {
  session_.reset();
  count_buffers(0);
  set_.remove(*this);
}

void Connection::finish() {
  // All that has arrived is read, as far as a client may send ahead.
  std::size_t bytes_max = limits_.input_max;
  while (state_ == State::kOpen && (interest_ & EPOLLIN) != 0 && bytes_max > 0 && read()) {
    bytes_max -= std::min(bytes_max, ConnectionSet::kReadBytes);
  }
  is_finishing_soon_ = true;
  if (state_ == State::kOpen) session_->on_finish();
  if (state_ == State::kOpen && session_->has_answers_to_come()) {
    wake();
  } else if (state_ == State::kOpen && !wants_drain_ && serving_ == nullptr) {
    const bool is_quiet = has_nothing_under_way();
    state_ = State::kFinishing;
    if (!has_answers()) end_output();
    if (is_quiet) close();
  }
  if (state_ != State::kClosed) update_interest();
}

bool Connection::has_nothing_under_way() const {
  int unread = 0;
  int unsent = 0;  // or not acknowledged
  ::ioctl(socket_.get(), FIONREAD, &unread);
  ::ioctl(socket_.get(), SIOCOUTQ, &unsent);
  return !has_answers() && unread == 0 && unsent == 0;
}

bool Connection::is_stranger_over(std::uint64_t now_ns) const {
  if (has_passed(stranger_begun_ns_, now_ns, limits_.stranger_life_max)) return true;
  return has_passed(stranger_since_ns_, now_ns, limits_.stranger_max) && !session_->may_be_silent();
}

void Connection::check_time(std::uint64_t now_ns) {
  look_who_it_is();  // What it has shown may not be valid any more.
  session_->on_buffers({.input = input_.size(),
                        .input_capacity = input_.capacity(),
                        .output = output_.size() + withheld_.size(),
                        .output_capacity = output_.capacity() + withheld_.capacity()});
  const bool is_over = [&] {
    if (is_stranger_ && is_stranger_over(now_ns)) return true;
    switch (state_) {
      case State::kLingering:
        return has_passed(active_at_ns_, now_ns, kLingerMax);
      case State::kOpen:
        if (serving_ != nullptr) return !output_.empty() && has_passed(active_at_ns_, now_ns, limits_.stall_max);
        if (!has_answers() && has_passed(active_at_ns_, now_ns, limits_.idle_max) && !session_->may_be_silent())
          return true;
        if (waiting_since_ns_ != 0 && has_passed(waiting_since_ns_, now_ns, limits_.request_max)) return true;
        [[fallthrough]];
      default:
        return !output_.empty() && has_passed(active_at_ns_, now_ns, limits_.stall_max);
    }
  }();
  if (is_over) time_out();
}

void Connection::time_out() {
  if (state_ == State::kOpen && output_.empty() && serving_ == nullptr) {
    session_->on_timeout(set_.answer_buffer());
    after({.next = Session::Next::kClose}, set_.answer_buffer());
  } else {
    close();
  }
}

void Connection::update_interest() {
  count_buffers(buffered_bytes());
  const bool keeps = state_ == State::kBlocked || (state_ == State::kOpen && serving_ != nullptr);
  const bool reads = state_ == State::kLingering ||
                     (!is_input_over_ && ((keeps && input_.size() < input_max()) ||
                                          (state_ == State::kOpen && !keeps && !wants_drain_ && !is_output_full())));
  std::uint32_t wanted = reads ? EPOLLIN : 0U;
  // An open client's end shows when it is read again: what it has sent before comes first.
  if (state_ == State::kBlocked && !is_input_over_) wanted |= EPOLLRDHUP;
  if (!output_.empty() || (transport_ != nullptr && transport_->wants_write())) wanted |= EPOLLOUT;
  if (wanted == interest_) return;
  interest_ = wanted;
  set_.loop().change(socket_.get(), interest_, *this);
}

Transferred Connection::receive(char* to, std::size_t bytes_max) {
  if (transport_ != nullptr) return transport_->read(to, bytes_max);
  const ssize_t received = ::recv(socket_.get(), to, bytes_max, 0);
  if (received > 0) return {Transfer::kDone, static_cast<std::size_t>(received)};
  const bool may_retry = received < 0 && (errno == EAGAIN || errno == EINTR);
  return {may_retry ? Transfer::kWouldBlock : Transfer::kClosed, 0};
}

Transferred Connection::send(std::string_view bytes) {
  const Transferred sent = [&]() -> Transferred {
    if (transport_ != nullptr) return transport_->write(bytes);
    const ssize_t written = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written >= 0) return {Transfer::kDone, static_cast<std::size_t>(written)};
    const bool may_retry = errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
    return {may_retry ? Transfer::kWouldBlock : Transfer::kClosed, 0};
  }();
  set_.count_out(sent.bytes);
  return sent;
}

}  // namespace mete::net
