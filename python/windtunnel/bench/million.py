"""Prints a scenario of a million flows over a thousand links, each with a thousand flows of its own.

``python -m windtunnel.bench.million > million.toml``, then ``windtunnel run million.toml``: docs/speed.md says what it
takes. All flows are active from the start, and the run is 200 ms long: five round trips.
"""

from __future__ import annotations

import sys

#: Links, and flows over each.
LINKS = FLOWS = 1000


def scenario(links: int = LINKS, flows: int = FLOWS) -> str:
    """Its text."""
    lines = [
        f'title = "{links * flows} flows over {links} links"',
        'duration = "200 ms"',
        'record = { interval = "200 ms", points = "0 s", state = "off" }',
    ]
    lines += [f'[[node]]\nname = "n{node}"' for node in range(2 * links)]
    for link in range(links):
        way = f'from = "n{2 * link}"\nto = "n{2 * link + 1}"'
        lines.append(f'[[link]]\nname = "l{link}"\n{way}\nrate = "500 Mbit/s"\ndelay = "2 ms"\nqueue = "codel"')
        terms = f'count = {flows}\ncc = "cubic"\niw = "2 packets"\nrtt = "40 ms"'
        lines.append(f'[[flow]]\nname = "f{link}"\n{way}\n{terms}')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(scenario())
