// Any bytes as a snapshot: it is read whole or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/data_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mete::journal;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  mete::support::SimulatedDisk disk;
  disk.put(kFuzzDirectory + "/snapshot-0000000001", file_of(input, FileKind::kSnapshot));
  check_directory(disk);
  return 0;
}
