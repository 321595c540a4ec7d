"""Renews the seeds after ``make fuzz-parsers``: the smallest inputs of ``fuzz/corpus`` that together reach as much code
as all of them.

libFuzzer covers the corpus with as few inputs as it can; for each target the shortest are kept, up to a size that suits
a repository. ``seeds/TARGET.tar`` has them, in the order of their names, so that equal seeds give equal archives.
"""

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

FUZZ = Path(__file__).parent
TARGETS = ("capture", "qlog", "scenario", "setting", "trace")
#: The limits of a target's seeds: their bytes together, and their number.
MOST_BYTES, MOST_SEEDS = 60_000, 250
#: libFuzzer names an input after its SHA-1; seeds with other names were written by hand, and stay.
NAME_LENGTH = 40


def main() -> None:
    """Cover the corpus, sort the inputs, keep the shortest."""
    for target in TARGETS:
        archive = FUZZ / "seeds" / f"{target}.tar"
        with tempfile.TemporaryDirectory() as name:
            run = ["cargo", "+nightly", "fuzz", "run", "-O", "--debug-assertions", target]
            corpus = FUZZ / "corpus" / target
            subprocess.run([*run, name, str(corpus), "--", "-set_cover_merge=1"], cwd=FUZZ, check=True)
            merged = {file.name: file.read_bytes() for file in Path(name).iterdir()}
        by_hand = {name: seed for name, seed in read(archive).items() if len(name) != NAME_LENGTH}
        write(archive, by_hand | shortest(merged, set(by_hand.values())))


def shortest(merged: dict[str, bytes], existing: set[bytes]) -> dict[str, bytes]:
    """The shortest of ``merged`` within the limits, without those in ``existing``."""
    kept, size = dict[str, bytes](), 0
    for name, seed in sorted(merged.items(), key=lambda item: (len(item[1]), item[0]))[:MOST_SEEDS]:
        size += len(seed)
        if size > MOST_BYTES:
            break
        if seed not in existing:
            kept[name] = seed
    return kept


def read(archive: Path) -> dict[str, bytes]:
    """The seeds of an archive by their names."""
    with tarfile.open(archive) as tar:
        files = ((member.name, tar.extractfile(member)) for member in tar)
        return {name: file.read() for name, file in files if file is not None}


def write(archive: Path, seeds: dict[str, bytes]) -> None:
    """Write an archive, without times and owners."""
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, seed in sorted(seeds.items()):
            member = tarfile.TarInfo(name)
            member.size = len(seed)
            tar.addfile(member, io.BytesIO(seed))


if __name__ == "__main__":
    main()
