#include "wire/resp_writer.h"

namespace mete::wire {

void RespWriter::error(std::string_view code, std::string_view message) {
  ++errors_;
  const std::size_t start = output_.size();
  line('-', code);
  output_.cut_to(output_.size() - 2);
  if (!message.empty()) {
    output_.append(" ");
    output_.append(message);
  }
  char* const text = output_.reserve(2) - (output_.size() - start);
  for (char* byte = text; byte != text + (output_.size() - start); ++byte) {
    if (*byte == '\r' || *byte == '\n') *byte = ' ';
  }
  output_.append("\r\n");
}

void RespWriter::verbatim(std::string_view text) {
  if (version_ == RespVersion::k2) {
    bulk(text);
    return;
  }
  number('=', static_cast<std::int64_t>(text.size() + 4));
  output_.append("txt:");
  output_.append(text);
  output_.append("\r\n");
}

void RespWriter::line(char mark, std::string_view text) {
  char* at = output_.reserve(text.size() + 3);
  *at++ = mark;
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  at += text.size();
  std::memcpy(at, "\r\n", 2);
  output_.advance_to(at + 2);
}

}  // namespace mete::wire
