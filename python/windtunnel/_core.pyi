"""The compiled core: scenario model, simulator, exporters. All per-packet work happens here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import RawIOBase
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

__version__: str

LONGEST_SCENARIO: int
"""The longest text of a scenario, in bytes."""

class ControllerError(RuntimeError):
    """A controller written in Python raised what would be taken for an error of the scenario or of the machine: wrong
    input, no memory, a file. The message names the controller and its file; ``__cause__`` is what was raised.
    """

def commit() -> str | None:
    """The commit of the build, with ``+changes`` where it had others; None outside of the project's repository."""

class MemoryLimitError(MemoryError):
    """A run that held more memory than it may. ``str(error)`` is the whole message, ready to print."""

class ScenarioError(ValueError):
    """A scenario that is wrong. ``str(error)`` is the whole message, ready to print.

    Attributes name the place: any of them may be ``None``.
    """

    file: str | None
    line: int | None
    column: int | None
    key: str | None
    value: str | None

def check(
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = ...,
    allow_read: Sequence[str | PathLike[str]] = ...,
    built: bool = False,
) -> str:
    """Validate a scenario (TOML text) and return it with every default, as TOML text.

    ``overrides`` are ``key=value`` strings as given to ``--set``. The files that a scenario names are in the folder of
    ``file`` or below it, or in those of ``allow_read``. ``built``: the text was made of the arguments of
    ``Scenario(...)``, which messages name in place of lines. Raises ScenarioError.
    """

def resolve(
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = ...,
    allow_read: Sequence[str | PathLike[str]] = ...,
    built: bool = False,
) -> str:
    """As ``check``, but returns JSON."""

def leaving() -> None:
    """A signal ends the process: panics from now on are its consequence, and not shown."""

def holds(count: int) -> int:
    """Carry out this many holds, the fixed work by which the speeds of machines compare; returns a check sum."""

def error_at(
    key: str,
    problem: str,
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = ...,
    allow_read: Sequence[str | PathLike[str]] = ...,
    built: bool = False,
) -> ScenarioError:
    """The error that says ``problem`` at a key of a scenario that is valid, such as ``claim[0].check``: for what the
    core does not know of it. The rest is as for ``check``.
    """

def schema() -> str:
    """The JSON Schema of a scenario file."""

def listing() -> str:
    """JSON: everything that can be named in a scenario, with summary, parameters, defaults, units, source.

    ``{"controllers": [entry], "slow_starts": [entry], "responses": [entry], "queues": [entry],
    "applications": [entry], "distributions": [entry], "impairments": [entry], "presets": [entry], "tcp": [entry],
    "acks": [entry]}``; an entry is ``{"name", "summary", "source", "parameters": [{"name", "type", "default", "unit",
    "description"}], "aliases": [str]}``, and that of a preset has ``"keys"``, as a scenario writes them. Controllers
    that were registered in this process are among them.
    """

def quantity(text: str) -> float:
    """A time in seconds, an amount in bytes or a rate in bits per second, from its text with a unit: ``"5 ms"``.

    Raises ValueError.
    """

def register_controller(
    name: str,
    class_: type,
    summary: str,
    source: str,
    parameters: Sequence[tuple[str, Any, str]],
    replace: bool = False,
) -> None:
    """Make a class a congestion controller; use :func:`windtunnel.register_controller`, which finds out the rest.

    A parameter is ``(name, default, description)``; a default is a bool, int, float, str, or ``(text,)`` for a
    quantity.
    Raises ValueError for a name that is taken or cannot be one.
    """

def allow_library(path: Path) -> None:
    """Let scenarios load a stack from a shared library; use :func:`windtunnel.load_plugin`. Raises OSError."""

@final
class FlowInit:
    """The connection that a controller is for. Amounts are in bytes."""

    @property
    def mss(self) -> int:
        """Payload of a full segment."""
    @property
    def iw(self) -> int:
        """The initial window."""
    @property
    def min_cwnd(self) -> int:
        """The floor of cwnd that window-based controllers keep."""
    @property
    def paced(self) -> bool:
        """Departures are paced."""
    def random(self) -> float:
        """The next number from the connection's own stream, at least 0 and less than 1: the same in every run."""

@final
class PathView:
    """The connection at the moment of an event. Times are in seconds, amounts in bytes."""

    @property
    def now(self) -> float:
        """The simulated clock."""
    @property
    def mss(self) -> int:
        """Payload of a full segment."""
    @property
    def srtt(self) -> float:
        """The smoothed round-trip time; 0 before the first sample."""
    @property
    def min_rtt(self) -> float:
        """The least round-trip time seen; 0 before the first sample."""
    @property
    def in_flight(self) -> int:
        """Bytes sent and neither acknowledged nor lost."""
    @property
    def una(self) -> int:
        """The first byte that is not acknowledged, after this ACK."""
    @property
    def nxt(self) -> int:
        """The next new byte to send."""

