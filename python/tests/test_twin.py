"""A scenario on the real Linux: its translation and its verdicts, which need no kernel."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, refused

from windtunnel import Scenario
from windtunnel.errors import InputError
from windtunnel.kernel import kept, options
from windtunnel.twin import Plan, plan, script
from windtunnel.twin.measures import Measure, measures
from windtunnel.twin.sides import DrawCount, draw

# The tests' own cache has none, so this reads the user's, before that is set.
KERNELS = kept.kernels()
NEEDS = [name for name in ("cc", "ip", "tc") if shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") is None]
needs_kernel = pytest.mark.skipif(not KERNELS or bool(NEEDS), reason=kept.NONE)

TEXT = """\
duration = "5 s"

[bottleneck]
rate = "40 Mbit/s"
queue = { kind = "fifo", limit = "150 kB" }

[[flow]]
cc = "cubic"
rtt = "40 ms"
"""


def linux(hz: int = 1000, without: str = "") -> kept.Kernel:
    """A kernel with all options but one."""
    text = options.fragment().replace(f"CONFIG_{without}=y\n", "")
    listed = options.features(f"{text}CONFIG_HZ={hz}\n", hz)
    return kept.Kernel("6.12.1", hz, "0" * 64, "any", "cc", listed.has, listed.lacks, "", Path())


def planned(*settings: str, kernel: kept.Kernel | None = None) -> Plan:
    """The plan of the scenario with settings."""
    return plan(Scenario.from_toml(TEXT, overrides=settings).resolve(), kernel or linux())


def test_a_plan() -> None:
    """The class may be ahead by 2 us, which are 10 bytes at 40 Mbit/s; the limit is the scenario's."""
    made = planned()
    assert made.table == ("stab", "overhead", "-14", "linklayer", "ethernet")
    assert " ".join(made.shaper) == "rate 40mbit burst 10b cburst 10b quantum 1514"
    assert made.leaf == ("bfifo", "limit", "150000b")
    assert (made.duration, made.interval, made.settle) == (5 * 10**9, 10**7, 60 * 10**9)
    [flow] = made.flows
    assert (flow.controller, flow.rtt, flow.start, flow.ecn) == ("cubic", 40 * 10**6, 0, 0)


def test_ethernet_is_what_tc_counts() -> None:
    """With 14 bytes of overhead there is nothing to take off, and a frame has 1514 bytes."""
    made = planned("bottleneck.overhead='14 B'")
    assert (made.table, made.frame) == ((), 1514)


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("{kind='fifo', limit='100 packets'}", "pfifo limit 100"),
        ("{kind='pie'}", "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20"),
        ("{kind='codel', ecn=true}", "codel limit 1000 target 5ms interval 100ms ecn"),
        ("{kind='fq_codel', limit='1000 packets'}", "fq_codel limit 1000 flows 1024"),
        ("{kind='dualpi2'}", "dualpi2 limit 10000"),
        ("{kind='codel', newton=true}", "codel limit 1000"),
        # Twice Ethernet's 14 bytes: CAKE takes them off, and its quantum has them. 18 bytes are what each packet has.
        ("{kind='cake'}", "cake diffserv3 triple-isolate rtt 100ms overhead 28 mpu 0"),
        ("{kind='cake', overhead='18 B'}", "cake diffserv3 triple-isolate rtt 100ms overhead 32 mpu 0"),
    ],
)
def test_queues(queue: str, words: str) -> None:
    """The words of tc."""
    assert " ".join(planned(f"bottleneck.queue={queue}").leaf).startswith(words)


def test_cake_counts_ethernet() -> None:
    """Where the link counts Ethernet's bytes, CAKE counts them once: its word takes them off, and adds them."""
    words = " ".join(planned("bottleneck.queue='cake'", "bottleneck.overhead='14 B'").leaf)
    assert " overhead 14 mpu 0 " in words


