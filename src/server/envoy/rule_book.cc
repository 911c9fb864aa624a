#include "server/envoy/rule_book.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/try.h"

namespace mete::server::envoy {

namespace {

namespace fs = std::filesystem;

bool is_yaml(const fs::path& path) {
  const auto ending = path.extension();
  return ending == ".yaml" || ending == ".yml";
}

Result<RulesFile> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return base::invalid_at(path, "cannot be read: " + std::generic_category().message(errno));
  return RulesFile{path.filename(), text.str()};
}

}  // namespace

Result<std::vector<RulesFile>> read_rules_files(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> paths;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (is_yaml(entry->path()) && !entry->is_directory()) paths.push_back(entry->path());
    }
    std::sort(paths.begin(), paths.end());
    if (!error && paths.empty()) return base::invalid_at(path, "there is no .yaml or .yml file in this folder");
  } else {
    paths.emplace_back(path);
  }
  if (error) return base::invalid_at(path, "cannot be read: " + error.message());
  std::vector<RulesFile> files;
  files.reserve(paths.size());
  for (const fs::path& each : paths) files.push_back(TRY(read_file(each)));
  return files;
}

Result<void> RuleBook::load(const std::string& path, const Definer& definer) {
  const auto files = TRY(read_rules_files(path));
  auto rules = std::make_shared<const Rules>(TRY(Rules::read(files)));
  const auto limited = rules->limited();
  for (const Rule* const rule : limited) {
    if (const auto ok = definer.check(*rule->limit); !ok) return base::invalid_at(rule->place, ok.error().message);
  }
  const auto before = this->rules();
  std::unordered_map<std::string_view, const Rule*> in_use;
  for (const Rule* const rule : before ? before->limited() : std::vector<const Rule*>()) {
    if (rule->is_defined.get()) in_use.emplace(rule->limit->name(), rule);
  }
  for (const Rule* const rule : limited) {
    const auto found = in_use.find(rule->limit->name());
    const bool is_same = found != in_use.end() && found->second->limit == rule->limit;
    if (!is_same && !definer.defines_all && found == in_use.end()) continue;
    // What the store does not take now is defined when a request meets the rule.
    rule->is_defined.set(is_same || definer.define(*rule->limit).has_value());
  }
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  return {};
}

std::shared_ptr<const Rules> RuleBook::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

}  // namespace mete::server::envoy
