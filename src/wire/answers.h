// Answers by their description in core/answer_fields.h: as members of a JSON object, and as elements or pairs of RESP.
// Times are in milliseconds, rounded up.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer_fields.h"
#include "wire/json.h"
#include "wire/resp_writer.h"

namespace mete::wire {

inline std::int64_t plain(Duration length) { return length.ms(); }
inline std::int64_t plain(std::unsigned_integral auto number) { return static_cast<std::int64_t>(number); }
inline std::string_view plain(HoldState state) { return to_string(state); }
inline std::string_view plain(const OneOf& choice) { return choice.text; }
inline std::string_view plain(const std::string& text) { return text; }
inline std::int64_t plain(std::int64_t number) { return number; }

template <class Value>
concept IsList = requires(const Value& value) {
  value.begin()->key;
};

// The member of that name, an array of objects.
template <class Value>
void write_list(JsonWriter& writer, std::string_view name, const Value& list) {
  writer.name(name).begin_array();
  for (const auto& each : list) write_members(writer.begin_object(), each).end_object();
  writer.end_array();
}

// Into an object that is open. `more` goes to describe_fields.
template <class Answer, class... More>
JsonWriter& write_members(JsonWriter& writer, const Answer& answer, const More&... more) {
  const auto write = [&]<class Value>(std::string_view name, const Value& value, std::string_view /*meaning*/) {
    if constexpr (IsList<Value>) {
      write_list(writer, name, value);
    } else if constexpr (std::same_as<Value, bool>) {
      writer.member(name, value);
    } else {
      writer.member(name, plain(value));
    }
  };
  describe_fields(answer, write, more...);
  return writer;
}

// A decision about these charges, into an object that is open; with what was taken, if as much as fits was asked for,
// and with its mark, if on_fail has admitted what nobody has recorded.
inline JsonWriter& write_decision(JsonWriter& writer, const core::Verdict& verdict, std::span<const Charge> charges,
                                  bool tells_taken) {
  write_members(writer, verdict);
  if (tells_taken) writer.member("taken", verdict.taken);
  if (verdict.is_unrecorded) writer.member("unrecorded", true);
  return writer.texts("violated", core::violated_limits(charges, verdict));
}

template <class Value>
void write_value(RespWriter& reply, const Value& value);

// The names and values in turn, or the values alone.
template <class Answer>
void write_fields(RespWriter& reply, const Answer& answer, bool with_names) {
  describe_fields(answer, [&](std::string_view name, const auto& value, std::string_view /*meaning*/) {
    if (with_names) reply.bulk(name);
    write_value(reply, value);
  });
}

template <class Answer>
std::size_t count_fields(const Answer& answer) {
  std::size_t count = 0;
  describe_fields(answer, [&](const auto&... /*field*/) { ++count; });
  return count;
}

template <class Value>
void write_value(RespWriter& reply, const Value& value) {
  if constexpr (IsList<Value>) {
    reply.array(value.size());
    for (const auto& each : value) {
      reply.array(count_fields(each));
      write_fields(reply, each, false);
    }
  } else if constexpr (std::same_as<decltype(plain(value)), std::int64_t>) {
    reply.integer(plain(value));
  } else {
    reply.bulk(plain(value));
  }
}

}  // namespace mete::wire
