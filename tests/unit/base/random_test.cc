// Random numbers and ids: none comes twice, in another thread or process either.
#include "base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

namespace mete::base {
namespace {

TEST(Random, NoIdComesTwice) {
  std::set<std::string> ids;
  std::set<std::string> others;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) others.insert(random_id());
  });
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  other.join();
  ids.merge(others);
  EXPECT_EQ(ids.size(), 2000U);
  EXPECT_TRUE(others.empty());
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 32U);
}

TEST(Random, AForkedProcessHasNumbersOfItsOwn) {
  random_number();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t number = random_number();
    ::_exit(::write(ends[1], &number, sizeof number) == sizeof number ? 0 : 1);
  }
  const std::uint64_t own = random_number();
  std::uint64_t theirs = 0;
  ASSERT_EQ(::read(ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  EXPECT_NE(own, theirs);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace mete::base
