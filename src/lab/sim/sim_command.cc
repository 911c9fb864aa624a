// `mete sim`: its place on the command line.
#include <charconv>
#include <ostream>

#include "base/names.h"
#include "cli/frame/progress_bar.h"
#include "cli/frame/text.h"
#include "lab/commands.h"
#include "lab/sim/measure.h"
#include "lab/sim/run.h"
#include "lab/sim/whole/whole.h"

namespace mete::lab {

namespace {

std::optional<std::uint64_t> unsigned_number(const cli::Invocation& invocation, cli::Console& console,
                                             const std::string& option) {
  const std::string text = invocation.value(option, console);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<int> run_one(std::uint64_t seed, const sim::RunOptions& options, cli::Console& console) {
  const sim::Report report = sim::run_seed(seed, options);
  console.out << sim::explain(report, options);
  return report.violation ? cli::kExitNo : cli::kExitDone;
}

Result<int> run_many(std::uint64_t from, std::uint64_t seeds, const sim::RunOptions& options, cli::Console& console) {
  std::uint64_t admissions = 0;
  cli::ProgressBar bar(console);
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const std::string count = cli::count_text(i) + " seeds";
    bar.show("simulating", i, seeds, count);
    const sim::Report report = sim::run_seed(from + i, options);
    admissions += report.statistics.admissions;
    if (!report.violation) continue;
    bar.clear();
    console.out << sim::explain(report, options);
    return cli::kExitNo;
  }
  bar.clear();
  console.out << cli::count_text(seeds) << " seeds, " << cli::count_text(admissions) << " admissions: all is well\n";
  return cli::kExitDone;
}

// Whole nodes in place of their shares alone.
Result<int> run_whole_seeds(std::uint64_t from, std::uint64_t seeds, sim::WholeBug bug, std::ostream* trace,
                            cli::Console& console) {
  std::uint64_t admissions = 0;
  cli::ProgressBar bar(console);
  for (std::uint64_t i = 0; i < seeds; ++i) {
    bar.show("simulating", i, seeds, cli::count_text(i) + " seeds");
    const sim::WholeReport report = sim::run_whole(from + i, bug, trace);
    admissions += report.admissions;
    if (!report.violation) continue;
    bar.clear();
    console.out << "seed " << from + i << " fails\n  " << *report.violation << "\n  again: mete sim --whole --seed "
                << from + i << " --trace";
    if (bug != sim::WholeBug::kNone) console.out << " --bug " << base::name_of(sim::kWholeBugNames, bug);
    console.out << "\n";
    return cli::kExitNo;
  }
  bar.clear();
  console.out << cli::count_text(seeds) << " seeds, " << cli::count_text(admissions) << " admissions: all is well\n";
  return cli::kExitDone;
}

Result<int> run_sim_command(const cli::Invocation& invocation, cli::Console& console) {
  const auto seeds = unsigned_number(invocation, console, "seeds");
  const auto from = unsigned_number(invocation, console, "from");
  const auto nodes = unsigned_number(invocation, console, "nodes");
  if (!seeds || !from || !nodes) return cli::usage_error(invocation, "a number is negative or too large");
  if (*nodes > sim::kNodesMax) {
    return cli::usage_error(invocation, "--nodes: at most " + std::to_string(sim::kNodesMax));
  }
  if (invocation.is_on("measure")) {
    console.out << sim::measure_all();
    return cli::kExitDone;
  }
  if (invocation.is_on("whole")) {
    const auto bug = *base::named<sim::WholeBug>(sim::kWholeBugNames, invocation.value("bug", console));
    const auto only = invocation.given("seed") ? unsigned_number(invocation, console, "seed") : std::nullopt;
    return run_whole_seeds(only.value_or(*from), only ? 1 : *seeds, bug,
                           invocation.is_on("trace") ? &console.out : nullptr, console);
  }
  sim::RunOptions options{
      .nodes = *nodes,
      .planted = *base::named<sim::Planted>(sim::kPlantedNames, invocation.value("planted", console)),
      .trace = invocation.is_on("trace") ? &console.out : nullptr};
  if (!invocation.given("seed")) return run_many(*from, *seeds, options, console);
  const auto seed = unsigned_number(invocation, console, "seed");
  if (!seed) return cli::usage_error(invocation, "--seed: a number is negative or too large");
  return run_one(*seed, options, console);
}

}  // namespace

cli::Command sim_command() {
  return {
      .name = "sim",
      .summary = "Simulate clusters that share limits, with everything going wrong, and check that none is exceeded",
      .description = {"Each seed is a run of a cluster, always the same: nodes, the network between them and their "
                      "shared store, clients, and faults, in one thread and without real time. It ends at the "
                      "first seed that fails, and says how to see it again. docs/simulator.md has the details."},
      .options = {{"seeds", cli::ArgumentType::kInteger, "N", "How many seeds", "1000"},
                  {"from", cli::ArgumentType::kInteger, "N", "The first of them", "1"},
                  {"seed", cli::ArgumentType::kInteger, "N", "This seed alone"},
                  cli::flag("trace", "Print every step"),
                  {"nodes", cli::ArgumentType::kInteger, "N", "How many nodes there are at first; 0: as each seed says",
                   "0"},
                  {"planted", cli::ArgumentType::kName, "BUG", "Run with a bug that must be found", "none", "",
                   sim::kPlantedNames},
                  cli::flag("whole", "Simulate whole nodes, with their books and disks, and not their shares alone"),
                  {"bug", cli::ArgumentType::kName, "BUG", "With --whole: run with a bug that must be found", "none",
                   "", sim::kWholeBugNames},
                  cli::flag("measure", "Tell how much of a limit can be used, and at what cost")},
      .examples = {{"mete sim --seeds 100000", "Run many seeds"},
                   {"mete sim --seed 42 --trace", "See one of them again"}},
      .statuses = {{cli::kExitNo, "a seed failed"}},
      .run = run_sim_command};
}

}  // namespace mete::lab
