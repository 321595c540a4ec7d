"""The lab: what its page has in it, and what a browser makes of it (headless Chromium, by the clock).

What an edit does to a text, and that the past stays as it was, is in crates/lab/tests. The tests in the browser need
the core as WebAssembly (`make lab`), and are skipped without it.
"""

import http.client
import json
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from headless import watch

from windtunnel import Scenario
from windtunnel.errors import RunFailedError
from windtunnel.lab import live
from windtunnel.lab import page as lab
from windtunnel.lab.address import hash_of
from windtunnel.lab.examples import Example, examples, of_file
from windtunnel.lab.serve import served

DOCS = Path(__file__).parents[2] / "docs"
needs_core = pytest.mark.skipif(not lab.CODE.is_file(), reason="needs the core as WebAssembly: make lab")

SHORT = """\
title = "Short"
duration = "3 s"

[bottleneck]
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "40 packets" }

[[flow]]
cc = "cubic"
rtt = "40 ms"

[[flow]]
cc = "reno"
rtt = "40 ms"
"""

#: Opens a text at once, as fast as it goes, and waits for the page.
READY = """
await until(() => document.body.dataset.ready === "true", "ready");
const speed = (value) => { $("#speed").value = value; $("#speed").dispatchEvent(new Event("change")); };
const ended = () => until(() => document.body.dataset.digest !== undefined, "the end");
const text = () => $("#scenario").value;
const message = () => $("#message").textContent;
const paused = () => until(() => document.body.dataset.state === "paused", "a pause");
const set = (box, value) => { box.value = value; box.dispatchEvent(new Event("change")); };
"""


def page(folder: Path, *texts: str) -> Path:
    """A page with these scenarios."""
    path = folder / "lab.html"
    told = [Example(f"text {n}", text) for n, text in enumerate(texts)]
    path.write_text(lab.lab_page(told), encoding="utf-8", newline="\n")
    return path


def driver(body: str) -> str:
    """A driver that waits for the page first."""
    return f"(async () => {{ {READY} {body} }})().catch((error) => leave({{ error: String(error) }}));"


def digest(text: str) -> str:
    """That of `windtunnel run`."""
    return str(Scenario.from_toml(text).run().summary["digest"])


@needs_core
def test_the_digest_is_that_of_the_command_line(tmp_path: Path) -> None:
    """From a file, without network: the run ends with the digest of `run`, the panels have drawn, nothing was loaded,
    and `eval` is refused.
    """
    seen = watch(
        page(tmp_path, SHORT),
        driver("""
          speed("fast");
          $("#play").click();
          await ended();
          const inked = [...document.querySelectorAll(".panel")].map((panel) => {
            const canvas = panel.querySelector("canvas"), box = canvas.getContext("2d");
            const { data } = box.getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 3; i < data.length; i += 4) if (data[i] > 0) n++;
            return [panel.dataset.panel, n];
          });
          let evaluated = "refused";
          try { evaluated = String(eval("1 + 1")); } catch {}
          const loaded = performance.getEntriesByType("resource").map((e) => e.name)
            .filter((name) => !name.startsWith("blob:"));
          leave({ digest: document.body.dataset.digest, clock: $("#clock").textContent, inked, evaluated, loaded });
        """),
    )
    assert seen["digest"] == digest(SHORT)
    assert seen["clock"].startswith("3.0") or seen["clock"].startswith("3 s")
    # A line across a chart is about 400 pixels long; axes and grid alone have about as many.
    assert all(ink > 1000 for _, ink in seen["inked"]), seen["inked"]
    assert (seen["evaluated"], seen["loaded"]) == ("refused", [])


