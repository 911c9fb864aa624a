// Linked with mete::mete alone: what is decided in memory allocates nothing, and other stores are refused by name.
#include <mete/mete.h>

#include <cstdlib>
#include <iostream>
#include <new>

namespace {

thread_local long allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

int main() {
  auto limiter = mete::open("embedded:").value();
  limiter.define(mete::stock("credits").amount(1000)).value();
  int allowed = 0;
  const auto take_one = [&] {
    if (limiter.allow("credits", "alice")) ++allowed;
    limiter.start([](mete::Limiter& given) { return given.take("credits", "alice"); },
                  [&](const mete::Result<mete::Decision>& decision) { allowed += decision->allowed() ? 1 : 0; });
  };
  take_one();  // makes the meter
  const long before = allocations;
  for (int i = 1; i < 500; ++i) take_one();
  std::cout << "allowed: " << allowed << ", allocations: " << allocations - before << '\n';
  std::cout << mete::open("redis://127.0.0.1").error().message << '\n';
}
