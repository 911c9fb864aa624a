#include "server/limits/limit_description.h"

#include "base/time_text.h"
#include "wire/text.h"

namespace mete::server {

std::vector<LimitField> describe_limit(const Limit& limit) {
  std::vector<LimitField> fields = {{"kind", std::string(to_string(limit.kind()))}, {"amount", limit.amount()}};
  if (limit.period()) fields.push_back({"period", base::duration_text(*limit.period())});
  if (limit.unit()) fields.push_back({"period", std::string(to_string(*limit.unit()))});
  if (limit.burst()) fields.push_back({"burst", *limit.burst()});
  if (limit.zone()) fields.push_back({"zone", *limit.zone()});
  if (limit.anchor()) fields.push_back({"anchor", std::int64_t{*limit.anchor()}});
  if (limit.is_shadow()) fields.push_back({"shadow", true});
  if (limit.durable()) fields.push_back({"durable", std::string(to_string(*limit.durable()))});
  if (limit.on_fail() != OnFail::kClosed) fields.push_back({"on_fail", std::string(to_string(limit.on_fail()))});
  if (limit.scope() != Scope::kNode) fields.push_back({"scope", std::string(to_string(limit.scope()))});
  return fields;
}

void write_fields(const std::vector<LimitField>& fields, wire::JsonWriter& writer) {
  for (const LimitField& field : fields) {
    std::visit([&](const auto& value) { writer.member(field.name, value); }, field.value);
  }
}

}  // namespace mete::server
