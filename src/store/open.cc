#include "store/open.h"

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "journal/posix_file_system.h"
#include "store/elsewhere.h"
#include "store/embedded/embedded_store.h"
#include "store/fail_open.h"

namespace mete {

namespace store {

namespace {

// Each size of entry may keep a chunk of the slab; with less than this they could use up the ceiling.
constexpr std::size_t kMaxMemoryMin = std::size_t{4} << 20;
constexpr std::string_view kEmbedded = "embedded:";

}  // namespace

Result<void> check_url(std::string_view url) {
  if (url.starts_with(kEmbedded)) return {};
  if (mete_stores != nullptr) return mete_stores()->check_url(url);
  return base::invalid("url: no store for '" + std::string(url) +
                       "': this program has 'embedded:DIR' and 'embedded:' alone; all others are in the library "
                       "mete::stores (pkg-config: mete-stores), to be linked as well");
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, const Options& options,
                                          std::function<void(const LoadProgress&)> on_load) {
  auto store = TRY(open_closed_store(url, options, std::move(on_load)));
  if (url.starts_with(kEmbedded)) return store;  // the engine knows its limits, and fails open by itself
  return std::make_unique<FailOpen>(std::move(store),
                                    FailOpen::Settings{.local_share_percent = options.local_share_percent});
}

Result<std::unique_ptr<Store>> open_closed_store(std::string_view url, const Options& options,
                                                 std::function<void(const LoadProgress&)> on_load) {
  if (options.max_memory != 0 && options.max_memory < kMaxMemoryMin) {
    return base::invalid("max_memory must be 0 (no ceiling) or at least 4 MiB, not " +
                         std::to_string(options.max_memory));
  }
  if (options.id_retention <= Duration() || options.id_retention > kPeriodMax) {
    return base::invalid("id_retention must be above 0 and at most 10 years, not " +
                         base::duration_text(options.id_retention));
  }
  if (options.local_share_percent < 1 || options.local_share_percent > 100) {
    return base::invalid("local_share_percent must be 1 to 100, not " + std::to_string(options.local_share_percent));
  }
  if (options.ids_max == 0) return base::invalid("ids_max must be at least 1");
  TRY(check_url(url));
  if (url == kEmbedded) return std::make_unique<EmbeddedStore>(options);
  if (url.starts_with(kEmbedded)) {
    static journal::PosixFileSystem files;
    const DataConfig config{
        .directory = std::string(url.substr(kEmbedded.size())), .files = &files, .on_load = std::move(on_load)};
    return EmbeddedStore::open(config, options);
  }
  return mete_stores()->open(url, options);
}

}  // namespace store

Result<Limiter> open(Text url, const Options& options) {
  return store::open_store(url, options).map([](std::unique_ptr<store::Store> store) {
    return Limiter(std::move(store));
  });
}

}  // namespace mete
