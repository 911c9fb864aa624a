// Opening a store by its URL. Adding a scheme: network/elsewhere.cc.
#pragma once

#include <mete/limiter.h>

#include <functional>
#include <memory>
#include <string_view>

#include "store/store.h"

namespace mete::store {

// Whether there is a store for such a URL. Nothing is opened.
Result<void> check_url(std::string_view url);

// `on_load` is called now and then while a store reads its files. While the store cannot be reached its takes are open
// where their limits say so (fail_open.h).
Result<std::unique_ptr<Store>> open_store(std::string_view url, const Options& options,
                                          std::function<void(const LoadProgress&)> on_load = {});

// The same for a part of another store, which says itself what happens when this one cannot be reached.
Result<std::unique_ptr<Store>> open_closed_store(std::string_view url, const Options& options,
                                                 std::function<void(const LoadProgress&)> on_load = {});

}  // namespace mete::store
