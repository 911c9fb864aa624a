#include "net/fiber.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <limits>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/strand.h"

// What clang calls otherwise.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace mete::net {

namespace context = boost::context::detail;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStackBytes = std::size_t{2} << 20;  // Instrumented frames are several times as large.
#else
constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // A handshake of TLS is the deepest there is.
#endif

std::uint32_t epoll_events(short events) {
  return ((events & POLLIN) != 0 ? EPOLLIN : 0U) | ((events & POLLOUT) != 0 ? EPOLLOUT : 0U) | EPOLLONESHOT;
}

bool poll_socket(int socket, short events, const Deadline& deadline) {
  constexpr std::int64_t kMillisecondsMax = std::numeric_limits<int>::max();
  pollfd waiting = {.fd = socket, .events = events, .revents = 0};
  int ready = 0;
  bool is_over = false;
  do {
    is_over = deadline.is_over();
    const Duration wait = deadline.next_look();
    ready = ::poll(&waiting, 1, wait.is_never() ? -1 : static_cast<int>(std::min(wait.ms(), kMillisecondsMax)));
  } while ((ready < 0 && errno == EINTR) || (ready == 0 && !is_over));
  return ready > 0;
}

}  // namespace

// Memory for a stack, with a page below it that must not be touched: a stack that is too small ends the program at once
// instead of changing what lies next to it. Pages count only once they are used.
class FiberStack {
 public:
  FiberStack() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    memory_ = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE,
                     -1, 0);
    CHECK(memory_ != MAP_FAILED);
    CHECK(::mprotect(memory_, page_, PROT_NONE) == 0);
  }
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;
  ~FiberStack() { ::munmap(memory_, bytes()); }

  [[nodiscard]] char* bottom() const { return static_cast<char*>(memory_) + page_; }
  [[nodiscard]] char* top() const { return bottom() + kStackBytes; }

 private:
  [[nodiscard]] std::size_t bytes() const { return kStackBytes + page_; }

  std::size_t page_;
  void* memory_;
};

// Tells the sanitizers which stack is in use; without them it does nothing.
class FiberAnnotations {
 public:
#if defined(__SANITIZE_ADDRESS__)
  void enter(const FiberStack& stack) { __sanitizer_start_switch_fiber(&loop_frames_, stack.bottom(), kStackBytes); }
  void entered() { __sanitizer_finish_switch_fiber(fiber_frames_, &loop_bottom_, &loop_bytes_); }
  void leave() { __sanitizer_start_switch_fiber(&fiber_frames_, loop_bottom_, loop_bytes_); }
  void left() { __sanitizer_finish_switch_fiber(loop_frames_, nullptr, nullptr); }

 private:
  void* loop_frames_ = nullptr;
  void* fiber_frames_ = nullptr;
  const void* loop_bottom_ = nullptr;
  std::size_t loop_bytes_ = 0;
#elif defined(__SANITIZE_THREAD__)
  FiberAnnotations() : fiber_(__tsan_create_fiber(0)) {}
  FiberAnnotations(const FiberAnnotations&) = delete;
  FiberAnnotations& operator=(const FiberAnnotations&) = delete;
  ~FiberAnnotations() { __tsan_destroy_fiber(fiber_); }
  void enter(const FiberStack& /*stack*/) {
    loop_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_, 0);
  }
  void entered() {}
  void leave() { __tsan_switch_to_fiber(loop_, 0); }
  void left() {}

 private:
  void* fiber_;
  void* loop_ = nullptr;
#else
  void enter(const FiberStack& /*stack*/) {}
  void entered() {}
  void leave() {}
  void left() {}
#endif
};

class Fiber final : public base::Strand {
 public:
  explicit Fiber(Fibers& fibers) : fibers_(fibers) {
    inside_ = context::make_fcontext(stack_.top(), kStackBytes, &Fiber::enter);
  }

  static Fiber* current() { return static_cast<Fiber*>(current_); }

  [[nodiscard]] EventLoop& loop() { return fibers_.loop_; }
  [[nodiscard]] Fibers& fibers() { return fibers_; }
  [[nodiscard]] std::uint64_t begin_wait() override { return ++wait_; }

  void start(std::function<void()> function) {
    function_ = std::move(function);
    go_on();
  }

  // On the loop's thread, not within a fiber. Whatever this wait was for.
  void end_wait(std::uint64_t wait) {
    if (!is_resting_ || wait_ != wait) return;
    is_resting_ = false;
    go_on();
  }

  void end_wait_soon(std::uint64_t wait) override {
    const auto go_on = [this, wait] { end_wait(wait); };
    if (EventLoop::current() == &loop()) {
      loop().at_round_end(go_on);
    } else {
      loop().post(go_on);
    }
  }

  // Within the fiber: until end_wait().
  void rest() override {
    is_resting_ = true;
    annotations_.leave();
    outside_ = context::jump_fcontext(outside_, nullptr).fctx;
    annotations_.entered();
  }

