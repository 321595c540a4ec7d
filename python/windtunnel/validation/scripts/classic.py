"""Without SACK: duplicate ACKs are the only sign of a loss."""

from __future__ import annotations

from windtunnel.validation.scripts.script import Script, lost, overtaken

#: RFC 5681 and 6582, and nothing newer.
NEWRENO = 'sack = false\nloss_detection = "newreno"\nreduction = "none"'

SCRIPTS = (
    Script(
        "A burst of three losses, without SACK",
        40,
        lost(5, 6, 7),
        "1-10 | 11-20 5r | 21-24 6r 25 | 26-29 7r 30-31 | 32-38 | 39-40",
        "8, 9 and 10 cause three duplicate ACKs: limited transmit sends 19 and 20, then 5r; ssthresh = 7, W = 10. Ten "
        "more inflate W to 20 with 16 in flight: 21 to 24. The ACK of 5 is partial: 6r, W minus one plus one, 25. One "
        "loss per round trip; the ACK of 29, beyond 20, ends recovery: W = min(7, 6 in flight + 1).",
        retransmits=3,
        rtos=0,
        episodes=1,
        tcp=NEWRENO,
    ),
    Script(
        "Limited transmit",
        8,
        lost(1),
        "1-3 | 4-5 | 1r 6 | 7-8",
        "A window of three gives two duplicate ACKs; each lets one new segment go beyond it, and 4 causes the third: "
        "1r, ssthresh = 2, W = 2 + 3. The one for 5: W = 6. The ACK of 5 ends recovery, W = min(2, 1 in flight + 1).",
        retransmits=1,
        rtos=0,
        episodes=1,
        tcp=NEWRENO,
        flow="iw = 3",
    ),
    Script(
        "A small window, without limited transmit",
        5,
        lost(1),
        "1-3 | 1r | 4-5",
        "The same loss: no third duplicate ACK ever comes. The timeout follows after srtt + 200 ms.",
        retransmits=1,
        rtos=1,
        episodes=1,
        begins=(0.1, 0.4, 0.5),
        tcp=f"{NEWRENO}\nlimited_transmit = false",
        flow="iw = 3",
    ),
    Script(
        "A spurious fast retransmit, without SACK",
        27,
        overtaken(5, by=3),
        "1-10 | 11-20 5r 9r 10r 11r | 12r 13r 14r 15r 21 16r 22 17r 23 18r 24 19r 25 20r 26-27",
        "Three duplicate ACKs: 5r, W = 10. The original fills the hole up to 8: a partial ACK, 9r, W = 10 - 4 + 1. "
        "Another partial ACK answers each original that arrives, and has the next segment sent again: 9 to 20 all "
        "leave twice. With W = 7 new ones follow as soon as 6 are in flight. Nothing reveals the mistake.",
        retransmits=13,
        rtos=0,
        episodes=1,
        tcp=f"{NEWRENO}\ntimestamps = false",
    ),
)
