#include "server/running/background.h"

#include <utility>

namespace mete::server {

void Background::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  thread_.finish();
}

bool Background::run(const GuessSource& source, Task task, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (waiting_ >= kTasksMax) return false;
  const auto found = sources_.try_emplace(source).first;
  Source& of_source = found->second;
  if (of_source.waiting.size() >= kTasksOfSourceMax) return false;
  if (of_source.bytes > 0 && bytes > 0 && of_source.bytes + bytes > kBytesOfSourceMax) return false;
  const bool has_turn = of_source.may_begin();
  of_source.waiting.push_back({std::move(task), bytes});
  of_source.bytes += bytes;
  ++waiting_;
  if (!has_turn && of_source.may_begin()) turns_.push_back(found);
  ask_for_next();
  return true;
}

bool Background::run_first(Task task) {
  const std::lock_guard lock(mutex_);
  if (first_.size() >= kFirstMax) return false;
  first_.push_back(std::move(task));
  ask_for_next();
  return true;
}

void Background::ask_for_next() {
  if (is_asked_for_ || is_stopping_ || (!may_begin_first() && !may_begin_clients())) return;
  is_asked_for_ = true;
  thread_.run([this] { do_next(); });
}

void Background::do_next() {
  Piece piece;
  GuessSource source;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_asked_for_ = false;
    if (is_stopping_) return;
    is_first = may_begin_first() && (!was_first_ || !may_begin_clients());
    was_first_ = is_first;
    piece = is_first ? begin_first() : begin_clients(source);
    ask_for_next();
  }
  std::exchange(piece.task, nullptr)();
  const std::lock_guard lock(mutex_);
  if (is_first) {
    --first_under_way_;
  } else {
    end_of(source, piece.bytes);
  }
  ask_for_next();
}

Background::Piece Background::begin_first() {
  Piece piece{std::move(first_.front())};
  first_.pop_front();
  ++first_under_way_;
  return piece;
}

Background::Piece Background::begin_clients(GuessSource& source) {
  const Sources::iterator turn = turns_.front();
  turns_.pop_front();
  source = turn->first;
  Source& of_source = turn->second;
  Piece piece = std::move(of_source.waiting.front());
  of_source.waiting.pop_front();
  --waiting_;
  ++of_source.under_way;
  ++under_way_;
  if (of_source.may_begin()) turns_.push_back(turn);
  return piece;
}

void Background::end_of(const GuessSource& source, std::size_t bytes) {
  const auto found = sources_.find(source);
  Source& of_source = found->second;
  const bool has_turn = of_source.may_begin();
  of_source.bytes -= bytes;
  --of_source.under_way;
  --under_way_;
  if (!has_turn && of_source.may_begin()) {
    turns_.push_back(found);
  } else if (of_source.waiting.empty() && of_source.under_way == 0) {
    sources_.erase(found);
  }
}

}  // namespace mete::server
