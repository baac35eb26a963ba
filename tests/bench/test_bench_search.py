"""`grep` and `glob` over 100,000 files against ripgrep itself over the same tree: medians of interleaved runs."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from search_world import world

from nbcontext.search.ripgrep import find
from nbcontext.tools import glob, grep

MOST = 1.3
ROUNDS = 9


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("bench") / "root"
    for folder in range(1000):
        place = root / f"d{folder // 50}" / f"s{folder}"
        place.mkdir(parents=True)
        for file in range(100):
            needle = "needle here\n" if file == folder % 100 else ""
            text = "".join(f"word{folder} line {line} of file {file}\n" for line in range(20))
            (place / f"f{file}.{'py' if file % 2 else 'txt'}").write_text(text + needle)
    return root


def ratio(ours, theirs):
    times = {ours: [], theirs: []}
    for call in (ours, theirs):
        call()
    for _ in range(ROUNDS):
        for call, taken in times.items():
            begun = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begun)
    return statistics.median(times[ours]) / statistics.median(times[theirs])


def rg(*arguments):
    return subprocess.run([find(), *arguments], capture_output=True, check=False).stdout


@pytest.mark.parametrize("pattern", ["needle", r"ne+dle\s\w+"])
def test_grep(tree, pattern):
    place = world(tree)
    found = ratio(lambda: grep.run(grep.GrepArguments(pattern=pattern), place), lambda: rg("-n", pattern, str(tree)))
    print(f"grep {pattern}: {found:.2f} times rg")
    assert found <= MOST


@pytest.mark.parametrize("pattern", ["**/*.py", "**"])
def test_glob(tree, pattern):
    place = world(tree)
    found = ratio(
        lambda: glob.run(glob.GlobArguments(pattern=pattern), place),
        lambda: rg("--files", str(tree)),
    )
    print(f"glob {pattern}: {found:.2f} times rg, sorting included")
    assert found <= MOST
