// STORE …: the commands that Mete servers send each other, exact to the nanosecond. Each is an operation: its fields
// are read, it is run, and its answer is told with the store's time in front (core/operation_fields.h).
#include <array>
#include <memory_resource>
#include <optional>
#include <string_view>

#include "core/operation_fields.h"
#include "escrow/counters/exchange.h"
#include "server/doors/resp/command_table.h"
#include "server/doors/resp/commands/context.h"
#include "server/doors/resp/replies.h"
#include "server/running/service.h"
#include "wire/text.h"

namespace mete::server {

namespace {

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

template <class... Values>
void write_fields(CommandContext& context, const Values&... values) {
  const Instant now = context.store.now();
  context.reply.array(core::count_fields(now, values...));
  ElementSink sink(context.reply);
  core::FieldWriter<ElementSink> writer(sink);
  writer(now, values...);
}

// Nodes define limits, and so are admins where they draw from: to them nothing is hidden.
template <class What>
Result<typename What::Answer> run(CommandContext& context, const What& operation) {
  const bool is_admin = reach_of(context) == core::KeyReach::kAnyKey;
  return is_admin ? context.store.run_for_server(operation) : context.store.run(operation);
}
Result<core::Shifted> run(CommandContext& context, const core::OneShift& operation) {
  const core::Shift shift{.key = operation.meter.key, .change = operation.change};
  Result<core::Shifted> answer;
  context.store.shift({operation.meter.limit, operation.since, {&shift, 1}, {&answer, 1}});
  return answer;
}

// A peek decides nothing.
bool is_peek(const core::Take& take) { return take.mode == Mode::kPeek; }
bool is_peek(const core::Hold& /*hold*/) { return false; }

template <class What>
void run_and_answer(CommandContext& context, What& operation) {
  // The other server's client, or its password, may have less reach than the other.
  if constexpr (requires { operation.reach; }) {
    if (operation.reach == core::KeyReach::kAnyKey) operation.reach = reach_of(context);
  }
  if constexpr (std::is_same_v<What, core::Take>) {
    if (refuses_force(context, operation.mode)) return;
  } else if constexpr (std::is_same_v<What, core::Give>) {
    if (refuses_give(context)) return;
  }
  const auto answer = run(context, operation);
  if (has_failed(context, answer)) return;
  if constexpr (std::is_void_v<typename What::Answer>) {
    write_fields(context);
  } else if constexpr (requires { operation.usages; }) {
    if (!is_peek(operation)) note_decision(context.metrics, operation.charges, *answer);
    write_fields(context, *answer, std::span<const Usage>(operation.usages));
  } else {
    write_fields(context, *answer);
  }
}

template <class What>
void serve(CommandContext& context) {
  std::array<std::byte, 2048> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): for lists that are read
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  What operation;
  core::FieldReader<WordSource> reader(WordSource(context.arguments.rest()), &memory);
  reader(operation);
  if constexpr (requires { operation.usages; }) {
    if (!operation.usages.empty()) {
      operation.usages = operation.usages.first(std::min(operation.usages.size(), operation.charges.size()));
    }
  }
  if (reader.is_whole()) {
    run_and_answer(context, operation);
  } else {
    context.reply.error("ERR", "these are not the fields of this command: is the other server of another version?");
  }
}

// No operation of a store: nodes of a cluster bring each other their counters.
void merge_counters(CommandContext& context) {
  enum : std::size_t { kCluster, kNode, kIncarnation, kStates };
  const Arguments& arguments = context.arguments;
  if (!context.service.merge_counters) return context.reply.error("ERR", "this server is no node of a cluster");
  const auto merged = context.service.merge_counters(
      {.cluster = arguments.integer(kCluster),
       .from = {.node = std::string(arguments.text(kNode)),
                .incarnation = static_cast<std::uint64_t>(arguments.integer(kIncarnation))},
       .states = arguments.text(kStates)});
  if (has_failed(context, merged)) return;
  context.reply.array(2);
  context.reply.bulk(merged->node);
  context.reply.integer(static_cast<std::int64_t>(merged->incarnation));
}

// Nor this: another node is about to deny, or tells how things stand.
void tell_shares(CommandContext& context) {
  enum : std::size_t { kCluster, kLimit, kGivesBack };
  const Arguments& arguments = context.arguments;
  if (!context.service.tell_shares) return context.reply.error("ERR", "this server is no node of a cluster");
  escrow::ShareQuestion question{.limit = std::string(arguments.text(kLimit)),
                                 .gives_back = arguments.integer(kGivesBack) != 0};
  for (const std::string_view key : arguments.rest()) question.keys.emplace_back(key);
  const auto told = context.service.tell_shares(arguments.integer(kCluster), question);
  if (has_failed(context, told)) return;
  context.reply.array(told->size() * 4);
  for (const escrow::NodeShare& share : *told) {
    for (const Amount units : {share.held, share.spent, share.usable, share.returned}) context.reply.integer(units);
  }
}

// --- The table -------------------------------------------------------------------------------------------------------

// "STORE " and the operation's name.
template <class What>
struct Name {
  static constexpr auto kText = [] {
    constexpr std::string_view kPrefix = "STORE ";
    std::array<char, kPrefix.size() + What::kTraits.name.size()> text{};
    std::copy(kPrefix.begin(), kPrefix.end(), text.begin());
    std::copy(What::kTraits.name.begin(), What::kTraits.name.end(), text.begin() + kPrefix.size());
    return text;
  }();
};

// `field` stands for all fields of the operation, in their order.
constexpr std::array kFields = {Argument{.name = "field", .is_multiple = true}};

// Nothing that goes through all that the store keeps is fast; some of it is slow.
constexpr std::uint32_t kUsual = 0;

template <class What>
constexpr Command row(Access access, std::string_view summary, std::string_view reply, std::uint32_t pace = kFast) {
  constexpr bool kReads = What::kTraits.effect == core::Effect::kReads || std::is_same_v<What, core::Recall>;
  constexpr bool kHasFields = !std::is_empty_v<What>;
  return {.name = {Name<What>::kText.data(), Name<What>::kText.size()},
          .group = Group::kStore,
          .access = kReads && access == Access::kUse ? Access::kLook : access,
          .flags = (kReads ? kReadOnly : kWrite) | pace,
          .arguments = kHasFields ? std::span<const Argument>(kFields) : std::span<const Argument>(),
          .handler = serve<What>,
          .summary = summary,
          .reply = reply};
}

constexpr std::array kMerged = {Argument{.type = ArgumentType::kInteger, .name = "cluster"}, Argument{.name = "node"},
                                Argument{.type = ArgumentType::kInteger, .name = "incarnation"},
                                Argument{.name = "states"}};

constexpr std::array kAskedShares = {
    Argument{.type = ArgumentType::kInteger, .name = "cluster"}, Argument{.name = "limit"},
    Argument{.type = ArgumentType::kInteger, .name = "gives-back"}, Argument{.name = "key", .is_multiple = true}};

constexpr Access kUse = Access::kUse;
constexpr Access kAdmin = Access::kAdmin;

constexpr std::array kStoreCommands = {
    row<core::Take>(kUse, "As TAKE, PEEK and their modes", "the verdict; how each meter stands, if asked for"),
    row<core::Recall>(kUse, "Tells what a take with this id was answered; nothing changes",
                      "the verdict, if there was one"),
    row<core::Give>(kUse, "As GIVE", "what was given back, and what remains"),
    row<core::ReadUsage>(kUse, "As USAGE", "how the meter stands"),
    row<core::Reconcile>(kAdmin, "As RECONCILE", "what was used before, and now"),
    row<core::OneShift>(kAdmin, "Adds to what a key has used, or takes off it, unless a new window has begun",
                        "what was changed, and whether it was too late"),
    row<core::ScanUsage>(kUse, "Lists the keys of a limit, a few at a time",
                         "the next cursor; keys, and how they stand", kUsual),
    row<core::Hold>(kUse, "As HOLD", "the verdict; how each meter stands, if asked for"),
    row<core::Commit>(kUse, "As COMMIT", "what was committed, and what remains"),
    row<core::Cancel>(kUse, "As CANCEL", "what was returned, and what remains"),
    row<core::Extend>(kUse, "As EXTEND", "in how long it expires"),
    row<core::FindHold>(kUse, "As HOLD.GET", "the hold, if there is one"),
    row<core::ListHolds>(kUse, "As HOLDS", "ids", kSlow),
    row<core::ListTagged>(kUse, "As HOLDS TAG", "ids", kSlow),
    row<core::OldestHolds>(kUse, "Tells the open holds that were made first", "holds", kSlow),
    row<core::Define>(kAdmin, "As LIMIT SET", "nothing more", kSlow),
    row<core::Drop>(kAdmin, "As LIMIT DEL", "whether there was one", kSlow),
    row<core::FindLimit>(kUse, "As LIMIT GET", "the limit, if there is one"),
    row<core::ListLimits>(kUse, "As LIMIT LIST", "names", kUsual),
    row<core::Override>(kAdmin, "As LIMIT OVERRIDE", "nothing more", kSlow),
    row<core::FindOverride>(kUse, "Tells the key's own amount", "the amount, if it has one"),
    row<core::Clear>(kAdmin, "As FLUSHALL", "nothing more", kSlow),
    row<core::ReadStatistics>(kUse, "Tells how much the store keeps", "counts", kUsual),
    row<core::GetKey>(kUse, "As GET", "the value, if there is one"),
    row<core::SetCounter>(kUse, "As SET", "whether it was set; the value before; whether a quota stands in the way"),
    row<core::TakeOut>(kUse, "As GETDEL", "the value, if there was one"),
    row<core::AddToCounter>(kUse, "As INCRBY", "the new value"),
    row<core::AddBounded>(kUse, "As INCREX", "the new value, and what was added"),
    row<core::SetQuota>(kAdmin, "As QUOTASET", "nothing more"),
    row<core::GetQuota>(kUse, "As QUOTAGET", "the rule and what remains, if there is one"),
    row<core::RemoveQuota>(kAdmin, "As QUOTADEL", "whether there was one"),
    row<core::TakeQuota>(kUse, "As QUOTAINCR", "what remains, or -1"),
    row<core::Throttle>(kUse, "Takes from a bucket of its own", "the verdict"),
    row<core::TypeOfKey>(kUse, "As TYPE", "the type's number"),
    row<core::RemoveKey>(kUse, "As DEL of one key", "whether there was one"),
    row<core::FindExpiry>(kUse, "As PEXPIRETIME", "the time, if there is such a key"),
    row<core::ExpireKey>(kUse, "As EXPIRE", "whether that changed anything"),
    row<core::PersistKey>(kUse, "As PERSIST", "whether that changed anything"),
    row<core::ScanKeys>(kUse, "Lists keys, a few at a time", "the next cursor; keys, and their types", kUsual),
    row<core::CountKeys>(kUse, "As DBSIZE", "a count"),
    Command{.name = "STORE MERGE",
            .group = Group::kStore,
            .access = kAdmin,
            .flags = kWrite,
            .arguments = kMerged,
            .handler = merge_counters,
            .summary = "Brings a node of a cluster the counters of another one",
            .reply = "the node, and which of its lives it is in"},
    Command{.name = "STORE SHARES",
            .group = Group::kStore,
            .access = kAdmin,
            .flags = kWrite,
            .arguments = kAskedShares,
            .handler = tell_shares,
            .summary = "Asks a node of a cluster for its shares of some keys, which it gives back first if it says so",
            .reply = "for each key: held in the shared store, spent of that, left of that, given back"},
};

}  // namespace

std::span<const Command> store_commands() { return kStoreCommands; }

}  // namespace mete::server