def test_defaults_of_the_kernel() -> None:
    """Next to Linux's endpoints, CoDel's square root and PIE's timer are Linux's without being named."""

    def queue(kind: str) -> Any:
        scenario = Scenario.from_toml(TEXT, overrides=(f"bottleneck.queue='{kind}'",))
        return scenario.resolve()["bottleneck"]["queue"]

    assert queue("codel")["newton"] is True and queue("fq_codel")["newton"] is True
    assert queue("pie")["tick"] == queue("fq_pie")["tick"] == "1 ms"


def test_settings_of_hosts() -> None:
    """ECN, timestamps, SACK and buffers are those of each flow's own hosts; DCTCP's receiver has DCTCP too."""
    made = planned(
        "flow.0.cc='dctcp'", "flow.0.ecn='dctcp'", "flow.0.tcp.timestamps=false", "flow.0.tcp.receive_window='1 MiB'"
    )
    [flow] = made.flows
    assert (flow.controller, flow.receiver, flow.ecn, flow.timestamps) == ("dctcp", "dctcp", 1, False)
    text = script(made)
    assert 'settings tcp_no_metrics_save 1 tcp_timestamps 0 tcp_sack 1 tcp_rmem "4096 131072 1048576"' in text
    assert "guest-flow receive 10.3.0.1 5000 dctcp &" in text
    assert "tcp_moderate_rcvbuf 1" in text
    text = script(planned("flow.0.tcp.autotuning=false", "flow.0.tcp.receive_window='1 MiB'"))
    # A window of 1 MiB needs 256/160 of that: a packet of 1448 bytes takes 2304.
    assert 'tcp_rmem "4096 1677721 1677721"' in text and "tcp_moderate_rcvbuf 0" in text
    memory = ("flow.0.tcp.truesize='sender'", "flow.0.tcp.header_block='640 B'")
    text = script(planned("flow.0.tcp.autotuning=false", "flow.0.tcp.receive_window='1 MiB'", *memory))
    assert f'tcp_rmem "4096 {(1 << 28) // 158} {(1 << 28) // 158}"' in text
    assert 'tcp_wmem "4096 16384 2147483647"' in text
    limited = script(planned("flow.0.tcp.send_buffer='1 MiB'"))
    assert 'tcp_wmem "4096 16384 1048576"' in limited
    # No window is asked of a route: each side offers what its buffer supports.
    assert "route add default via 10.3.0.254\n" in text


def test_delays_and_losses() -> None:
    """Half of the round trip each way, and ahead the time of each packet on the wire, without Ethernet's 14 bytes. With
    jitter, packets may overtake each other: then it is that of a full packet, 0.3 ms.
    """
    text = script(planned("bottleneck.impair={kind='loss', probability='1 %'}", "flow.0.rtt='30 ms'"))
    assert "netem limit 1000000 delay 15ms loss random 1% rate 40mbit -14" in text
    assert "netem limit 1000000 delay 15ms\n" in text
    jitter = "bottleneck.impair={kind='jitter', mean='2 ms', deviation='1 ms', distribution='normal', reorder=true}"
    assert "netem limit 1000000 delay 20.3ms 1ms distribution normal" in script(planned(jitter))


REQUESTS = "{kind='request-response', size={kind='exponential', mean='30 kB'}, think='100 ms'}"


@pytest.mark.parametrize(
    ("app", "lines"),
    [
        ("{kind='transfer', size='300 kB'}", ["after 0 300000"]),
        # Think times are fixed here; sizes are drawn.
        (REQUESTS, ["after 0 ", "after 100000000 ", "after 100000000 "]),
        # 1 Mbit/s in frames of 100 ms: 12500 bytes.
        (
            "{kind='media', protocol='tcp', rate='1 Mbit/s', frame_interval='100 ms'}",
            ["at 0 12500", "at 100000000 12500"],
        ),
    ],
)
def test_messages(app: str, lines: list[str]) -> None:
    """What the guest's program writes, and when: by the keys of the application."""
    [flow] = planned(f"flow.0.app={app}").flows
    assert flow.schedule is not None and flow.schedule.protocol == "tcp"
    for line, start in zip(flow.schedule.lines, lines, strict=False):
        assert line.startswith(start)
    assert flow.schedule.closes == app.startswith("{kind='transfer'")


