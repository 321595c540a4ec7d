"""Segments that others overtake: RACK's reordering window, and what undoes a reduction made without a loss."""

from __future__ import annotations

from windtunnel.validation.scripts.script import Script, late, overtaken

SCRIPTS = (
    Script(
        "Reordering below the threshold",
        40,
        overtaken(5, by=2),
        "1-10 | 11-28 | 29-40",
        "4 ACKs: W = 14. The SACKs of 6 and 7 release 19 and 20 and do not grow W; RACK waits min_rtt / 4 for 5, which "
        "is 0.24 ms late. The ACK of 5, 6 and 7 delivers one segment, as those of 8, 9 and 10 do: W = 18.",
        retransmits=0,
        rtos=0,
        episodes=0,
    ),
    Script(
        "Reordering above the threshold, once it is known",
        70,
        f"[{overtaken(5, by=2)}, {overtaken(15, by=5)}]",
        "1-10 | 11-28 | 29-59 | 60-70",
        "After 5 RACK knows of reordering: three SACKs no longer mean a loss (RFC 8985 section 6.2 step 4), min_rtt / "
        "4 does, and 15 is 0.6 ms late. Of 18 segments delivered the five SACKed ones do not grow W: W = 31.",
        retransmits=0,
        rtos=0,
        episodes=0,
    ),
    Script(
        "A spurious fast retransmit, shown by D-SACK",
        60,
        overtaken(5, by=5),
        "1-10 | 11-20 5r 21 | 22-36 | 37-60",
        "The third SACK, of 8, makes 5 a loss: W from 14 to 7, 5r. The original arrives after 10; without timestamps "
        "its ACK looks like that of 5r, and PRR goes on: 22 to 26. The ACK of 20 ends the recovery with W = 7: 27. "
        "Then 5r arrives: its D-SACK covers all retransmissions, W is 14 again, 28 to 34 leave; the ACK of 21 "
        "lets 35 and 36 go, in slow start.",
        retransmits=1,
        rtos=0,
        episodes=1,
        counts={"undos": 1},
        tcp="timestamps = false",
    ),
    Script(
        "A spurious fast retransmit, shown by timestamps",
        70,
        overtaken(5, by=5),
        "1-10 | 11-20 5r 21-25 | 26-55 | 56-70",
        "The ACK that the original causes echoes its timestamp, which is older than 5r (Eifel): W is 14 again at once "
        "and 15 with this ACK, for 11 segments in flight: 22 to 25. The D-SACK a round trip later finds nothing to "
        "undo.",
        retransmits=1,
        rtos=0,
        episodes=1,
        counts={"undos": 1},
    ),
    Script(
        "The reordering window grows",
        130,
        f"[{overtaken(5, by=2)}, {late(20, 61, delay='40 ms')}]",
        "1-10 | 11-28 | 29-54 | 20r | 55-67 | 68-81 | 82-98 | 99-114 | 115-130",
        "Reordering is known by 5. 20 is 40 ms late, the window is min_rtt / 4 = 25 ms: 20r by its timer, W from 27 to "
        "13. D-SACK comes when the next flight is acknowledged: W is 27 again, 68 to 81 leave, and the window is 50 "
        "ms. 60, as late (it is the 61st packet), is not sent again, though 21 segments above it are SACKed and 40 ms "
        "are over.",
        retransmits=1,
        rtos=0,
        episodes=1,
        counts={"undos": 1},
        tcp="timestamps = false",
    ),
)
