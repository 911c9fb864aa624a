// RespSession: one client's conversation in RESP: requests in, replies out, no I/O.
#pragma once

#include <mete/decision.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/execution.h"
#include "net/session.h"
#include "server/doors/doorkeeper.h"
#include "wire/resp_request.h"
#include "wire/resp_writer.h"

namespace mete::server {

class CopiedWords;
class Worker;
struct Client;
struct Command;
struct FoundCommand;
struct LookedAhead;
struct Service;
struct Workspace;

class RespSession final : public net::Session {
 public:
  RespSession(Service& service, Worker& worker, std::shared_ptr<Client> client);
  ~RespSession() override;

  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override;
  void on_overflow(base::Output& output) override;
  void on_lost(base::Output& output) override;
  void on_buffers(const Buffers& buffers) override;
  // A take must not wait on for a client that has gone; slow commands end by themselves.
  [[nodiscard]] bool answers_half_closed() const override { return !is_waiting_; }
  [[nodiscard]] bool is_stranger() const override;
  // Who watches with MONITOR listens, and need not speak.
  [[nodiscard]] bool may_be_silent() const override;
  [[nodiscard]] std::size_t buffered_bytes() const override;

  // For commands about the connection.
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Worker& worker() { return worker_; }
  [[nodiscard]] std::optional<Role> role() const { return role_; }
  // By what was shown; credential 0: no password was needed.
  void set_role(const Shown& shown);
  // A connection that is kept for the admin is for nobody else who has a password.
  [[nodiscard]] bool may_stay_with(Role role) const;
  [[nodiscard]] wire::RespVersion version() const { return version_; }
  void set_version(wire::RespVersion version);
  void close_after_reply() { is_closing_ = true; }
  // As RESET does.
  void reset();
  // What stands between MULTI and EXEC is refused: half of a transaction must not be carried out.
  [[nodiscard]] bool is_in_multi() const { return is_in_multi_; }
  void set_in_multi(bool is_in_multi) { is_in_multi_ = is_in_multi; }
  // No reply now: it will come through Worker::answer.
  void block();
  // Blocks as a waiting take: the wait ends with the connection.
  void block_waiting();
  // No reply now: `work` makes it, beside the event loops.
  void answer_beside(std::function<void(wire::RespWriter& reply)> work) { answer_beside(std::move(work), 0); }
  // Holds back what was replied since `position` for a while: guessing passwords takes time.
  void delay_reply(std::size_t position);

 private:
  // What has arrived together, on its way.
  struct Batch {
    wire::RespWriter& reply;
    base::Output& output;
    std::size_t output_max = 0;
    Received received = {};
    std::uint64_t commands = 0;
  };

  // Before any password is shown, or after it: whether one is needed.
  void begin_without_password();
  // Whether the passwords are those by which the client has its role, or still give it.
  [[nodiscard]] bool has_valid_role() const;
  Received receive_batch(std::string_view input, base::Output& output, std::size_t output_max);
  std::span<const LookedAhead> look_ahead(std::string_view input, std::size_t count_max);
  void expect(std::span<const LookedAhead> requests);
  std::size_t serve_together(std::span<const LookedAhead> requests, wire::RespWriter& reply);
  std::span<const Charge> find_takes(std::span<const LookedAhead> requests);
  void take_together(std::span<const Charge> charges, wire::RespWriter& reply);
  std::size_t count_steps(std::span<const LookedAhead> requests);
  void step_together(std::span<const LookedAhead> requests, wire::RespWriter& reply);
  bool receive_one(std::string_view input, Batch& batch);
  void refuse_protocol(std::string_view reason, base::Output& output);
  void read_clock();
  void finish_commands(std::size_t count, Batch& batch);
  void execute(const FoundCommand& found, std::span<const std::string_view> words, wire::RespWriter& reply);
  void run(const Command& command, std::span<const std::string_view> words, std::size_t name_words,
           wire::RespWriter& reply);
  void run_beside(const Command& command, std::span<const std::string_view> words);
  // `bytes`: what waits with the work.
  void answer_beside(std::function<void(wire::RespWriter& reply)> work, std::size_t bytes);
  [[nodiscard]] bool may_run(const Command& command, wire::RespWriter& reply) const;
  [[nodiscard]] bool may_use_reserve(const Command& command) const;
  [[nodiscard]] bool may_go_together(const Command& command) const;
  void note_if_slow(std::span<const std::string_view> words, std::int64_t elapsed_ns);
  void tell_monitors(const Command& command, std::span<const std::string_view> words);

  Service& service_;
  Worker& worker_;
  std::shared_ptr<Client> client_;
  wire::RequestParser parser_;
  wire::RespVersion version_ = wire::RespVersion::k2;
  std::optional<Role> role_;
  std::uint64_t generation_ = 0;  // of the passwords by which it has the role
  bool is_in_multi_ = false;
  bool is_closing_ = false;
  bool is_blocked_ = false;
  bool is_waiting_ = false;
  std::shared_ptr<const CopiedWords> beside_;  // of the command that runs beside the event loops
  // Of the batch in progress.
  base::Output* output_ = nullptr;
  std::unique_ptr<Workspace> workspace_;
  core::Execution execution_;
  std::int64_t turn_ns_ = 0;    // what its commands have taken, but for fast ones
  std::uint64_t round_ns_ = 0;  // when the loop's round began in which its time was read
};

}  // namespace mete::server
