// Opening a store by its URL. Adding a scheme: open.cc.
#pragma once

#include <mete/limiter.h>

#include <memory>
#include <string_view>

#include "store/store.h"

namespace mete::store {

Result<std::unique_ptr<Store>> open_store(std::string_view url, const Options& options);

}  // namespace mete::store
