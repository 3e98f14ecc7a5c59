"""Halves and doubles each constant of the method, removes each term, and compares how true the advice is then."""

import argparse
import bisect
import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "bench" / "ablate.terms"
PATIENCE = 3600  # seconds; a variant that takes longer does not end

NUMBER = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([uUlLfF]*)(?![\w.])")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
MACRO = re.compile(r"^#define[ \t]+(\w+)(\([^)]*\))?((?:\\\n|[^\n])*)", re.M)
STATIC_DATA = re.compile(r"^static const [^;{}()]*?\b(\w+)(?:\[[^\]]*\])*\s*=\s*(\{.*?\});", re.M | re.S)
FUNCTION = re.compile(r"^(\w+)\([^;{}]*\)\n(\{.*?^\})", re.M | re.S)
# Labels, sizes of arrays and shifts, and the multipliers of hash functions
NO_EXPRESSION = re.compile(r"\bcase [^:\n]*:|^\t+[\w ]+\**\b\w+\[\d+\];|(?:<<|>>)=? *\d+|\b0[xX]\w+", re.M)

# A change of a measure by so much is worth the same as of the others: of shares, and relative to what it was.
SHARES = {"known": 0.05, "coverage": 0.05}
RELATIVE = {"mean": (0.25, 0.001), "width": (0.25, 0.001)}  # and the least that it is relative to


# ---- the sources ----


class Source:
    """A file, its text, and its code: the text without comments and strings, character for character."""

    def __init__(self, path):
        self.path = path
        self.text = (ROOT / path).read_text()
        self.code = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.macros = {match[1]: match for match in MACRO.finditer(self.code)}
        self.functions = [(match[1], match.span(2)) for match in FUNCTION.finditer(self.code)]
        self.data = {match[1]: match for match in STATIC_DATA.finditer(self.code)}

    def line_of(self, position):
        return bisect.bisect(self.line_starts, position)

    def function_at(self, position):
        return next((span for _, span in self.functions if span[0] <= position < span[1]), None)


class Change:
    """A place in a source, and what may stand there instead."""

    def __init__(self, source, name, span, user, values):
        self.source, self.name, self.span, self.user, self.values = source, name, span, user, values
        self.text = " ".join(source.text[slice(*span)].split())
        self.title = f"{source.path.name} {name}"

    def result_name(self, value):
        return (
            re.sub(r"[^\w.]+", "_", f"{self.source.path.parent.name}_{self.title}")[:120]
            + "_"
            + hashlib.sha256(f"{self.title} {value}".encode()).hexdigest()[:8]
        )

    def apply(self, value):
        text = self.source.text
        return text[: self.span[0]] + value + text[self.span[1] :]


def is_of_method(path):
    """True of all of two folders, and of what uses them or compiles without a server in two others."""
    text = (ROOT / path).read_text()
    return path.parts[1] in ("simulator", "statistics") or (
        path.parts[1] in ("sampler", "answers")
        and (re.search('#include "(simulator|statistics)/', text) or (path.suffix == ".c" and "postgres.h" not in text))
    )


def read_sources():
    paths = sorted(path.relative_to(ROOT) for path in (ROOT / "src").glob("*/*.[ch]"))
    return [Source(path) for path in paths if is_of_method(path)]


