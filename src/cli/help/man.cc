#include "cli/help/help.h"

#include <algorithm>

#include "server/configuration/config_settings.h"

namespace mete::cli {

namespace {

// Text as it is: nothing in it is taken for a request or an escape, and '-' stays what one can type.
std::string plain(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char letter : text) {
    switch (letter) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }

// No date: the same source gives the same page.
std::string heading(const std::string& name, const std::string& section) {
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  return ".TH \"" + plain(title) + "\" \"" + section + "\" \"\" \"mete " METE_VERSION "\" \"Mete\"\n";
}

// `head` is roff, `text` is not.
std::string tagged(const std::string& head, std::string_view text) {
  return ".TP\n" + head + "\n" + plain(text) + (text.empty() || text.ends_with('.') ? "\n" : ".\n");
}

std::string page_name(const Command& command) {
  std::string name = "mete-" + command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string text = ".SH \"SEE ALSO\"\n";
  for (const std::string& page : pages) {
    const std::size_t paren = page.find('(');
    text += ".BR " + plain(page.substr(0, paren)) + " " + page.substr(paren) + (page == pages.back() ? "\n" : ",\n");
  }
  return text;
}

std::string command_page(const Command& command) {
  std::string text = heading(page_name(command), "1") + ".SH NAME\n" + plain(page_name(command)) + " \\- " +
                     plain(command.summary) + "\n.SH SYNOPSIS\n" + bold("mete " + command.name);
  text += plain(usage_line(command).substr(5 + command.name.size())) + "\n";
  if (!command.description.empty()) text += ".SH DESCRIPTION\n";
  for (const std::string& paragraph : command.description) {
    text += (&paragraph == &command.description.front() ? "" : ".PP\n") + plain(paragraph) + "\n";
  }
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const Argument& each : command.arguments) text += tagged("\\fI" + plain(each.name) + "\\fR", each.help);
  text += ".SH OPTIONS\n";
  for (const Argument& each : command.options) {
    const std::string value = each.name.empty() ? "" : " \\fI" + plain(each.name) + "\\fR";
    text += tagged(bold("--" + std::string(each.word)) + value, option_help(each));
  }
  text += tagged(bold("-h") + ", " + bold("--help"), "Print a summary");
  text += ".SH \"EXIT STATUS\"\n";
  for (const ExitStatus& each : all_statuses(command)) text += tagged(std::to_string(each.status), each.meaning);
  if (!command.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& each : command.examples) {
    text += ".PP\n" + plain(each.purpose) + ":\n.PP\n.nf\n.RS\n" + plain(each.command) + "\n.RE\n.fi\n";
  }
  return text + see_also({"mete(1)", "mete.toml(5)"});
}

std::string overview_page(std::span<const Command> all) {
  std::string text = heading("mete", "1") +
                     ".SH NAME\nmete \\- rate limits, quotas and reservations, exact and atomic\n"
                     ".SH SYNOPSIS\n" +
                     bold("mete") + " \\fICOMMAND\\fR [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n" +
                     "Mete answers one question, atomically: may this happen, and what is left?\n.SH COMMANDS\n";
  std::vector<std::string> pages = {"mete.toml(5)"};
  for (const Command& command : all) {
    if (command.is_hidden) continue;
    text += tagged(bold("mete " + command.name), command.summary);
    pages.push_back(page_name(command) + "(1)");
  }
  return text + see_also(pages);
}

std::string setting_text(const server::Setting& setting) {
  std::string text = std::string(setting.help) + ".";
  if (const std::string range = server::range_text(setting); !range.empty()) text += " Allowed: " + range + ".";
  if (const std::string value = server::default_text(setting); !value.empty()) text += " Default: " + value + ".";
  text += " Flag: --" + server::flag_name(setting) + ". Variable: " + server::environment_name(setting) + ".";
  return text + (setting.reload == server::Reload::kAtStart ? " Takes effect when the server starts." : "");
}

std::string configuration_page() {
  std::string text = heading("mete.toml", "5") +
                     ".SH NAME\nmete.toml \\- configuration of the Mete server\n.SH DESCRIPTION\n"
                     "A file in TOML, given with " +
                     bold("mete serve --config") +
                     " \\fIFILE\\fR.\nEvery setting can also come from the environment and from a flag: flag over "
                     "environment over file.\nSizes are bytes or, as strings, 64kb, 1mb or 2gb (1kb is 1024 bytes); "
                     "durations are 250ms, 1s, 5m, 1h or 30d, and a bare integer is seconds.\n.SH SETTINGS\n";
  for (const server::Setting& setting : server::settings()) text += tagged(bold(setting.name), setting_text(setting));
  text +=
      ".SH LIMITS\nEach limit is a table:\n.PP\n.nf\n.RS\n[[limit]]\nname = \"api\"\nkind = \"bucket\"\namount = 100\n"
      "period = \"1m\"\nburst = 200\n.RE\n.fi\n";
  return text + see_also({"mete(1)"});
}

}  // namespace

std::vector<ManPage> manual(std::span<const Command> all) {
  std::vector<ManPage> pages = {{"mete.1", overview_page(all)}, {"mete.toml.5", configuration_page()}};
  for (const Command& command : all) {
    if (!command.is_hidden) pages.push_back({page_name(command) + ".1", command_page(command)});
  }
  return pages;
}

}  // namespace mete::cli
