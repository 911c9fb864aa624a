// A worker of the example. It takes jobs one by one, and for each job in turn:
//
//     takes it      a job that is due, and that no other worker is at; its hold is extended, or made anew if it has
//     expired works         a heartbeat now and then keeps both the job and its hold records it    the result, and what
//     the hold has really cost, in one transaction
//
// It may be killed at any point. The job is due again when nothing was heard of its worker for a while (the lease), and
// somebody else takes it, with the credits still set aside. A worker that only seemed dead finds the attempt over, and
// lets go.
//
// usage: worker NAME [LEASE [TTL]]      intervals such as '10 seconds'; the hold's TTL is several leases long
#include <chrono>
#include <iostream>
#include <thread>

#include "database.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kPollEvery = 100ms;
constexpr auto kWorkPerUnit = 50ms;

struct Job {
  std::string id;
  std::string owner;
  std::int64_t cost;
  std::string attempt;
};

// Somebody else has the job by now.
struct Overtaken {};

class Worker {
 public:
  Worker(std::string name, std::string lease, std::string ttl)
      : name_(std::move(name)), lease_(std::move(lease)), ttl_(std::move(ttl)) {}

  void run() {
    database_.run("select $1::interval, $2::interval",
                  {lease_, ttl_});  // a bad one is told now, and not at the first job
    for (;;) {
      if (const auto job = take()) {
        do_job(*job);
      } else {
        std::this_thread::sleep_for(kPollEvery);
      }
    }
  }

 private:
  std::optional<Job> take() {
    std::optional<Job> taken;
    database_.in_transaction([&] {
      taken.reset();
      const Rows due = database_.run(
          "select id, owner, cost, attempt + 1 from jobs where state <> 'done' and due_at <= now() "
          "order by due_at limit 1 for update skip locked");
      if (due.empty()) return;
      const Job job = {*due[0][0], *due[0][1], std::stoll(*due[0][2]), *due[0][3]};
      if (!reserve(job)) return;
      database_.run(
          "update jobs set state = 'running', attempt = $2, worker = $3, due_at = now() + $4::interval where id = $1",
          {job.id, job.attempt, name_, lease_});
      taken = job;
    });
    return taken;
  }

  // Nearly always the hold is open, since the job was enqueued or by an earlier attempt. If it has expired, its credits
  // belong to whoever asks first: then a new one is made, which may be denied. An id is remembered with its answer,
  // also that of an expired hold: each attempt has an id of its own. The tag is the job's.
  bool reserve(const Job& job) {
    database_.run("savepoint before_hold");
    try {
      database_.run("select mete.extend(tag => $1, ttl => $2)", {job.id, ttl_});
      return true;
    } catch (const SqlError& error) {
      if (error.state() != "MT003" && error.state() != "MT004") throw;  // forgotten, expired
    }
    database_.run("rollback to savepoint before_hold");
    const Row answer =
        database_
            .run("select allowed, retry_after from mete.hold('credits', $1, $2, $3, id => $4, tag => $5)",
                 {job.owner, std::to_string(job.cost), ttl_, job.id + "/" + job.attempt, job.id})
            .front();
    if (answer[0] == "t") return true;
    database_.run("rollback to savepoint before_hold");
    database_.run("update jobs set due_at = now() + $2::interval where id = $1", {job.id, answer[1].value_or("1 day")});
    say(job, "is put off");
    return false;
  }

  void do_job(const Job& job) {
    say(job, "is taken");
    try {
      // The work: some time for each credit.
      for (std::int64_t unit = 0; unit < job.cost; ++unit) {
        std::this_thread::sleep_for(kWorkPerUnit);
        heartbeat(job);
      }
      finish(job, job.cost - job.cost / 4);  // it was estimated with care
      say(job, "is done");
    } catch (const Overtaken&) {
      say(job, "was taken by somebody else");
    } catch (const SqlError& error) {
      // The worker has slept for longer than the hold was good for. The job is due again, and the next attempt sees to
      // it.
      if (error.state() != "MT003" && error.state() != "MT004") throw;
      say(job, error.what());
    }
  }

  // Here it comes between two steps of the work. It may as well be a thread, with a connection of its own.
  void heartbeat(const Job& job) {
    database_.in_transaction([&] {
      const Rows mine =
          database_.run("update jobs set due_at = now() + $3::interval where id = $1 and attempt = $2 returning id",
                        {job.id, job.attempt, lease_});
      if (mine.empty()) throw Overtaken{};
      database_.run("select mete.extend(tag => $1, ttl => $2)", {job.id, ttl_});
    });
  }

  // The job's row comes first, in every transaction here: whoever has it decides for the job, and nobody waits in a
  // circle.
  void finish(const Job& job, std::int64_t spent) {
    database_.in_transaction([&] {
      const Rows mine = database_.run(
          "update jobs set state = 'done', spent = $3, result = $4 where id = $1 and attempt = $2 returning id",
          {job.id, job.attempt, std::to_string(spent), "done by " + name_});
      if (mine.empty()) throw Overtaken{};
      database_.run("select mete.commit(tag => $1, amounts => array[$2::bigint])", {job.id, std::to_string(spent)});
    });
  }

  void say(const Job& job, const std::string& what) {
    std::cout << name_ << ": " << job.id << ", attempt " << job.attempt << ", " << what << std::endl;
  }

  Database database_;
  const std::string name_;
  const std::string lease_;
  const std::string ttl_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: worker NAME [LEASE [TTL]]\n";
    return 2;
  }
  try {
    Worker(words[1], count > 2 ? words[2] : "10 seconds", count > 3 ? words[3] : "1 hour").run();
  } catch (const std::exception& error) {
    // Whoever has started it starts it again: that is what a crash needs anyway.
    std::cerr << "worker: " << error.what() << '\n';
    return 1;
  }
}
