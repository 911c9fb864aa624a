#!/usr/bin/env python3
"""Compiles what a user of <mete/mete.h> might write by mistake, and fails if the compiler lets it pass.

Each mistake stands beside a twin that differs from it in the one thing, and that must compile: so it is for the mistake
that the compiler complains, and for nothing else. All mistakes are in one file, a line each, and so are the twins.

usage: embed_api_test.py REPOSITORY COMPILER
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# (what must not compile, its twin)
PAIRS = [
    # A decision is not the absence of an error.
    ('if (limiter.take("api", "alice")) {}', 'if (limiter.allow("api", "alice")) {}'),
    ('if (limiter.take("api", "alice")) {}', 'if (limiter.take("api", "alice").value().allowed()) {}'),
    ('if (!limiter.peek("api", "alice")) {}', 'if (!limiter.peek("api", "alice").has_value()) {}'),
    ('if (limiter.hold("api", "alice", 1, 1h)) {}', 'if (limiter.hold("api", "alice", 1, 1h).value().allowed()) {}'),
    ('if (limiter.drop("api")) {}', 'if (limiter.drop("api").value()) {}'),
    ('if (limiter.find_hold("id")) {}', 'if (limiter.find_hold("id").value()) {}'),
    ('bool is_allowed = limiter.take("api", "alice"); static_cast<void>(is_allowed);',
     'bool is_allowed = limiter.allow("api", "alice"); static_cast<void>(is_allowed);'),
    ('bool is_defined(limiter.drop(text) && true); static_cast<void>(is_defined);',
     'bool is_defined(limiter.define(limit) && true); static_cast<void>(is_defined);'),
    ('if (limiter.limit("api").take("alice")) {}', 'if (limiter.limit("api").allow("alice")) {}'),
    ('if (limiter.meter("api", "alice").take()) {}', 'if (limiter.meter("api", "alice").take().value().allowed()) {}'),
    ('if (limiter.find_limit("api")) {}', 'if (limiter.find_limit("api").value()) {}'),
    ('if (limiter.take_each({{"api", "alice"}})) {}', 'if (limiter.take_each({{"api", "alice"}}).has_value()) {}'),
    ('if (!limiter.take_each({{"api", "alice"}})) {}', 'if (!limiter.take_each({{"api", "alice"}}).value()[0].has_value()) {}'),
    # A loop does not outlive what it is over.
    ('for (auto& charge : limiter.find_hold("id")->value().charges) use(charge);',
     'auto hold = limiter.find_hold("id"); for (auto& charge : hold->value().charges) use(charge);'),
    ('for (auto& name : limiter.take("api", "alice")->violated) use(name);',
     'auto decision = limiter.take("api", "alice"); for (auto& name : decision->violated) use(name);'),
    ('for (auto& name : limiter.hold("api", "alice", 1, 1h)->violated) use(name);',
     'const auto decision = limiter.hold("api", "alice", 1, 1h); for (auto& name : decision->violated) use(name);'),
    # No answer is dropped in silence.
    ('limiter.limit("api").take("alice");', 'limiter.limit("api").take("alice").value();'),
    ('limiter.limit("api").allow("alice");', 'static_cast<void>(limiter.limit("api").allow("alice"));'),
    ('limiter.limit("api");', 'static_cast<void>(limiter.limit("api"));'),
    ('limiter.take_each({{"api", "alice"}});', 'limiter.take_each({{"api", "alice"}}).value();'),
    ('limiter.take("api", "alice");', 'limiter.take("api", "alice").value();'),
    ('limiter.define(limit);', 'limiter.define(limit).value();'),
    ('limiter.commit("id", 7);', 'limiter.commit("id", 7).value();'),
    ('limiter.allow("api", "alice");', 'static_cast<void>(limiter.allow("api", "alice"));'),
    ('mete::open(text);', 'static_cast<void>(mete::open(text));'),
    # Two texts in braces are no text.
    ('use(limiter.take({"api", "alice"}, {"storage", "acme"}));',
     'use(limiter.take({{"api", "alice"}, {"storage", "acme"}}));'),
    ('use(limiter.take({"api", "alice"}));', 'use(limiter.take({{"api", "alice"}}));'),
    ('use(limiter.peek({"api", "alice"}, {"storage", "acme"}));',
     'use(limiter.peek({{"api", "alice"}, {"storage", "acme"}}));'),
    ('use(limiter.give({"api", "alice"}, {"storage", "acme"}));',
     'use(limiter.give({{"api", "alice"}, {"storage", "acme"}}));'),
    ('use(limiter.give({{"api", "alice"}}, {"id", "id"}));', 'use(limiter.give({{"api", "alice"}}, "id"));'),
    ('use(limiter.hold({"api", "alice"}, {"storage", "acme"}, 1, 1h));',
     'use(limiter.hold({{"api", "alice"}, {"storage", "acme", 1}}, 1h));'),
    ('use(limiter.take({{"api", "alice"}}, {.id = {"a", "b"}}));',
     'use(limiter.take({{"api", "alice"}}, {.id = {"a"}}));'),
    ('use(limiter.hold({{"api", "alice"}}, 1h, {.tag = {"a", "b"}}));',
     'use(limiter.hold({{"api", "alice"}}, 1h, {.tag = "a"}));'),
    ('use(limiter.allow({"api", "alice"}, {"storage", "acme"}));', 'use(limiter.allow("api", "alice"));'),
    ('use(limiter.usage({"api", "alice"}, {"storage", "acme"}));', 'use(limiter.usage("api", "alice"));'),
    ('use(limiter.holds({"api", "alice"}, {"storage", "acme"}));', 'use(limiter.holds("api", "alice"));'),
    ('use(limiter.reconcile({"api", "alice"}, {"storage", "acme"}, 1));', 'use(limiter.reconcile("api", "alice", 1));'),
    ('use(limiter.override_amount({"api", "alice"}, {"storage", "acme"}, 1));',
     'use(limiter.override_amount("api", "alice", 1));'),
    ('use(limiter.clear_override({"api", "alice"}, {"storage", "acme"}));',
     'use(limiter.clear_override("api", "alice"));'),
    ('use(limiter.commit({"id", "id"}));', 'use(limiter.commit("id"));'),
    ('use(limiter.cancel({"id", "id"}));', 'use(limiter.cancel("id"));'),
    ('use(limiter.top({"api", "alice"}, 3));', 'use(limiter.top("api", 3));'),
    ('use(mete::Charge{{"api", "alice"}, "alice"});', 'use(mete::Charge{"api", "alice"});'),
    ('use(mete::Charge{{"api", "alice"}});', 'use(mete::Charge{{"api"}, {"alice"}});'),
    ('use(mete::Text{"api", "alice"});', 'use(mete::Text{"api"});'),
    ('use(mete::Text({"api", "alice"}));', 'use(mete::Text("api"));'),
    ('use(mete::bucket({"api", "alice"}));', 'use(mete::bucket("api"));'),
    ('use(mete::open({"embedded:", "alice"}));', 'use(mete::open("embedded:"));'),
    ('use(limiter.limit({"api", "alice"}));', 'use(limiter.limit({"api"}));'),
    ('use(limiter.limit("api").allow({"alice", "bob"}));', 'use(limiter.limit("api").allow("alice"));'),
    ('use(limiter.take_each({"api", "alice"}, {"storage", "acme"}));',
     'use(limiter.take_each({{"api", "alice"}, {"storage", "acme"}}));'),
    # Nor is a null pointer.
    ('use(limiter.take("api", nullptr));', 'use(limiter.take("api", ""));'),
    # Times are not amounts, nor the other way round.
    ('use(limiter.hold("api", "alice", 1h, 1h));', 'use(limiter.hold("api", "alice", 1, 1h));'),
    ('use(limiter.hold("api", "alice", 1, 3600));', 'use(limiter.hold("api", "alice", 1, 3600s));'),
    ('use(limiter.commit("id", {1, 2.5}));', 'use(limiter.commit("id", {1, 2}));'),
    # A completion takes the Result of its call, and asks it as any other.
    ('limiter.start(take, [](mete::Result<mete::Usage>) {});',
     'limiter.start(take, [](mete::Result<mete::Decision>) {});'),
    ('limiter.start(take, [](auto decision) { if (decision) {} });',
     'limiter.start(take, [](auto decision) { if (decision->allowed()) {} });'),
]

FRAME = """#include <mete/mete.h>
using namespace std::chrono_literals;
inline void use(const auto& /*value*/) {}
inline auto take = [](mete::Limiter& limiter) { return limiter.take("api", "alice"); };
"""


def compile_lines(compiler, include, lines):
    """The numbers of the lines that the compiler finds fault with, and its run."""
    functions = [f'void try_{number}(mete::Limiter& limiter, const mete::Limit& limit, const char* text) '
                 f'{{ use(limit); use(text); use(limiter); {line} }}' for number, line in enumerate(lines)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "main.cc"
        source.write_text(FRAME + "\n".join(functions) + "\n", encoding="utf-8")
        all_errors = ["-ferror-limit=0"] if "clang" in compiler else []  # g++ tells all by itself.
        run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *all_errors,
                              f"-I{include}", source],
                             capture_output=True, text=True)
    # An error within a template names the line that has led there, too.
    named = {int(line) for line in re.findall(r"main\.cc:(\d+)", run.stderr)}
    return {number for number in range(len(lines)) if number + FRAME.count("\n") + 1 in named}, run


def main(repository, compiler):
    include = Path(repository) / "include"
    found, run = compile_lines(compiler, include, [mistake for mistake, _ in PAIRS])
    failures = [f"it compiles: {mistake}" for number, (mistake, _) in enumerate(PAIRS) if number not in found]
    if run.returncode == 0:
        failures.append("all mistakes together compile")
    found, run = compile_lines(compiler, include, [twin for _, twin in PAIRS])
    failures += [f"it does not compile: {PAIRS[number][1]}" for number in found]
    if run.returncode != 0:
        failures.append(run.stderr)
    print("\n".join(failures) or f"{len(PAIRS)} mistakes do not compile, and their twins do")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
