// A clock that tests set, for servers: a library that is loaded before the C library (LD_PRELOAD) and tells, in
// place of the time of day, the microseconds found in a file of eight bytes that METE_TEST_CLOCK names. The file is
// mapped into memory, here and in the test (support/server_clock.h), so that a time is in force once it is stored.
//
// Time stands still until the test moves it, forwards or backwards. CLOCK_MONOTONIC stays real: event loops go on.
//
// What redis-server 7.0 makes of it (support/redis_server_test.cc):
//   - From 0 to the year 2255 (2^53 µs, as far as Lua's numbers are whole) TIME, inside scripts too, tells what the
//   file
//     says, to the microsecond, and expiries hold. In the first millisecond a key with an expiry is as any other.
//   - After a jump ahead keys are expired before the next command sees them; after one back they are there for longer.
//   - Its own deadlines (replication, Sentinel, Cluster, MIGRATE) are by the same time of day: while that stands still
//     nothing is ever found to be down, and after a jump everything is. So no settable clock there, but for a Cluster
//     of masters alone whose node timeout is longer than any jump: it stays whole (support/redis_groups_test.cc).
//
// What PostgreSQL 15 makes of it (support/postgres_server_test.cc):
//   - clock_timestamp() tells, in each backend, what the file says, to the microsecond; now() does from the next
//     transaction on. Jumps in both directions, checkpoints, VACUUM and the recovery from a crash do it no harm.
//   - Its own time-outs (statement_timeout, lock_timeout, deadlock_timeout) are asked after when the real time is over,
//     and are over by the set time alone: while that stands still no statement is cut off and no deadlock is ever
//     found, and pg_sleep() does not end. So no settable clock where a test is about these.
//   - The launcher of autovacuum would wait for the set time too: it is off.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// No C++ library here: this runs inside of a C program, and before its main().
namespace {

constexpr long kMicrosecondsPerSecond = 1'000'000;
constexpr long kNanosecondsPerMicrosecond = 1000;

const std::uint64_t* shown_us = nullptr;

// A test that goes by the real time unnoticed would be wrong now and then.
[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "settable clock: %s; METE_TEST_CLOCK names a file of 8 bytes\n", what);
  std::abort();
}

__attribute__((constructor)) void map_clock() {
  const char* path = std::getenv("METE_TEST_CLOCK");
  if (path == nullptr) refuse("METE_TEST_CLOCK is not set");
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse("cannot open the file");
  void* mapped = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) refuse("cannot map the file");
  shown_us = static_cast<const std::uint64_t*>(mapped);
}

// Whatever is loaded may ask before the constructor above has run.
long now_us() {
  if (shown_us == nullptr) map_clock();
  return static_cast<long>(__atomic_load_n(shown_us, __ATOMIC_ACQUIRE));
}

}  // namespace

// The C library's own names for the parameters are reserved.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int gettimeofday(timeval* __restrict told, void* __restrict /*zone*/) noexcept {
  const long us = now_us();
  *told = {.tv_sec = us / kMicrosecondsPerSecond, .tv_usec = us % kMicrosecondsPerSecond};
  return 0;
}

time_t time(time_t* told) noexcept {
  const time_t seconds = now_us() / kMicrosecondsPerSecond;
  if (told != nullptr) *told = seconds;
  return seconds;
}

int clock_gettime(clockid_t clock, timespec* told) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, told));
  const long us = now_us();
  *told = {.tv_sec = us / kMicrosecondsPerSecond, .tv_nsec = us % kMicrosecondsPerSecond * kNanosecondsPerMicrosecond};
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
