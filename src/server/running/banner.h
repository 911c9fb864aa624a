// Banner: what people want to see first of a server: where it listens, where its data is, and a line to try.
//
// On a terminal it is a few lines of text, elsewhere the fields of a line of the log.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace mete::server {

struct Banner {
  std::vector<std::string> resp = {};  // addresses, with the ports that the system has chosen
  std::vector<std::string> http = {};
  std::vector<std::string> grpc = {};
  bool has_tls = false;  // on TCP
  bool wants_client_certificate = false;
  bool needs_password = false;
  std::string data_directory = {};       // of the embedded store
  std::string store_url = {};            // empty: memory
  std::vector<std::string> limits = {};  // their names
};

// A command line that takes from a limit; empty if there is no RESP.
std::string line_to_try(const Banner& banner);
std::string banner_text(const Banner& banner);
void log_banner(const Banner& banner, base::Log& log);

}  // namespace mete::server
