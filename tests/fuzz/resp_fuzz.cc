// Any bytes, as what a client sends in RESP. Whatever they are:
//   - how they are cut, and where the buffer lies, does not change the requests that the parser finds
//   - how they are cut does not change what a session answers
//   - every answer is well-formed, and the session keeps to the room it is given
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <future>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/decisions/wait_queue.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/background.h"
#include "server/running/service.h"
#include "server/running/worker.h"
#include "store/embedded/embedded_store.h"
#include "wire/resp_reply.h"
#include "wire/text.h"

namespace mete {
namespace {

using Status = wire::RequestParser::Status;

// Small limits, so that short inputs reach them.
constexpr wire::RequestLimits kLimits = {.arguments_max = 12, .bulk_bytes_max = 120, .inline_bytes_max = 80};

// Every request of the stream, in a form that can be compared. Each call gets the bytes in a buffer of its own.
std::string requests_of(std::string_view input, std::size_t step) {
  wire::RequestParser parser(kLimits);
  std::string text;
  std::size_t start = 0;
  for (std::size_t end = 0; end < input.size();) {
    end = std::min(end + step, input.size());
    while (true) {
      const std::string buffer(input.substr(start, end - start));
      const Status status = parser.parse(buffer);
      if (status == Status::kNeedMore) break;
      if (status == Status::kError) return text + "error " + parser.error();
      CHECK(parser.consumed() > 0 && parser.consumed() <= buffer.size());
      CHECK(!parser.is_within_request() && parser.words().size() <= kLimits.arguments_max);
      text += std::to_string(parser.consumed());
      for (const std::string_view word : parser.words()) text.append(" ").append(wire::quote(word, word.size()));
      text += '\n';
      start += parser.consumed();
    }
  }
  return text;
}

void check_parser(std::string_view input) {
  const std::string whole = requests_of(input, input.size() + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, input.size() / 2 + 1}) {
    CHECK(requests_of(input, step) == whole);
  }
}

std::vector<std::unique_ptr<server::Worker>> one_worker() {
  std::vector<std::unique_ptr<server::Worker>> workers;
  workers.push_back(std::make_unique<server::Worker>());
  return workers;
}

server::Config make_config(bool needs_password) {
  server::Config config;
  if (needs_password) {
    config.password = "admin";
    config.use_password = "use";
  }
  return config;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

class Server {
 public:
  explicit Server(bool needs_password) : service_(store_, make_config(needs_password), one_worker()) {
    service_.slow_threshold_ns = std::numeric_limits<std::int64_t>::max();
    service_.shut_down = [] {};
    service_.apply_config = [] {};
    define_limits();
  }

  // What is answered at once: slow commands and waiting takes are carried out, and nobody hears of it.
  std::string serve(std::string_view input, std::size_t step) {
    std::string answers;
    {
      auto client = std::make_shared<server::Client>();
      client->id = 7;
      client->worker = service_.workers[0].get();
      server::RespSession session(service_, *service_.workers[0], client);
      receive(session, input, step, answers);
    }
    forget_everything(lower_case(input).find("limit") != std::string::npos);
    return answers;
  }

 private:
  static constexpr std::size_t kOutputMax = 4096;
  // The longest single answer: COMMAND DOCS.
  static constexpr std::size_t kAnswerMax = 256 * 1024;

  void receive(server::RespSession& session, std::string_view input, std::size_t step, std::string& answers) {
    std::size_t start = 0;
    for (std::size_t end = 0; end < input.size();) {
      end = std::min(end + step, input.size());
      while (true) {
        const std::string buffer(input.substr(start, end - start));
        base::Output output;
        const auto [consumed, next, ticket, is_question_answered] = session.receive(buffer, output, kOutputMax);
        CHECK(consumed <= buffer.size() && output.size() <= kOutputMax + kAnswerMax);
        CHECK(ticket == 0);  // This store has no disk to wait for.
        static_cast<void>(is_question_answered);
        // It goes on, unless the output is full: with what is left when its turn was over.
        CHECK(next != net::Session::Next::kDrain || output.size() >= kOutputMax || consumed > 0);
        start += consumed;
        answers += output.view();
        if (next == net::Session::Next::kClose) return;
        if (next == net::Session::Next::kRead) break;
        if (next == net::Session::Next::kBlock) {
          has_blocked_ = true;
          finish_work();
        }
      }
    }
  }

  void define_limits() {
    using namespace std::chrono_literals;
    CHECK(store_.define(bucket("api").amount(10).per(1min)).has_value());
    CHECK(store_.define(stock("credits").amount(100)).has_value());
  }

  void finish_work() {
    // The work of clients and that of the admin are queues of their own.
    std::promise<void> is_done;
    std::promise<void> is_admins_done;
    CHECK(service_.background.run({}, [&] { is_done.set_value(); }));
    CHECK(service_.background.run_first([&] { is_admins_done.set_value(); }));
    is_done.get_future().wait();
    is_admins_done.get_future().wait();
    service_.workers[0]->loop.stop();
    service_.workers[0]->loop.run();
  }

  void forget_everything(bool are_limits_changed) {
    if (has_blocked_) {
      service_.waits.finish();
      finish_work();
      finish_work();  // What was delivered and could not be is given back.
      has_blocked_ = false;
    }
    CHECK(service_.waits.size() == 0 && service_.clients.size() == 0);
    CHECK(store_.clear().has_value());
    if (!are_limits_changed) return;
    const auto names = store_.limits().value();
    for (const std::string& name : names) CHECK(store_.drop(name).value());
    define_limits();
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store_{Options{.clock = &clock_, .max_memory = std::size_t{64} << 20, .ids_max = 1000}};
  server::Service service_;
  bool has_blocked_ = false;
};

// The replies one after the other, as a client reads them.
void check_answers(std::string_view answers) {
  wire::ReplyParser parser;
  parser.append(answers);
  std::size_t replies = 0;
  auto reply = parser.next();
  for (; reply.has_value() && *reply; reply = parser.next()) ++replies;
  CHECK(reply.has_value());  // and not an error
  parser.append("+end\r\n");
  const auto end = parser.next();
  CHECK(end.has_value() && *end && (*end)->text == "end");
  CHECK(answers.empty() == (replies == 0));
}

// Answers that tell of this process, of chance, or of what earlier inputs have set.
bool is_repeatable(std::string_view input) {
  const std::string lower = lower_case(input);
  for (const std::string_view word : {"info", "hold", "config", "\\x", "client"}) {
    if (lower.find(word) != std::string::npos) return false;
  }
  return true;
}

}  // namespace
}  // namespace mete

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static mete::Server open(false);
  static mete::Server guarded(true);
  if (size > 4096) return 0;
  const std::string input(data, data + size);
  mete::check_parser(input);
  // A first byte '!' asks for the server with passwords.
  const bool is_guarded = input.starts_with('!');
  const std::string_view stream = std::string_view(input).substr(is_guarded ? 1 : 0);
  mete::Server& server = is_guarded ? guarded : open;
  const std::string whole = server.serve(stream, stream.size() + 1);
  mete::check_answers(whole);
  const std::string cut = server.serve(stream, 3);
  if (mete::is_repeatable(input)) CHECK(whole == cut);
  return 0;
}
