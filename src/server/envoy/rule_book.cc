#include "server/envoy/rule_book.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
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
  if (!file) return base::invalid_at(path, std::string("cannot be read: ") + std::strerror(errno));
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
  for (const fs::path& each : paths) files.push_back(TRY(read_file(each)));
  return files;
}

Result<void> RuleBook::load(const std::string& path) {
  const auto files = TRY(read_rules_files(path));
  auto rules = std::make_shared<const Rules>(TRY(Rules::read(files)));
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  // What has not changed is defined as it is: to look at it once more costs one call for each rule that is in use.
  defined_.clear();
  return {};
}

std::shared_ptr<const Rules> RuleBook::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

Result<void> RuleBook::see_to(const Limit& limit, const std::function<Result<void>(const Limit&)>& define, bool again) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = defined_.find(limit.name());
    if (!again && found != defined_.end() && found->second == limit) return {};
  }
  TRY(define(limit));  // without the lock: it may wait for a store elsewhere
  const std::lock_guard lock(mutex_);
  if (defined_.size() >= kDefinedMax) defined_.clear();
  defined_.insert_or_assign(limit.name(), limit);
  return {};
}

}  // namespace mete::server::envoy
