"""Receivers that lie and senders that do not listen: what each gains, and what each defence leaves of it.

The misbehaviours are those of Savage, Cardwell, Wetherall and Anderson (1999) and of RFC 3540
(docs/spec/congestion-control.md, section 5). The cheat shares a link with an honest receiver, and both have the same
sender: as it was in 1990, or with one of the defences.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from windtunnel.experiment.expectation import Expected, Limits
from windtunnel.experiment.scales import PERCENT
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.plan import measured, scenario_setup

SEEDS, QUICK_SEEDS = 5, 2
#: The window that is measured: after the first losses.
FROM_S, TO_S = 10, 60
_SHARE = Value(
    "share", "share of the cheat", "%", [measured("0", f'share_percent("0-1", {FROM_S}, {TO_S})')], scale=PERCENT
)
#: The end of the run of a short transfer, which takes a second.
SHORT_S = 10
_TIME = Value("time", "time of the transfer", "ms", [measured("0", 'field("transfers.time_ms.mean")')])
#: A cheat that is defended against has at most this share, in percent; one that gains has at least the other.
DEFENDED, GAINS = 55.0, 60.0

_DROPS = ('bottleneck.queue={ kind="fifo", limit="100 packets" }',)
_MARKS = ('bottleneck.queue={ kind="codel", ecn=true, ecn_mode="rfc3168" }',)


@dataclass(frozen=True)
class Attack:
    """What a receiver does, the senders that stop it, and those with which it pays: all others of its time."""

    id: str
    name: str
    ack: str
    stopped_by: tuple[str, ...]
    pays: tuple[str, ...]
    why: str
    queue: tuple[str, ...] = _DROPS


@dataclass(frozen=True)
class Sender:
    """The sender that the cheat deceives."""

    id: str
    name: str
    tcp: str


_MODERN, _OLDER = ("linux", "skip", "nonce"), ("vulnerable", "bytes", "sack")
ATTACKS = (
    Attack("division", "ACK division: 10 per segment", "division=10", ("bytes", *_MODERN), ("vulnerable", "sack"),
           "a sender that counts what is acknowledged does not count ACKs"),
    Attack("spoofing", "duplicate ACKs: 50 every 50 ms", 'duplicates=50, duplicates_interval="50 ms"',
           ("sack", *_MODERN), ("vulnerable", "bytes"),
           "SACK says what arrived; an ACK that says nothing new is worth nothing"),
    Attack("optimistic", "optimistic ACKs",
           'optimistic="2 ms", optimistic_step="8 kB", optimistic_lead="100 kB"', ("skip", "nonce"), (*_OLDER, "linux"),
           "only what the receiver cannot guess tells what it has got"),
    Attack("marks", "hidden marks", 'hide_marks="100 %"', ("nonce",), (*_OLDER, "linux", "skip"),
           "only the nonce is lost with a mark; a skip shows what is missing, not what is marked", _MARKS),
)  # fmt: skip
_OLD = 'sack=false, loss_detection="reno", inflation="unlimited"'
SENDERS = (
    Sender("vulnerable", "Reno of 1990", f"{_OLD}, count_acks=true"),
    Sender("bytes", "with byte counting", _OLD),
    Sender("sack", "with SACK and PRR", "count_acks=true"),
    Sender("linux", "Linux", ""),
    Sender("skip", "Linux with skips", 'skip_probability="1 %"'),
    Sender("nonce", "Linux with nonces", "ecn_nonce=true"),
)
QUICK_SENDERS = ("vulnerable", "linux", "skip", "nonce")

#: Signals that a sender may ignore, and the path that gives them.
DEAF = {"losses": _DROPS, "marks": (*_MARKS, *(f'flow.{n}.ecn="rfc3168"' for n in (0, 1)))}


def cheating_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """Receivers that lie, and senders that ignore."""
    return [_receivers(setups, quick=quick), _short(setups), _senders(setups, quick=quick)]


def _setup(setups: dict[str, Setup], name: str, *settings: str, quick: bool) -> Setup:
    path = ('bottleneck.rate="20 Mbps"', f'duration="{TO_S} s"', 'flow.0.cc="reno"', 'flow.1.cc="reno"')
    setup = scenario_setup(setups, name, "pair", *path, *settings, seeds=QUICK_SEEDS if quick else SEEDS)
    _SHARE.prepare(setup)
    return setup


def _receivers(setups: dict[str, Setup], *, quick: bool) -> Group:
    senders = [s for s in SENDERS if not quick or s.id in QUICK_SENDERS]
    used = {
        (attack, sender): _setup(
            setups, f"cheat-{attack.id}-{sender.id}", *attack.queue, f"flow.0.ack={{ {attack.ack} }}",
            *([f"flow.{n}.tcp={{ {sender.tcp} }}" for n in (0, 1)] if sender.tcp else []),
            *([f'flow.{n}.ecn="rfc3168"' for n in (0, 1)] if sender.id == "nonce" or attack.queue is _MARKS else []),
            quick=quick,
        )
        for attack, sender in product(ATTACKS, senders)
    }  # fmt: skip

    def rows(results: Results) -> list[Row]:
        return [_row(results, attack, sender, setup) for (attack, sender), setup in used.items()]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.fairness_figure import draw_cheats

        means = {key: mean for key, setup in used.items() if (mean := _SHARE.mean(results, setup)) is not None}
        return draw_cheats(senders, means) if means else None

    caption = (
        f"A cheat next to an honest receiver of the same sender: 20 Mbit/s, 100 ms, {FROM_S} to {TO_S} s; 50 % is fair"
    )
    return Group("cheating", "Receivers that lie", caption, [c.name for c in used.values()], rows, png)


def _row(results: Results, attack: Attack, sender: Sender, setup: Setup) -> Row:
    bound, limits = None, None
    if sender.id in attack.stopped_by:
        bound, limits = f"< {DEFENDED:g}", Limits(high=DEFENDED, strict=True)
    elif sender.id in attack.pays:
        bound, limits = f"> {GAINS:g}", Limits(low=GAINS, strict=True)
    return trial_row(f"cheating/{attack.id}-{sender.id}", "cheating", f"{attack.name}, {sender.name}: {_SHARE.what}",
                     bound, limits, _SHARE.values(results, setup), "%", attack.why,
                     scale=_SHARE.scale)  # fmt: skip


def _short(setups: dict[str, Setup]) -> Group:
    """A transfer that ends within slow start, where the authors of the attacks measured them."""
    path = (
        'bottleneck.rate="20 Mbps"', *_DROPS, f'duration="{SHORT_S} s"', 'flow.0.cc="reno"', 'flow.0.iw="1 packets"',
        'flow.0.app={ kind="transfer", size="300 kB" }', f"flow.0.tcp={{ {SENDERS[0].tcp} }}",
    )  # fmt: skip
    tried = [attack for attack in ATTACKS if attack.id in ("division", "spoofing")]
    honest = scenario_setup(setups, "short-honest", "alone", *path, seeds=QUICK_SEEDS)
    lying = [
        scenario_setup(
            setups, f"short-{attack.id}", "alone", *path, f"flow.0.ack={{ {attack.ack} }}", seeds=QUICK_SEEDS
        )
        for attack in tried
    ]
    for setup in (honest, *lying):
        _TIME.prepare(setup)
    less = Expected.of({"word": "significantly-less"})

    def row(results: Results, attack: Attack, setup: Setup) -> Row:
        both = zip(_TIME.values(results, setup), _TIME.values(results, honest), strict=False)
        what = f"{attack.name}: time of 300 kB over that with an honest receiver"
        ratios = [lie / plain for lie, plain in both]
        return trial_row(f"short/{attack.id}", "short", what, less.text, less.limits, ratios, "", less.why)

    def rows(results: Results) -> list[Row]:
        return [row(results, attack, setup) for attack, setup in zip(tried, lying, strict=True)]

    caption = "300 kB from Reno of 1990, whose initial window is one segment: 20 Mbit/s, 100 ms, alone on the link"
    used = [setup.name for setup in (honest, *lying)]
    return Group("short", "Short transfers by receivers that lie", caption, used, rows)


def _senders(setups: dict[str, Setup], *, quick: bool) -> Group:
    used = {
        signal: _setup(setups, f"deaf-{signal}", *settings, f'flow.0.unresponsive="{signal}"', quick=quick)
        for signal, settings in DEAF.items()
    }

    def rows(results: Results) -> list[Row]:
        return [
            trial_row(f"deaf/{signal}", "deaf", f"a sender that ignores {signal}: its share next to Reno", "> 80",
                      Limits(low=80.0, strict=True), _SHARE.values(results, setup), "%",
                      "the network relies on its senders", scale=_SHARE.scale)
            for signal, setup in used.items()
        ]  # fmt: skip

    caption = "A Reno that does not answer a signal, next to one that does, on the same link"
    return Group("deaf", "Senders that ignore", caption, [c.name for c in used.values()], rows)
