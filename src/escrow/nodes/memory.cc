#include "escrow/nodes/memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "escrow/nodes/names.h"
#include "journal/directory.h"
#include "journal/file_system.h"

namespace mete::escrow {

namespace {

constexpr std::size_t kFileBytesMax = 512;
constexpr std::size_t kIdentityBytes = 32;

std::string text_of(const NodeMemory& memory) {
  const Remembered& known = memory.remembered;
  return "mete-node 1\nidentity " + memory.identity + "\ncluster " + std::to_string(known.cluster) + "\nname " +
         known.name + "\nincarnation " + std::to_string(known.incarnation) + "\nstarts " +
         std::to_string(known.starts) + "\nbeats " + std::to_string(known.beats) + "\n";
}

// Takes "WORD value\n" off the text.
std::optional<std::string_view> next_value(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(word) || text[word.size()] != ' ') return std::nullopt;
  const std::string_view value = text.substr(word.size() + 1, end - word.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::int64_t> number_of(std::optional<std::string_view> text) {
  std::int64_t number = 0;
  if (!text) return std::nullopt;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text->data() + text->size() && number >= 0;
  return is_whole ? std::optional(number) : std::nullopt;
}

std::optional<NodeMemory> parse(std::string_view text) {
  const auto version = next_value(text, "mete-node");
  const auto identity = next_value(text, "identity");
  const auto cluster = number_of(next_value(text, "cluster"));
  const auto name = next_value(text, "name");
  const auto incarnation = number_of(next_value(text, "incarnation"));
  const auto starts = number_of(next_value(text, "starts"));
  const auto beats = number_of(next_value(text, "beats"));
  const bool has_all = identity && cluster && name && incarnation && starts && beats;
  if (version != "1" || !has_all || !text.empty()) return std::nullopt;
  const bool is_hex = identity->find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (identity->size() != kIdentityBytes || !is_hex) return std::nullopt;
  if (*cluster == 0 ? !name->empty() || *incarnation + *starts + *beats != 0 : !is_node_name(*name))
    return std::nullopt;
  return NodeMemory{.identity = std::string(*identity),
                    .remembered = {.cluster = *cluster,
                                   .name = std::string(*name),
                                   .incarnation = *incarnation,
                                   .starts = *starts,
                                   .beats = *beats}};
}

Result<NodeMemory> read_memory(journal::FileSystem& files, const std::string& path) {
  const auto file = TRY(files.open(path, journal::FileSystem::Mode::kRead));
  std::array<char, kFileBytesMax> bytes{};
  const auto size = TRY(journal::read_all(*file, 0, bytes));
  auto memory = parse({bytes.data(), size});
  if (memory) return std::move(*memory);
  return base::invalid(path +
                       ": it is damaged, or of another version: bring it back from a copy; or, if the "
                       "shared store is still that of this node's cluster, remove it");
}

}  // namespace

Result<NodeMemory> load_memory(journal::FileSystem& files, const std::string& directory) {
  const auto names = TRY(files.list(directory));
  const bool is_there = std::find(names.begin(), names.end(), kNodeFile) != names.end();
  if (is_there) return read_memory(files, directory + "/" + std::string(kNodeFile));
  NodeMemory made{.identity = base::random_id()};
  TRY(save_memory(files, directory, made));
  return made;
}

Result<void> save_memory(journal::FileSystem& files, const std::string& directory, const NodeMemory& memory) {
  const auto file = TRY(journal::create_temporary(files, directory, kNodeFile));
  TRY(journal::write_all(*file, 0, text_of(memory)));
  TRY(file->sync());
  return journal::publish_temporary(files, directory, kNodeFile);
}

}  // namespace mete::escrow
