// StartedCall: a call that was given to Limiter::start(), with its completion and, in between, its answer. Users need
// not name it.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace mete {

class Limiter;

// Calls that a Limiter has under way at a time.
inline constexpr std::size_t kStartedMax = 10'000;

class StartedCall {
 public:
  StartedCall() = default;
  StartedCall& operator=(const StartedCall&) = delete;
  virtual ~StartedCall() = default;

  // Makes the answer.
  virtual void run(Limiter& limiter) noexcept = 0;
  // In place of an answer, or of one that must not be told.
  virtual void fail(Error error) = 0;
  // Tells it: once, and last.
  virtual void complete() noexcept = 0;
  // Moves it to where it outlives start().
  virtual std::unique_ptr<StartedCall> keep() = 0;

 protected:
  StartedCall(StartedCall&&) = default;
};

template <class Call, class Completion>
class StartedCallOf final : public StartedCall {
  using Answer = std::invoke_result_t<Call&, Limiter&>;
  static_assert(std::is_invocable_v<Completion&, Answer>, "the completion takes the Result that the call returns");

 public:
  StartedCallOf(Call call, Completion completion) : call_(std::move(call)), completion_(std::move(completion)) {}

  void run(Limiter& limiter) noexcept override {
    try {
      answer_.emplace(call_(limiter));
    } catch (const Failure& failure) {
      answer_.emplace(failure.error());
    }
  }
  void fail(Error error) override { answer_.emplace(std::move(error)); }
  void complete() noexcept override { completion_(*std::move(answer_)); }
  std::unique_ptr<StartedCall> keep() override { return std::make_unique<StartedCallOf>(std::move(*this)); }

 private:
  Call call_;
  Completion completion_;
  std::optional<Answer> answer_;
};

}  // namespace mete
