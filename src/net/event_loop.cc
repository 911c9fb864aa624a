#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/monotonic.h"

namespace mete::net {

namespace {

constexpr int kEventsPerRound = 256;
// A timer that is due later is looked at again.
constexpr std::uint64_t kWaitMaxNs = 60'000'000'000;

// So many cancelled timers may wait for their time without being thrown out.
constexpr std::size_t kCancelledTimersKept = 64;

thread_local EventLoop* current_loop = nullptr;

}  // namespace

// A descriptor that becomes readable when another thread has posted something.
class EventLoop::Wakeup final : public EventHandler {
 public:
  Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_.is_open()); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  void signal() {
    const std::uint64_t one = 1;
    // A counter that is full wakes the loop as well as one that is raised.
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
  }
  void on_events(std::uint32_t /*events*/) override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  Descriptor fd_;
};

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wakeup_(std::make_unique<Wakeup>()) {
  CHECK(epoll_.is_open());
  CHECK(watch(wakeup_->fd(), EPOLLIN, *wakeup_));
  read_clock();
}

EventLoop::~EventLoop() = default;

bool EventLoop::watch(int fd, std::uint32_t events, EventHandler& handler) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventLoop::change(int fd, std::uint32_t events, EventHandler& handler) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::forget(int fd) { CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0); }

EventLoop::TimerId EventLoop::after(Duration delay, Task task) {
  const TimerId id = next_timer_++;
  const auto delay_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(delay.ns(), 0));
  timers_.push_back({now_ns_ + delay_ns, id, std::move(task)});
  std::push_heap(timers_.begin(), timers_.end());
  pending_timers_.insert(id);
  return id;
}

// Waits of an hour that end after a moment must not pile up for an hour: when most timers are cancelled, they go.
void EventLoop::cancel(TimerId timer) {
  pending_timers_.erase(timer);
  if (timers_.size() <= 2 * pending_timers_.size() + kCancelledTimersKept) return;
  std::erase_if(timers_, [this](const Timer& each) { return !pending_timers_.contains(each.id); });
  std::make_heap(timers_.begin(), timers_.end());
}

EventLoop* EventLoop::current() { return current_loop; }

void EventLoop::post(Task task) {
  bool is_first = false;
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(task));
    is_first = !has_posted_.exchange(true, std::memory_order_acq_rel);
  }
  if (is_first) wakeup_->signal();  // The loop is on its way to the others.
}

void EventLoop::stop() {
  post([this] { is_stopping_ = true; });
}

void EventLoop::run() {
  current_loop = this;
  while (!is_stopping_) {
    wait();
    run_timers();
    run_posted();
    end_round();
    buried_.clear();
  }
  is_stopping_ = false;
  current_loop = nullptr;
}

void EventLoop::wait() {
  std::array<epoll_event, kEventsPerRound> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): epoll fills it
  const int count = wait_for(events);
  CHECK(count >= 0 || errno == EINTR);
  read_clock();
  for (int index = 0; index < count; ++index) {
    const epoll_event& event = events[static_cast<std::size_t>(index)];
    static_cast<EventHandler*>(event.data.ptr)->on_events(event.events);
  }
}

void EventLoop::run_timers() {
  while (!timers_.empty() && timers_.front().due_ns <= now_ns_) {
    std::pop_heap(timers_.begin(), timers_.end());
    const Timer timer = std::move(timers_.back());
    timers_.pop_back();
    if (pending_timers_.erase(timer.id) > 0) timer.task();
  }
}

void EventLoop::run_posted() {
  if (!has_posted_.load(std::memory_order_acquire)) return;
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(posted_mutex_);
    tasks.swap(posted_);
    has_posted_.store(false, std::memory_order_relaxed);
  }
  for (const Task& task : tasks) task();
}

// What a task adds belongs to this round too.
void EventLoop::end_round() {
  while (!round_end_.empty()) {
    std::vector<Task> tasks;
    tasks.swap(round_end_);
    for (const Task& task : tasks) task();
  }
}

int EventLoop::wait_for(std::span<epoll_event> events) {
  const int count_max = static_cast<int>(events.size());
  if (timers_.empty()) return ::epoll_wait(epoll_.get(), events.data(), count_max, -1);
  const std::uint64_t due_ns = timers_.front().due_ns;
  const std::uint64_t left_ns = due_ns <= now_ns_ ? 0 : std::min(due_ns - now_ns_, kWaitMaxNs);
  if (has_fine_waits_) {
    const timespec left{.tv_sec = static_cast<time_t>(left_ns / 1'000'000'000),
                        .tv_nsec = static_cast<long>(left_ns % 1'000'000'000)};
    const int count = ::epoll_pwait2(epoll_.get(), events.data(), count_max, &left, nullptr);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
    has_fine_waits_ = false;  // A kernel from before 2021, or a container that forbids it.
  }
  return ::epoll_wait(epoll_.get(), events.data(), count_max, static_cast<int>((left_ns + 999'999) / 1'000'000));
}

void EventLoop::read_clock() { now_ns_ = base::monotonic_ns(); }

}  // namespace mete::net
