#include "escrow/peers/sender.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"

namespace mete::escrow {

Sender::Sender(const Identity& identity, std::string peer_name, Counters& counters, Progress& progress,
               const LinkTime& time)
    : channel_(Side::kConnector, identity, std::move(peer_name)),
      counters_(counters),
      progress_(progress),
      heard_at_(time.steady),
      last_sent_(time.steady) {
  channel_.start(output_);
}

Result<void> Sender::receive(std::string_view& input, const LinkTime& time) {
  for (;;) {
    const auto frame = TRY(channel_.read(input, output_));
    if (!frame) return is_open() ? advance(time) : Result<void>();
    if (frame->type != FrameType::kAck) {
      return channel_.refuse(base::invalid("a frame came that only a sender has"), output_);
    }
    const auto number = decode_number(frame->body);
    auto done = number ? acknowledge(*number, time.steady) : number.error();
    if (!done) return channel_.refuse(std::move(done).error(), output_);
  }
}

Result<void> Sender::acknowledge(std::uint64_t number, Instant steady) {
  if (number > last_number_) {
    return base::invalid("something was acknowledged that was not sent");
  }
  progress_.heard_at = heard_at_ = steady;
  while (!in_flight_.empty() && in_flight_.front().number <= number) {
    if (in_flight_.front().cursor) progress_.acknowledged = *in_flight_.front().cursor;
    in_flight_.pop_front();
  }
  return {};
}

Result<void> Sender::advance(const LinkTime& time) {
  // While answers come, however slowly, the link is alive.
  const Instant asked_at = in_flight_.empty() ? heard_at_ : in_flight_.front().sent;
  const bool is_waiting = !is_open() || !in_flight_.empty();
  if (is_waiting && std::max(asked_at, heard_at_) + kAnswerWithin <= time.steady) {
    return base::unavailable("no answer within " + base::duration_text(kAnswerWithin));
  }
  if (!is_open()) return {};
  begin(time.steady);
  while (in_flight_.size() < kInFlightMax && send_changes(time)) {
  }
  if (in_flight_.empty() && last_sent_ + kPingEvery <= time.steady) {
    send(FrameType::kPing, {}, std::nullopt, time.steady);
  }
  return {};
}

void Sender::begin(Instant steady) {
  if (std::exchange(has_begun_, true)) return;
  const bool is_known = progress_.peer == channel_.peer() && steady < progress_.heard_at + kGoneKept;
  if (!is_known) progress_ = {.peer = channel_.peer(), .acknowledged = {}, .heard_at = steady};
  sent_ = progress_.acknowledged;
}

bool Sender::send_changes(const LinkTime& time) {
  if (time.steady < next_batch_) return false;
  const auto changes = counters_.changes_since(sent_, {source_of(progress_.peer), time.now}, kBatchBytes);
  sent_ = changes.cursor;
  if (changes.states.empty()) {
    if (in_flight_.empty()) progress_.acknowledged = sent_;  // all there was came from the peer itself
    return false;
  }
  std::size_t bytes = 0;
  for (const std::string& piece : changes.states) {
    bytes += piece.size();
    const bool is_last = &piece == &changes.states.back();
    send(FrameType::kState, piece, is_last ? std::optional(changes.cursor) : std::nullopt, time.steady);
  }
  if (bytes < kBatchBytes) next_batch_ = time.steady + kBatchEvery;
  return true;
}

void Sender::send(FrameType type, std::string_view rest, std::optional<Counters::Cursor> cursor, Instant steady) {
  channel_.write(type, encode_number(++last_number_).append(rest), output_);
  in_flight_.push_back({last_number_, cursor, steady});
  last_sent_ = steady;
}

}  // namespace mete::escrow
