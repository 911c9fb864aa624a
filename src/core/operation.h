// What is the same for every operation: the traits that all stores go by.
//
// An operation is a plain structure of its parameters (operations.h, key_operations.h) that says
//
//     using Answer = …;                 what it is answered, in a Result
//     static constexpr Traits kTraits   what it does, where, and whether it may be sent twice
//     static void visit(value, each)    its fields, in the order in which Mete servers tell them to each other
//
// What its fields may be, its validate() says (all_operations.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace mete::core {

// What an operation does to what a store keeps, and so when it may be answered.
enum class Effect : std::uint8_t {
  kReads,
  kTakes,    // its limits say what must be on disk, and what happens when nothing can be written
  kChanges,  // it need not be on disk; refused once nothing can be written any more
  // Always durable. Even one that changed nothing may tell of another that did ("it is cancelled already"), so every
  // answer waits for what came before it.
  kSettles,
};

// What decides where an operation is carried out, if a store has several places.
enum class Home : std::uint8_t {
  kCharges,     // the keys of its charges
  kMeter,       // the key of its meter
  kKey,         // its key
  kHold,        // wherever the hold is that has its id
  kEach,        // its parts may be at different places
  kEverywhere,  // all of them
};

// Whether it is as good as once if it is carried out twice, because a reply was lost.
enum class Repeat : std::uint8_t {
  kNever,
  kWithId,  // by its id the second is known for the first
  kAlways,
};

struct Traits {
  std::string_view name;  // on the wire between Mete servers: STORE and this
  Effect effect = Effect::kReads;
  Home home = Home::kEverywhere;
  Repeat repeat = Repeat::kAlways;
};

// For whoever goes through the fields of any value (fields.h).
template <class Operation>
requires requires { Operation::kTraits; }
void visit_fields(Operation& operation, auto& each) { Operation::visit(operation, each); }

}  // namespace mete::core
