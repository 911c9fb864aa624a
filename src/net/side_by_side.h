// side_by_side: work(0) … work(count - 1), so many at a time; it returns when all have ended. For what waits for a
// network: a thousand questions to a server that is 20 ms away take twenty seconds one after the other, and less than
// one second side by side.
//
// On a fiber other fibers of its loop help; a plain thread is helped by threads, of which there are few.
#pragma once

#include <cstddef>
#include <functional>

namespace mete::net {

// Of a plain thread, which is one of them.
inline constexpr std::size_t kThreadsSideBySideMax = 16;

void side_by_side(std::size_t count, std::size_t at_once, const std::function<void(std::size_t)>& work);

}  // namespace mete::net
