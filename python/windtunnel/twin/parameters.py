"""Parameters of controllers, as those of the kernel's modules (``/sys/module/tcp_NAME/parameters``).

They are of the whole guest and not of a flow: two flows with different ones are refused. Not all that a module has can
be set while the kernel runs: CUBIC's ``bic_scale`` (our ``c``) and CDG's ``window`` are read when it boots, and so is
CUBIC's ``beta`` where it decides how fast the estimate of Reno's window grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windtunnel.errors import InputError
from windtunnel.export.tc.words import seconds

Document = Mapping[str, Any]


def _whole(value: Any) -> str:
    return str(int(value))


#: By controller: our key, and what makes the module's value of it. The names are the same.
_PARAMETERS: Mapping[str, Mapping[str, Callable[[Any], str]]] = {
    "bic": dict.fromkeys(
        ("beta", "fast_convergence", "initial_ssthresh", "low_window", "max_increment", "smooth_part"), _whole
    ),
    "cdg": dict.fromkeys(
        ("backoff_beta", "backoff_factor", "hystart_detect", "use_ineff", "use_shadow", "use_tolerance"), _whole
    ),
    "cubic": {
        "beta": lambda value: str(round(1024 * value)),
        **dict.fromkeys(("fast_convergence", "initial_ssthresh", "tcp_friendliness"), _whole),
    },
    "dctcp": dict.fromkeys(("dctcp_alpha_on_init", "dctcp_shift_g"), _whole),
    "htcp": dict.fromkeys(("use_bandwidth_switch", "use_rtt_scaling"), _whole),
    "hybla": {"rtt0": _whole},
    "nv": {
        **dict.fromkeys(("nv_min_cwnd", "nv_pad"), _whole),
        "nv_reset_period": lambda value: str(round(seconds(value))),
    },
    "vegas": dict.fromkeys(("alpha", "beta", "gamma"), _whole),
}
#: HyStart's, of CUBIC's slow start: our key, the module's name, its value.
_HYSTART: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "low_window": ("hystart_low_window", _whole),
    "ack_spacing": ("hystart_ack_delta_us", lambda value: str(round(1e6 * seconds(value)))),
}


def translated(kind: str) -> frozenset[str]:
    """The keys of a controller that have a word here."""
    return frozenset(_PARAMETERS.get(kind, ())) | ({"slow_start"} if kind == "cubic" else frozenset())


def parameters(flows: list[Document], plain: list[Document]) -> tuple[tuple[str, str], ...]:
    """The files below /sys/module and what is written there, where flows have other values than plain ones. Raises
    InputError.
    """
    wanted: dict[str, tuple[str, int]] = {}
    usual: dict[str, str] = {}
    for number, (flow, like) in enumerate(zip(flows, plain, strict=True)):
        if "cc" not in flow:
            continue
        at = f"flow.{number}.cc"
        kind = str(flow["cc"]["kind"])
        usual |= dict(_values(kind, like["cc"], at))
        for name, value in _values(kind, flow["cc"], at):
            before = wanted.setdefault(name, (value, number))
            if before[0] != value:
                raise InputError(
                    f"{at}: {name} = {value}, and {before[0]} of flow {before[1]}: a module of Linux has one"
                    " parameter for all flows"
                )
        _check(flow["cc"], like["cc"], at)
    return tuple((name, value) for name, (value, _) in wanted.items() if usual[name] != value)


def _values(kind: str, controller: Document, at: str) -> Iterator[tuple[str, str]]:
    """The files and values of a controller."""
    folder = f"tcp_{kind}/parameters"
    for key, of in _PARAMETERS.get(kind, {}).items():
        yield f"{folder}/{key}", of(controller[key])
    if kind != "cubic":
        return
    slow_start = controller["slow_start"]
    hystart = slow_start["kind"] == "hystart"
    yield f"{folder}/hystart", str(int(hystart))
    if hystart:
        yield f"{folder}/hystart_detect", str(int(slow_start["ack_train"]) + 2 * int(slow_start["delay"]))
        for key, (name, of) in _HYSTART.items():
            yield f"{folder}/{name}", of(slow_start[key])


def _check(controller: Document, plain: Document, at: str) -> None:
    """Refuse what a running module does not take. Raises InputError."""
    if controller["kind"] != "cubic":
        return
    if controller["beta"] != plain["beta"] and controller["tcp_friendliness"]:
        raise InputError(
            f"{at}.beta = {controller['beta']}: Linux has derived what Reno's estimate grows by from its own beta when"
            " it booted; `tcp_friendliness = false` makes no use of it"
        )
    mine, usual = controller["slow_start"], plain["slow_start"]
    if mine["kind"] == "hystart":
        allowed = {"ack_train", "delay", *_HYSTART}
    elif mine["kind"] == "standard":
        usual = {"growth": "linux", "l": 2, "base_reduction": False, "exit": "md", "pacing_gain": 1.0}
        allowed = {"kind"}
    else:
        raise InputError(f"{at}.slow_start = {mine['kind']}: Linux's cubic has hystart or the standard one")
    for key in sorted(mine):
        if key not in allowed and mine[key] != usual.get(key):
            raise InputError(f"{at}.slow_start.{key} = {mine[key]}: Linux's cubic has it otherwise")