  void rest(std::uint64_t wait, const Deadline& deadline) {
    const EventLoop::TimerId timer = start_timer(deadline, wait);
    rest();
    if (timer != 0) loop().cancel(timer);
  }

 private:
  static void enter(context::transfer_t transfer) {
    auto* const self = static_cast<Fiber*>(transfer.data);
    self->outside_ = transfer.fctx;
    self->annotations_.entered();
    self->serve();
  }

  // The loop counts from the beginning of its round; the deadline from now.
  EventLoop::TimerId start_timer(const Deadline& deadline, std::uint64_t wait) {
    const Duration until_look = deadline.next_look();
    if (until_look.is_never()) return 0;
    const auto since_round_ns = static_cast<std::int64_t>(base::monotonic_ns() - loop().now_ns());
    return loop().after(until_look + Duration::from_ns(since_round_ns), [this, wait] { end_wait(wait); });
  }

  // One function after the other, for as long as the process lives.
  [[noreturn]] void serve() {
    for (;;) {
      function_();
      function_ = nullptr;
      annotations_.leave();
      outside_ = context::jump_fcontext(outside_, nullptr).fctx;
      annotations_.entered();
    }
  }

  void go_on() {
    CHECK(current_ == nullptr);
    current_ = this;
    annotations_.enter(stack_);
    inside_ = context::jump_fcontext(inside_, this).fctx;
    annotations_.left();
    current_ = nullptr;
    if (!function_) fibers_.idle_.push_back(this);
  }

  Fibers& fibers_;
  FiberStack stack_;
  [[no_unique_address]] FiberAnnotations annotations_;
  context::fcontext_t inside_ = nullptr;   // where the function goes on
  context::fcontext_t outside_ = nullptr;  // where the loop does
  std::function<void()> function_;         // empty: idle
  std::uint64_t wait_ = 0;
  bool is_resting_ = false;
};

Fibers::Fibers(EventLoop& loop) : loop_(loop) {}

Fibers::~Fibers() { CHECK(under_way() == 0); }

Fibers* Fibers::current() {
  Fiber* const fiber = Fiber::current();
  return fiber == nullptr ? nullptr : &fiber->fibers();
}

void Fibers::run(std::function<void()> function) {
  if (idle_.empty()) idle_.push_back(all_.emplace_back(std::make_unique<Fiber>(*this)).get());
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  fiber->start(std::move(function));
}

void Fibers::run_soon(std::function<void()> function) {
  loop_.at_round_end([this, function = std::move(function)]() mutable { run(std::move(function)); });
}

namespace {

class SocketWait final : public EventHandler {
 public:
  explicit SocketWait(Fiber& fiber) : fiber_(fiber) {}

  [[nodiscard]] std::uint64_t begin() { return wait_ = fiber_.begin_wait(); }

  void on_events(std::uint32_t /*events*/) override {
    is_ready_ = true;
    fiber_.end_wait(wait_);
  }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

 private:
  Fiber& fiber_;
  std::uint64_t wait_ = 0;
  bool is_ready_ = false;
};

}  // namespace

bool is_on_fiber() { return Fiber::current() != nullptr; }

bool wait_for_socket(int socket, short events, const Deadline& deadline) {
  Fiber* const fiber = Fiber::current();
  if (fiber == nullptr) return poll_socket(socket, events, deadline);
  if (deadline.is_over()) return poll_socket(socket, events, deadline);
  SocketWait handler(*fiber);
  Descriptor second;
  if (!fiber->loop().watch(socket, epoll_events(events), handler)) {
    // Another fiber waits for the same socket, for the other direction.
    second = Descriptor(::dup(socket));
    CHECK(fiber->loop().watch(second.get(), epoll_events(events), handler));
  }
  while (!handler.is_ready() && !deadline.is_over()) fiber->rest(handler.begin(), deadline);
  fiber->loop().forget(second.is_open() ? second.get() : socket);
  return handler.is_ready();
}

void pause_for(Duration length) {
  if (!is_on_fiber()) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(length.ns()));
  } else {
    const Deadline deadline = Deadline::in(length);
    do FiberWait::begin().rest(deadline);
    while (!deadline.is_over());
  }
}

void let_others_go_first() {
  if (!is_on_fiber()) return;
  const FiberWait wait = FiberWait::begin();
  wait.end();
  wait.rest(Deadline::in(Duration::never()));
}

FiberWait FiberWait::begin() {
  Fiber* const fiber = Fiber::current();
  if (fiber == nullptr) return {};
  return {fiber, fiber->begin_wait()};
}

void FiberWait::rest(const Deadline& deadline) const { fiber->rest(number, deadline); }

void FiberWait::end() const { fiber->end_wait_soon(number); }

}  // namespace mete::net
