#!/usr/bin/env python3
"""Checks the architecture by its #include lines, and a few habits that every module shares.

usage: layering_test.py REPOSITORY     fails, and says where and why, if a rule below is broken
       layering_test.py --self-test    fails if a broken rule would not be noticed
"""

import re
import sys
import tempfile
from pathlib import Path

# --- The rules -------------------------------------------------------------------------------------------------------

# Folders that are a module of their own, apart from the one they lie in. What is left of `store` is in the library mete,
# which needs no network, TLS, libpq or libnghttp2.
ROOMS_OF = {
    "elsewhere": ["store/network", "store/redis", "store/postgres", "store/etcd", "store/mete"],
}

# A module (a folder of src/, but for those) and the modules whose headers it may include, besides its own and <mete/…>.
# A new module gets a row here, and its name in the rows of those that may use it.
MAY_INCLUDE = {
    "base": [],
    "core": ["base"],
    "calendar": ["base"],
    "engine": ["base", "core", "calendar"],
    "journal": ["base"],
    "wire": ["base", "core"],
    "net": ["base"],
    "store": ["base", "core", "calendar", "engine", "journal"],
    "c_api": ["base", "store"],
    "elsewhere": ["base", "core", "calendar", "engine", "wire", "net", "store"],
    "escrow": ["base", "core", "calendar", "engine", "journal", "wire", "net", "store", "elsewhere"],
    "sync": ["base", "core", "calendar", "wire", "net", "store", "elsewhere"],
    "server": ["base", "core", "calendar", "engine", "journal", "wire", "net", "store", "elsewhere", "escrow", "sync"],
    "cli": ["base", "core", "calendar", "engine", "journal", "wire", "net", "store", "elsewhere", "escrow", "sync", "server"],
    "lab": ["base", "core", "calendar", "engine", "journal", "wire", "net", "store", "elsewhere", "escrow", "sync", "server", "cli"],
}

# A room inside a module that may be used by its neighbours and does not use them, with the reason.
APART = {
    "store/redis/client": "the way to Redis knows nothing of the limits that are kept there",
}
# More files than these in one folder are more than one subject.
FILES_IN_A_FOLDER_MAX = 30

# Public headers that stand above the engine, and the modules that may include them.
ABOVE_THE_ENGINE = {"mete/c.h", "mete/handles.h", "mete/limiter.h", "mete/mete.h"}
MAY_INCLUDE_THEM = {"store", "c_api", "elsewhere", "escrow", "server", "cli", "lab"}

# Headers that a module must not include itself, with the reason.
CORE_IS_PURE = "core is pure: time, seeds and ids are arguments, and it does no I/O"
FORBIDDEN = {
    "core": {
        r"chrono|ctime|time\.h|sys/time\.h|mete/clock\.h": CORE_IS_PURE + " (clock)",
        r"thread|mutex|shared_mutex|condition_variable|atomic|future|semaphore|latch|barrier|stop_token|pthread\.h":
            CORE_IS_PURE + " (threads)",
        r"random|base/random\.h": CORE_IS_PURE + " (random)",
        r"fstream|iostream|cstdio|stdio\.h|filesystem|fcntl\.h|unistd\.h": CORE_IS_PURE + " (files)",
        r"sys/.*|netinet/.*|arpa/.*|netdb\.h|boost/asio.*": CORE_IS_PURE + " (system calls, sockets)",
        r"base/log\.h|spdlog/.*|syslog\.h": CORE_IS_PURE + " (log)",
    },
}

# --- The check -------------------------------------------------------------------------------------------------------

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')
STANDARD_HEADER = re.compile(r"[a-z_0-9]+")
C_HEADERS = {"stddef.h", "stdint.h"}  # for mete/c.h, which C reads


