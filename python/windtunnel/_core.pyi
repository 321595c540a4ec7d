"""The compiled core: scenario model, simulator, exporters. All per-packet work happens here."""

from collections.abc import Callable, Sequence
from os import PathLike

import numpy as np
import numpy.typing as npt

__version__: str

class ScenarioError(ValueError):
    """A scenario that is wrong. ``str(error)`` is the whole message, ready to print.

    Attributes name the place: any of them may be ``None``.
    """

    file: str | None
    line: int | None
    column: int | None
    key: str | None
    value: str | None

def check(text: str, file: str | None = None, overrides: Sequence[str] = ()) -> str:
    """Validate a scenario (TOML text) and return it with every default, as TOML text.

    ``overrides`` are ``key=value`` strings as given to ``--set``. Raises ScenarioError.
    """

def resolve(text: str, file: str | None = None, overrides: Sequence[str] = ()) -> str:
    """As ``check``, but returns JSON."""

def schema() -> str:
    """The JSON Schema of a scenario file."""

def registry() -> str:
    """JSON: every controller, slow start, response, queue with summary, parameters, defaults, units, source.

    ``{"controllers": [entry], "slow_starts": [entry], "responses": [entry], "queues": [entry],
    "acks": [entry]}``; an entry is ``{"name", "summary", "source", "parameters": [{"name", "type", "default",
    "unit", "description"}], "aliases": [str]}``.
    """

class RunResult:
    """What a run measured. Immutable; the arrays are not copied."""

    @property
    def summary(self) -> str:
        """JSON: ``duration_s, seed, digest, packets, events, flows[], queues[], windows[]``.

        A flow: ``name, cc, path_rtt_ms, throughput_mbps, goodput_mbps, received_bytes, first_packet_s,
        last_packet_s, cwnd_limited, cwnd_bytes {mean, min, max}, rtt_ms {min, mean, p50, p95, p99, max}, retransmits,
        loss_episodes, rtos, ce_marks, sce_marks, slow_start_exit {t_s, cwnd_bytes, reason} | null``.
        A queue: ``name, rate_mbps, throughput_mbps, utilization, sojourn_ms {min, mean, p50, p95, p99, max}, sce, ce,
        drops {full, aqm, wire}, dequeued, emptied, backlog_max_packets``.
        A window: ``name, from_s, to_s, flows[], queues[]`` with the same fields.
        """

    @property
    def digest(self) -> str:
        """16 hex digits; equal for equal scenario and seed, on every platform."""

    @property
    def tables(self) -> dict[str, dict[str, npt.NDArray[np.generic]]]:
        """Columns by table and name; all columns of a table have one length.

        ``flows`` and ``queues`` hold one row per recording interval and flow or queue, ``time_s`` being the
        interval's end, ordered by time, then index:

        - ``flows``: time_s, flow, throughput_mbps, goodput_mbps, cwnd_bytes (last), cwnd_mean_bytes,
          cwnd_min_bytes, cwnd_max_bytes, rtt_ms (last), rtt_mean_ms, rtt_min_ms, rtt_max_ms, srtt_ms,
          in_flight_bytes, ce, sce (marks received), cwnd_limited (share of ACKs)
        - ``queues``: time_s, queue, throughput_mbps, utilization, sojourn_mean_ms, sojourn_min_ms,
          sojourn_max_ms, backlog_packets (last), backlog_max_packets, dequeued, emptied (dequeues that left the
          queue empty), sce, ce, drops

        Values of an interval without a sample are NaN. The ``*_points`` tables hold single events, thinned to
        one per ``record.points`` of each series:

        - ``throughput_points``: time_s, flow (-1: all flows), mbps; one per flow and base RTT of it: IP bytes
          received since the last one, over the time since
        - ``cwnd_points``: time_s, flow, bytes, limited (cwnd kept the sender from sending)
        - ``sojourn_points``: time_s, queue, ms, empty (the dequeue left the queue empty); thinned apart for
          empty and not empty
        - ``mark_points``: time_s, queue, flow, kind (0 SCE, 1 CE, 2 drop), hz (1 / time since the previous mark
          of this kind at this queue; the first counts from 0 s)

        With ``record.events = true`` also every event, in the order of processing:

        - ``dequeue_events``: t_ns, queue, flow, seq, size, sojourn_ns, mark (0 none, 1 SCE, 2 CE, 3 drop), acc,
          mds_osc, conv_osc (the AQM's state afterwards; 0 where it has none)
        - ``ack_events``: t_ns, flow, ack, rtt_ns, srtt_ns, feedback (bit 0 ECE, bit 1 ESCE), cwnd, in_flight,
          slow_start
        """

def run(
    text: str,
    file: str | None = None,
    overrides: Sequence[str] = (),
    progress: Callable[[float], bool] | None = None,
) -> RunResult:
    """Validate, run without the GIL, and return the result.

    ``progress`` is called now and then with the share of simulated time done; if it returns False the run stops and
    KeyboardInterrupt is raised. Raises ScenarioError.
    """

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

def write_pcapng(
    path: str | PathLike[str],
    about: str,
    flows: Sequence[tuple[str, int, bool, bool, tuple[int, bool, bool] | None]],
    queues: Sequence[str],
    packets: dict[str, npt.NDArray[np.generic]],
    points: Sequence[str],
    link: str = "ethernet",
    ip: int = 4,
    snaplen: int = 128,
) -> int:
    """Write the packets seen at ``points`` to a pcapng file, and return how many.

    A flow is ``(name, mss, timestamps, sack, mds)``, ``mds`` being ``(log2_tau, state_change_acks, immediate_acks)`` or
    None. ``packets`` are the columns of the table of that name, contiguous, of its types. Points are ``sender``,
    ``queue-in``, ``queue-out``, ``receiver``; a link is ``ethernet`` or ``raw``. Raises ValueError for other words, and
    for rows that no run with these flows and queues can have; OSError if the file cannot be written.
    """
