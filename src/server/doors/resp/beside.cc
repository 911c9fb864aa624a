// What a RespSession has done beside the event loops.
#include <string>
#include <vector>

#include "base/monotonic.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/background.h"
#include "server/running/service.h"
#include "server/running/worker.h"

namespace mete::server {

// A request's words in one piece: there may be a million of them.
class CopiedWords {
 public:
  explicit CopiedWords(std::span<const std::string_view> words) {
    std::size_t bytes = 0;
    for (const std::string_view word : words) bytes += word.size();
    bytes_.reserve(bytes);
    ends_.reserve(words.size());
    for (const std::string_view word : words) {
      bytes_ += word;
      ends_.push_back(bytes_.size());
    }
  }

  [[nodiscard]] std::vector<std::string_view> words() const {
    std::vector<std::string_view> words;
    words.reserve(ends_.size());
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      words.push_back(std::string_view(bytes_).substr(begin, end - begin));
      begin = end;
    }
    return words;
  }

  [[nodiscard]] std::size_t size_in_bytes() const { return bytes_.capacity() + ends_.capacity() * sizeof(ends_[0]); }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

// They count as the connection's while the command waits, and are its session's: one that is cut off, because it has
// too much, has them no more.
std::size_t RespSession::buffered_bytes() const {
  return parser_.buffered_bytes() + (beside_ == nullptr ? 0 : beside_->size_in_bytes());
}

// The command gets copies of the words: the input buffer is not its own.
void RespSession::run_beside(const Command& command, std::span<const std::string_view> words) {
  beside_ = std::make_shared<const CopiedWords>(words);
  const auto work = [&service = service_, &worker = worker_, &command, waiting = std::weak_ptr(beside_),
                     client = client_, is_admin = role_ == Role::kAdmin](wire::RespWriter& reply) {
    const auto copies = waiting.lock();
    if (copies == nullptr) return;  // The client has gone, and nobody wants an answer.
    const std::vector<std::string_view> own_words = copies->words();
    Arguments arguments;
    const auto read = arguments.read(command, std::span(own_words).subspan(command.name_words()));
    LoopMetrics metrics(worker.loop);  // Slow commands decide nothing that is counted.
    const std::uint64_t started_ns = base::monotonic_ns();
    if (read) {
      store::Execution execution;
      CommandContext context{service, {&service.waits, service.store, execution}, arguments, reply, metrics, nullptr,
                             is_admin};
      command.handler(context);
    } else {
      reply.error(read.error());
    }
    const auto elapsed_ns = static_cast<std::int64_t>(base::monotonic_ns() - started_ns);
    if (elapsed_ns >= service.slow_threshold_ns) {
      service.slow_log.add(
          {0, service.store.now().unix_seconds(), elapsed_ns / 1000, shorten(own_words), client->address, {}});
    }
  };
  answer_beside(work, beside_->size_in_bytes());
}

void RespSession::answer_beside(std::function<void(wire::RespWriter& reply)> work, std::size_t bytes) {
  block();
  const auto task = [&worker = worker_, work = std::move(work), version = version_, id = client_->id] {
    base::Output output;
    wire::RespWriter reply(output, version);
    work(reply);
    if (reply.errors() > 0) worker.loop.post([&worker] { worker.metrics.command_errors.add(); });
    worker.answer(id, {std::string(output.view())});
  };
  // What the admin alone may ask does not wait behind what others ask.
  const bool is_admins = client_->last_command.load(std::memory_order_relaxed)->access == Access::kAdmin;
  if (is_admins ? service_.background.run_first(task) : service_.background.run(client_->source, task, bytes)) return;
  base::Output output;
  wire::RespWriter(output, version_).error("ERR", "too many slow commands are waiting: try again later");
  worker_.metrics.command_errors.add();
  worker_.answer(client_->id, {std::string(output.view())});
}

}  // namespace mete::server
