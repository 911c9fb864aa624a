#include "store/redis/functions/library.h"

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/lua_texts.h"
#include "store/redis/replies.h"
#include "wire/text.h"

namespace mete::store::redis {

namespace {

constexpr std::string_view kName = "mete";
constexpr std::string_view kFirstLine = "#!lua name=mete\n";
constexpr std::string_view kVersionMark = "-- version ";

// 0 for a library that is not of Mete's making.
std::int64_t version_of(std::string_view text) {
  const std::string head = std::string(kFirstLine) + std::string(kVersionMark);
  if (!text.starts_with(head)) return 0;
  text.remove_prefix(head.size());
  return wire::parse_integer(text.substr(0, text.find('\n'))).value_or(0);
}

}  // namespace

std::string Library::text() {
  return std::string(kFirstLine) + std::string(kVersionMark) + std::to_string(kVersion) + "\n" +
         std::string(kLibraryLua);
}

Result<wire::RespValue> Library::run(std::initializer_list<std::string_view> words) {
  Batch batch;
  batch.add({}, words);
  Replies replies;
  link_.run(batch, replies);
  return unless_error(std::move(replies[0]), batch, 0);
}

Result<std::optional<Library::Installed>> Library::installed() {
  if (link_.is_cluster()) {
    return base::invalid(
        "a Redis Cluster cannot have the function library: the limits lie on one of its nodes and the "
        "meters on all; ask a Mete server there");
  }
  const auto found = run({"FUNCTION", "LIST", "LIBRARYNAME", kName, "WITHCODE"});
  if (!found) {
    return base::unavailable("this Redis has no functions, which need Redis 7 and the right to FUNCTION: " +
                             found.error().message);
  }
  if (found->elements.empty()) return std::nullopt;
  const auto& fields = found->elements[0].elements;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text != "library_code") continue;
    const std::string& code = fields[i + 1].text;
    return Installed{.version = version_of(code), .is_as_here = code == text()};
  }
  return unexpected_reply("a reply to FUNCTION LIST");
}

Result<void> Library::install() {
  const auto before = TRY(installed());
  if (before && before->is_as_here) return {};
  if (before && before->version == 0) {
    return base::invalid("there is a library 'mete' already, which is not of Mete's making: FUNCTION DELETE mete");
  }
  if (before && before->version > kVersion) {
    return base::invalid("the library there is of version " + std::to_string(before->version) +
                         ", and this program has " + std::to_string(kVersion) + ": use the program that installed it");
  }
  TRY(run({"FUNCTION", "LOAD", "REPLACE", text()}));
  return {};
}

Result<void> Library::remove() {
  const auto before = TRY(installed());
  if (before) TRY(run({"FUNCTION", "DELETE", kName}));
  return {};
}

}  // namespace mete::store::redis
