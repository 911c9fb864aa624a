// Reloads: the configuration and the files that it names, read again: when one of them changes, at SIGHUP, and once a
// store that was away answers again.
//
//     reload() ── reads the file ──▶ Background ── limits, passwords, settings ──▶ end() ── asked for again? ──▶
//     reload()
//      on the first loop                                                            on the first loop
//
// Ownership: borrows what it is given. Thread safety: on the first loop alone, but for define_again(), which any thread
// may call. What it has begun on `service.background` must have ended when it goes.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/fiber_mutex.h"
#include "net/tls/tls.h"
#include "server/configuration/config.h"
#include "server/limits/file_limits.h"

namespace mete::escrow {
class EscrowStore;
}
namespace mete::server::envoy {
class RuleBook;
}

namespace mete::server {

struct Service;

class Reloads {
 public:
  struct Parts {
    const ConfigSources& sources;
    base::Log& log;
    FileLimits& store;
    escrow::EscrowStore* node;  // inside of it; null: this server is no node of a cluster
    Service& service;
    envoy::RuleBook& rules;
    std::function<void(const Config&)> watch_files;
    std::function<void()> apply_settings;  // those of `service`; with config_mutex held
    std::function<void(std::shared_ptr<net::TlsContext>)> replace_certificate;
  };
  explicit Reloads(Parts parts) : parts_(std::move(parts)) {}
  Reloads(const Reloads&) = delete;
  Reloads& operator=(const Reloads&) = delete;

  void reload();
  // The same if the last one was refused because the store was away, and that answers now.
  void reload_if_due();
  // The rules of envoyproxy/ratelimit, from their file; at the start, and when it has changed.
  Result<void> load_rules();
  void reload_rules();
  // Nothing is read again from now on.
  void stop() { is_stopping_ = true; }
  // After the store has lost its state.
  Result<void> define_again();

 private:
  // On service.background.
  void finish(const Config& next);
  void refuse(const Error& error);
  // The certificate and its key again, from the same files. Null where none is configured.
  Result<std::shared_ptr<net::TlsContext>> load_certificate();
  // Whoever has shown a password that is not valid any more has to go.
  void replace_passwords(const Config& next);
  // The same for what a node shows to others.
  Result<void> replace_peer_credentials(const Config& next);
  void end();

  const Parts parts_;
  bool is_stopping_ = false;
  bool is_under_way_ = false;
  bool is_wanted_ = false;           // one more, after that
  net::FiberMutex rules_mutex_;      // held while the rules are read: who comes last reads last
  net::FiberMutex mutex_;            // held while the limits of a file are defined
  std::string refusal_;              // why the last one was refused, while one is due; under mutex_
  std::atomic<bool> is_due_{false};  // the store was away
};

// What a configuration says of syncs.
std::vector<sync::Plan> plans_of(const Config& config);

}  // namespace mete::server
