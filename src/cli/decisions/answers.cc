#include "cli/decisions/answers.h"

#include <ostream>

#include "cli/frame/text.h"

namespace mete::cli {

namespace {

std::string left_text(const Answer& answer) {
  return number_text(answer.remaining) + " of " + number_text(answer.limit) + " left";
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

}  // namespace

void read_standing(ReplyReader& reader, Answer& answer) {
  answer.remaining = reader.integer();
  answer.limit = reader.integer();
  answer.retry_after_ms = reader.integer();
  answer.reset_after_ms = reader.integer();
  answer.violated = reader.texts();
}

void write_answer(const Answer& answer, wire::JsonWriter& writer) {
  writer.member("allowed", answer.is_allowed()).member("remaining", answer.remaining).member("limit", answer.limit);
  writer.member("retry_after_ms", answer.retry_after_ms).member("reset_after_ms", answer.reset_after_ms);
  writer.name("violated").begin_array();
  for (const std::string& name : answer.violated) writer.string(name);
  writer.end_array();
}

std::string standing_text(const Answer& answer) {
  if (answer.reset_after_ms <= 0) return left_text(answer);
  return left_text(answer) + ", full again in " + duration_text(answer.reset_after_ms);
}

std::string denial_text(const Answer& answer, std::int64_t cost) {
  std::string text = "denied by " + names_text(answer.violated) + ": ";
  if (answer.retry_after_ms >= 0) {
    text += "try again in " + duration_text(answer.retry_after_ms);
  } else if (cost > answer.limit) {
    text += number_text(cost) + " can never fit";
  } else {
    text += "no wait is enough, something must be given back";
  }
  return text + "; " + left_text(answer);
}

int print_settlement(const Result<wire::RespValue>& reply, const std::string& name, const Invocation& invocation,
                     Console& console) {
  if (!reply) return fail(console, reply.error().message);
  ReplyReader reader(*reply);
  const std::int64_t amount = reader.integer();
  Answer answer;
  answer.remaining = reader.integer();
  answer.limit = reader.integer();
  if (const auto ok = reader.finish(); !ok) return fail(console, ok.error().message);
  if (invocation.is_on("json")) {
    print_json(console, [&](wire::JsonWriter& writer) {
      writer.member(name, amount).member("remaining", answer.remaining).member("limit", answer.limit);
    });
  } else {
    console.out << name << ' ' << number_text(amount) << ", " << left_text(answer) << '\n';
  }
  return kExitDone;
}

}  // namespace mete::cli
