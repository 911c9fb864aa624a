// Linked with mete::stores: limits in a Redis, asked by a call that waits and by one that does not.
#include <mete/mete.h>

#include <future>
#include <iostream>

int main(int /*count*/, char** arguments) {
  auto limiter = mete::open(arguments[1]).value();
  limiter.define(mete::stock("credits").amount(2)).value();
  std::cout << "allowed: " << limiter.allow("credits", "alice");
  std::promise<bool> allowed;
  limiter.start([](mete::Limiter& given) { return given.take("credits", "alice", 2); },
                [&](const mete::Result<mete::Decision>& decision) { allowed.set_value(decision->allowed()); });
  std::cout << ", two more: " << allowed.get_future().get() << '\n';
}
