#!/usr/bin/env python3
"""README.md and docs/, followed word by word: what they type into a shell and what they run prints what they say.

A ```console block has commands behind "$ ", which may go on for several lines, and below each what it prints. A block of
a language is a whole program, and says behind `# prints` or `// prints` what it prints. In what is printed, "…" stands
for any text, and for any lines where it is a line of its own. Each page has a server of its own.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

import harness
import node_modules

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/coming-from.md", "docs/http.md"]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"(?:#|//) prints (.*)$", re.MULTILINE)
ANY = "…"


def build_folder():
    return Path(harness.program).parent


def blocks(text):
    return BLOCK.findall(text)


def typed(block):
    """The commands of a console block, each with the lines that are printed below it."""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(([line[2:]], []))
        elif not is_complete("\n".join(commands[-1][0])):
            commands[-1][0].append(line)
        else:
            commands[-1][1].append(line)
    return [("\n".join(words), lines) for words, lines in commands]


def is_complete(command):
    return command.count("'") % 2 == 0 and not command.endswith("\\")


def pattern_of(lines):
    """What matches these lines, without a line's trailing spaces."""
    parts = [r"(?:.*\n)*?" if line.strip() == ANY else re.escape(line.rstrip()).replace(ANY, r".*?") + r"\n" for line in lines]
    return re.compile("".join(parts))


def printed(text):
    lines = [line.rstrip() for line in text.splitlines()]
    return "".join(line + "\n" for line in lines)


class Matching(unittest.TestCase):
    """The test sees what differs."""

    def test_what_is_said_is_what_is_meant(self):
        self.assertTrue(pattern_of(["a", ANY, "z … 1"]).fullmatch("a\nb\nc\nz 22 1\n"))
        self.assertTrue(pattern_of(["a", ANY, "z"]).fullmatch("a\nz\n"))
        self.assertFalse(pattern_of(["a"]).fullmatch("a\nb\n"))
        self.assertFalse(pattern_of(['{"remaining":9}']).fullmatch('{"remaining":8}\n'))

    def test_commands_may_have_several_lines(self):
        self.assertEqual(typed("$ echo 'a\n  b'\na\n  b\n$ true\n"), [("echo 'a\n  b'", ["a", "  b"]), ("true", [])])


class Pages(unittest.TestCase):
    maxDiff = None

    def follow(self, page):
        harness.require("redis-cli", "curl", "bash", "c++")
        server = harness.Server(self)
        self.folder = harness.Folder(self)
        self.ports = {"6380": str(server.resp_port), "8380": str(server.http_port)}
        self.environment = {**os.environ, "METE_SERVER": f"127.0.0.1:{server.resp_port}",
                            "PATH": f"{build_folder()}:{os.environ['PATH']}"}
        runners = {"console": self.follow_console, "python": self.follow_python, "javascript": self.follow_javascript,
                   "cpp": self.follow_cpp}
        followed = 0
        for language, block in blocks((REPOSITORY / page).read_text()):
            if language in runners:
                runners[language](block)
                followed += 1
        self.assertGreater(followed, 0, f"{page} has no block to follow")

    def on_this_server(self, text):
        return re.sub(r"\b(6380|8380)\b", lambda port: self.ports[port[0]], text)

    def follow_console(self, block):
        for command, lines in typed(block):
            with self.subTest(command=command):
                # Without a terminal curl would show its progress, and redis-cli would leave the types out.
                tools = 'curl() { command curl -s "$@"; echo; }; redis-cli() { command redis-cli --no-raw "$@"; }\n'
                process = subprocess.run(["bash", "-c", tools + self.on_this_server(command)], env=self.environment, text=True,
                                         capture_output=True, timeout=harness.PATIENCE_S)
                self.check(lines, process.stdout.rstrip("\n") + "\n" + process.stderr)

    def follow_python(self, block):
        self.run_program(block, "/usr/bin/python3", "-B", self.written("example.py", block))

    def follow_javascript(self, block):
        self.environment["NODE_PATH"] = str(node_modules.install())
        self.run_program(block, "node", self.written("example.js", block))

    def follow_cpp(self, block):
        example = self.folder / "example"
        harness.run("c++", "-std=c++20", "-I", str(REPOSITORY / "include"), self.written("example.cc", block),
                    str(build_folder() / "src/libmete.a"), "-pthread", "-o", example, timeout=5 * harness.PATIENCE_S)
        self.run_program(block, example)

    def written(self, name, block):
        return self.folder.write(name, self.on_this_server(block))

    def run_program(self, block, *words):
        with self.subTest(program=words[-1]):
            self.check(PRINTS.findall(block), harness.run(*words, environment=self.environment).stdout)

    def check(self, lines, text):
        if not pattern_of(lines).fullmatch(printed(text)):
            self.assertEqual("\n".join(lines), printed(text))


class Links(unittest.TestCase):
    LINK = re.compile(r"\]\(([^)\s]+)\)")
    HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

    def pages(self):
        return [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]

    def anchors(self, page):
        """As GitHub makes them of headings."""
        headings = self.HEADING.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL))
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def test_every_link_leads_somewhere(self):
        for page in self.pages():
            text = re.sub(r"`[^`\n]*`", "", page.read_text())
            for link in self.LINK.findall(text):
                if re.match(r"[a-z]+:", link):
                    continue
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, self.anchors(target))

    def test_lines_are_no_longer_than_100_columns(self):
        for page in self.pages():
            if page.parent.name == "bench":  # as scripts write them
                continue
            text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page.read_text(),
                          flags=re.MULTILINE | re.DOTALL)
            for number, line in enumerate(text.splitlines(), 1):
                is_kept = line.startswith(("|", "    ", "<!--", "![")) or " " not in line.strip("-* ")
                with self.subTest(page=page.name, line=number):
                    self.assertLessEqual(0 if is_kept else len(line), 100)

    def test_the_tour_enters_every_module(self):
        tour = (REPOSITORY / "docs/ARCHITECTURE.md").read_text().partition("## A tour of the source")[2].partition("\n## ")[0]
        for folder in sorted(path for path in (REPOSITORY / "src").iterdir() if path.is_dir()):
            self.assertIn(f"(../src/{folder.name}/", tour.replace(f"(../src/{folder.name})", f"(../src/{folder.name}/)"))


for name in PAGES:
    setattr(Pages, "test_" + re.sub(r"\W", "_", name), lambda self, page=name: self.follow(page))


if __name__ == "__main__":
    harness.main()
