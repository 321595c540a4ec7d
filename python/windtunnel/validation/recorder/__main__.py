"""Records the scripts of ``linux_scripts`` or ``receiver_scripts``."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from windtunnel.atomic import staged_file
from windtunnel.validation.linux_bbr import FIRST_EIGHT
from windtunnel.validation.linux_buffer import SCRIPTS as BUFFER_SCRIPTS
from windtunnel.validation.linux_close import SCRIPTS as CLOSE_SCRIPTS
from windtunnel.validation.linux_cubic import SCRIPTS as CUBIC_SCRIPTS
from windtunnel.validation.linux_scripts import SCRIPTS, WITHOUT_SACK, WITHOUT_TIMESTAMPS, LinuxScript
from windtunnel.validation.receiver_scripts import SCRIPTS as RECEIVER_SCRIPTS
from windtunnel.validation.receiver_scripts import ReceiverScript
from windtunnel.validation.recorder import Session, Transfer, Transmission
from windtunnel.validation.recorder.kernel import SYSCTLS, tick_ms
from windtunnel.validation.recorder.receiving import ReceiverSession
from windtunnel.validation.scripts.follow import PAUSE_NS, Sent, shorten

#: Higher than the priority of everything else that runs.
PRIORITY = 20


def transfer(script: LinuxScript) -> Transfer:
    """The script in the form that the recorder needs."""
    writes = (script.segments,) if script.pause_ms is None else (script.segments,) * 2
    return Transfer(
        writes,
        script.mss,
        script.cc,
        script.forward,
        script.reverse,
        marked=script.marks.packets if script.marks else (),
        ecn=script.marks is not None,
        sack=WITHOUT_SACK not in script.off,
        timestamps=WITHOUT_TIMESTAMPS not in script.off,
        initial_window=script.initial_window,
        pause_ms=script.pause_ms or 0,
        close=script.close,
        rate_mbps=script.rate_mbps,
        send_buffer=None if script.send_autotuning else script.send_buffer,
        sysctls=(*(switch.sysctl for switch in script.off), *_send_buffer(script)),
    )


def _send_buffer(script: LinuxScript) -> Sequence[tuple[str, str]]:
    """The size of the send buffer; without one in the script, the socket's buffer holds any transfer."""
    return [("tcp_wmem", f"4096 16384 {script.send_buffer}")] if script.send_buffer else []


def sequence(sent: Sequence[Transmission]) -> str:
    """Transmissions in the notation of the scripts."""
    bursts: list[list[Sent]] = []
    for number, transmission in enumerate(sent):
        if number == 0 or transmission.time_ns - sent[number - 1].time_ns >= PAUSE_NS:
            bursts.append([])
        bursts[-1].append(Sent(transmission.segment, transmission.retransmission, transmission.fin))
    return " | ".join(shorten(burst) for burst in bursts)


def recording(sessions: Sequence[Session]) -> dict[str, Any]:
    """The sessions of one script in the form of the file: all sequences, and in full one session that has the most
    frequent sequence.
    """
    sent = [sequence(session.transmissions) for session in sessions]
    typical = sessions[sent.index(max(sent, key=sent.count))]
    rows = [
        [round(t.time_ns / 1e6, 1), t.segment, int(t.retransmission), t.info.cwnd, t.info.ssthresh, t.info.state]
        for t in typical.transmissions
    ]
    return {"sent": sent, "transmissions": rows}


def origin() -> dict[str, Any]:
    """The origin of the recordings."""
    return {
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "recorded": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "how": "python -m windtunnel.validation.recorder",
        "path": "TUN device, MTU 1500, a segment per packet, 100 ms, real time; every segment is acknowledged at once",
        "tick_ms": tick_ms(),
        "sysctls": dict(SYSCTLS),
        "columns": ["ms since the first SYN", "segment", "retransmission", "cwnd", "ssthresh", "state"],
    }


def text(recorded: Mapping[str, Any]) -> str:
    """The file: a line for each script, so that a new recording can be compared with an old one."""
    origin_line = f'"origin": {json.dumps(recorded["origin"])}'
    lines = [f"{json.dumps(name)}: {json.dumps(script)}" for name, script in recorded["scripts"].items()]
    return "{" + origin_line + ',\n"scripts": {\n' + ",\n".join(lines) + "\n}}\n"


def selected(cc: str | None) -> list[LinuxScript]:
    """All scripts; or CUBIC's with another controller, and for BBR the one that the reordering timer alone repairs."""
    if cc is None:
        return [*SCRIPTS, *CUBIC_SCRIPTS, *CLOSE_SCRIPTS, *BUFFER_SCRIPTS]
    scripts = [replace(script, name=script.name.replace("CUBIC", cc), cc=cc) for script in CUBIC_SCRIPTS]
    if cc == FIRST_EIGHT.cc:
        scripts.append(replace(FIRST_EIGHT, name=f"{FIRST_EIGHT.name}, {cc}"))
    return scripts