@needs_core
def test_a_slider_changes_the_running_simulation(tmp_path: Path) -> None:
    """In the middle of a run: the text has the change with its time, the run is where it was, and it ends with the
    digest of the text. Then the flow gets another controller, the queue is replaced, and the run goes back.
    """
    seen = watch(
        page(tmp_path, SHORT),
        driver("""
          set($("#time"), "1000000000");
          await until(() => $("#clock").textContent.startsWith("1.0"), "one second");
          const [rate] = document.querySelectorAll("#controls input[type=text]");
          set(rate, "4 Mbit/s");
          await until(() => text().includes("4 Mbit/s"), "the change");
          await paused();
          const after = { text: text(), clock: $("#clock").textContent };
          set($("#controls fieldset select"), "fq_codel");
          await until(() => text().includes("fq_codel"), "the queue");
          set($("#controls .flow select"), "vegas");
          await until(() => text().includes("vegas"), "the controller");
          await paused();
          const flows = document.querySelectorAll("#controls .flow").length;
          $("#rewind").click();
          await until(() => $("#clock").textContent.startsWith("0"), "the start");
          speed("fast");
          $("#play").click();
          await ended();
          leave({ after, flows, text: text(), digest: document.body.dataset.digest });
        """),
    )
    assert 'changes = [{ at = "1 s", rate = "4 Mbit/s" }]' in seen["after"]["text"]
    assert seen["after"]["clock"].startswith("1")
    assert seen["flows"] == 3
    resolved = Scenario.from_toml(seen["text"]).resolve()
    assert resolved["bottleneck"]["queue"]["kind"] == "replaced"
    assert [flow["cc"]["kind"] for flow in resolved["flow"]] == ["cubic", "reno", "vegas"]
    assert seen["digest"] == digest(seen["text"])


@needs_core
def test_links_and_faults(tmp_path: Path) -> None:
    """A link opens what its sender saw; a damaged one opens the lab with a message. A text that is wrong gets the
    message of the command line, at its line, and the run before stays.
    """
    path = page(tmp_path, SHORT)
    first = watch(
        path,
        driver("""
          set($("#time"), "500000000");
          await until(() => $("#clock").textContent.startsWith("0.5"), "half a second");
          await until(() => location.hash.includes("at=5"), "the address");
          const hash = location.hash;
          $("#scenario").value = text().replace("cubic", "cubik");
          $("#run-text").click();
          await until(() => message() !== "", "a message");
          const box = $("#scenario");
          const marked = box.value.slice(box.selectionStart, box.selectionEnd);
          leave({ hash, message: message(), marked, clock: $("#clock").textContent });
        """),
    )
    wrong = SHORT.replace("cubic", "cubik")
    with pytest.raises(ValueError) as refused:
        Scenario.from_toml(wrong).check()
    assert first["message"] == str(refused.value)
    assert first["marked"] == 'cc = "cubik"'
    assert first["clock"].startswith("0.5")
    opened = driver("leave({ text: text(), clock: $('#clock').textContent, message: message() });")
    second = watch(path, opened, at=first["hash"])
    assert (second["text"], second["message"]) == (SHORT, "")
    assert second["clock"].startswith("0.5")
    # A link that the documents have.
    other = SHORT.replace("10 Mbit/s", "12 Mbit/s")
    written = watch(path, opened, at=f"#{hash_of(other, 250_000_000)}")
    assert (written["text"], written["message"]) == (other, "")
    assert written["clock"].startswith("0.25")
    # The text of a link may be wrong: it is there to be mended, under its message.
    mended = watch(path, opened, at=f"#{hash_of(wrong)}")
    assert (mended["text"], mended["message"]) == (wrong, first["message"])
    damaged = watch(path, opened, at=first["hash"][:-9])
    assert damaged["text"] == SHORT
    assert damaged["message"].startswith("This link is damaged")


@needs_core
def test_steps_and_packets(tmp_path: Path) -> None:
    """One acknowledgement at a time; and packets in motion: the animation knows where each is."""
    seen = watch(
        page(tmp_path, SHORT),
        driver("""
          const now = () => Number($("#time").value);
          $("#animate").click();
          await paused();
          const steps = [];
          for (let i = 0; i < 30; i++) {
            const before = now();
            $("#step").click();
            await until(() => now() !== before || i > 25, "a step");
            steps.push(now());
          }
          speed("0.1");
          $("#play").click();
          await until(() => now() > 3e8, "some time");
          $("#play").click();
          await paused();
          const canvas = $("#animation");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const colours = new Set();
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] === 255) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
          }
          leave({ steps, colours: [...colours] });
        """),
    )
    assert seen["steps"] == sorted(seen["steps"])
    assert seen["steps"][0] < seen["steps"][20]
    # The two flows' colours (style.css: blue, orange).
    assert {"0,114,178", "224,138,0"} <= set(seen["colours"])


