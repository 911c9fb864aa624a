// `mete migrate`: the schema of the PostgreSQL store. It needs no server of Mete.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

Command migrate_command();

}  // namespace mete::cli
