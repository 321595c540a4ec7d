"""What is said about captures in real time: of offloaded segments, cooked headers, the kernel's own queue, loopback."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import local_answers
import local_captures
import pytest
from answers import Counted, answer
from emulations import needs_namespaces, needs_root
from header_captures import COOKED, ETHERNET, INTERFACE, PACKET, blocks
from local_captures import DATA, LocalCapture, captures

from windtunnel.explain import explain

#: What was counted with the model of today (docs/explain-local.md); what does better sets new limits.
LOCAL = Counted(12, 9, 10, 0, 0)


def contents(capture: LocalCapture) -> tuple[int, list[int]]:
    """The kind of link, and the lengths of its packets on it."""
    link, lengths = 0, []
    for kind, content in blocks(lzma.decompress(capture.file.read_bytes())):
        if kind == INTERFACE:
            [link] = struct.unpack_from("<H", content)
        elif kind == PACKET:
            lengths.append(struct.unpack_from("<5I", content)[4])
    return link, lengths


def test_the_captures_show_what_real_ones_have() -> None:
    """Those of the list, and no others; segments of several packets at the sender, and cooked headers at the receiver
    of an emulated path.
    """
    files = {each.file for each in captures()}
    assert files == set(DATA.glob("*.xz"))
    assert sum(file.stat().st_size for file in files) < 1e6
    for each in captures():
        link, lengths = contents(each)
        emulated = each.path not in (local_captures.TBF, local_captures.LOOPBACK)
        assert link == (COOKED if emulated and each.end == "receiver" else ETHERNET)
        # At low rates Linux hands two segments at once to a device that takes several (tcp_min_tso_segs).
        assert max(lengths) >= 2 * 1448 if link == ETHERNET else max(lengths) <= 1516


def test_what_is_said_of_captures_in_real_time() -> None:
    """No worse than the limits, and as the page says."""
    told = local_answers.answers()
    counted = Counted.of(told)
    assert counted.traces == LOCAL.traces
    assert counted.right >= LOCAL.right and counted.in_three >= LOCAL.in_three
    assert counted.sure_and_wrong <= LOCAL.sure_and_wrong and counted.accused <= LOCAL.accused
    text = (Path(__file__).parents[2] / "docs" / "explain-local.md").read_text(encoding="utf-8")
    assert local_answers.page(told) == text, "python python/tests/local_answers.py docs/explain-local.md writes it"


@pytest.mark.long
@needs_namespaces
@needs_root
@pytest.mark.skipif(bool(local_captures.lacks()), reason=local_captures.lacks() or "none")
def test_captures_of_this_machine(tmp_path: Path) -> None:
    """A new pair over a FIFO: both ends lose the same, the queue is where it is, no end is accused, and CUBIC is among
    the first three answers at the sender.
    """
    said = {}
    for end, capture in local_captures.record("fifo-1bdp", "cubic").items():
        file = tmp_path / f"{end}.pcapng"
        file.write_bytes(capture)
        of = LocalCapture("fifo-1bdp", "cubic", end)
        said[end] = (explain(file).document["flows"][0], answer(of, file))
    (sender, at_sender), (receiver, at_receiver) = said["sender"], said["receiver"]
    assert sender["capture_at_sender"] and not receiver["capture_at_sender"]
    assert not at_sender.accused and not at_receiver.accused
    assert at_sender.events == at_receiver.events >= 3
    assert sender["overflow"]["segments"] == pytest.approx(receiver["overflow"]["segments"], abs=2)
    assert at_sender.rank is not None
