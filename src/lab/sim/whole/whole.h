// Whole: a cluster of whole nodes in one thread, from one seed: the store of each node as a server has it
// (escrow/escrow_store.h), its books and its data directory on a disk in memory, over a link that loses requests and
// answers to a shared store, which is the real engine. Clients take, hold, give and ask again with ids; some are
// hostile. Nodes are killed, lose their power, stop and start; limits are redefined, dropped and defined again.
//
// A call to the shared store takes time, in which other nodes work on: so that they meet there in every order. A node
// serves one client at a time; while that one waits for the shared store, the node settles what is due, and answers
// others that ask for what it does not use. tests/threads has many threads on one.
//
// What is checked, in whole.cc: never over a limit; nothing lost of stocks and long windows, whatever is killed; what a
// node decides alone is charged to it; nobody but a node sees its draws. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace mete::sim {

// Bugs that must be found. The nodes have none of them: what lies around a node makes them.
enum class WholeBug : std::uint8_t {
  kNone,
  kDrawWithoutId,     // a draw that is asked again has another id
  kTakeWithoutId,     // so has a client's take
  kWindowWithoutEnd,  // the answer to a draw says that its window goes on for a year
  kSlowClock,         // a node's clock runs at half speed
  kUndoByGiving,      // what a denied take had spent is given to the shared store, whatever window it is
  kDrawsForAll,       // clients see and end draws
  kOneGeneration,     // a limit that is dropped and defined again is taken for the same
  kForgottenIds,      // the shared store forgets ids after a second, and says that it does not
  kBooksLost,         // a killed node starts without its books
  kBooksOld,          // and with those of a while ago
  kBooksUnsynced,     // a power cut takes what was synced in the last moment
  kSettlingLost,      // settling is taken for done where the shared store has not heard of it
  kGrantInvented,     // a draw that was denied is told as granted now and then
  kGrantedTwice,      // a draw is told as granted, of which half was
  kNothingCommitted,  // a lot that is settled goes back whole, whatever was spent of it
  kAllCommitted,      // and does not go back, whatever is left of it
  kUndoLost,          // what a denied take had spent stays spent, where its node has settled meanwhile
  kGenerationForAll,  // clients may charge the key whose amount is the number of a limit
};
inline constexpr std::string_view kWholeBugNames =
    "none|draw-without-id|take-without-id|window-without-end|slow-clock|"
    "undo-by-giving|draws-for-all|one-generation|forgotten-ids|books-lost|books-old|books-unsynced|settling-lost|"
    "grant-invented|granted-twice|nothing-committed|all-committed|"
    "undo-lost|generation-for-all";

struct WholeReport {
  std::optional<std::string> violation;
  std::uint64_t operations = 0;
  std::uint64_t admissions = 0;
};

// `trace`: where each step is told; null: nowhere.
WholeReport run_whole(std::uint64_t seed, WholeBug bug, std::ostream* trace);

}  // namespace mete::sim
