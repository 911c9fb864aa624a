// Whether a server is ready, as /readyz and gRPC's health tell it.
#include <gtest/gtest.h>

#include "escrow/status.h"
#include "server/doors/grpc/method.h"
#include "server/running/service.h"
#include "server/running/worker.h"

namespace mete::server {
namespace {

class Elsewhere final : public store::StoreOf<Elsewhere> {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override { return status; }

  store::RemoteStatus status = {.shape = "server", .nodes = {"there:1"}};

 private:
  friend class store::StoreOf<Elsewhere>;
  template <class What>
  Result<typename What::Answer> perform(const What& /*operation*/) {
    return Error{ErrorCode::kUnavailable, "it does nothing"};
  }
};

class ReadinessTest : public ::testing::Test {
 protected:
  static std::vector<std::unique_ptr<Worker>> one_worker() {
    std::vector<std::unique_ptr<Worker>> workers;
    workers.push_back(std::make_unique<Worker>());
    return workers;
  }
  // Each door says the same.
  void expect_ready() {
    EXPECT_EQ(service_.why_not_ready(), std::nullopt);
    EXPECT_EQ(health(), std::string("\x08\x01", 2));  // SERVING
  }
  void expect_not_ready(const std::string& words) {
    EXPECT_NE(service_.why_not_ready().value_or("ready").find(words), std::string::npos);
    EXPECT_EQ(health(), std::string("\x08\x02", 2));  // NOT_SERVING
  }
  std::string health() {
    store::Execution execution;
    GrpcContext context{{nullptr, store_, execution}, hooks_, service_.workers[0]->metrics};
    return *find_grpc_method("/grpc.health.v1.Health/Check")->answer(context, "");
  }

  Elsewhere store_;
  Service service_{store_, {}, one_worker()};
  const GrpcHooks hooks_{.why_not_ready = [this] { return service_.why_not_ready(); }};
};

TEST_F(ReadinessTest, IsToldAlikeByEachDoor) {
  expect_not_ready("starting or stopping");
  service_.is_ready = true;
  expect_ready();
  store_.status.is_reachable = false;
  expect_not_ready("the store does not answer: there:1");
  store_.status.is_reachable = true;
  store_.status.loss = "it has forgotten everything";
  expect_not_ready("takes are refused: it has forgotten everything");
  store_.status.loss.clear();
  service_.cluster_status = [] {
    escrow::ClusterStatus status;
    status.halted = "another node has its name";
    return status;
  };
  expect_not_ready("draws nothing: another node has its name");
  service_.cluster_status = nullptr;
  expect_ready();
}

}  // namespace
}  // namespace mete::server
