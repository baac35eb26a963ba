"""The diff of 1,000 edits in 50,000 lines takes at most twice what `git diff --no-index` takes on the same files."""

import random
import shutil
import statistics
import subprocess
import time

import pytest

from nbcontext.files.diff import hunks


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what it is measured against")
def test_diff_is_at_most_twice_gits(tmp_path, capsys):
    numbers = random.Random(1)
    old = [f"line {i} {numbers.random()}\n" for i in range(50_000)]
    new = list(old)
    for at in numbers.sample(range(len(new)), 1_000):
        new[at] = f"changed {at}\n"
    before, after = "".join(old), "".join(new)
    (tmp_path / "old").write_text(before)
    (tmp_path / "new").write_text(after)
    ours, gits = [], []
    command = ["git", "diff", "--no-index", "--no-ext-diff", "--no-color", "old", "new"]
    for _ in range(9):
        start = time.perf_counter()
        made = hunks(before, after)
        middle = time.perf_counter()
        shown = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=False).stdout
        ours.append(middle - start)
        gits.append(time.perf_counter() - middle)
    body = shown.decode().split("\n")[4:-1]
    assert [line.split(" @@")[0] for line in made.split("\n")] == [line.split(" @@")[0] for line in body]
    ratio = statistics.median(ours) / statistics.median(gits)
    figures = f"{statistics.median(ours) * 1e3:.1f} ms, git {statistics.median(gits) * 1e3:.1f} ms, ratio {ratio:.2f}"
    with capsys.disabled():
        print(f"\ndiff: {figures}")
    assert ratio <= 2