def other_values(number, suffix):
    """Returns the number halved and doubled, as C has it."""
    if number.isdigit():
        value = int(number)
        return [f"{other}{suffix}" for other in (value // 2, value * 2) if other not in (0, value)]
    value = float(number)
    return [f"{other!r}{suffix}" for other in (value / 2, value * 2) if other != value]


def numbers_in(source, span):
    """Yields each number with its span."""
    hidden = [match.span() for match in NO_EXPRESSION.finditer(source.code, *span)]
    for match in NUMBER.finditer(source.code, *span):
        if not any(start <= match.start() < end for start, end in hidden):
            yield match


def is_plain(match):
    """True of the numbers that are no constants in an expression."""
    return float(match[1]) in (0, 1, 2)


def constants_of(source):
    """Returns all constants of a file, in their order; user is the name by which code has them, unless in place."""
    found = []
    for name, macro in source.macros.items():
        numbers = list(numbers_in(source, macro.span(3)))
        if len(numbers) > 1 or macro[2]:
            numbers = [match for match in numbers if not is_plain(match)]
        found += [(name + (f" ({match[0]})" if len(numbers) > 1 else ""), match, name) for match in numbers]
    for name, data in source.data.items():
        found += [
            (f"{name} {match[0]}", match, name) for match in numbers_in(source, data.span(2)) if not is_plain(match)
        ]
    for name, span in source.functions:
        found += [(f"{name}() {match[0]}", match, None) for match in numbers_in(source, span) if not is_plain(match)]
    times = Counter()
    changes = []
    for name, match, user in sorted(found, key=lambda item: item[1].start()):
        times[name] += 1
        values = other_values(match[1], match[2])
        changes.append(
            Change(source, name + (f" #{times[name]}" if times[name] > 1 else ""), match.span(), user, values)
        )
    return changes


def read_terms(sources):
    """Returns what ablate.terms names, and the lines of which no source has exactly one."""
    found, lost = [], []
    for line in TERMS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        place, _, expression = line.partition(": ")
        name, function = place.split()
        expression, _, value = expression.partition(" => ")
        pattern = re.compile(r"\s+".join(re.escape(word) for word in expression.split()))
        matches = [
            (source, match)
            for source in sources
            if source.path.name == name
            for of, span in source.functions
            if of == function
            for match in pattern.finditer(source.text, *span)
        ]
        if len(matches) == 1:
            source, match = matches[0]
            found.append(
                Change(source, f"{function}() {expression} => {value or 0}", match.span(), None, [value or "0"])
            )
        else:
            lost.append(line)
    return found, lost


# ---- variants ----


class Tree:
    """A copy of what bench/truth is built from, in which one file at a time differs."""

    def __init__(self, folder, flags=""):
        self.folder, self.flags, self.changed = folder, flags, None
        for name in ("src", "t/unit", "bench/truth"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("programs", "*.o"))

    def build(self):
        library = self.folder / "unit" / "library.a"
        for command in (
            [
                "make",
                "-s",
                "-C",
                self.folder / "t/unit",
                f"FOLDER={library.parent}",
                f"UNIT_CFLAGS=-O2 -w {self.flags}",
                library,
            ],
            [
                "cc",
                "-O2",
                "-std=c11",
                "-w",
                *self.flags.split(),
                f"-I{self.folder}/src",
                f"-I{self.folder}/t/unit",
                "-o",
                self.folder / "truth",
                *sorted((self.folder / "bench/truth").glob("*.c")),
                library,
                "-lm",
            ],
        ):
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)

    def set(self, change, value):
        if self.changed and self.changed is not change.source:
            (self.folder / self.changed.path).write_text(self.changed.text)
        self.changed = change.source
        (self.folder / change.source.path).write_text(change.apply(value))

    def run(self, loads):
        """Returns what the program prints. It works on a copy of what the exact models found, since others run, too."""
        truths, own = loads.truths, self.folder / "truths"
        if truths.exists():
            shutil.copyfile(truths, own)
        done = subprocess.run(
            [self.folder / "truth", "--quick", "--truths", own, *loads.traces],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        if not truths.exists():
            os.replace(own, truths)
        return done.stdout


class Loads:
    """What the program compares, beside the frozen loads, and where it keeps what the exact models found."""

    def __init__(self, folder, traces):
        self.traces = [trace.resolve() for trace in traces]
        self.key = " ".join(f"{trace.name} {trace.stat().st_size}" for trace in self.traces)
        self.truths = folder / f"truths-{hash_of(['t/unit', 'bench/truth'], self.key)}"


def outcome_of(tree, change, value, loads):
    """Returns the figures of a variant, or why there are none."""
    try:
        tree.set(change, value)
        tree.build()
    except subprocess.CalledProcessError:
        return "does not compile\n"
    try:
        return tree.run(loads)
    except subprocess.CalledProcessError:
        return "crashes\n"
    except subprocess.TimeoutExpired:
        return "does not end\n"


def write_whole(path, text):
    """Writes a file that is there as a whole or not at all."""
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


# ---- what the loads reach ----


def executed_lines(folder, loads):
    """Returns, by the source's name below src, whether each line with code was executed."""
    tree = Tree(folder, "-O0 --coverage")
    tree.build()
    tree.run(loads)
    lines = defaultdict(dict)
    for data in folder.glob("unit/objects/src/**/*.gcda"):
        report = subprocess.run(
            ["gcov", "-t", data], check=True, capture_output=True, text=True, cwd=folder / "t/unit"
        ).stdout
        for line in report.splitlines():
            count, number, text = [*line.split(":", 2), "", ""][:3]
            if text.startswith("Source:"):
                name = text.split("src/")[-1]
            elif count.strip() not in ("-", "") and number.strip().isdigit():
                done = "#" not in count and "=" not in count
                lines[name][int(number)] = lines[name].get(int(number), False) or done
    return lines


class Reach:
    """Which code the loads run."""

    def __init__(self, sources, executed):
        self.sources, self.executed = sources, executed

    def runs(self, source, position):
        """True if it stands in a line that was executed, of which another may be first, or in none of a function."""
        function = source.function_at(position)
        lines = self.executed.get(str(source.path.relative_to("src")))
        if not lines:
            return False
        if not function:
            return True
        for line in range(source.line_of(position), source.line_of(function[0]) - 1, -1):
            if line in lines:
                return lines[line]
        return True

    def uses(self, source, name, seen):
        """Yields where code has this name, or that of a macro or of data which has it."""
        seen.add(name)
        for other in [source] if source.path.suffix == ".c" else self.sources:
            definitions = [*other.macros.values(), *other.data.values()]
            for match in re.finditer(rf"\b{name}\b", other.code):
                within = next((d[1] for d in definitions if d.start() <= match.start() < d.end()), None)
                if within is None:
                    yield other, match.start()
                elif within not in seen:
                    yield from self.uses(other, within, seen)

    def reaches(self, change):
        if change.user is None:
            return self.runs(change.source, change.span[0])
        uses = self.uses(change.source, change.user, set())
        return any(self.runs(source, position) for source, position in uses)


# ---- the table ----


def figures_of(outcome):
    """Returns the measures of each load."""
    lines = outcome.splitlines()
    names = lines[0].split()[1:]
    rows = (line.rsplit(None, len(names)) for line in lines[1:])
    return {row[0]: dict(zip(names, map(float, row[1:]), strict=True)) for row in rows}


def largest_change(before, after):
    """Returns the load and the measure that differ most, with their values, or None."""
    changes = []
    for load, measures in before.items():
        for measure, value in measures.items():
            other = after[load][measure]
            difference = math.inf if math.isnan(other) else abs(other - value)
            if measure in SHARES:
                changes.append((difference / SHARES[measure], load, measure, value, other))
            elif measure in RELATIVE:
                unit, least = RELATIVE[measure]
                changes.append((difference / max(value, least) / unit, load, measure, value, other))
    largest = max(changes)
    return largest[1:] if largest[0] > 0 else None


def words_of(before, outcome):
    if "\n" not in outcome.strip():
        return outcome.strip()
    change = largest_change(figures_of(before), figures_of(outcome))
    return "nothing" if change is None else "{}: {} {:g} -> {:g}".format(*change)


def print_table(changes, reach, results, before):
    """Prints what is known of each value, and the names of which no value changes anything."""
    without_effect = []
    print(f"{'file, constant or term':<64} {'value':>12} {'tried':>12}  what changes most")
    for change in changes:
        outcomes = []
        for value in change.values:
            path = results / change.result_name(value)
            if path.exists():
                outcomes.append((value, words_of(before, path.read_text())))
            elif not reach.reaches(change):
                outcomes.append((value, "not run"))
        for value, words in outcomes:
            values = (change.text, value) if " => " not in change.title else ("", "")
            print("{:<64} {:>12} {:>12}  {}".format(change.title, *values, words))
        if len(outcomes) == len(change.values) > 0 and all(words == "nothing" for _, words in outcomes):
            without_effect.append(change.title)
    print("\nNo value changes anything: " + (", ".join(without_effect) or "none") + "\n")


def print_counts(changes):
    counts = Counter(str(change.source.path) for change in changes)
    for path, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:5d} {path}")
    print(f"{sum(counts.values()):5d} together")


def purpose_of(change):
    """Returns the first sentence of the comment above a constant, which may be that of several in turn."""
    lines = change.source.text[: change.span[0]].splitlines()[:-1]
    while lines and lines[-1].startswith("#define"):
        lines.pop()
    comment = re.search(r"/\*(?:(?!\*/).)*\*/\s*$", "\n".join(lines[-20:]), re.S)
    if change.user is None or not comment:
        return ""
    words = " ".join(re.sub(r"^\s*/?\*+/?|\*/", " ", comment[0], flags=re.M).split())
    return re.split(r"(?<=\.)\s", words)[0]


def print_constants(changes):
    for change in changes:
        print(f"{change.title:<52} {change.text:>12}  {purpose_of(change)}")


# ---- the run ----


def hash_of(folders, loads):
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.[ch]"))
    content = b"".join(str(path.relative_to(ROOT)).encode() + path.read_bytes() for path in paths)
    return hashlib.sha256(content + loads.encode()).hexdigest()[:16]


def chosen(changes, patterns):
    """Returns those that match, in the order of the patterns."""
    found = {}
    for pattern in patterns or [""]:
        found.update({change: None for change in changes if re.search(pattern, change.title)})
    return list(found)


def prepare(work, folder, loads):
    """Returns the folder of results, the figures without a change, and what the loads reach."""
    results = folder / hash_of(["src", "t/unit", "bench/truth"], loads.key)
    before, executed = results / "before", results / "executed"
    results.mkdir(parents=True, exist_ok=True)
    if not before.exists():
        tree = Tree(work / "before")
        tree.build()
        write_whole(before, tree.run(loads))
    if not executed.exists():
        lines = executed_lines(work / "executed", loads)
        write_whole(
            executed, "".join(f"{name} {line} {int(done)}\n" for name in lines for line, done in lines[name].items())
        )
    read = defaultdict(dict)
    for name, line, done in map(str.split, executed.read_text().splitlines()):
        read[name][int(line)] = done == "1"
    return results, before.read_text(), read


def main():
    parser = argparse.ArgumentParser(usage="bench/ablate --help")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("-j", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--trace", type=Path, action="append", default=[])
    parser.add_argument("--results", type=Path, default=Path.home() / ".cache/pgbufprobe/ablate")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    arguments = parser.parse_args()

    end = time.monotonic() + 60 * arguments.minutes
    sources = read_sources()
    constants = [constant for source in sources for constant in constants_of(source)]
    terms, lost = read_terms(sources)
    if arguments.list:
        print_constants(chosen(constants, arguments.patterns))
        return
    print_counts(constants)
    if arguments.count:
        return
    changes = chosen(terms + constants, arguments.patterns)
    with tempfile.TemporaryDirectory() as work:
        loads = Loads(arguments.results, arguments.trace)
        results, before, executed = prepare(Path(work), arguments.results, loads)
        reach = Reach(sources, executed)
        tasks = [
            (change, value)
            for change in changes
            for value in change.values
            if not (results / change.result_name(value)).exists() and reach.reaches(change)
        ]
        trees = SimpleQueue()
        for i in range(0 if arguments.table else arguments.j):
            trees.put(Tree(Path(work) / f"tree{i}"))

        def try_out(task):
            change, value = task
            if time.monotonic() > end:
                return
            tree = trees.get()
            write_whole(results / change.result_name(value), outcome_of(tree, change, value, loads))
            trees.put(tree)

        with ThreadPoolExecutor(arguments.j) as pool:
            list(pool.map(try_out, [] if arguments.table else tasks))
    print_table(changes, reach, results, before)
    for line in lost:
        print(f"no such term: {line}")
    left = sum(not (results / change.result_name(value)).exists() for change, value in tasks)
    print(f"{sum(len(change.values) for change in changes) - left} passed, {len(lost)} failed, {left} skipped")
    sys.exit(len(lost) > 0)


main()
