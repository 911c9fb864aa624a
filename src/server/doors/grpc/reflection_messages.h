// The messages of grpc.reflection, as gRPC publishes them; those of v1alpha differ from v1 in their package alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/grpc/proto_message.h"

namespace mete::server::proto {

struct ReflectionRequest {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ServerReflectionRequest";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "host", value.host);
    each(3, "file_by_filename", value.file_by_filename);
    each(4, "file_containing_symbol", value.file_containing_symbol);
    each(6, "all_extension_numbers_of_type", value.all_extension_numbers_of_type);
    each(7, "list_services", value.list_services);
  }
  std::string host;
  std::optional<std::string> file_by_filename;
  std::optional<std::string> file_containing_symbol;
  std::optional<std::string> all_extension_numbers_of_type;
  std::optional<std::string> list_services;
};

struct FileDescriptorResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1.FileDescriptorResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "file_descriptor_proto", value.files); }
  std::vector<wire::Bytes> files;
};

struct ExtensionNumbersResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ExtensionNumberResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "base_type_name", value.type); }
  std::string type;
};

struct ServiceResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ServiceResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "name", value.name); }
  std::string name;
};

struct ListServicesResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ListServiceResponse";
  static void visit_proto(auto& value, auto&& each) { each(1, "service", value.services); }
  std::vector<ServiceResponse> services;
};

struct ReflectionError {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ErrorResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "error_code", value.code);
    each(2, "error_message", value.message);
  }
  std::int32_t code = 0;
  std::string message;
};

struct ReflectionResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1.ServerReflectionResponse";
  static void visit_proto(auto& value, auto&& each) {
    each(1, "valid_host", value.host);
    each(2, "original_request", value.request);
    each(4, "file_descriptor_response", value.files);
    each(5, "all_extension_numbers_response", value.extensions);
    each(6, "list_services_response", value.services);
    each(7, "error_response", value.error);
  }
  std::string host;
  std::optional<ReflectionRequest> request;
  std::optional<FileDescriptorResponse> files;
  std::optional<ExtensionNumbersResponse> extensions;
  std::optional<ListServicesResponse> services;
  std::optional<ReflectionError> error;
};

struct ReflectionRequestAlpha : ReflectionRequest {
  static constexpr std::string_view kProto = "grpc.reflection.v1alpha.ServerReflectionRequest";
};
struct ReflectionResponseAlpha : ReflectionResponse {
  static constexpr std::string_view kProto = "grpc.reflection.v1alpha.ServerReflectionResponse";
};

}  // namespace mete::server::proto
