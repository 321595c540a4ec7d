"""The summary and the tables of a result: the core's own description, and the columns that a run really has."""

from __future__ import annotations

import numpy as np

import windtunnel
from generators.markdown import code, table
from generators.stub import docstring

#: A run with every table there is: arrivals, losses, several bands, a controller and an AQM with a state, packets.
SCENARIO = {
    "duration": "300 ms",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "fq_codel"}},
    "flows": [
        {"cc": "cubic", "rtt": "20 ms"},
        {"cc": "cubic", "rtt": "20 ms", "app": {"kind": "poisson", "load": "3 Mbit/s", "size": "20 kB"}},
        {"app": "probe", "rtt": "20 ms"},
    ],
    "record": {"events": True, "packets": True},
}

#: How a column's type is called.
TYPES = {"f": "number", "i": "whole number", "u": "whole number", "b": "truth value"}

HEAD = """# Results

`windtunnel run` writes a folder:

{folder}

From Python, the same is in a {{py:class}}`~windtunnel.RunResult`.

## What they mean

What the summary's keys and the tables' columns mean. Units end the names.

### Summary

```{{eval-rst}}
{summary}
```

### Tables

```{{eval-rst}}
{tables}
```

## Columns

Those of a run of CUBIC, short transfers and a probe over FQ-CoDel. The tables `cc`, `aqm` and `qdisc` have the columns
of the algorithms in the run. In files, `scenario`, `seed` and `digest` come first, and `flow_name` and `queue_name` are
next to the numbers.
"""


def pages() -> dict[str, str]:
    """The page of the results."""
    from windtunnel import folder

    listed = (folder.__doc__ or "").partition("\n\n")[2].replace("``", "`")
    listed = listed.replace(":meth:`windtunnel.result.RunResult.document`", "below")
    result = windtunnel.Scenario(**SCENARIO).run()
    parts = [
        HEAD.format(
            folder=listed.strip(),
            summary=docstring("RunResult", "summary"),
            tables=docstring("RunResult", "tables"),
        )
    ]
    for name, columns in result.tables.items():
        rows = [(code(column), TYPES[np.asarray(values).dtype.kind]) for column, values in columns.items()]
        parts += [f"### `{name}`", table(("column", "type"), rows)]
    return {"results.md": "\n\n".join(parts) + "\n"}
