#include "server/configuration/config_text.h"

#include <bit>

#include "core/limit_fields.h"
#include "server/configuration/config_settings.h"
#include "server/configuration/config_sync.h"

namespace mete::server {

namespace {

constexpr std::string_view kConfigurationIntroduction = R"(# Configuration

<!-- Written by `mete help --markdown configuration`: change src/server/configuration/config_settings.cc, not this file. -->

`mete serve` works without any. What it is told comes from flags, from the environment and from a file in
[TOML](https://toml.io), given with `--config FILE` or in `METE_CONFIG`: flag over environment over file.
`mete check-config FILE` says whether a file is good.

```toml
[server]
resp = ["127.0.0.1:6380", "unix:/run/mete.sock"]
http = "off"
password_file = "/etc/mete/password"
tls.cert = "/etc/mete/cert.pem"
tls.key = "/etc/mete/key.pem"

[[limit]]
name = "api"
kind = "bucket"
amount = 100
period = "1m"
burst = 200

[[limit]]
name = "links"
kind = "calendar"
amount = 20
period = "month"
zone = "Europe/Berlin"

[[limit]]
name = "storage"
kind = "stock"
amount = 5_000_000_000

[[sync]]
limit = "storage"
source = "postgres://mete@db.example/files"
query = "select tenant_id, sum(size) from files group by tenant_id"
schedule = "0 3 * * *"
```

- **Mistakes** are refused, with file, line and column: unknown keys, wrong types, values out of range, limits that
  contradict themselves. Variables that begin with `METE_SERVER_`, `METE_STORE_` or `METE_ESCROW_` and are none of those below
  are refused too (but for those that Kubernetes sets for a service called `mete-server`).
- **Sizes** are bytes, or strings: `"64kb"`, `"1mb"`, `"2gb"`; 1kb is 1024 bytes.
- **Durations** are strings: `"250ms"`, `"1s"`, `"5m"`, `"1h"`, `"30d"`; a bare integer is seconds.
- **Addresses** are `"127.0.0.1:6380"`, `"[::1]:6380"`, `"host.example:6380"` or `"unix:/path"`; several of them an array,
  or in variables and flags separated by commas; `"off"` or `""` is none. Port 0 lets the system choose one.
- **Paths** that are relative start from the directory in which the server was started.
- **Passwords**: a line each, in files and elsewhere; two lines are two passwords, both of which are valid, while one is
  being replaced. They are read again with the file, and not set by `CONFIG SET`.
- **Alternatives**: of `password` and `password_file`, likewise of `use_password` and `look_password`, and of `server.data` and
  `store.url`, one is given; where they come from different sources, flag goes over environment over file.
- **Reload**: on SIGHUP, and when the file changes, settings marked "at once", the limits and the syncs follow the file; a bad file
  changes nothing. What is marked "at start" waits for the next start.

An address that other machines can reach needs a `password` or `tls.client_ca`, or else `insecure`: a certificate alone
hides what is said, and lets in whoever can connect.

)";

constexpr std::string_view kLimits = R"(## [[limit]]

One table for each limit; they can only stand in the file. What stands there is so after a start or reload, whatever
`LIMIT SET` has changed since; what is in use stays in use. A limit that is taken out of the file is retired at
the reload, and keeps its usage ([server.md](server.md#a-limit-that-leaves-the-file)); with `server.removed_limits = "drop"`
it is dropped with its meters. Limits that never stood in the file are left alone.

| key | of | meaning |
| --- | --- | --- |
)";

constexpr std::string_view kSyncs = R"(
## [[sync]]

One table for each limit whose usage is brought to what a query says: [sync.md](sync.md) has the whole of it. They can only
stand in the file, and follow it at a reload.

| key | needed | meaning |
| --- | --- | --- |
)";

struct LimitKey {
  std::string_view name;
  std::string_view kinds;
  std::string meaning;
};

std::vector<LimitKey> limit_keys() {
  std::vector<LimitKey> keys = {{"name", "all", "1 to 128 bytes without control characters"}};
  for (const core::LimitField& field : core::kLimitFields) {
    if (field.own_name != field.name) continue;  // a calendar's period: said with the other one
    std::string_view kinds = to_string(static_cast<Kind>(std::countr_zero(field.kinds)));
    if (field.kinds == core::kPeriodic) kinds = "all but stock";
    if (field.kinds == core::kAllKinds) kinds = "all";
    keys.push_back({field.name, kinds, core::summary_of(field, true)});
  }
  return keys;
}

std::string without_marks(std::string_view markdown) {
  std::string text(markdown);
  std::erase(text, '`');
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string section_of(const Setting& setting) { return std::string(setting.name.substr(0, setting.name.find('.'))); }

std::string key_of(const Setting& setting) { return std::string(setting.name.substr(setting.name.find('.') + 1)); }

std::string row(const Setting& setting) {
  return "| `" + key_of(setting) + "` | " + code(default_text(setting)) + " | " + range_text(setting) + " | `--" +
         flag_name(setting) + "` `" + environment_name(setting) + "` | " +
         (setting.reload == Reload::kAtStart ? "at start" : "at once") + " | " + std::string(setting.help) + " |\n";
}

}  // namespace

std::string config_markdown() {
  std::string text(kConfigurationIntroduction);
  std::string section;
  for (const Setting& setting : settings()) {
    if (section_of(setting) != section) {
      if (!section.empty()) text += "\n";
      section = section_of(setting);
      text += "## [" + section + "]\n\n| key | default | allowed | flag, variable | reload | meaning |\n";
      text += "| --- | --- | --- | --- | --- | --- |\n";
    }
    text += row(setting);
  }
  text += "\n" + std::string(kLimits);
  for (const LimitKey& key : limit_keys()) {
    text += "| `" + std::string(key.name) + "` | " + std::string(key.kinds) + " | " + key.meaning + " |\n";
  }
  text += kSyncs;
  for (const SyncKey& key : sync_keys()) {
    text += "| `" + std::string(key.name) + "` | " + (key.is_required ? "yes" : "no") + " | " +
            std::string(key.meaning) + " |\n";
  }
  return text;
}

std::string config_text() {
  std::string text =
      "The configuration of 'mete serve': from flags, from the environment and from a file in TOML, given with\n"
      "'--config FILE' or in METE_CONFIG; flag over environment over file. 'mete check-config FILE' checks one.\n"
      "Sizes are bytes, or \"64kb\", \"1mb\", \"2gb\"; durations are \"250ms\", \"1s\", \"5m\", \"1h\" or \"30d\", and "
      "a bare\n"
      "integer is seconds. More is in docs/configuration.md.\n";
  std::string section;
  for (const Setting& setting : settings()) {
    if (section_of(setting) != section) {
      section = section_of(setting);
      text += "\n[" + section + "]\n";
    }
    const std::string value = default_text(setting);
    const std::string range = range_text(setting);
    text +=
        "  " + key_of(setting) + (value.empty() ? "" : " = " + value) + "\n      " + std::string(setting.help) + ".\n";
    if (!range.empty()) text += "      Allowed: " + range + ".\n";
    text += "      --" + flag_name(setting) + ", " + environment_name(setting) +
            (setting.reload == Reload::kAtStart ? "; takes effect at start\n" : "; takes effect at once\n");
  }
  text += "\n[[limit]], one for each, in the file alone\n";
  for (const LimitKey& key : limit_keys()) {
    text += "  " + std::string(key.name) + " (" + std::string(key.kinds) + ")\n      " + key.meaning + "\n";
  }
  text += "\n[[sync]], one for each limit that has a source of truth, in the file alone\n";
  for (const SyncKey& key : sync_keys()) {
    text += "  " + std::string(key.name) + (key.is_required ? " (needed)" : "") + "\n      " +
            without_marks(key.meaning) + "\n";
  }
  return text;
}

}  // namespace mete::server
