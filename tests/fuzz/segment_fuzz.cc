// Any bytes as the last segment of a journal: it is read, cut or refused, and what is read stays.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/data_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mete::journal;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  mete::support::SimulatedDisk disk;
  disk.put(kFuzzDirectory + "/segment-0000000001", file_of(input, FileKind::kSegment));
  // It has just begun, so that everything behind the header may be a tail.
  const std::string slot(view_of(encode_slot({.segment = 1, .offset = 0})));
  disk.put(kFuzzDirectory + "/watermark", slot);
  check_directory(disk);
  return 0;
}
