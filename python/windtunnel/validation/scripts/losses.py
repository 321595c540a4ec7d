"""Losses that SACK shows: fast recovery, and what ends a flight."""

from __future__ import annotations

from windtunnel.validation.scripts.script import Script, lost

#: Losses by what is SACKed above them, and a window that is lowered at once.
RFC6675 = 'loss_detection = "rfc6675"\nreduction = "none"'

SCRIPTS = (
    Script(
        "One loss",
        40,
        lost(5),
        "1-10 | 11-20 5r 21 | 22-28 | 29-36 | 37-40",
        "4 ACKs: W = 14. SACKs of 6 and 7 let 19 and 20 go; that of 8 is the third: W to 7, 5r at once, then half a "
        "segment for each delivered; from W = 7 on one segment per ACK, 8 after seven ACKs.",
        retransmits=1,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A burst of three losses",
        40,
        lost(5, 6, 7),
        "1-10 | 11-20 5r | 6r 7r 21-25 | 26-32 | 33-40",
        "SACK of 10 is the third: 5, 6 and 7 are lost together, one reduction. PRR lets one go for two delivered until "
        "7 are in flight, then one for one.",
        retransmits=3,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A lost retransmission",
        40,
        lost(5, 21),
        "1-10 | 11-20 5r 21 | 22-26 5r 27 | 28-34 | 35-40",
        "21 was sent after 5r: its SACK shows that 5r is lost as well (RACK), without a timeout and without another "
        "reduction.",
        retransmits=2,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A lost tail, with a loss probe",
        12,
        lost(12),
        "1-10 | 11-12 | 12r",
        "Nothing behind 12 can be SACKed; the probe goes when the timeout would, for a single segment.",
        retransmits=1,
        rtos=0,
    ),
    Script(
        "One loss, by RFC 6675",
        35,
        lost(5),
        "1-10 | 11-20 5r | 21-27 | 28-35",
        "No reduction by steps: the third SACK, of 8, sends 5r whatever is in flight (section 5 step 4.3), which is 13 "
        "of W = 7. The SACKs of 9 to 14 bring that to 7; those of 15 to 20 let 21 to 26 go, the ACK of 5r ends it: 27. "
        "W = 8 a round trip later.",
        retransmits=1,
        rtos=0,
        episodes=1,
        tcp=RFC6675,
    ),
    Script(
        "A lost tail, by RFC 6675",
        16,
        lost(5, 15, 16),
        "1-10 | 11-16 5r | 16r | 15r",
        "The third SACK, of 8: 5r, and W = 7. After those of 9 and 10 the pipe has 7; that of 11 gives room, and there "
        "is nothing lost, new, or below a SACK: the one rescue (NextSeg, rule 4) is the highest, 16. Its SACK makes 15 "
        "a segment below one (rule 3). No timeout.",
        retransmits=3,
        rtos=0,
        episodes=1,
        tcp=f"{RFC6675}\ntlp = false",
    ),
)
