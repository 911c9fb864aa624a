// What cannot hold in a store, with its reason.
//
// An exception is no leave to look away: the test runs, and must fail. One that passes is a failure, since the line is
// superfluous, and so is a line that names no test.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string_view>

namespace mete::conformance {

struct Exception {
  std::string_view store;
  std::string_view test;  // without its parameter: "Rule02_DenialChangesNothing"
  std::string_view reason;
};

std::span<const Exception> exceptions();

// Null: the test must pass.
const Exception* find_exception(std::string_view store, const ::testing::TestInfo& test);

}  // namespace mete::conformance
