// What the STORE commands have in common: requests read from their words, and answers with the store's time in front.
// store/mete/messages.h has both, field by field.
#pragma once

#include <optional>
#include <string_view>

#include "server/doors/resp/commands/context.h"
#include "store/mete/messages.h"
#include "wire/text.h"

namespace mete::server {

// Words of a request, for a FieldReader.
class WordSource {
 public:
  explicit WordSource(std::span<const std::string_view> words) : words_(words) {}

  std::optional<std::int64_t> integer() {
    const auto word = text();
    return word ? wire::parse_integer(*word) : std::nullopt;
  }
  std::optional<std::string_view> text() {
    if (words_.empty()) return std::nullopt;
    const std::string_view word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  [[nodiscard]] std::size_t left() const { return words_.size(); }

 private:
  std::span<const std::string_view> words_;
};

// Elements of an answer, for a FieldWriter.
class ElementSink {
 public:
  explicit ElementSink(wire::RespWriter& reply) : reply_(reply) {}

  void integer(std::int64_t number) { reply_.integer(number); }
  void text(std::string_view bytes) { reply_.bulk(bytes); }

 private:
  wire::RespWriter& reply_;
};

// None if the words are not those of such a message, which is answered here.
template <class Message>
std::optional<Message> read_message(CommandContext& context) {
  Message message;
  store::servers::FieldReader<WordSource> reader{WordSource(context.arguments.rest())};
  reader(message);
  if (reader.is_whole()) return message;
  context.reply.error("ERR", "these are not the fields of this command: is the other server of another version?");
  return std::nullopt;
}

template <class... Values>
void write_message(CommandContext& context, const Values&... values) {
  const Instant now = context.store.now();
  context.reply.array(store::servers::count_fields(now, values...));
  ElementSink sink(context.reply);
  store::servers::FieldWriter<ElementSink> writer(sink);
  writer(now, values...);
}

template <class Value>
void answer_message(CommandContext& context, const tl::expected<Value, Error>& result) {
  if (!result) {
    context.reply.error(result.error());
  } else if constexpr (std::is_same_v<Value, Done>) {
    write_message(context);
  } else {
    write_message(context, *result);
  }
}

}  // namespace mete::server
