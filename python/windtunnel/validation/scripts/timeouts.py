"""The timer: tails, back-off, handshakes, and timeouts that were spurious."""

from __future__ import annotations

from windtunnel.validation.scripts.script import (
    MSS,
    MSS_WITHOUT_TIMESTAMPS,
    Script,
    lost,
    lost_of_all,
    two_responses,
)

#: Data are held from 150 to 700 ms and then arrive together: longer than the timeout of 300 ms.
HELD = '{ kind = "outage", times = [{ from = "150 ms", to = "700 ms" }], hold = true }'

SCRIPTS = (
    Script(
        "A lost tail, without a loss probe",
        12,
        lost(12),
        "1-10 | 11-12 | 12r",
        "srtt + 200 ms after the last ACK.",
        retransmits=1,
        rtos=1,
        tcp="tlp = false",
    ),
    Script(
        "A spurious timeout, shown by timestamps",
        60,
        HELD,
        "1-10 | 11-30 | 31 | 11r | 32-60",
        "A probe with new data (31) after 2 srtt, the timeout after srtt + 200 ms. The first ACK echoes the original's "
        "timestamp (Eifel): window and ssthresh are restored, slow start goes on.",
        retransmits=1,
        rtos=1,
    ),
    Script(
        "A spurious timeout, shown by F-RTO",
        60,
        HELD,
        "1-10 | 11-30 | 31 | 11r | 32-60",
        "The first ACK after the timeout sends new data instead of retransmissions, the second acknowledges what was "
        "never retransmitted: restored.",
        retransmits=1,
        rtos=1,
        tcp="timestamps = false",
    ),
    Script(
        "Two timeouts in a row",
        12,
        lost(12, 13),
        "1-10 | 11-12 | 12r | 12r",
        "12r is lost as well: a timeout 300 ms after the last ACK, then one of twice that length.",
        retransmits=2,
        rtos=2,
        episodes=1,
        begins=(0.1, 0.2, 0.6, 1.2),
        tcp="tlp = false",
    ),
    Script(
        "Back-off stays without a sample",
        2,
        lost(1, 2, 4),
        "1 | 1r | 1r | 2 | 2r",
        "Timeouts of 300 and 600 ms. The ACK of a segment that was sent more than once is no sample (Karn): 2, written "
        "10 ms later, leaves under 1.2 s and is lost.",
        retransmits=3,
        rtos=3,
        begins=(0.1, 0.4, 1.0, 1.11, 2.31),
        tcp="tlp = false\ntimestamps = false",
        app=two_responses(MSS_WITHOUT_TIMESTAMPS, think="10 ms"),
    ),
    Script(
        "Back-off ends with a timestamp's sample",
        2,
        lost(1, 2, 4),
        "1 | 1r | 1r | 2 | 2r",
        "The same, but the echo tells which transmission was acknowledged: a sample, and the timeout is 300 ms again.",
        retransmits=3,
        rtos=3,
        begins=(0.1, 0.4, 1.0, 1.11, 1.41),
        tcp="tlp = false",
        app=two_responses(MSS, think="10 ms"),
    ),
    Script(
        "A lost SYN",
        30,
        lost_of_all(1),
        "1-10 | 11-30",
        "1 s until the second SYN. One is forgiven (RFC 6928 section 2; Linux): 10 segments.",
        retransmits=0,
        rtos=0,
        begins=(1.1, 1.2),
    ),
    Script(
        "Two lost SYNs",
        15,
        lost_of_all(1, 2),
        "1 | 2-3 | 4-7 | 8-15",
        "1 s twice: Linux doubles a SYN's timeout after the fifth. Two: slow start from one segment.",
        retransmits=0,
        rtos=0,
        begins=(2.1, 2.2, 2.3, 2.4),
    ),
    Script(
        "A lost SYN, by RFC 5681 and 6298",
        3,
        lost_of_all(1, 4),
        "1 | 1r | 2-3",
        "One lost SYN reduces the initial window to one segment (RFC 5681 section 3.1). Its answer is no sample, so "
        "data have a timeout of 3 s (RFC 6298 section 5.7): 1, the fourth packet, is lost.",
        retransmits=1,
        rtos=1,
        begins=(1.1, 4.1, 4.2),
        tcp='rto = "rfc6298"\ntimestamps = false\ntlp = false',
    ),
)
