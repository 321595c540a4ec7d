"""Reasons other than a loss that lower the window: a mark, and an idle time."""

from __future__ import annotations

from windtunnel.validation.scripts.script import MSS, Script, two_responses

#: CE for the tenth of the first ten packets, which waits for nine others: 1.08 ms. At ten times the rate no later
#: packet waits that long.
ONE_MARK = """
queue = { kind = "brickwall", ce_threshold = "1 ms" }
changes = [{ at = "150 ms", rate = "1 Gbit/s" }]
"""

#: The second transfer starts 0.7 s after the last ACK of the first, and 0.8 s after its last segment.
TWO_RESPONSES = two_responses(70 * MSS, think="700 ms")

SCRIPTS = (
    Script(
        "One mark",
        59,
        "[]",
        "1-10 | 11-29 | 30-38 | 39-48 | 49-59",
        "Nine ACKs: W = 19. The ACK of 10 has ECE: PRR takes W to 9, and 29, the first new segment, has CWR. The ACKs "
        "of 11 to 28 repeat ECE for the same window; the ACK of 29 ends it: W = 9, then one more per round trip.",
        retransmits=0,
        rtos=0,
        episodes=0,
        counts={"ecn_reductions": 1, "ece": 19, "cwr": 1},
        bottleneck=ONE_MARK,
        flow="ecn = true",
    ),
    Script(
        "An idle time, by RFC 2861",
        140,
        "[]",
        "1-10 | 11-30 | 31-70 | 71-90 | 91-130 | 131-140",
        "70 ACKs: W = 80. In 0.8 s there are two timeouts of 0.3 s; each halves W: 20.",
        retransmits=0,
        rtos=0,
        app=TWO_RESPONSES,
    ),
    Script(
        "An idle time, by RFC 5681",
        140,
        "[]",
        "1-10 | 11-30 | 31-70 | 71-80 | 81-100 | 101-140",
        "More than one timeout: the initial window (section 4.1).",
        retransmits=0,
        rtos=0,
        tcp='idle = "rfc5681"',
        app=TWO_RESPONSES,
    ),
    Script(
        "An idle time that changes nothing",
        140,
        "[]",
        "1-10 | 11-30 | 31-70 | 71-140",
        "W is still 80.",
        retransmits=0,
        rtos=0,
        tcp='idle = "none"',
        app=TWO_RESPONSES,
    ),
)
