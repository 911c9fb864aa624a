#include "base/names.h"

namespace mete::base {

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> list;
  any_name(names, [&](std::string_view name) { return list.emplace_back(name).data() == nullptr; });
  return list;
}

std::string name_list(std::string_view names, std::string_view quote) {
  std::string list;
  const std::size_t last = names.rfind('|') + 1;
  any_name(names, [&](std::string_view name) {
    if (!list.empty()) list += name.data() == names.data() + last ? " or " : ", ";
    list.append(quote).append(name).append(quote);
    return false;
  });
  return list;
}

}  // namespace mete::base
