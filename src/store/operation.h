// Operation: any operation together with the place for its answer, as it goes through the seam of the stores. It refers
// to both and owns neither. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <memory>
#include <new>

#include "core/all_operations.h"

namespace mete::store {

class Operation {
 public:
  template <class What>
  Operation(const What& what, Result<typename What::Answer>& answer)
      : number_(core::AllOperations::number_of<What>()), what_(&what), answer_(&answer) {}

  // Calls act() with the operation as what it is; the Result that it returns becomes the answer. It is made in its
  // place: to assign it would cost a take as much as some of its checks.
  template <class Act>
  void answer_by(Act act) const {
    visit([&]<class What>(const What& what, Result<typename What::Answer>& answer) {
      using Answer = Result<typename What::Answer>;
      std::destroy_at(&answer);
      // NOLINTBEGIN(clang-analyzer-cplusplus.PlacementNew): it does not see that number_ tells the type.
      try {
        new (&answer) Answer(act(what));
      } catch (...) {
        new (&answer) Answer();
        throw;
      }
      // NOLINTEND(clang-analyzer-cplusplus.PlacementNew)
    });
  }

  // Calls act() with the operation as what it is, and the place of its answer.
  template <class Act>
  void visit(Act act) const {
    dispatch(core::AllOperations(), act);
  }

 private:
  template <class... All, class Act>
  void dispatch(core::OperationList<All...> /*all*/, Act& act) const {
    static_cast<void>(((number_ == core::AllOperations::number_of<All>() && (visit_as<All>(act), true)) || ...));
  }
  template <class What, class Act>
  void visit_as(Act& act) const {
    act(*static_cast<const What*>(what_), *static_cast<Result<typename What::Answer>*>(answer_));
  }

  std::size_t number_;
  const void* what_;
  void* answer_;
};

}  // namespace mete::store
