#include "store/embedded/embedded_store.h"

#include "base/random.h"
#include "base/try.h"
#include "engine/operations.h"
#include "store/store_clock.h"

namespace mete::store {

namespace {

// The sweep goes round once a minute, in small steps: nothing but memory waits for it.
constexpr auto kSweepStep = std::chrono::milliseconds(100);
constexpr std::size_t kSweepStepsPerRound = 600;

}  // namespace

EmbeddedStore::EmbeddedStore(const Options& options)
    : EmbeddedStore(Parts{.clock = make_store_clock(options.clock),
                          .engine = std::make_unique<engine::Engine>(engine_config(options, base::random_number())),
                          .data = nullptr}) {}

EmbeddedStore::EmbeddedStore(Parts parts)
    : clock_(std::move(parts.clock)),
      data_(std::move(parts.data)),
      own_engine_(std::move(parts.engine)),
      engine_(own_engine_ != nullptr ? *own_engine_ : data_->engine()) {
  if (parts.is_swept) sweeper_ = std::thread([this] { sweep_until_stopped(); });
}

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(const DataConfig& config, const Options& options) {
  std::unique_ptr<StoreClock> clock = make_store_clock(options.clock);
  auto data = TRY(DataDirectory::open(config, options, *clock));
  return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(
      Parts{.clock = std::move(clock), .engine = nullptr, .data = std::move(data), .is_swept = config.has_threads}));
}

EmbeddedStore::~EmbeddedStore() {
  {
    const std::lock_guard guard(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
}

void EmbeddedStore::sweep_until_stopped() {
  std::unique_lock guard(stop_mutex_);
  while (!stop_signal_.wait_for(guard, kSweepStep, [this] { return is_stopping_; })) {
    engine_.sweep(engine_.buckets() / kSweepStepsPerRound + 1, now());
  }
}

template <class What>
Result<typename What::Answer> EmbeddedStore::perform(const What& operation, Execution& execution) {
  const Instant now = execution.now ? *execution.now : clock_->now();
  if (What::kTraits.effect == core::Effect::kReads || data_ == nullptr) return engine::run(engine_, operation, now);
  return perform_durably(operation, now, execution);
}

template <class What>
Result<typename What::Answer> EmbeddedStore::perform_durably(const What& operation, Instant now, Execution& execution) {
  constexpr core::Effect kEffect = What::kTraits.effect;
  // Whether a take may go on though nothing can be written, its limits say.
  if (kEffect != core::Effect::kTakes && data_->has_failed()) return *data_->failure();
  Ticket ticket = 0;
  auto answer = engine::run(engine_, operation, {now, &ticket});
  if (kEffect == core::Effect::kSettles) ticket = data_->last_awaited();
  data_->wait_for_room();
  execution.note(ticket);
  if (execution.waits_for_disk) TRY(data_->wait(ticket));
  return answer;
}

}  // namespace mete::store
