// Elsewhere: the stores that lie on other servers, where the program has them.
//
// They and what they need (a network, TLS, libpq, libnghttp2) are a library of their own, libmete_stores, so that a
// program with limits in its own memory links none of that. The two meet in one weak symbol: mete_stores is null where
// only libmete is linked. Whoever links libmete_stores asks the linker for the symbol (src/CMakeLists.txt), since
// nothing else would bring it in from an archive.
#pragma once

#include <mete/limiter.h>

#include <memory>
#include <string_view>

#include "store/host.h"
#include "store/store.h"

namespace mete::store {

struct Elsewhere {
  Result<void> (*check_url)(std::string_view url);
  Result<std::unique_ptr<Store>> (*open)(std::string_view url, const Options& options);
  std::unique_ptr<Host> (*make_host)(std::unique_ptr<Store> store);
};

}  // namespace mete::store

extern "C" [[gnu::weak]] const mete::store::Elsewhere* mete_stores();
