#include "server/running/reloads.h"

#include <mutex>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "escrow/escrow_store.h"
#include "server/configuration/config_draft.h"
#include "server/decisions/wait_queue.h"
#include "server/envoy/rule_book.h"
#include "server/limits/limit_reload.h"
#include "server/running/background.h"
#include "server/running/service.h"
#include "server/running/startup.h"
#include "server/running/worker.h"
#include "store/caller.h"
#include "sync/worker.h"

namespace mete::server {

namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::vector<sync::Plan> plans_of(const Config& config) {
  std::vector<sync::Plan> plans;
  for (const FileSync& each : config.syncs) plans.push_back(each.plan);
  return plans;
}

Result<void> Reloads::load_rules() {
  const std::string& path = parts_.service.config.envoy_config;
  if (path.empty()) return {};
  // What a crash takes away is defined again by the next start.
  store::Execution execution = {.waits_for_disk = false};
  store::Caller caller(parts_.store, execution);
  TRY(parts_.rules.load(path, {.check = [this](const Limit& limit) { return store::check_scope(parts_.store, limit); },
                               .define = [&](const Limit& limit) { return caller.define(limit); },
                               .defines_all = !parts_.store.remote().has_value()}));
  parts_.log.info("rules for Envoy read", {{"path", path}, {"rules", parts_.rules.rules()->count()}});
  return {};
}

void Reloads::reload_rules() {
  if (is_stopping_) return;
  const bool is_queued = parts_.service.background.run_first([this] {
    const std::lock_guard loading(rules_mutex_);
    const auto loaded = load_rules();
    ++(loaded ? parts_.service.rule_reloads.succeeded : parts_.service.rule_reloads.failed);
    if (!loaded) {
      parts_.log.error("rules for Envoy not read again: those from before stay in force",
                       {{"reason", loaded.error().message}});
    }
  });
  if (!is_queued) parts_.log.error("rules for Envoy not read again: too much is waiting to be done", {});
}

void Reloads::reload_if_due() {
  if (!is_due_ || is_under_way_) return;
  const auto remote = parts_.store.remote();
  if (!remote || remote->is_reachable) reload();
}

// One at a time: where the store is far away it takes long, and what asks for it meanwhile asks for one more at most.
void Reloads::reload() {
  if (is_stopping_) return;
  if (is_under_way_) {
    is_wanted_ = true;
    return;
  }
  reload_rules();
  auto next = load_config(parts_.sources);
  if (!next) {
    is_due_ = false;
    ++parts_.service.reloads.failed;
    parts_.log.error("configuration not reloaded: nothing has changed", {{"reason", next.error().message}});
    return;
  }
  parts_.watch_files(*next);
  // Changing limits looks at every meter: that is not done on an event loop.
  is_under_way_ = parts_.service.background.run_first([this, config = std::move(*next)] {
    finish(config);
    parts_.service.workers[0]->loop.post([this] { end(); });
  });
  if (!is_under_way_) parts_.log.error("configuration not reloaded: too much is waiting to be done", {});
}

void Reloads::end() {
  is_under_way_ = false;
  if (std::exchange(is_wanted_, false)) reload();
}

void Reloads::finish(const Config& next) {
  const std::lock_guard defining(mutex_);
  auto certificate = load_certificate();
  if (!certificate) return refuse(certificate.error());
  std::vector<FileLimit> previous;
  bool is_same = false;
  {
    const std::lock_guard lock(parts_.service.config_mutex);
    is_same = parts_.service.config == next;
    // Where it listens stays as it is until the next start: it must be guarded until then.
    if (const auto conflict = find_conflict(in_effect(parts_.service.config, next))) {
      return refuse(base::invalid(next.place_of(conflict->setting) + ": " + conflict->message));
    }
    previous = parts_.service.config.limits;
    if (const auto ok = replace_peer_credentials(in_effect(parts_.service.config, next)); !ok) {
      return refuse(ok.error());
    }
  }
  const auto changes = apply_limits(parts_.store, {.previous = previous,
                                                   .next = next.limits,
                                                   .removed_max = next.removed_limits_max,
                                                   .drops_removed = next.removed_limits == "drop"});
  if (!changes) return refuse(changes.error());
  is_due_ = false;
  refusal_.clear();
  // Nothing refuses the reload any more.
  if (*certificate != nullptr) parts_.replace_certificate(*std::move(certificate));
  if (is_same && *changes == LimitChanges{}) return;
  {
    const std::lock_guard lock(parts_.service.config_mutex);
    for (const std::string_view name : changes_for_restart(parts_.service.config, next)) {
      parts_.log.warning("this setting takes effect at the next start", {{"setting", name}});
    }
    replace_passwords(next);
    parts_.service.config = in_effect(parts_.service.config, next);
    parts_.apply_settings();
  }
  // What is wrong with a schedule was found when the file was read; but its zone's file may have gone since.
  if (const auto set = parts_.service.syncs.set_plans(plans_of(next)); !set) {
    parts_.log.error("syncs not reloaded: they go on as before", {{"reason", set.error().message}});
  }
  ++parts_.service.reloads.succeeded;
  parts_.service.reloads.last_success_unix_seconds = parts_.store.now().unix_seconds();
  parts_.service.waits.nudge_all();
  parts_.log.info(
      "configuration reloaded",
      {{"added", join(changes->added)}, {"changed", join(changes->changed)}, {"removed", join(changes->removed)}});
}

// One that a store elsewhere has refused for the moment is tried again once that answers, and said once per reason.
void Reloads::refuse(const Error& error) {
  const bool was_due = is_due_;
  is_due_ = error.code == ErrorCode::kUnavailable && parts_.store.remote().has_value();
  const bool is_said = std::exchange(refusal_, error.message) == error.message;
  if (was_due && is_said && is_due_) return;
  ++parts_.service.reloads.failed;
  if (is_due_) {
    parts_.log.error("configuration not reloaded yet: it is tried again when the store answers",
                     {{"reason", error.message}});
  } else {
    parts_.log.error("configuration not reloaded: nothing has changed", {{"reason", error.message}});
  }
}

Result<void> Reloads::define_again() {
  const std::lock_guard defining(mutex_);
  std::vector<FileLimit> limits;
  {
    const std::lock_guard lock(parts_.service.config_mutex);
    limits = parts_.service.config.limits;
  }
  TRY(parts_.store.look_again());
  const auto changes = TRY(apply_limits(parts_.store, {.previous = {}, .next = limits}));
  parts_.log.info("the limits of the configuration are defined again",
                  {{"added", join(changes.added)}, {"changed", join(changes.changed)}});
  parts_.service.waits.nudge_all();
  return {};
}

Result<std::shared_ptr<net::TlsContext>> Reloads::load_certificate() {
  net::TlsFiles files;
  {
    const std::lock_guard lock(parts_.service.config_mutex);
    const Config& config = parts_.service.config;
    files = {config.tls_cert, config.tls_key, config.tls_client_ca};
  }
  if (files.certificate.empty()) return std::shared_ptr<net::TlsContext>();
  return net::TlsContext::load(files);
}

Result<void> Reloads::replace_peer_credentials(const Config& next) {
  if (parts_.node == nullptr) return {};
  parts_.node->set_credentials(TRY(peer_credentials(next)));
  return {};
}

void Reloads::replace_passwords(const Config& next) {
  const Config& running = parts_.service.config;
  if (running.password == next.password && running.use_password == next.use_password &&
      running.look_password == next.look_password) {
    return;
  }
  const bool was_needed = parts_.service.doorkeeper.is_needed();
  parts_.service.doorkeeper.replace(next.passwords());
  std::size_t closed = 0;
  parts_.service.clients.for_each([&](const Client& client) {
    const bool has_no_role_yet = was_needed && client.credential == 0;
    if (has_no_role_yet || parts_.service.doorkeeper.role_of(client.credential) == client.role) return;
    ++closed;
    client.worker->reach(client.id, [](net::Connection& connection) { connection.close(); });
  });
  parts_.log.info("passwords replaced", {{"connections_closed", closed}});
}

}  // namespace mete::server