def test_what_is_drawn_is_drawn_once() -> None:
    """The sizes that the guest is told are those of the simulator's run, in their order; another seed has others."""
    settings = (f"flow.0.app={REQUESTS}", "flow.0.name='web'")
    table = Scenario.from_toml(TEXT, overrides=settings).run().tables["transfers"]
    [flow], [other] = planned(*settings).flows, planned(*settings, "seed=2").flows
    assert flow.schedule is not None and other.schedule is not None
    sizes = [int(line.split()[2]) for line in flow.schedule.lines]
    assert sizes[: len(table["size_bytes"])] == table["size_bytes"].tolist() != []
    assert len(sizes) >= len(table["size_bytes"])
    assert [int(line.split()[2]) for line in other.schedule.lines[:5]] != sizes[:5]


def test_datagrams() -> None:
    """1200 bytes at 1 Mbit/s are 9.6 ms apart, and 28 of them are headers; a flow of datagrams may carry ECT(0)."""
    flows = "flow=[{app='cbr', rtt='20 ms', start='1 s', ecn=true}, {app={kind='probe', interval='1 s'}, rtt='20 ms'}]"
    constant, probe = planned(flows).flows
    assert constant.schedule is not None and probe.schedule is not None
    assert constant.schedule.lines[:2] == ("1000000000 1172", "1009600000 1172")
    assert (constant.controller, constant.schedule.protocol, constant.schedule.tos) == ("", "udp", 2)
    assert probe.schedule.answers and len(probe.schedule.lines) == 5
    text = script(planned(flows))
    assert "inside r0 guest-datagrams receive 10.3.0.1 5000 0 90000000000 95000000000 came0.csv &" in text
    assert "inside s1 guest-datagrams send 10.3.1.1 5000 0 90000000000 95000000000 schedule1 back1.csv &" in text


def test_parameters_of_modules() -> None:
    """What differs from the usual is written below /sys/module before anything runs; CUBIC's beta in 1024ths."""
    made = planned("flow.0.cc={kind='vegas', alpha=4}")
    assert made.parameters == (("tcp_vegas/parameters/alpha", "4"),)
    assert "echo 4 > /sys/module/tcp_vegas/parameters/alpha\n" in script(made)
    assert planned().parameters == ()
    slow_start = planned("flow.0.cc.slow_start='standard'").parameters
    assert slow_start == (("tcp_cubic/parameters/hystart", "0"),)
    detect = planned("flow.0.cc.slow_start={kind='hystart', ack_train=false}").parameters
    assert detect == (("tcp_cubic/parameters/hystart_detect", "2"),)
    beta = planned("flow.0.cc={kind='cubic', beta=0.5, tcp_friendliness=false}").parameters
    assert beta == (("tcp_cubic/parameters/beta", "512"), ("tcp_cubic/parameters/tcp_friendliness", "0"))


