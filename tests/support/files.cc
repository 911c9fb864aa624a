#include "support/files.h"

namespace mete::support {

std::filesystem::path repository() { return METE_SOURCE_DIRECTORY; }

}  // namespace mete::support
