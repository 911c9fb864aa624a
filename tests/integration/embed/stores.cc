// Linked with mete::stores: limits in a Redis.
#include <mete/mete.h>

#include <iostream>

int main(int /*count*/, char** arguments) {
  auto limiter = mete::open(arguments[1]).value();
  limiter.define(mete::stock("credits").amount(2)).value();
  std::cout << "allowed: " << limiter.allow("credits", "alice");
  std::cout << ", two more: " << limiter.allow("credits", "alice", 2) << '\n';
}
