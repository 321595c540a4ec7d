"""What a build that is guided by a profile learns from: ``python -m windtunnel.bench.training`` runs the works whose
instructions the bench counts, some simulated seconds each.

``make wheel-pgo`` runs it with an instrumented core. What these works do often is laid out for them: loss-free flows
and those with loss recovery, one and many, over queues of one band and fair ones.
"""

from windtunnel import _core
from windtunnel.bench.works import WORKS


def main() -> None:
    """Run the works."""
    for work in WORKS:
        if work.counted is not None:
            _, longer = work.counted
            _core.run(work.file.read_text(encoding="utf-8"), str(work.file), [f"duration={longer} s"])


if __name__ == "__main__":
    main()