@final
class AckSample:
    """One ACK. Times are in seconds, amounts in bytes."""

    @property
    def acked(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def newly_delivered(self) -> int:
        """Bytes newly delivered, cumulatively acknowledged or by SACK."""
    @property
    def growth_barred(self) -> bool:
        """The state of the sender (CWR, Recovery) or its window validation bars growth on this ACK."""
    @property
    def newly_lost(self) -> int:
        """Bytes that the ACK showed to be lost."""
    @property
    def delivered(self) -> int:
        """Bytes delivered since the connection started."""
    @property
    def lost(self) -> int:
        """Bytes found to be lost since the connection started."""
    @property
    def rtt(self) -> float | None:
        """The round-trip time of the newest segment acknowledged."""
    @property
    def rate(self) -> RateSample | None:
        """The delivery-rate sample; only with ``Needs(rate_samples=True)``."""
    @property
    def ce_packets(self) -> int:
        """Newly acknowledged segments that were marked CE."""
    @property
    def ce_bytes(self) -> int:
        """Their payload."""
    @property
    def sce_packets(self) -> int:
        """Newly acknowledged segments that were marked SCE; 0 unless the flow negotiated it."""
    @property
    def sce_bytes(self) -> int:
        """Their payload."""
    @property
    def app_limited(self) -> bool:
        """What is sent now is limited by the application."""
    @property
    def cwnd_limited(self) -> bool:
        """cwnd, not anything else, kept the sender from sending more."""
    @property
    def round_start(self) -> bool:
        """This ACK starts a packet-timed round; only with ``Needs(rate_samples=True)``."""

@final
class RateSample:
    """A delivery-rate sample: taken from one segment's departure to its delivery."""

    @property
    def rate(self) -> int:
        """The delivery rate over the sample in bits per second."""
    @property
    def interval(self) -> float:
        """The time that the sample covers, in seconds."""
    @property
    def delivered(self) -> int:
        """Bytes delivered over the sample."""
    @property
    def lost(self) -> int:
        """Bytes found to be lost over the sample."""
    @property
    def departure(self) -> Departure:
        """When the sampled segment left."""

@final
class Departure:
    """The connection's counters when a segment left."""

    @property
    def sent(self) -> float:
        """When it left, in seconds; for a segment that was sent again, the last time."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight, the segment included."""
    @property
    def delivered(self) -> int:
        """Bytes delivered by then."""
    @property
    def lost(self) -> int:
        """Bytes found to be lost by then."""
    @property
    def app_limited(self) -> bool:
        """The application, not cwnd, limited the sender."""

@final
class CongestionEvent:
    """A congestion event."""

    @property
    def trigger(self) -> Literal["loss", "ce"]:
        """What showed it: losses, or an echo of CE."""
    @property
    def lost(self) -> int:
        """Bytes lost."""
    @property
    def rtt(self) -> float | None:
        """The round-trip time in seconds, sampled by the ACK that showed it."""

@final
class LostSegment:
    """A segment that was found to be lost."""

    @property
    def seq(self) -> int:
        """Its first byte."""
    @property
    def payload(self) -> int:
        """Its payload."""
    @property
    def departure(self) -> Departure:
        """When it left."""
    @property
    def lost(self) -> int:
        """Bytes found to be lost since the connection started, this segment included."""
    @property
    def found_by(self) -> Literal["ack", "reordering timer", "retransmission timer"]:
        """What found it."""

@final
class SentSegment:
    """A segment that was just sent."""

    @property
    def seq(self) -> int:
        """Its first byte."""
    @property
    def payload(self) -> int:
        """Its payload."""
    @property
    def retransmission(self) -> bool:
        """It was sent before."""

@final
class Needs:
    """What a controller needs of its sender. A class states it as its attribute ``needs``.

    ``pacing``: departures are paced, whatever the scenario says. ``feedback``: ``none``, ``classic`` (RFC 3168),
    ``plain-sce`` (the SCE drafts), ``sce`` (MDS), ``shares`` (DCTCP) or ``counts`` (AccECN). ``scalable``: its packets
    may carry ECT(1). ``rate_samples``: ACKs carry delivery-rate samples and say where rounds start. ``every_ack``:
    ``on_ack`` is also called for ACKs that deliver nothing. ``own_window``: it alone decides the window, during
    recovery too. ``send_buffer_windows``: windows of data that the send buffer must hold. A class that has ``on_sent``
    or ``on_lost`` is told of departures and losses without more.
    """

    def __new__(
        cls,
        *,
        pacing: bool = False,
        feedback: Literal["none", "classic", "plain-sce", "sce", "shares", "counts"] = "classic",
        scalable: bool = False,
        rate_samples: bool = False,
        every_ack: bool = False,
        own_window: bool = False,
        send_buffer_windows: int = 2,
    ) -> Needs: ...

@final
class Control:
    """What the sender is to do: the answer of a controller. Amounts are in bytes and rounded down.

    ``cwnd``: the congestion window; less than a segment counts as one. ``ssthresh``: the slow-start threshold, None or
    infinite while none is known. ``pacing_rate``: in bits per second; without it departures, if they are paced, leave
    at ``pacing_gain * cwnd / srtt``. ``send_quantum``: how much leaves at once; without it as the sender has it.
    ``slow_start``: the phase, for records. ``app_limited``: what is sent now is no test of the path. Raises ValueError
    for numbers that are none of this.
    """

    def __new__(
        cls,
        cwnd: float,
        ssthresh: float | None = None,
        *,
        pacing_rate: float | None = None,
        pacing_gain: float = 1.0,
        send_quantum: float | None = None,
        slow_start: bool = False,
        app_limited: bool = False,
    ) -> Control: ...
    @property
    def cwnd(self) -> int:
        """The congestion window."""

def read_trace(file: RawIOBase, most: int | None = None) -> tuple[str, Any]:
    """Read a capture (pcap, pcapng) or a log (qlog): ``capture`` or ``qlog``, and what is in it.

    Of a capture: connections, their segments, the packets in it, what could not be read, and how many connections
    there are beyond ``most``. Those with most data are kept, in their order.
    A connection: ``sender`` and ``receiver`` of the data, each ``address, port, segments, data_bytes, largest,
    timestamps`` (all its segments have them), ``ecn`` (packets by code point), ``options`` (kinds), ``syn`` (``mss,
    window_scale, sack, timestamps, flags, options``, or None); ``closed``, ``points`` (interfaces) and
    ``window_known``. Segments: a :class:`Segments`. Connections with less than two segments of data are left out, as a
    note says.

    Of a log, a dictionary: ``connections`` (``name, sent, received, acks``: packets; ``largest``: the bytes of the
    longest; ``handshake_ns`` or None, ``limit_known``, ``tcp``), ``walked`` as :meth:`Segments.walk` has it, with
    packets in place of segments, ``metrics`` (columns named as those of a run's table ``flows``), ``events``,
    ``duration_s`` and ``notes``.

    Raises OSError, ValueError if the file is neither, and what a signal raises.
    """

def follow(
    sends: Mapping[str, npt.NDArray[np.generic]],
    acks: Mapping[str, npt.NDArray[np.generic]],
    connection: tuple[int, int | None, bool],
    unused: npt.NDArray[np.bool_],
    scenario: str,
    each_loss: bool = True,
) -> dict[str, Any]:
    """Let the controllers of a scenario's flows hear what the sender of one connection heard.

    ``sends`` and ``acks`` as :meth:`Segments.walk` has them, with ``marked`` for each acknowledgement; ``connection``:
    the payload of a full segment, the handshake's round trip in nanoseconds if it is known, and whether losses of what
    was sent in an answer to congestion are answered at once, as in QUIC; ``unused``: by round trip, the window may not
    grow; ``each_loss``: they take over the flight's size before each loss, not only before the first one after a
    stretch without. Returns, with windows in bytes: ``flight`` by round trip; ``stretches``, first and last round trip;
    ``episodes``, tuples of the round trip that ended an answer to congestion, the flight before and after it, and its
    cause (0 loss, 1 marks, 2 a timeout); ``window`` by the flow's name and round trip, and ``after`` by its name and
    episode. Raises ScenarioError.
    """

@final
class Segments:
    """The TCP segments of a capture, or of a run that recorded its packets, in order of time."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, columns: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Add rows: t_ns, flow, dir (1: towards the sender), payload, seq, ack, flags, ecn, dscp, ts_val, ts_ecr,
        window, sack_n, sack1_start to sack4_end.
        """

    @property
    def last_ns(self) -> int:
        """When the last one passed."""

    def table(self) -> dict[str, npt.NDArray[np.generic]]:
        """What pictures draw: t_ns, flow, dir, payload, seq, ack, flags, ecn, stamped (it has timestamps), window,
        sack_n and sack1_end.
        """

    def syns(self) -> dict[str, npt.NDArray[np.generic]]:
        """The SYNs: t_ns, flow, dir, flags."""

    def walk(self, connections: Sequence[tuple[int, bool, bool]]) -> dict[str, Any]:
        """Follow the senders. The segments are dropped on the way, and there are none afterwards.

        ``connections``: for each the payload of a full segment, and whether timestamps and the receive window can
        be used. Returns ``sends`` (t_ns, flow, seq, payload, kind, in_flight, room, round, since_ack_ns, back_ns, ecn,
        dscp), ``acks`` (t_ns, flow, ack, acked, sacked, rtt_ns, in_flight, round, kind, flags), and for each connection
        ``back_ns`` (the least time to the sender and back) and ``at_sender``. ``crates/trace`` describes the columns.
        """

@final
class RunResult:
    """What a run measured. Immutable; the arrays are not copied."""

    @property
    def summary(self) -> str:
        """JSON: ``duration_s, stalled, seed, digest, packets, events, flows[], queues[], impairments[], windows[]``.

        ``stalled`` is null, or ``t_s`` and ``why``: nothing moved any more, although flows had data to send.

        A flow: ``name, cc, application, path_rtt_ms, throughput_mbps, goodput_mbps, received_bytes, active {from_s,
        to_s, throughput_mbps, goodput_mbps}, first_packet_s, last_packet_s, cwnd_bytes {mean, min, max}, rtt_ms {min,
        mean, p50, p95, p99, max}, sent, delivered_bytes, retransmits, loss_episodes, rtos, spurious_rtos, tlps, undos,
        ecn_reductions, drops {full, overlimit, aqm, policed, filtered, wire}, ack_drops {...}, corrupted, limited
        {cwnd, application, receiver, pacing, handshake, host, send_buffer}, ce_marks, sce_marks, cwnd_limited,
        slow_start_exit {t_s, cwnd_bytes, reason}, transfers, frames, datagrams``. ``active`` is from its start to its
        last data; shares of ``limited`` are of this time. ``throughput_mbps`` counts packets when they arrive, with
        their headers, ``goodput_mbps`` payload when it is delivered in order: what arrived above a hole counts when
        the hole is filled, so that in a short window the goodput can be above the throughput, and above the rate of
        the link. ``ack_drops`` are its lost segments that only acknowledge, ``drops`` all others. What a flow does not
        have is null: datagrams have neither window nor recovery, a flow that stands for many connections has not one
        window, and loss-free endpoints do not count what they send.

        Transfers: ``arrived, rejected, completed, completed_bytes, time_ms {...}, by_size[]``; arrived are those that
        were written, or the connections that arrived, rejected ones included. A class of sizes:
        ``above_bytes, up_to_bytes | null, completed, time_ms {...}, slowdown {...}``. Classes end at 10 kB, 100 kB,
        1 MB, 10 MB; those without a transfer are left out. The time is from the first SYN, or from when it was written,
        to the ACK of the last byte; the slowdown is that over the time of an empty path, base RTT + size / bottleneck
        rate.

        Frames of media over TCP or RTP: ``made, late_ratio, freezes, frozen_ratio, delay_ms {...}, bitrate_mbps``. A
        delay is from a frame's creation until its sender knows that it arrived, less the empty way back. Late is a
        frame that has not arrived 400 ms after its creation; a freeze is a time without a frame, of three intervals
        and of 150 ms more than one. Frames that are missing at the end of the run may still be under way, and are not
        counted as made.

        Datagrams: ``sent, received, lost, loss_ratio, duplicates, one_way_ms {...}, jitter_ms``.

        A queue: ``name, rate_mbps, throughput_mbps, utilization, sojourn_ms {min, mean, p50, p95, p99, max}, sce, ce,
        drops {full, overlimit, aqm, policed, filtered, wire}, dequeued, emptied, backlog_max_packets, bands[]``; drops
        of a queue are full, overlimit (it was full, and the packet's band held the most), aqm, policed (refused in
        front of the queue, and in no band), or filtered (ACKs that later ones made superfluous); wire is what media
        lost. ``bands`` is there only where a queue has several: ``name, throughput_mbps, sojourn_mean_ms, sce, ce,
        drops, dequeued``. ``classes`` is there only where a queue sorts packets into a few (the bands of dual queues,
        ``prio``, ``drr`` and ``wrr``, the tins of CAKE; at most 16): ``name, throughput_mbps, sojourn_ms {min, mean,
        p50, p95, p99, max}, sce, ce, drops, dequeued``.

        An impairment, over the whole run: ``name, kind, arrived, passed, lost, corrupted, duplicated, reordered,
        bursts, rewritten, held``, where arrived + duplicated = passed + lost + held.

        A window: ``name, from_s, to_s, flows[], queues[]`` with the same fields.
        """

    @property
    def foreign(self) -> list[str]:
        """The algorithms of the run whose code is not windtunnel's own: ``["controller my-aimd"]``."""

    @property
    def secrets(self) -> str:
        """What decrypts the payloads: the lines of a TLS key log (RFC 9850); empty where none are recorded."""

    @property
    def unseeded(self) -> list[str]:
        """What drew random numbers in it that its seed does not decide: ``["bbr of quinn"]``."""

    @property
    def resolved(self) -> str:
        """JSON: the scenario with every default, as :func:`resolve` gives it."""

    @property
    def toml(self) -> str:
        """The same as TOML, as :func:`check` gives it."""

    @property
    def threads(self) -> int:
        """On how many threads it ran."""

    @property
    def undivided(self) -> str | None:
        """Why it ran on one, if it was to run on several."""

    @property
    def packets(self) -> int:
        """Data segments delivered."""

    @property
    def events(self) -> int:
        """Events handled."""

    @property
    def digest(self) -> str:
        """16 hex digits; equal for equal scenario and seed, on every platform."""

    @property
    def tables(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """Columns by table and name; all columns of a table have one length.

        ``flows`` and ``queues`` hold one row per recording interval and flow or queue, ``time_s`` being the
        interval's end, ordered by time, then index:

        - ``flows``: time_s, flow, throughput_mbps, goodput_mbps, cwnd_bytes (last), cwnd_mean_bytes, cwnd_min_bytes,
          cwnd_max_bytes, rtt_ms (last), rtt_mean_ms, rtt_min_ms, rtt_max_ms, srtt_ms, in_flight_bytes (after the last
          ACK), ce, sce (marks received), cwnd_limited (share of ACKs), sent, retransmits, rtos, lost (packets that the
          network lost, but for ACKs), acks_lost, delivered_bytes; and of a TCP with loss, at the end of the interval as
          Linux's ``tcp_info`` has it: delivery_rate_mbps (the sender's latest sample), pacing_rate_mbps (NaN without
          pacing), ssthresh_bytes (NaN while infinite), rttvar_ms, rto_ms (back-off included), backoff (doublings),
          consecutive_rtos (since data were last acknowledged), state (0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss),
          unacked_bytes, and of these sacked_bytes, lost_bytes (taken for lost), retrans_out_bytes (sent again and under
          way), reordering (segments)
        - ``queues``: time_s, queue, throughput_mbps, utilization, sojourn_mean_ms, sojourn_min_ms,
          sojourn_max_ms, backlog_packets (last), backlog_max_packets, dequeued, emptied (dequeues that left the
          queue empty), sce, ce, drops

        - ``bands``, where a queue has several: time_s, queue, band, throughput_mbps, sojourn_mean_ms, backlog_packets,
          backlog_bytes, dequeued, sce, ce, drops; no row while a band is empty throughout
        - ``classes``, where a queue sorts packets into a few: time_s, queue, class, sojourn_mean_ms, sojourn_min_ms,
          sojourn_max_ms, dequeued; no row while nothing leaves a class
        - ``cc`` and ``aqm``, unless ``record.state = "off"``: time_s, flow or queue and band, and a column for each
          number that an algorithm of the run tells of its state, in its own unit, which ends the name; NaN for what an
          algorithm does not have, or not at the moment. With ``record.state = "changes"`` a row for each change. A band
          of several has a row only for an interval in which it has changed.
        - ``qdisc``, likewise, for queues with several bands: time_s, queue, and what the discipline tells of itself

        Numbers of ``cc``. Of all windowed controllers: stage (0 slow start, 1 back up to ssthresh after a timeout, 2
        the same after an unused window, 3 congestion avoidance), recover_seq (the round ends here in which no further
        response is made). CUBIC: w_max (the window at the last response, less with fast convergence), k_s, w_est (the
        Reno-friendly estimate), epoch_start_s; RFC 9438's and the MDS document's also w_cubic (the function at the last
        ACK), RFC 9438's cwnd_prior; Linux's origin (the plateau of this epoch), target (the function a least round trip
        ahead), price_segments (segments acknowledged for one of growth), delay_min_s. AIMD and Scalable in whole
        segments: credit_segments (acknowledged, not used for growth); the MDS document's: last_growth_s. The MDS
        response: sce_in_window (places in use of the limiter's tau); with its fallback also silent_rounds (congested
        round trips since the last SCE) and fallen_back (1 once it has given up the identifier). Slow starts, while they
        last: slow_start_sce (SCE seen); HyStart: least_rtt_s, round_least_rtt_s, round_samples; HyStart++:
        last_round_min_rtt_s, round_min_rtt_s, css_baseline_rtt_s, css_rounds; ESSP: essp_stage, essp_recover_seq.

        Numbers of ``aqm``. PIE: p, qdelay_s, burst_s (the burst allowance left), accu (the sum of p since the last
        drop). RED: avg_bytes, p, max_p. DelTiM, DelTiM2, DelTiC: acc (the control law's accumulator), mds_osc, osc
        (the oscillators' accumulators). Ramps: opportunities (packets since the last mark).

        Numbers of ``qdisc``, which are in ``aqm`` where a queue has one band. fq_codel, fq_pie: new_flows, old_flows
        (bands on either list), memory_bytes; fq_pie also overmemory_packets (arrived above ``memory_limit``). fq:
        new_flows, old_flows, throttled_flows. sfq: active_flows; drr, wrr: active_classes. tbf, police: tokens_bytes,
        peak_tokens_bytes; vqpolice: virtual_queue_s; ramppolice: missing (part of the bucket), p. A queue with one
        inside also has the numbers of that, unless it has such itself.

        Values of an interval without a sample are NaN, and those that a flow does not have. ``transfers``, where flows
        make such, has one row for each that was completed, in that order: flow, start_s, end_s, size_bytes, time_ms,
        slowdown. The ``*_points`` tables hold single events, thinned to
        one per ``record.points`` of each series:

        - ``throughput_points``: time_s, flow (-1: all flows), mbps; one per flow and base RTT of it: IP bytes
          received since the last one, over the time since
        - ``cwnd_points``: time_s, flow, bytes, limited (cwnd kept the sender from sending)
        - ``sojourn_points``: time_s, queue, ms, empty (the dequeue left the queue empty); thinned apart for
          empty and not empty
        - ``mark_points``: time_s, queue, flow, kind (0 SCE, 1 CE, 2 drop), hz, count, gap_min_ms, gap_max_ms; one for
          all marks of a kind at a queue within a span of ``record.points``: time_s and flow are those of the last one,
          hz is their count over the time since the last mark of the point before (the first counts from 0 s), and the
          gaps are the least and the greatest time between two marks. Counts add up to those of ``queues``.

        With ``record.events = true`` also every event, in the order of processing:

        - ``dequeue_events``: t_ns, queue, flow, seq, size, sojourn_ns, mark (what this queue did to the packet that
          left, on arrival or departure: 0 none, 1 SCE, 2 CE, 3 drop, which loss-free endpoints get as CE); and, if
          any queue has a sigma-delta modulator, its state afterwards: acc, mds_osc, conv_osc (NaN at other queues)
        - ``mark_events``: every mark and drop of a queue at the time of its decision, also of packets that it still
          holds or lost later: t_ns, queue, flow, mark (1 SCE, 2 CE, 3 drop), drop (the reason, as in ``packets``; 0
          for a mark)
        - ``ack_events``: t_ns, flow, ack, rtt_ns, srtt_ns, feedback (bit 0 ECE, bit 1 ESCE), cwnd, in_flight,
          slow_start; flows that stand for many connections have none

        With ``record.packets = true`` every packet at every place of its way:

        - ``packets``: t_ns, tap (0 sender, 1 into a queue, 2 out of it, 3 receiver), queue, flow, proto, dir (1: from
          the receiver), id (of the packet, the same at every place), copy_of (the id of the packet that a medium made
          it of; else 0), size, payload, seq, ack, flags, ecn, dscp, ts_val_ns, ts_ecr_ns, window, sack_n, sack1_start
          to sack4_end, ack_rate (the ACK rate that is asked for, TARR: 1 more than the segments per ACK, 255 for the
          capability alone; 0 without that option),
          accecn_kind (of the AccECN option; 0 without one), accecn_n (its fields), accecn1 to accecn3,
          drop (why it was lost right after this place: 0 it was not, 1 full queue, 2 AQM, 3 medium, 4 overlimit,
          5 policed, 6 filtered), retransmission; and of the sender after it has sent the packet: cwnd, ssthresh,
          srtt_ns, state, limit, in_flight

        With ``record.payloads = true`` what each packet over a real stack carries:

        - ``payloads``: id (as in ``packets``; copies carry what the packet does that they are made of), content (what
          follows the UDP header, as ``bytes``)

        Where connections arrive during the run (``app = "poisson"``), ``dequeue_events`` and ``packets`` have a last
        column ``connection``: the flow's own number for a flow that is one connection; the others are counted from the
        number of flows on, in the order of their arrival.
        """

def run(
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = ...,
    progress: Callable[[float], bool] | None = None,
    allow_read: Sequence[str | PathLike[str]] = ...,
    memory: int | None = None,
    built: bool = False,
    parts: tuple[Callable[[list[tuple[str, str]], list[str]], str | PathLike[str]], Mapping[str, str]] | None = None,
    threads: int = 1,
) -> RunResult:
    """Validate, run, and return the result. The GIL is released, unless the run has controllers of Python.

    ``progress`` is called many times per second with the share of simulated time done; if it returns False the run
    stops and KeyboardInterrupt is raised. ``memory`` is the number of bytes that the run may hold. Raises
    ScenarioError, also where it is expected to need more; MemoryLimitError if it needs more than expected; and what a
    controller of Python raises.

    ``parts``: rows of tables that get many are written while the run goes on, and are not in the result. The function
    makes the folder for them, and returns it, when it is needed first; it is told the flows (name and controller) and
    the names of the queues. A part of a table is a Parquet file, which
    appears complete or not at all: ``TABLE/000000.parquet`` and so on. By a column of indices (``flow``, ``queue``),
    the mapping says what the column of their names is called. Raises OSError if a part cannot be written.

    ``threads``: the most threads that share the run, where that pays. The result is the same.
    """

@final
class Emulator:
    """A path of a scenario in real time between two devices. Packets pass in a thread without Python's interpreter."""

    def __new__(
        cls,
        text: str,
        file: str | None = None,
        overrides: Sequence[str] = ...,
        allow_read: Sequence[str | PathLike[str]] = ...,
        *,
        way: str | None = None,
        keep: bool = False,
        near: int,
        far: int,
        duration: int | None = None,
        hosts: Sequence[tuple[str, IPv4Address | IPv6Address, IPv4Address | IPv6Address]] | None = None,
        parts: tuple[Callable[[list[tuple[str, str]], list[str]], str | PathLike[str]], Mapping[str, str]]
        | None = None,
        memory: int | None = None,
        capture: int | None = None,
        built: bool = False,
    ) -> Emulator:
        """Makes the path ready. ``text`` to ``allow_read``, ``parts``, ``memory`` and ``built`` are those of ``run``.

        ``near`` and ``far`` are file descriptors of TUN devices without packet information that do not block; they are
        duplicated. What enters at ``near`` goes forward on the way of the flow called ``way`` (without it, the first),
        to ``far``; what enters there goes back. With ``keep`` the scenario's own flows run, too. ``duration`` is in ns;
        without it the path works until it is stopped. ``capture`` is the descriptor of a file for all packets
        at both devices, as pcapng.

        With ``hosts`` (flow, near, far) the scenario's own flows run, for its own duration, and those over the stacks
        ``outside`` and ``linux-kernel`` have their ends at these addresses; no other packets are carried. Raises
        ScenarioError, and ValueError for a path that cannot be emulated.
        """

    def start(self, ahead: int = 0) -> None:
        """Starts; the path's time begins in ``ahead`` ns."""

    def is_running(self) -> bool:
        """Whether packets pass. False after its end, and after a device has broken or memory ran out (``snapshot``)."""

    def snapshot(self) -> str:
        """JSON: how things were at most 50 ms ago.

        ``elapsed_s, packets, bytes, not_carried, refused, flows, links[], lateness_us {p50, p99, max}, exceeded,
        broken``. A link: ``name, rate_bps, sojourn_ms, backlog_bytes, dropped, marked``; rate and mean sojourn time are
        since the last call, counts since the start. ``not_carried`` are packets to several hosts, or that no router
        forwards; ``refused`` those for which a device had no room.
        """

    def stop(self) -> None:
        """Ends it, at once. A second call does nothing."""

    def finish(self) -> RunResult:
        """Stops, and returns what was measured; flows are ``connection-1`` and so on. Raises MemoryLimitError."""

    def connections(self) -> list[tuple[str, str]]:
        """After the end: the name of each flow, and its ends: ``10.0.0.1:40000 > 10.0.0.2:5201 TCP``."""

    def lateness(self) -> str:
        """How late packets left, as JSON: ``packets, p50_us, p90_us, p99_us, p999_us, max_us``, and ``histogram``, a
        list of upper ends of buckets, in us, with the packets in each.
        """

def windows(text: str, parts: int) -> str:
    """The work of a run in at most ``parts`` parts, as JSON: ``parts, windows, events, most``.

    ``most`` are the events of the part that had most in its window, in all windows: as many cores take at least the
    time of these. Raises ScenarioError.
    """

def estimate(
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = ...,
    allow_read: Sequence[str | PathLike[str]] = ...,
    built: bool = False,
) -> str:
    """What a run will need, as JSON: ``memory_bytes, parts[], tables[], packets, disk, seconds``.

    A part of the memory, the largest first: ``what, bytes, certainty (bound | expectation), key, remedy``: a run has no
    more than a bound, and about an expectation if its senders fill the links. A table: ``table, rows, certainty,
    row_bytes``. Packets: ``data, replies, events``. Disk: ``parquet, csv, pcapng`` in bytes. Seconds of a core are
    rough. Raises ScenarioError.
    """

def indented(json: str) -> str:
    """A JSON text with line breaks and indentation by two spaces, as ``json.dumps(value, indent=2)`` makes it in five
    times the time.
    """

def size(text: str) -> int:
    """An amount of bytes from its text with a unit: ``"8 GB"``. Raises ValueError."""

def xplot(
    title: str,
    x_label: str,
    y_label: str,
    series: Sequence[tuple[str, str, npt.NDArray[np.float64], npt.NDArray[np.float64]]],
) -> str:
    """One plot as the text of an xplot file.

    A series is ``(colour, symbol, x, y)``: colour is white, green, red, blue, yellow, purple, orange, magenta or
    pink; symbol is ``dot`` or ``x``; the arrays are of one length. Raises ValueError for another colour or symbol.
    """

def merge_parts(
    path: str | PathLike[str],
    parts: Sequence[str | PathLike[str]],
    run: Sequence[tuple[str, str | int | None]],
    about: Mapping[str, str] = ...,
) -> None:
    """Make one Parquet file of the parts of a table, which are in their order. ``run`` and ``about`` are those of
    :func:`write_table`. Raises OSError if a file cannot be read or written.
    """

def write_table(
    path: str | PathLike[str],
    columns: Sequence[tuple[str, Any]],
    run: Sequence[tuple[str, str | int | None]] = ...,
    names: Mapping[str, tuple[str, Sequence[str]]] = ...,
    about: Mapping[str, str] = ...,
) -> None:
    """Write a table as Parquet. :func:`windtunnel.table.stored` makes ``columns``: one-dimensional, contiguous arrays
    of numbers, truth values or ``bytes``, where NaN becomes null; whole numbers or truth values with those that are
    missing; the places of texts, with the words.

    ``run`` are columns before all others that have the same text or number in each row. ``names`` are, by a column of
    indices, the name of a column behind it and what the indices stand for. ``about`` is said of the whole file. Raises
    TypeError for other types of columns, OSError if the file cannot be written.
    """

def write_csv(path: str | PathLike[str], columns: Sequence[tuple[str, Any]], append: bool = False) -> None:
    """Write a table as CSV, whose columns are as for :func:`write_table`; with ``append``, its rows at the end of a
    file.
    """

@final
class TableWriter:
    """Writes a table as Parquet group by group, with checksums. Columns of texts in ``coded`` are dictionaries to
    readers of Arrow. All methods raise OSError if the file cannot be written.
    """

    def __new__(cls, path: str | PathLike[str], coded: Sequence[str] = ...) -> TableWriter: ...
    def write(self, columns: Sequence[tuple[str, Any]]) -> None:
        """Append rows as a group; all groups have the columns of the first one."""
    def finish(self) -> None:
        """End the file. Without this it cannot be read."""

@final
class TableReader:
    """Reads a table from a Parquet file. All methods raise OSError if the file cannot be read, and ValueError if it is
    damaged.
    """

    def __new__(cls, path: str | PathLike[str]) -> TableReader: ...
    @property
    def rows(self) -> int:
        """How many rows the file has."""
    @property
    def columns(self) -> list[tuple[str, str]]:
        """The names of its columns, and what they hold, in Arrow's words."""
    def parts(self, names: Sequence[str], rows: int) -> TableParts:
        """The rows in their order, at most ``rows`` at a time, with the columns of these names; there is always a first
        part.
        """

@final
class TableParts:
    """The parts of a table. A part has a list of columns: an array; an array and which of its values are missing; or an
    array of places and a list of words. NaN is a missing number, -1 the place of a missing text.
    """

    def __iter__(self) -> TableParts: ...
    def __next__(self) -> list[Any]: ...

def write_qlog(
    title: str,
    flows: Sequence[Mapping[str, Any]],
    queues: Sequence[str],
    parts: Iterable[dict[str, npt.NDArray[np.generic]]],
    version: str,
) -> None:
    """Write the packets of ``flows`` as qlog: a file for each flow and vantage point.

    A flow is ``index`` (its number in the table; flows are in this order), ``name``, ``ends`` (address and port of the
    sender and of the receiver), ``mss``, ``initial_window`` (bytes), ``reordering_threshold``, ``by_time`` (losses are
    found by time), ``granularity`` (ms), ``modes`` (nanoseconds and name), ``over_stack`` (it is one over a QUIC
    stack), ``lost`` (nanoseconds and how many packets such a stack has found lost), and ``paths``: the files of its
    client, of the network, of its server, or None. Parts are those of :func:`write_pcapng`, a version is ``0.3`` or
    ``0.4``. Raises ValueError for rows that no run can have, OSError if a file cannot be written.
    """

def write_pcapng(
    path: str | PathLike[str],
    about: str,
    flows: Sequence[tuple[str, int, bool, bool, tuple[bool, bool] | None]],
    queues: Sequence[str],
    parts: Iterable[dict[str, npt.NDArray[np.generic]]],
    points: Sequence[str],
    link: str = "ethernet",
    ip: int = 4,
    snaplen: int = 128,
    payloads: tuple[npt.NDArray[np.uint64], Sequence[bytes]] | None = None,
    secrets: str = "",
) -> int:
    """Write the packets seen at ``points`` to a pcapng file, and return how many.

    A flow is ``(name, mss, timestamps, sack, mds)``, ``mds`` being ``(state_change_acks, immediate_acks)`` or None. A
    part is some rows of the table of packets, later ones than those of the part before: its columns, contiguous, of its
    types. Points are ``sender``,
    ``queue-in``, ``queue-out``, ``receiver``; a link is ``ethernet`` or ``raw``. ``payloads`` are the table of that
    name, and ``secrets`` what decrypts them: a block in front of the packets. Raises ValueError for other words, and
    for rows that no run with these flows and queues can have; OSError if the file cannot be written.
    """