def includes(file):
    """The (line number, path, in quotes?) of each #include."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match[1] or match[2], match[2] is not None


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".cc"))


def module_of(path):
    """The module of a file of src/, by its path there."""
    for module, rooms in ROOMS_OF.items():
        if any(path.startswith(room + "/") for room in rooms):
            return module
    return path.split("/")[0]


def why_not_in_module(module, header, quoted):
    """The reason why a file of src/MODULE must not include this header; None if it may."""
    for pattern, reason in FORBIDDEN.get(module, {}).items():
        if re.fullmatch(pattern, header):
            return reason
    first = module_of(header)
    if first == "mete":
        if header in ABOVE_THE_ENGINE and module not in MAY_INCLUDE_THEM:
            return f"it stands above {module}: only {', '.join(sorted(MAY_INCLUDE_THEM))} may include it"
        return None
    if "/" in header and first in MAY_INCLUDE:
        if first == module or first in MAY_INCLUDE[module]:
            return None
        allowed = ", ".join(MAY_INCLUDE[module]) or "no other module"
        return f"dependencies point downwards: {module} may include {allowed}"
    if quoted:
        return 'in quotes stand only headers of src/, as in "base/check.h"'
    return None


def why_not_in_public_header(header, quoted):
    if quoted:
        return "a public header includes <mete/…> in angle brackets, and nothing of src/: users have no src/"
    if header.startswith("mete/") or STANDARD_HEADER.fullmatch(header) or header in C_HEADERS:
        return None
    return "a public header includes only <mete/…> and the standard library: users have no more than these"


def check_includes(root):
    for file in sources(root / "src"):
        module = module_of(file.relative_to(root / "src").as_posix())
        if module not in MAY_INCLUDE:
            continue  # check_modules tells.
        for number, header, quoted in includes(file):
            if reason := why_not_in_module(module, header, quoted):
                yield f"{file.relative_to(root)}:{number}: {module} includes {header}: {reason}"
    for file in sources(root / "include"):
        for number, header, quoted in includes(file):
            if reason := why_not_in_public_header(header, quoted):
                yield f"{file.relative_to(root)}:{number}: a public header includes {header}: {reason}"


def check_rooms(root):
    for room, reason in APART.items():
        neighbours = room.rsplit("/", 1)[0] + "/"
        for file in sources(root / "src" / room):
            for number, header, _ in includes(file):
                if header.startswith(neighbours) and not header.startswith(room + "/"):
                    yield f"{file.relative_to(root)}:{number}: {room} includes {header}: {reason}"
    for folder in sorted({file.parent for top in ("src", "include") for file in sources(root / top)}):
        count = sum(1 for file in folder.iterdir() if file.suffix in (".h", ".cc"))
        if count > FILES_IN_A_FOLDER_MAX:
            yield f"{folder.relative_to(root)}:1: {count} files in one folder, more than {FILES_IN_A_FOLDER_MAX}: make rooms"


def check_modules(root):
    """Every folder of src/ has its rules here and its target in CMake, and the targets obey the same rules."""
    cmake_file = root / "src/CMakeLists.txt"
    cmake = re.sub(r"#.*", "", cmake_file.read_text(encoding="utf-8"))
    declared = dict(re.findall(r"mete_module\(\s*(\w+)([^)]*)\)", cmake))
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir() and sources(path)):
        module = folder.name
        if module not in MAY_INCLUDE:
            yield f"src/{module}:1: the module has no row in MAY_INCLUDE of tests/integration/layering_test.py"
        elif module not in declared and f"src/{module}/" not in cmake:
            yield f"src/CMakeLists.txt:1: no target for src/{module}: add mete_module({module} DEPENDS …)"
    for module, arguments in declared.items():
        for dependency in re.findall(r"\bmete_(\w+)", arguments.partition("DEPENDS")[2]):
            if dependency not in MAY_INCLUDE.get(module, []):
                yield f"src/CMakeLists.txt:1: {module} depends on {dependency}, which its includes may not"


def check_pragma_once(root):
    for top in ("src", "include", "tests", "bench"):
        for file in sources(root / top):
            if file.suffix == ".h" and not re.search(r"^#pragma once$", file.read_text(encoding="utf-8"), re.MULTILINE):
                yield f"{file.relative_to(root)}:1: no #pragma once"


def check(root):
    return [*check_includes(root), *check_rooms(root), *check_modules(root), *check_pragma_once(root)]


# --- The self-test: a tree in which each rule is kept once and broken once -----------------------------------------

GOOD = {
    "src/CMakeLists.txt": "mete_module(base)\nmete_module(core DEPENDS mete_base)\nmete_module(engine DEPENDS mete_core)\n"
                          "mete_module(store DEPENDS mete_engine)\nfile(GLOB cli_sources src/cli/*.cc)\n",
    "src/base/check.h": "#pragma once\n#include <cstdio>\n#include <mete/result.h>\n",
    "src/core/bucket.h": '#pragma once\n#include <mete/time.h>\n#include "base/check.h"\n#include "core/meter.h"\n',
    "src/engine/engine.h": '#pragma once\n#include <mutex>\n#include <boost/unordered.hpp>\n#include "core/bucket.h"\n',
    "src/store/store.cc": '#include <mete/limiter.h>\n#include "engine/engine.h"\n',
    "src/cli/main.cc": "#include <mete/mete.h>\n#include <iostream>\n",
    "include/mete/time.h": "#pragma once\n#include <chrono>\n",
    "include/mete/mete.h": "#pragma once\n#include <mete/time.h>\n#include <string_view>\n",
}
# A file that breaks a rule, and how the complaint begins.
BAD = [
    ("src/base/up.h", '#pragma once\n#include "core/bucket.h"\n', "src/base/up.h:2: base includes core/bucket.h"),
    ("src/core/up.cc", '\n  # include "engine/engine.h"\n', "src/core/up.cc:2: core includes engine/engine.h"),
    ("src/engine/up.cc", "#include <store/store.h>\n", "src/engine/up.cc:1: engine includes store/store.h"),
    ("src/engine/up.cc", "#include <mete/mete.h>\n", "src/engine/up.cc:1: engine includes mete/mete.h"),
    ("src/core/up.cc", "#include <mete/limiter.h>\n", "src/core/up.cc:1: core includes mete/limiter.h"),
    *[("src/core/impure.cc", f"#include <{header}>\n", f"src/core/impure.cc:1: core includes {header}: core is pure")
      for header in ("chrono", "thread", "mutex", "atomic", "random", "fstream", "iostream", "cstdio", "sys/socket.h",
                     "unistd.h", "mete/clock.h")],
    ("src/core/impure.cc", '#include "base/log.h"\n', "src/core/impure.cc:1: core includes base/log.h: core is pure"),
    ("src/core/near.cc", '#include "bucket.h"\n', "src/core/near.cc:1: core includes bucket.h: in quotes"),
    ("src/store/up.cc", '#include "store/redis/redis_store.h"\n',
     "src/store/up.cc:1: store includes store/redis/redis_store.h"),
    ("src/store/embedded/up.cc", '#include "net/signal.h"\n', "src/store/embedded/up.cc:1: store includes net/signal.h"),
    ("src/store/redis/client/up.cc", '#include "store/redis/redis_store.h"\n',
     "src/store/redis/client/up.cc:1: store/redis/client includes store/redis/redis_store.h"),
    ("src/extra/extra.cc", "\n", "src/extra:1: the module has no row"),
    ("src/net/net.cc", "\n", "src/CMakeLists.txt:1: no target for src/net"),
    ("src/CMakeLists.txt", GOOD["src/CMakeLists.txt"] + "mete_module(calendar DEPENDS mete_engine)\n",
     "src/CMakeLists.txt:1: calendar depends on engine"),
    ("include/mete/leak.h", '#pragma once\n#include "base/check.h"\n', "include/mete/leak.h:2: a public header includes base"),
    ("include/mete/leak.h", "#pragma once\n#include <boost/any.hpp>\n", "include/mete/leak.h:2: a public header includes boost"),
    ("include/mete/leak.h", "#pragma once\n#include <unistd.h>\n", "include/mete/leak.h:2: a public header includes unistd.h"),
    ("src/core/twice.h", "// #pragma once\n", "src/core/twice.h:1: no #pragma once"),
    ("tests/twice.h", "\n", "tests/twice.h:1: no #pragma once"),
]


def complaints_about(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return check(root)


def self_test():
    failures = [f"a good tree is refused: {complaint}" for complaint in complaints_about(GOOD)]
    for path, text, expected in BAD:
        complaints = complaints_about({**GOOD, path: text})
        if len(complaints) != 1 or not complaints[0].startswith(expected):
            failures.append(f"expected only '{expected}…', got {complaints}")
    crowd = {f"src/base/file{number}.cc": "\n" for number in range(FILES_IN_A_FOLDER_MAX)}  # check.h makes one more.
    if complaints_about({**GOOD, **crowd}) != [f"src/base:1: {FILES_IN_A_FOLDER_MAX + 1} files in one folder, more than "
                                               f"{FILES_IN_A_FOLDER_MAX}: make rooms"]:
        failures.append("a crowded folder is not noticed")
    return failures


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    if arguments[0] == "--self-test":
        failures = self_test()
        summary = f"{len(BAD)} broken rules noticed"
    else:
        root = Path(arguments[0])
        files = len(sources(root / "src")) + len(sources(root / "include"))
        failures = check(root) if files else [f"{root}: no sources found"]
        summary = f"{files} files obey"
    print("\n".join(failures) or summary)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