def test_accecn() -> None:
    """Linux 6.18 has it; both ends are told, because a listener answers it only if it is on."""
    [flow] = planned("flow.0.ecn='accecn'", kernel=replace(linux(), version="6.18.1")).flows
    assert (flow.ecn, flow.listener) == (3, 3)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("flow.0.cc='bbr3'", "has no controller `bbr3`"),
        ("flow.0.cc.beta=0.5", "flow.0.cc.beta = 0.5: Linux has derived"),
        ("flow.0.cc.c=0.5", "flow.0.cc.c = 0.5: Linux's cubic has it otherwise"),
        (
            "flow.0.cc.slow_start={kind='hystart', delay_min='2 ms'}",
            "flow.0.cc.slow_start.delay_min = 2 ms: Linux's cubic",
        ),
        ("flow.0.cc.slow_start='hystart++'", "flow.0.cc.slow_start = hystart-pp: Linux's cubic has"),
        (
            "flow=[{cc={kind='vegas', alpha=4}, rtt='40 ms'}, {cc='vegas', rtt='40 ms'}]",
            "flow.1.cc: tcp_vegas/parameters/alpha = 2, and 4 of flow 0: a module of Linux has one",
        ),
        ("flow.0.app={kind='poisson', arrivals=1.0}", "flow.0.app = poisson: a flow of the guest is one connection"),
        ("flow.0.app={kind='on-off'}", "flow.0.app.rate: without one"),
        ("flow=[{cc='scream', app={kind='media', protocol='rtp'}, rtt='40 ms'}]", "flow.0.app.protocol = rtp"),
        ("flow=[{app={kind='cbr', responsive=true}, rtt='40 ms'}]", "flow.0.app.responsive = true"),
        ("flow.0.ecn='accecn'", "flow.0.ecn = accecn: Linux 6.12.1 does not have it"),
        ("flow.0.ecn='esce'", "flow.0.ecn = esce"),
        ("flow.0.iw='3 packets'", "flow.0.iw = 3 packets"),
        ("flow.0.pacing=true", "flow.0.pacing = true"),
        ("flow.0.count=2", "flow.0.count = 2"),
        ("flow.0.tcp.tlp=false", "flow.0.tcp.tlp = false"),
        ("flow.0.tcp.tick='4 ms'", "flow.0.tcp.tick = 4 ms: the kernel's HZ is 1000"),
        ("bottleneck.queue={kind='fq_pie', tick='4 ms'}", "bottleneck.queue.tick = 4 ms: the kernel's HZ is 1000"),
        ("flow.0.ack.count=1", "flow.0.ack = "),
        ("endpoints='ideal'", "endpoints = ideal"),
        ("bottleneck.queue='deltim'", "bottleneck.queue.kind = deltim: tc has no such discipline"),
        ("bottleneck.queue={kind='fq_codel', mds_dscp=10}", "bottleneck.queue.mds_dscp = 10"),
        ("bottleneck.changes=[{at='1 s', rate='1 Mbit/s'}]", "bottleneck.changes = "),
        ("bottleneck.dequeue_point='end'", "bottleneck.dequeue_point = end"),
        ("bottleneck.impair={kind='loss', probability='1 %', affects='data'}", "bottleneck.impair = "),
        ("reverse={rate='1 Mbit/s'}", "reverse = "),
        ("record.packets=true", "record.packets = true"),
        (
            "bottleneck.queue={kind='sfq', redflowlimit='60 kB', ecn=true}",
            "bottleneck.queue.ecn = true: the kernel does not tell",
        ),
        ("bottleneck.impair={kind='corruption', probability='1 %'}", "is not counted in the guest"),
        ("window=[{name='late', from='1 s', to='2.005 s'}]", "window.0.to = 2005 ms: the guest is read at the ends of"),
    ],
)
def test_what_linux_cannot_do_is_refused_by_name(setting: str, says: str) -> None:
    """One message: key, value, and what is lacking."""
    with pytest.raises(InputError) as caught:
        planned(setting)
    assert says in str(caught.value)


def test_what_a_kernel_lacks() -> None:
    """Linux 6.12 has no dualpi2; a kernel of 250 Hz has another tick."""
    with pytest.raises(InputError, match=r"Linux 6\.12\.1 has no qdisc `dualpi2`"):
        planned("bottleneck.queue='dualpi2'", kernel=linux(without="NET_SCH_DUALPI2"))
    with pytest.raises(InputError, match="the kernel's HZ is 250"):
        planned(kernel=linux(hz=250))
    assert planned("flow.0.tcp.tick='4 ms'", kernel=linux(hz=250)).flows
    pie = ("flow.0.tcp.tick='4 ms'", "bottleneck.queue.kind='pie'")
    with pytest.raises(InputError, match=r"bottleneck\.queue\.tick = 1 ms: the kernel's HZ is 250"):
        planned(*pie, kernel=linux(hz=250))
    assert planned(*pie, "bottleneck.queue.tick='4 ms'", kernel=linux(hz=250)).flows


