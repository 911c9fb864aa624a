#include "net/withheld.h"

#include <algorithm>

namespace mete::net {

void Withheld::add(std::string_view bytes, Ticket ticket) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  const Ticket last = marks_.empty() ? 0 : marks_.back().ticket;
  if (!marks_.empty() && ticket <= last) {
    marks_.back().end = bytes_.size();
  } else {
    marks_.push_back({ticket, bytes_.size()});
  }
}

void Withheld::release(Ticket reached, base::Output& output) {
  const auto first_kept =
      std::find_if(marks_.begin(), marks_.end(), [&](const Mark& mark) { return mark.ticket > reached; });
  if (first_kept == marks_.begin()) return;
  const std::size_t released = std::prev(first_kept)->end;
  output.append(bytes_.view().substr(0, released));
  if (first_kept == marks_.end()) {
    clear();
    return;
  }
  bytes_.drop(released);
  marks_.erase(marks_.begin(), first_kept);
  for (Mark& mark : marks_) mark.end -= released;
}

void Withheld::clear() {
  bytes_ = base::Output();
  marks_ = std::vector<Mark>();
}

}  // namespace mete::net
