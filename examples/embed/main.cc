// Limits inside your own program: a rate for requests, and credits that are held first and paid for when the work is
// done.
#include <mete/mete.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  auto limiter = mete::open("embedded:").value();
  limiter.define(mete::bucket("api").amount(100).per(1min).burst(200)).value();
  limiter.define(mete::stock("credits").amount(50)).value();

  int allowed = 0;
  for (int request = 0; request < 1000; ++request) {
    if (limiter.allow("api", "alice")) ++allowed;
  }
  // The bucket lets 200 pass at once; more come back only with time, 100 a minute.
  std::cout << "requests allowed: " << (allowed >= 200 && allowed < 300 ? "the burst" : "wrong") << '\n';

  // Hold 10 credits while the work runs, then pay for the 7 it took. What is not paid for comes back.
  auto hold = limiter.hold("credits", "alice", 10, 1h).value();
  limiter.commit(hold.id, 7).value();
  std::cout << "credits for 43 more: " << (limiter.allow("credits", "alice", 43) ? "yes" : "no") << '\n';
  std::cout << "credits for 1 more: " << (limiter.allow("credits", "alice") ? "yes" : "no") << '\n';
}
