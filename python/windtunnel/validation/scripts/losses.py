"""Losses that SACK reveals: fast recovery, and lost tails of a flight."""

from __future__ import annotations

from windtunnel.validation.scripts.script import Script, lost

#: A loss is inferred from what is SACKed above it, and the window is lowered at once.
RFC6675 = 'loss_detection = "rfc6675"\nreduction = "none"'

SCRIPTS = (
    Script(
        "One loss",
        40,
        lost(5),
        "1-10 | 11-20 5r 21 | 22-28 | 29-36 | 37-40",
        "4 ACKs: W = 14. The SACKs of 6 and 7 release 19 and 20; that of 8 is the third: W to 7, 5r at once, then half "
        "a segment for each one delivered; from W = 7 on one segment per ACK, 8 after seven ACKs.",
        retransmits=1,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A burst of three losses",
        40,
        lost(5, 6, 7),
        "1-10 | 11-20 5r | 6r 7r 21-25 | 26-32 | 33-40",
        "The SACK of 10 is the third: 5, 6 and 7 are lost together, one reduction. PRR sends one for two delivered "
        "until 7 are in flight, then one for one.",
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
        "Nothing after 12 can be SACKed; for a single segment the probe leaves when the timeout would expire.",
        retransmits=1,
        rtos=0,
    ),
    Script(
        "One loss, by RFC 6675",
        35,
        lost(5),
        "1-10 | 11-20 5r | 21-27 | 28-35",
        "No gradual reduction: the third SACK, of 8, sends 5r although 13 are in flight, W = 7 (section 5 step 4.3). "
        "The SACKs of 9 to 14 bring that to 7; those of 15 to 20 release 21 to 26, the ACK of 5r ends recovery: 27. "
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
        "The third SACK, of 8: 5r, and W = 7. After those of 9 and 10 the pipe has 7; that of 11 gives room, but "
        "nothing is lost, new, or below a SACK: the one rescue (NextSeg, rule 4) is the highest, 16. Its SACK puts 15 "
        "below a SACK (rule 3). No timeout.",
        retransmits=3,
        rtos=0,
        episodes=1,
        tcp=f"{RFC6675}\ntlp = false",
    ),
)
