"""The real kernel, where one has been built (`windtunnel kernel build`): boots, and what they promise."""

from __future__ import annotations

import shutil

import pytest

from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel import guest, kept
from windtunnel.kernel.trial import trial

# The tests' own cache has none, so this reads the user's, before that is set.
KERNELS = kept.kernels()
NEEDS = [name for name in ("cc", "ip", "tc") if shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") is None]

pytestmark = [
    pytest.mark.skipif(not KERNELS, reason=kept.NONE),
    pytest.mark.skipif(bool(NEEDS), reason=f"needs {', '.join(NEEDS)} (Debian: apt-get install gcc iproute2)"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_all_checks_pass(kernel: kept.Kernel) -> None:
    """What `windtunnel kernel test` checks: clock, repetition, each controller, each queue discipline."""
    checks = {check.name: check for check in trial(kernel)}
    assert [check for check in checks.values() if check.passed is False] == []
    assert {"clock", "repeats", "controller bbr", "qdisc fq_codel"} <= checks.keys()
    assert sum(check.passed is True for check in checks.values()) > 40


def test_what_a_script_writes_and_says() -> None:
    """Files come back; the exit code and the last message of a script that fails, too. The host's files stay."""
    kernel = KERNELS[0]
    outcome = guest.boot(kernel, "echo one > first; uname -r; id -u\n")
    assert outcome.text("first") == "one\n"
    assert outcome.text("log").splitlines()[0].startswith(kernel.version)
    with pytest.raises(RunFailedError, match="the guest's script failed: wrong"):
        guest.boot(kernel, "echo right; echo wrong >&2; exit 3\n")
    with pytest.raises(RunFailedError, match="Read-only file system"):
        guest.boot(kernel, "set -e; echo x > /windtunnel-was-here\n")


def test_a_guest_that_does_not_end() -> None:
    """It is ended with all its processes after the limit, as seen from the host."""
    with pytest.raises(RunFailedError, match="ended after 5 s"):
        guest.boot(KERNELS[0], "while :; do :; done\n", limit=5.0)


def test_a_kernel_that_is_damaged_is_not_run(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash decides."""
    monkeypatch.setattr(kept, "digest", lambda _: "0" * 64)
    with pytest.raises(InputError, match="is damaged"):
        kept.whole(KERNELS[0])