def test_without_a_kernel(cli: Cli, scenario: Path) -> None:
    """One line says how to get one; nothing is written."""
    refused(cli("twin", scenario, "--only", "linux"), "`windtunnel kernel build` makes one")
    assert not (scenario.parent / "results").exists()


# Both sides


@pytest.mark.parametrize(
    ("linux", "ours", "verdict", "words"),
    [
        ((1.0, 3.0, 2.0), (2.0, 2.1, 1.9), "agrees", "within the kernel's own spread"),
        ((1.0, 3.0, 2.0), (4.0, 4.1, 3.9), "differs", "outside by +1 (+50 %)"),
        ((1.0, 3.0, 2.0), (0.5, 0.6, 0.4), "differs", "outside by -0.5 (-25 %)"),
        # The interval of this mean reaches from below 1 to above 3.
        ((1.0, 3.0, 2.0), (0.5, 3.5, 2.0), "undecided", "not decided by 3 draws"),
        # Draws that are all the same are one draw, which has no interval.
        ((0.0, 0.0), (0.0, 0.0), "agrees", "within the kernel's own spread"),
        ((0.0, 0.0), (1.0, 1.0), "differs", "outside by +1"),
    ],
)
def test_verdicts(linux: tuple[float, ...], ours: tuple[float, ...], verdict: str, words: str) -> None:
    """The mean's interval within the kernel's least and greatest, outside of it, or neither."""
    measure = Measure("a", "goodput", "Mbit/s", linux, ours)
    assert (measure.verdict, measure.words()) == (verdict, words)


def test_both_sides_have_the_same_draws() -> None:
    """With the simulator in the kernel's place, each measure has the same values on both sides.

    No two draws have the same ones: each has a seed and starts of its own.
    """
    two = "flow=[{name='a', cc='reno', rtt='40 ms'}, {name='b', cc='cubic', rtt='40 ms'}]"
    count, heard = DrawCount(6), []
    sides = draw(
        Scenario.from_toml(TEXT, overrides=(two,)),
        lambda described, _, __: described.run(),
        linux(),
        3,
        jobs=2,
        count=count,
        moved=lambda: heard.append((count.done, count.linux + count.ours)),
    )
    assert heard == [(n, n) for n in range(1, 7)]
    assert count.line() == "Linux 3, windtunnel 3 of 3; 6 of 6 runs"
    rows = measures(sides.linux, sides.ours)
    assert [row.linux for row in rows] == [row.ours for row in rows]
    goodputs = [row.linux for row in rows if row.name == "goodput"]
    assert len(goodputs) == 2 and all(len(set(values)) == 3 for values in goodputs)
    assert [result.meta["seed"] for result in sides.ours] == [1, 2, 3]
    assert {row.subject for row in rows} == {"a", "b", "bottleneck"}


def test_measures_of_windows() -> None:
    """Each window has each measure of its own rows: what was delivered in two adjacent windows is all of it."""
    windows = "window=[{name='first', from='0 s', to='2 s'}, {name='rest', from='2 s', to='5 s'}]"
    result = Scenario.from_toml(TEXT, overrides=(windows,)).run()
    rows = {(row.subject, row.name): row.ours[0] for row in measures([result], [result])}
    whole = [name for subject, name in rows if subject == "cubic"]
    assert [name for subject, name in rows if subject == "rest: cubic"] == whole
    parts = 2 * rows["first: cubic", "goodput"] + 3 * rows["rest: cubic", "goodput"]
    assert parts / 5 == pytest.approx(rows["cubic", "goodput"])
    assert rows["rest: cubic", "goodput"] == pytest.approx(result.windows[1]["flows"][0]["goodput_mbps"], rel=0.01)


def test_verdicts_of_one_side_are_refused(cli: Cli, scenario: Path) -> None:
    """One side has no verdicts to report."""
    refused(cli("twin", scenario, "--only", "linux", "--junit", "out.xml"), "--junit has verdicts")
