"""A profile for Wireshark and tshark: columns, colours, filters and IO graphs for captures of congestion control.

A profile is a folder in ``profiles`` of Wireshark's configuration. Its files are text, one entry per line, in the
formats that Wireshark itself writes. Rules of colour are tried in their order; the first that fits wins.

Wireshark lists comments among its expert information, and a capture of ours has its hidden state in comments. No
preference leaves them out; the profile's filter does, if the list is limited to the display filter. tshark leaves them
out with ``-z expert,note``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from windtunnel.result import RunResult

#: The files of a profile.
FILES: Final = ("preferences", "colorfilters", "dfilters", "dfilter_buttons", "io_graphs")

#: Titles and formats: ``%`` and letters are Wireshark's own columns, other texts are fields. A comment holds what no
#: header shows: the sender's window and state, and why a packet was lost.
_COLUMNS: Final = {
    "No.": "%m",
    "Time (s)": "%Rt",
    "Place": "frame.interface_name",
    "Flow": "tcp.stream or udp.stream",
    "Source": "%s",
    "Destination": "%d",
    "TSval": "tcp.options.timestamp.tsval",
    "Seq": "tcp.seq",
    "Len": "tcp.len",
    "Ack": "tcp.ack",
    "In flight": "tcp.analysis.bytes_in_flight",
    "RTT (s)": "tcp.analysis.ack_rtt",
    "Window": "tcp.window_size",
    "ECN": "ip.dsfield.ecn or ipv6.tclass.ecn",
    "Hidden state": "frame.comment",
    "Info": "%i",
}
#: What the columns need, and what packets of zeros, cut after their headers, do not have.
_PREFERENCES: Final = {
    "tcp.relative_sequence_numbers": "TRUE",
    "tcp.analyze_sequence_numbers": "TRUE",
    "tcp.track_bytes_in_flight": "TRUE",
    "tcp.calculate_timestamps": "TRUE",
    "tcp.desegment_tcp_streams": "FALSE",
    "tcp.check_checksum": "FALSE",
    "udp.check_checksum": "FALSE",
}

_AGAIN = (
    'frame.comment == "retransmission" || tcp.analysis.retransmission || tcp.analysis.fast_retransmission || '
    "tcp.analysis.spurious_retransmission"
)
_CE = "ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3"
_NO_SYN = "tcp.flags.syn == 0"
#: What is filtered: by the names of buttons and filters.
_FILTERS: Final = {
    "Lost here": 'frame.comment contains "drop:"',
    "Zero window": "tcp.analysis.zero_window || tcp.analysis.zero_window_probe",
    "Retransmission": _AGAIN,
    "CE": _CE,
    "CWR": f"tcp.flags.cwr == 1 && {_NO_SYN}",
    "ECE": f"tcp.flags.ece == 1 && {_NO_SYN}",
    "SACK": "tcp.options.sack.count > 0",
    "Start and end": "tcp.flags.syn == 1 || tcp.flags.fin == 1 || tcp.flags.reset == 1",
    "Data": "tcp.len > 0 || udp",
    "ACK": "tcp.flags.ack == 1 && tcp.len == 0",
    "Hidden state": 'frame.comment contains "cwnd="',
    # Notes, warnings and errors: no comments, and no chat.
    "Expert": "_ws.expert.severity >= 0x400000",
}
#: Background and text of the packets that a filter passes, in the order in which they are tried.
_COLOURS: Final = {
    "Lost here": ("#882255", "#ffffff"),
    "Zero window": ("#24292f", "#ffd479"),
    "Retransmission": ("#f7c6c9", "#6b0f17"),
    "CE": ("#ead3e3", "#5c1f47"),
    "CWR": ("#cfe8f7", "#003e61"),
    "ECE": ("#fde3bd", "#6b3f00"),
    "SACK": ("#d9d4f0", "#332288"),
    "Start and end": ("#d0d5da", "#24292f"),
    "Data": ("#ffffff", "#24292f"),
    "ACK": ("#eef3ee", "#24292f"),
}
_BUTTONS: Final = ("Expert", "Hidden state", "Lost here", "Retransmission", "CE", "ECE")
#: Lines of an IO graph: packets or bits of what a filter passes. Colours as in panels of ours.
_GRAPHS: Final = (
    ("Data (bits)", "Data", "#0072b2", "Bits"),
    ("Data", "Data", "#0072b2", "Packets"),
    ("ACK", "ACK", "#009e73", "Packets"),
    ("Retransmission", "Retransmission", "#c01c28", "Packets"),
    ("CE", "CE", "#b8578f", "Packets"),
    ("ECE", "ECE", "#e08a00", "Packets"),
)


def write_wireshark_profile(_: RunResult, folder: Path) -> None:
    """Write the profile into an empty folder. It is the same for every run."""
    for name, text in _files().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _files() -> Mapping[str, str]:
    """The texts of the files, by their names."""
    columns = ",\n".join(f'\t"{title}", "{_format(what)}"' for title, what in _COLUMNS.items())
    preferences = "\n".join(f"{name}: {value}" for name, value in _PREFERENCES.items())
    colours = [
        f"@{name}@{_FILTERS[name]}@[{_colour(back)}][{_colour(text)}]" for name, (back, text) in _COLOURS.items()
    ]
    buttons = [_row("TRUE", name, _FILTERS[name], "") for name in _BUTTONS]
    # The rates are of different sizes: bits are off until they are asked for.
    graphs = [
        _row("Disabled" if unit == "Bits" else "Enabled", label, _FILTERS[name], colour, "Line", unit, "", "None", "1")
        for label, name, colour, unit in _GRAPHS
    ]
    lines = {
        "colorfilters": colours,
        "dfilters": [f'"{name}" {text}' for name, text in _FILTERS.items()],
        "dfilter_buttons": buttons,
        "io_graphs": graphs,
    }
    texts = {name: "\n".join(each) + "\n" for name, each in lines.items()}
    return {"preferences": f"gui.column.format: \n{columns}\n{preferences}\n", **texts}


def _format(column: str) -> str:
    """A column's format: all values of a field, in words where Wireshark has any."""
    return column if column.startswith("%") else f"%Cus:{column}:0:R"


def _colour(text: str) -> str:
    """A colour in the numbers of 16 bits that Wireshark's file has."""
    return ",".join(str(257 * int(text[at : at + 2], 16)) for at in (1, 3, 5))


def _row(*fields: str) -> str:
    """A row of a table of Wireshark's, whose texts escape quotation marks by their numbers."""
    return ",".join('"' + field.replace('"', r"\x22") + '"' for field in fields)
