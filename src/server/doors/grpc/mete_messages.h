// The messages of mete.v1: docs/grpc.md. What answers tell comes from core/answer_fields.h, with the numbers 1, 2, … in
// its order; fields of later versions get the numbers behind all that there are.
#pragma once

#include <mete/decision.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/answer_fields.h"
#include "wire/answers.h"
#include "wire/grpc/proto_message.h"

namespace mete::server::proto {

// Goes through an answer's fields; `more` goes to describe_fields. Returns the number of the next field.
template <class Answer, class... More>
std::uint32_t visit_answer(const Answer& answer, std::uint32_t first, auto&& each, const More&... more) {
  std::uint32_t number = first;
  describe_fields(
      answer,
      [&]<class Value>(std::string_view name, const Value& value, std::string_view help) {
        if constexpr (std::same_as<Value, bool>) {
          each(number++, name, value, help);
        } else {
          const auto plain = wire::plain(value);
          each(number++, name, plain, help);
        }
      },
      more...);
  return number;
}

struct Charge {
  static constexpr std::string_view kProto = "mete.v1.Charge";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "limit", value.limit, "The limit's name.");
    each(2, "key", value.key, "Who is charged: 1 to 512 bytes.");
    each(3, "cost", value.cost, "How much; 1 where it is absent, 0 asks and takes nothing.");
  }
  std::string limit;
  std::string key;
  std::optional<std::int64_t> cost;
};

enum class TakeMode : std::int32_t { kTake, kUpTo, kForce };

struct TakeRequest {
  static constexpr std::string_view kProto = "mete.v1.TakeRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "charges", value.charges, "1 to 16 charges, all or nothing.");
    each(2, "id", value.id, "The same id with the same parameters is answered again, and charged once.");
    each(3, "mode", value.mode,
         "UP_TO takes as much as fits of one charge; FORCE records usage that already happened.");
  }
  std::vector<Charge> charges;
  std::string id;
  TakeMode mode = TakeMode::kTake;
};

struct PeekRequest {
  static constexpr std::string_view kProto = "mete.v1.PeekRequest";
  static void visit_proto(auto& value, auto&& each) { each(1, "charges", value.charges, "1 to 16 charges."); }
  std::vector<Charge> charges;
};

struct Decision {
  static constexpr std::string_view kProto = "mete.v1.Decision";
  static constexpr std::string_view kHelp = "A denial is an answer, not an error: allowed is false.";
  static void visit_proto(auto& value, auto&& each) {
    const std::uint32_t next = visit_answer(value.verdict, 1, each);
    each(next, "violated", value.violated, "The limits that did not fit.");
    each(next + 1, "taken", value.taken, "With mode UP_TO: how much was taken.");
    each(next + 2, "unrecorded", value.verdict.is_unrecorded, "The store was away, and on_fail admitted it.");
  }
  core::Verdict verdict;
  std::vector<std::string> violated;
  std::optional<std::int64_t> taken;
};

struct Failure {
  static constexpr std::string_view kProto = "mete.v1.Failure";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "code", value.code, "The error as RESP has it: NOLIMIT, UNAVAILABLE, …; ERR for the rest.");
    each(2, "message", value.message, "What is wrong, and what would be right.");
  }
  std::string code;
  std::string message;
};

struct TakeAnswer {
  static constexpr std::string_view kProto = "mete.v1.TakeAnswer";
  static constexpr std::string_view kHelp = "One of the two.";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "decision", value.decision);
    each(2, "failure", value.failure);
  }
  std::optional<Decision> decision;
  std::optional<Failure> failure;
};

struct GiveRequest {
  static constexpr std::string_view kProto = "mete.v1.GiveRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "charges", value.charges, "1 to 16 charges, whose costs come back.");
    each(2, "id", value.id, "The same id with the same parameters is answered again, and done once.");
  }
  std::vector<Charge> charges;
  std::string id;
};

struct Returned {
  static constexpr std::string_view kProto = "mete.v1.Returned";
  static void visit_proto(auto& value, auto&& each) {
    visit_answer(value.settlement, 1, each, "returned", "The sum of what came back.");
  }
  Settlement settlement;
};

struct HoldRequest {
  static constexpr std::string_view kProto = "mete.v1.HoldRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "charges", value.charges, "1 to 16 charges, all or nothing.");
    each(2, "ttl_ms", value.ttl_ms, "How long from now, in milliseconds; up to 366 days.");
    each(3, "id", value.id, "The hold's id; a random one where it is absent.");
    each(4, "tag", value.tag, "To find the hold by, such as a job's name.");
  }
  std::vector<Charge> charges;
  std::int64_t ttl_ms = 0;
  std::string id;
  std::string tag;
};

struct HoldDecision {
  static constexpr std::string_view kProto = "mete.v1.HoldDecision";
  static constexpr std::string_view kHelp = "A denial is an answer, not an error: allowed is false.";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "id", value.id, "The hold's id.");
    const std::uint32_t next = visit_answer(value.verdict, 2, each);
    each(next, "violated", value.violated, "The limits that did not fit.");
  }
  std::string id;
  core::Verdict verdict;
  std::vector<std::string> violated;
};

struct CommitRequest {
  static constexpr std::string_view kProto = "mete.v1.CommitRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "id", value.id, "The hold's id.");
    each(2, "amounts", value.amounts, "One per charge, in the hold's order; all that is held where there are none.");
    each(3, "overage", value.overage, "Take what goes beyond the hold afresh, in the same step.");
  }
  std::string id;
  std::vector<std::int64_t> amounts;
  bool overage = false;
};

struct Committed {
  static constexpr std::string_view kProto = "mete.v1.Committed";
  static void visit_proto(auto& value, auto&& each) {
    visit_answer(value.settlement, 1, each, "committed", "The sum of what was charged.");
  }
  Settlement settlement;
};

struct CancelRequest {
  static constexpr std::string_view kProto = "mete.v1.CancelRequest";
  static void visit_proto(auto& value, auto&& each) { each(1, "id", value.id, "The hold's id."); }
  std::string id;
};

struct ExtendRequest {
  static constexpr std::string_view kProto = "mete.v1.ExtendRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "id", value.id, "The hold's id.");
    each(2, "ttl_ms", value.ttl_ms, "How long from now, in milliseconds; up to 366 days.");
  }
  std::string id;
  std::int64_t ttl_ms = 0;
};

struct Extended {
  static constexpr std::string_view kProto = "mete.v1.Extended";
  static void visit_proto(auto& value, auto&& each) { each(1, "expires_in_ms", value.expires_in_ms, "From now."); }
  std::int64_t expires_in_ms = 0;
};

struct UsageRequest {
  static constexpr std::string_view kProto = "mete.v1.UsageRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "limit", value.limit, "The limit's name.");
    each(2, "key", value.key, "Whose usage.");
  }
  std::string limit;
  std::string key;
};

struct UsageAnswer {
  static constexpr std::string_view kProto = "mete.v1.UsageAnswer";
  static void visit_proto(auto& value, auto&& each) { visit_answer(value.usage, 1, each); }
  Usage usage;
};

}  // namespace mete::server::proto

template <>
struct mete::wire::ProtoEnum<mete::server::proto::TakeMode> {
  static constexpr std::string_view kProto = "mete.v1.TakeMode";
  static constexpr std::array<std::string_view, 3> kNames = {"TAKE", "UP_TO", "FORCE"};
};
