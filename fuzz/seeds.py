"""Renews the seeds after ``make fuzz-parsers``: the smallest inputs of ``fuzz/corpus`` that together reach as much code
as all of them.

libFuzzer covers the corpus with as few inputs as it can; for each target the shortest are kept, up to a size that suits
a repository.
"""

import subprocess
import tempfile
from pathlib import Path

FUZZ = Path(__file__).parent
#: The limits of a target's seeds: their bytes together, and their number.
MOST_BYTES, MOST_SEEDS = 60_000, 250
#: libFuzzer names an input after its SHA-1; seeds with other names were written by hand, and stay.
NAME_LENGTH = 40


def main() -> None:
    """Cover the corpus, sort the inputs, keep the shortest."""
    for target in ("capture", "scenario", "setting", "trace"):
        corpus, seeds = FUZZ / "corpus" / target, FUZZ / "seeds" / target
        with tempfile.TemporaryDirectory() as name:
            run = ["cargo", "+nightly", "fuzz", "run", "-O", "--debug-assertions", target]
            subprocess.run([*run, name, str(seeds), str(corpus), "--", "-set_cover_merge=1"], cwd=FUZZ, check=True)
            keep(Path(name), seeds)


def keep(merged: Path, seeds: Path) -> None:
    """Replace the seeds that libFuzzer made by the shortest of ``merged``."""
    for file in seeds.iterdir():
        if len(file.name) == NAME_LENGTH:
            file.unlink()
    size = 0
    for file in sorted(merged.iterdir(), key=lambda file: (file.stat().st_size, file.name))[:MOST_SEEDS]:
        size += file.stat().st_size
        if size > MOST_BYTES:
            return
        if not any(file.read_bytes() == other.read_bytes() for other in seeds.iterdir()):
            (seeds / file.name).write_bytes(file.read_bytes())


if __name__ == "__main__":
    main()