def session_of(script: LinuxScript) -> Session:
    """Run a script once."""
    session = Session(transfer(script))
    session.run()
    if not session.finished:
        msg = f"{script.name}: not everything arrived"
        raise TimeoutError(msg)
    return session


def report(session: Session) -> Iterator[str]:
    """The sender's state after each ACK and at each transmission, as readable text."""
    events: list[tuple[int, str]] = []
    for step in session.steps:
        words = {name: step.info.words[name] for name in ("unacked", "sacked", "lost", "retrans", "reordering", "rto")}
        state = f"{step.info.state} cwnd {step.info.cwnd} ssthresh {step.info.ssthresh} {words}"
        events.append((step.time_ns, f"ack {step.ack} sack {list(step.sack)}: {state}"))
    for sent in session.transmissions:
        state = f"{sent.info.state} cwnd {sent.info.cwnd} ssthresh {sent.info.ssthresh}"
        events.append((sent.time_ns, f"    {Sent(sent.segment, sent.retransmission, sent.fin)}: {state}"))
    for time_ns, event in sorted(events, key=lambda event: event[0]):
        yield f"{time_ns / 1e6:9.2f} ms  {event}"


def receiver_recording(script: ReceiverScript, times: int) -> dict[str, Any]:
    """The sessions of one receiver script in the form of the file: the most frequent answers, and one session that has
    them.
    """
    sessions = []
    answers = []
    for _ in range(times):
        session = ReceiverSession(script)
        session.run()
        sessions.append(session)
        answers.append([(a.after, a.ack, a.window, a.sack, a.ece, a.fin) for a in session.answers])
    typical = answers.index(max(answers, key=answers.count))
    session = sessions[typical]
    return {
        "equal": [answers.count(answers[typical]), times],
        "mss": script.mss,
        "rtt_ms": script.rtt_ms,
        "sack": script.sack,
        "timestamps": script.timestamps,
        "ecn": script.ecn,
        "largest_buffer": script.largest_buffer,
        "initial_window": session.initial_window,
        "arrivals": [
            [time_ns // 1000, a.first, a.length, a.push + 2 * a.fin, int(a.cwr), a.ecn]
            for time_ns, a in zip(session.times_ns, script.arrivals, strict=True)
        ],
        "answers": [
            [
                a.time_ns // 1000,
                a.after,
                a.ack,
                a.window,
                a.ece + 2 * a.fin,
                *(edge for block in a.sack for edge in block),
            ]
            for a in session.answers
        ],
    }


def record_receiver(times: int, only: Sequence[str] | None, out: Path | None) -> None:
    """Record the kernel's receiver."""
    recorded = {}
    for script in RECEIVER_SCRIPTS:
        if only and script.name not in only:
            continue
        recorded[script.name] = receiver_recording(script, times)
        equal, _ = recorded[script.name]["equal"]
        print(f"{script.name}: {len(recorded[script.name]['answers'])} ACKs, {equal} of {times} equal", flush=True)
    about = {
        **origin(),
        "how": "python -m windtunnel.validation.recorder --receiver",
        "path": "TUN device, MTU 1500, real time; the application reads after each segment",
        "arrivals": ["us since the handshake", "first byte", "length", "PSH + 2 FIN", "CWR", "ECN field"],
        "answers": [
            "us since the handshake",
            "segments before",
            "bytes acknowledged",
            "window",
            "ECE + 2 FIN",
            "SACK edges",
        ],
    }
    del about["columns"]
    if out:
        with staged_file(out, force=True) as stage:
            stage.write_text(text({"origin": about, "scripts": recorded}), encoding="utf-8")


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="recordings of each script")
    parser.add_argument("--cc", help="replay CUBIC's scripts with another controller of the kernel")
    parser.add_argument("--only", action="append", help="only this script; repeatable")
    parser.add_argument("--out", type=Path, help="write the recordings here")
    parser.add_argument("--steps", action="store_true", help="print the sender's state after each ACK")
    parser.add_argument("--receiver", action="store_true", help="record the kernel's receiver, not its sender")
    chosen = parser.parse_args()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    if chosen.receiver:
        record_receiver(chosen.times, chosen.only, chosen.out)
        return
    scripts: dict[str, Any] = {}
    for script in selected(chosen.cc):
        if chosen.only and script.name not in chosen.only:
            continue
        sessions = [session_of(script) for _ in range(chosen.times)]
        scripts[script.name] = recording(sessions)
        print(script.name, *sorted(set(scripts[script.name]["sent"])), sep="\n    ", flush=True)
        if chosen.steps:
            print(*report(sessions[0]), sep="\n")
    if chosen.out:
        with staged_file(chosen.out, force=True) as stage:
            stage.write_text(text({"origin": origin(), "scripts": scripts}), encoding="utf-8")


if __name__ == "__main__":
    main()