@needs_core
@pytest.mark.long
def test_digests_of_the_gallery(tmp_path: Path) -> None:
    """Every scenario of the gallery, in Chromium: the digest of `windtunnel run`."""
    files = sorted((DOCS / "gallery").glob("*/*.toml"))
    assert len(files) >= 20
    told = [of_file(file) for file in files]
    path = tmp_path / "lab.html"
    path.write_text(lab.lab_page(told), encoding="utf-8", newline="\n")
    seen = watch(
        path,
        driver(f"""
          speed("fast");
          const digests = [];
          for (let i = 0; i < {len(files)}; i++) {{
            set($("#examples"), String(i));
            await until(() => text() === JSON.parse($("#lab-data").textContent).examples[i].text, `text ${{i}}`);
            await paused();
            speed("fast");
            $("#play").click();
            await ended();
            digests.push(document.body.dataset.digest);
          }}
          leave(digests);
        """),
        seconds=900,
    )
    expected = [str(Scenario.from_file(file).run().summary["digest"]) for file in files]
    assert dict(zip(files, seen, strict=True)) == dict(zip(files, expected, strict=True))


def test_examples_are_scenarios() -> None:
    """All are valid, say what they are about, and need no file."""
    for example in examples():
        Scenario.from_toml(example.text).check()
        assert example.text.startswith("# ") and example.name == tomllib.loads(example.text)["title"]


def test_a_scenario_comes_with_its_traces() -> None:
    """The traces that it names are in the page."""
    [file] = (DOCS / "gallery" / "cellular-trace").glob("*.toml")
    example = of_file(file)
    assert dict(example.files) == {"cell.trace": (file.parent / "cell.trace").read_text(encoding="utf-8")}


def test_a_run_opens_with_its_folder(tmp_path: Path) -> None:
    """The scenario of a result is the one that ran."""
    result = Scenario.from_toml(SHORT).run()
    result.save(tmp_path / "run")
    example = of_file(tmp_path / "run")
    assert example.name == "Short"
    assert Scenario.from_toml(example.text).resolve() == Scenario.from_toml(SHORT).resolve()


def test_panels_draw_columns_that_runs_have() -> None:
    """The lines of the lab's panels are columns of a run's tables."""
    queue = '{ kind = "fifo", limit = "40 packets" }'
    result = Scenario.from_toml(SHORT.replace(queue, '"dualpi2"')).run()
    for panel, every in live.panels():
        for lines in every:
            table = result.tables[lines.table]
            wanted = {lines.of, lines.y, "time_s"} | {name for name in (lines.low, lines.high, lines.flag) if name}
            assert wanted <= set(table), (panel.id, lines)


def test_without_the_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what builds it."""
    monkeypatch.setattr(lab, "CODE", tmp_path / "none")
    with pytest.raises(RunFailedError, match="make lab"):
        lab.lab_page(examples())


def test_the_server_is_for_this_machine() -> None:
    """It serves the page on 127.0.0.1 and nothing else; a port that is taken is a message."""
    with served("<p>page</p>") as (address, server):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        assert host == "127.0.0.1"
        for path, status in (("/", 200), ("/?x", 200), ("/etc/passwd", 404)):
            connection = http.client.HTTPConnection(host, int(port))
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == status
            assert (b"<p>page</p>" in answer.read()) is (status == 200)
        with pytest.raises(ValueError, match=f"--port {port}: cannot be used"), served("", int(port)):
            pass
        server.shutdown()
        thread.join()


@needs_core
def test_the_command_ends_with_ctrl_c(tmp_path: Path) -> None:
    """It says where the page is, and ends without a traceback."""
    command = [sys.executable, "-m", "windtunnel", "lab"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    line = running.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    time.sleep(0.1)
    running.send_signal(2)
    _, errors = running.communicate(timeout=20)
    assert "Traceback" not in errors
    assert running.returncode in (130, -2)
    written = subprocess.run([*command, "--out", "lab.html"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert written.stdout == "lab.html\n"
    again = subprocess.run([*command, "--out", "lab.html"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_described_for_the_script() -> None:
    """What the script reads is JSON without empty values."""
    told = json.loads(json.dumps({"panels": live.described(), "looks": live.looks()}))
    assert [panel["meta"]["id"] for panel in told["panels"]] == ["throughput", "sojourn", "cwnd", "rtt", "marks"]
    assert len(told["looks"]["flows"]) == 24
