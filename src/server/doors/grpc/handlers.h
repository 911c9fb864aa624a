// What the methods do, by service. Each gets a request that was read, and returns an answer that is yet to be written.
#pragma once

#include "server/doors/grpc/authz_messages.h"
#include "server/doors/grpc/health_messages.h"
#include "server/doors/grpc/mete_messages.h"
#include "server/doors/grpc/method.h"
#include "server/doors/grpc/rate_limit_messages.h"
#include "server/doors/grpc/reflection_messages.h"

namespace mete::server {

template <class Answer>
using GrpcAnswer = Result<Answer, GrpcFailure>;

// --- mete.v1
// -----------------------------------------------------------------------------------------------------------
GrpcAnswer<proto::Decision> grpc_take(GrpcContext& context, const proto::TakeRequest& request);
GrpcAnswer<proto::TakeAnswer> grpc_take_of_many(GrpcContext& context, const proto::TakeRequest& request);
// The same of several; a request that could not be read is answered by its failure, and those behind it are left out.
std::vector<GrpcAnswer<proto::TakeAnswer>> grpc_takes(GrpcContext& context,
                                                      std::span<const GrpcAnswer<proto::TakeRequest>> requests);
GrpcAnswer<proto::Decision> grpc_peek(GrpcContext& context, const proto::PeekRequest& request);
GrpcAnswer<proto::Returned> grpc_give(GrpcContext& context, const proto::GiveRequest& request);
GrpcAnswer<proto::HoldDecision> grpc_hold(GrpcContext& context, const proto::HoldRequest& request);
GrpcAnswer<proto::Committed> grpc_commit(GrpcContext& context, const proto::CommitRequest& request);
GrpcAnswer<proto::Returned> grpc_cancel(GrpcContext& context, const proto::CancelRequest& request);
GrpcAnswer<proto::Extended> grpc_extend(GrpcContext& context, const proto::ExtendRequest& request);
GrpcAnswer<proto::UsageAnswer> grpc_usage(GrpcContext& context, const proto::UsageRequest& request);

// --- grpc.health.v1
// ----------------------------------------------------------------------------------------------------
GrpcAnswer<proto::HealthCheckResponse> grpc_check_health(GrpcContext& context,
                                                         const proto::HealthCheckRequest& request);
GrpcAnswer<proto::HealthCheckResponse> grpc_watch_health(GrpcContext& context,
                                                         const proto::HealthCheckRequest& request);

// --- grpc.reflection.v1, and v1alpha, which older tools ask --------------------------------------------------------
GrpcAnswer<proto::ReflectionResponse> grpc_reflect(GrpcContext& context, const proto::ReflectionRequest& request);
GrpcAnswer<proto::ReflectionResponseAlpha> grpc_reflect_alpha(GrpcContext& context,
                                                              const proto::ReflectionRequestAlpha& request);

// --- envoy.service.ratelimit.v3 --------------------------------------------------------------------------------------
GrpcAnswer<proto::RateLimitResponse> grpc_should_rate_limit(GrpcContext& context,
                                                            const proto::RateLimitRequest& request);

// --- kuadrant.service.ratelimit.v1 -----------------------------------------------------------------------------------
GrpcAnswer<proto::RateLimitResponse> grpc_check_rate_limit(GrpcContext& context,
                                                           const proto::RateLimitRequest& request);
GrpcAnswer<proto::RateLimitResponse> grpc_report(GrpcContext& context, const proto::RateLimitRequest& request);
GrpcAnswer<proto::ReserveResponse> grpc_reserve(GrpcContext& context, const proto::ReserveRequest& request);
GrpcAnswer<proto::CommitResponse> grpc_commit_reservation(GrpcContext& context,
                                                          const proto::CommitReservationRequest& request);

// --- envoy.service.auth.v3 -------------------------------------------------------------------------------------------
GrpcAnswer<proto::AuthzResponse> grpc_authorize(GrpcContext& context, const proto::AuthzRequest& request);

}  // namespace mete::server
