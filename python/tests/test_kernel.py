"""The kernel as a component, without compiling one: options, sources, the cache, and builds with a make of ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from conftest import HUNG, PROGRAM, Cli, environment, refused

from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel import kept, options, programs, source, tools
from windtunnel.kernel.build import Steps, build

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="User-Mode Linux needs Linux")

#: A configurator that drops what a kernel may lack, and a compiler of kernels. `SLOW` makes it wait, `BROKEN` fail.
MAKE = """\
#!/bin/sh
echo "$@" >> ../../../made
case "$*" in
*mrproper*) ;;
*allnoconfig*) grep -v -e DUALPI2 -e BPF_JIT "$KCONFIG_ALLCONFIG" > .config
    echo "CONFIG_HZ=$(sed -n 's/.*default //p' arch/um/Kconfig)" >> .config ;;
*) echo "  CC      init/main.o"; echo "  LD      vmlinux.o"
    if [ -e SLOW ]; then sleep 300; fi
    if [ -e BROKEN ]; then echo "init/main.c:3:1: error: expected ';'"; echo "make: *** [all] Error 2"; exit 2; fi
    cat .config > linux ;;
esac
"""
KCONFIG = "config UML\n\tbool\n\nconfig HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n\tint\n\tdefault 1\n"
MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nEXTRAVERSION =\nNAME = Any\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What passes for a source of Linux, and programs that build it."""
    programs_of_ours = tmp_path / "bin"
    programs_of_ours.mkdir()
    for name in ("make", "flex", "bison", "bc"):
        (programs_of_ours / name).write_text(MAKE, encoding="utf-8")
        (programs_of_ours / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs_of_ours}:{os.environ['PATH']}")
    folder = tmp_path / "linux-6.12.9"
    (folder / "arch/um").mkdir(parents=True)
    (folder / "arch/um/Kconfig").write_text(KCONFIG, encoding="utf-8")
    (folder / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    return folder


def built(tree: Path, *, hz: int = 1000, again: bool = False) -> kept.Kernel:
    """A kernel of the fake source."""
    steps = Steps(lambda _: None)
    return build(hz=hz, package=None, source=tree, jobs=1, steps=steps, again=again).kernel


def config_of(fragment: str, hz: int = 1000) -> str:
    """A configuration that grants all that is asked for."""
    return f"{fragment}CONFIG_HZ={hz}\n"


# Options


def test_each_option_once_and_with_a_reason() -> None:
    """An option in two groups could be both wanted and off."""
    names = [option for group in options.groups() for option in (*group.options, *group.values)]
    assert len(names) == len(set(names)) > 100
    assert all(len(group.reason.split()) > 5 for group in options.groups())
    assert {group.need for group in options.groups()} == {"required", "wanted", "older", "off"}


def test_what_a_configuration_lacks() -> None:
    """The configurator drops silently; wanted options that are gone have the kernel's own names."""
    whole = options.features(config_of(options.fragment()), 1000)
    assert whole.lacks == {}
    # Linux 7.3 has no such option, and lacks nothing.
    assert options.features(config_of(options.fragment().replace("CONFIG_PROC_SYSCTL=y\n", "")), 1000).lacks == {}
    assert {"reno", "cubic", "highspeed", "bbr"} <= set(whole.has["controller"])
    assert {"bfifo", "dualpi2", "fq_codel", "netem"} <= set(whole.has["qdisc"])
    less = options.fragment()
    for option in ("NET_SCH_DUALPI2", "TCP_CONG_HSTCP", "BPF_JIT"):
        less = less.replace(f"CONFIG_{option}=y\n", "")
    listed = options.features(config_of(less), 1000)
    assert listed.lacks == {"controller": ("highspeed",), "option": ("BPF_JIT",), "qdisc": ("dualpi2",)}
    assert "dualpi2" not in listed.has["qdisc"]


@pytest.mark.parametrize(
    "option", [o for g in options.groups() if g.need == "required" for o in (*g.options, *g.values)]
)
def test_no_kernel_without_what_is_required(option: str) -> None:
    """Each is named, with its reason."""
    less = "".join(line for line in options.fragment().splitlines(True) if not line.startswith(f"CONFIG_{option}="))
    with pytest.raises(InputError, match=f"CONFIG_{option} ") as caught:
        options.features(config_of(less), 1000)
    [reason] = [g.reason for g in options.groups() if option in (*g.options, *g.values)]
    assert reason in str(caught.value)


def test_hz_is_checked() -> None:
    """A source that sets HZ elsewhere would tick at another rate than its name says."""
    with pytest.raises(InputError, match="HZ = 100, not 250"):
        options.features(config_of(options.fragment(), 100), 250)


# Sources


def test_hz_and_version_of_a_source(tree: Path) -> None:
    """Only the default of HZ changes in the copy."""
    assert source.prepare(tree, 250) == "6.12.9"
    assert (tree / "arch/um/Kconfig").read_text() == KCONFIG.replace("default 100", "default 250")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("arch/um/Kconfig", "config HZ\n\tint\n\tdefault HZ_WISH\n", "does not set HZ"),
        ("Makefile", MAKEFILE.replace("= 6", "= $(shell id)"), "no version"),
    ],
)
def test_odd_sources_are_refused(tree: Path, file: str, text: str, says: str) -> None:
    """What cannot be read is not guessed."""
    (tree / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        built(tree)
    assert kept.kernels() == []


def test_no_source_of_linux(tree: Path, cli: Cli) -> None:
    """A folder or a file of something else: one line, and nothing in the cache."""
    (tree / "arch/um/Kconfig").unlink()
    refused(cli("kernel", "build", "--source", tree), f"--source {tree}: is not a source of Linux")
    file = tree.parent / "text.tar"
    file.write_text("no tarball", encoding="utf-8")
    done = cli("kernel", "build", "--source", file)
    assert done.returncode == 2
    says = f"error: {file}: cannot be unpacked: tar failed: tar: This does not look like a tar archive"
    assert done.stderr.splitlines() == [f"unpacking {file.name}", says]
    assert list(kept.folder().iterdir()) == []


def test_package_names(tree: Path, cli: Cli) -> None:
    """A name becomes a word of a command line, so it is checked before."""
    if shutil.which("apt-get") is None:
        pytest.skip("no apt-get")
    refused(cli("kernel", "build", "--package", "-o=x"), "`-o=x` is not a package of Linux's source")
    refused(cli("kernel", "build", "--package", "linux-source-6.12", "--source", tree), "exclude each other")


#: Debian's tools: two sources are on offer; a package is the tarball that it holds.
APT = {
    "apt-cache": "echo 'linux-source-6.12 - source'; echo 'linux-source-6.9 - source'; echo 'linux-source-6 - any'",
    "apt-get": "for name; do :; done\ncase $name in *6.12) cp TARBALL ${name}_6.12.9-1_all.deb ;; "
    '*) echo "E: Unable to locate package $name"; exit 100 ;; esac',
    "dpkg-deb": "mkdir -p $3/usr/src; cp $2 $3/usr/src/linux-source-6.12.tar.xz",
}


def test_the_newest_package(tree: Path, tmp_path: Path, cli: Cli) -> None:
    """Without a name the newest that apt has, by number; the kernel knows from which package it is."""
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as file:
        file.add(tree, tree.name)
    for name, text in APT.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{text.replace('TARBALL', str(tmp_path / 'linux.tar.xz'))}\n", encoding="utf-8")
        program.chmod(0o755)
    done = cli("kernel", "build")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "fetching linux-source-6.12"
    [kernel] = kept.kernels()
    assert kernel.source == "linux-source-6.12 6.12.9-1"
    # Known before anything is unpacked.
    assert cli("kernel", "build").stderr.splitlines() == ["fetching linux-source-6.12"]
    refused_with = "cannot be fetched (apt-get failed: E: Unable to locate package linux-source-7.3); apt offers: "
    done = cli("kernel", "build", "--package", "linux-source-7.3")
    assert done.returncode == 2
    assert f"{refused_with}linux-source-6, linux-source-6.9, linux-source-6.12" in done.stderr


# Builds, with a make of ours


def test_a_build(tree: Path, cache: Path, cli: Cli) -> None:
    """The kernel, its configuration and its facts; the source of the user stays as it was."""
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    done = cli("kernel", "build", "--source", tree, "--hz", "250")
    assert done.returncode == 0, done.stderr
    [kernel] = kept.kernels()
    assert done.stdout.splitlines() == [
        f"Linux 6.12.9, HZ 250, SHA-256 {kernel.sha256}",
        "lacks: CONFIG_BPF_JIT, qdisc dualpi2",
        str(cache / "kernels" / kernel.name),
    ]
    assert sorted(path.name for path in kernel.folder.iterdir()) == ["config", "kernel.json", "linux"]
    assert [path.name for path in kept.folder().iterdir()] == [kernel.name]
    assert kernel.name == f"6.12.9-hz250-{kept.digest(kernel.program)[:12]}"
    assert "CONFIG_HZ=250" in (kernel.folder / "config").read_text()
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_tarball_is_built_once(tree: Path, tmp_path: Path, cli: Cli) -> None:
    """The same source, options and compiler give the same kernel; another HZ is another."""
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as file:
        file.add(tree, tree.name)
    first = built(tarball)
    done = cli("kernel", "build", "--source", tarball)
    assert done.stdout.splitlines()[0] == f"Linux 6.12.9, HZ 1000, SHA-256 {first.sha256} (there already)"
    assert built(tarball, again=True) == first
    assert built(tarball, hz=250).sha256 != first.sha256
    assert len(kept.kernels()) == 2
    # 1000 before 250: commands that are not told otherwise take the first.
    assert kept.choose() == first


def test_make_is_told_what_makes_builds_equal(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time, the user, the host and the counter are fixed, and settings of the caller's do not get in."""
    monkeypatch.setenv("KCFLAGS", "-O0")
    monkeypatch.setenv("MAKEFLAGS", "-k")
    make = tree.parent / "bin/make"
    make.write_text(
        MAKE.replace("cat .config > linux", "env | grep -v -e ^PWD -e ^_= | sort > linux"), encoding="utf-8"
    )
    seen = dict(line.split("=", 1) for line in built(tree).program.read_text().splitlines())
    assert set(seen) - {"OLDPWD", "SHLVL"} == {
        *("PATH", "LC_ALL", "TZ", "KBUILD_BUILD_TIMESTAMP", "KBUILD_BUILD_USER", "KBUILD_BUILD_HOST"),
        "KBUILD_BUILD_VERSION",
    }


def test_a_build_that_fails(tree: Path, cli: Cli) -> None:
    """The compiler's first error is the message, and nothing stays."""
    (tree / "BROKEN").touch()
    done = cli("kernel", "build", "--source", tree)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "error: make failed: init/main.c:3:1: error: expected ';'"
    assert list(kept.folder().iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build(tree: Path, number: signal.Signals) -> None:
    """Ctrl-C and kill: no kernel, no stage, and no process of make's goes on."""
    (tree / "SLOW").touch()
    words = [sys.executable, *PROGRAM, "kernel", "build", "--source", str(tree)]
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        made = kept.folder().parent / "made"
        while not made.exists() or "linux" not in made.read_text():
            assert run.poll() is None
            time.sleep(0.05)
        processes = _below(run.pid)
        assert processes
        run.send_signal(number)
        _, said = run.communicate(timeout=HUNG)
    assert run.returncode == 128 + number
    assert "Traceback" not in said
    assert list(kept.folder().iterdir()) == []
    assert not [each for each in processes if Path(f"/proc/{each}/cmdline").exists() and _runs(each)]


def _below(pid: int) -> list[int]:
    """The processes that a process has started."""
    children = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            children.append(int(file.parent.name))
    return children


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_is_missing_is_named(tree: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with what to install."""
    monkeypatch.setattr(tools, "path", lambda: str(tree / "nothing"))
    refused(
        cli("kernel", "build", "--source", tree),
        "building a kernel needs make, cc, ld, flex, bison, bc, tar, xz: apt-get install make gcc binutils flex",
    )


# The cache


def test_without_a_kernel(cli: Cli) -> None:
    """Every command says in one line how to get one."""
    refused(cli("kernel", "test"), "`windtunnel kernel build` makes one")
    assert kept.NONE.count("\n") == 0
    done = cli("kernel", "status")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{kept.NONE}\n")
    done = cli("kernel", "status", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    refused(cli("kernel", "remove", "6.12"), "there is no kernel `6.12`; there is: none")
    refused(cli("kernel", "remove"), "--all")
    refused(cli("kernel", "remove", "6.12", "--all"), "--all")
    assert cli("kernel", "remove", "--all").returncode == 0


def test_status_and_remove(tree: Path, cli: Cli) -> None:
    """What is known of each kernel, and the end of one."""
    kernel, other = built(tree), built(tree, hz=250)
    [first, second] = json.loads(cli("kernel", "status", "--json").stdout)
    assert first["name"] == kernel.name and second["name"] == other.name
    assert (first["version"], first["hz"], first["sha256"]) == ("6.12.9", 1000, kernel.sha256)
    assert first["lacks"] == {"option": ["BPF_JIT"], "qdisc": ["dualpi2"]}
    assert first["bytes"] == kernel.program.stat().st_size
    shown = cli("kernel", "status").stdout
    assert kernel.name in shown and "lacks: CONFIG_BPF_JIT, qdisc dualpi2" in shown
    assert cli("kernel", "remove", "6.12.9-hz250").stdout == f"removed {other.name}\n"
    assert kept.kernels() == [kernel]
    assert [path.name for path in kept.folder().iterdir()] == [kernel.name]


def test_how_a_kernel_is_named(tree: Path) -> None:
    """A version, whole parts of the name, the start of the hash, or a folder; never a part of a number."""
    kernel = built(tree)
    for name in ("6.12.9", "6.12", kernel.name, "6.12.9-hz1000", kernel.sha256[:8], str(kernel.folder)):
        assert kept.choose(name) == kernel
    for name in ("6.1", "6.12.9-hz100", "x", str(tree)):
        with pytest.raises(InputError, match="there is no kernel"):
            kept.choose(name)


def test_what_a_kernel_lacks_is_refused_by_name(tree: Path) -> None:
    """With a neighbour, if the name is near one."""
    kernel = built(tree)
    kernel.require("qdisc", "codel")
    with pytest.raises(InputError, match=r"Linux 6\.12\.9 has no qdisc `dualpi2`$"):
        kernel.require("qdisc", "dualpi2")
    with pytest.raises(InputError, match="no controller `cubik`; did you mean `cubic`"):
        kernel.require("controller", "cubik")


def test_a_damaged_kernel(tree: Path) -> None:
    """A kernel whose bytes have changed since is not run; a folder without facts is none."""
    kernel = built(tree)
    kernel.program.write_bytes(b"")
    with pytest.raises(InputError, match="is damaged"):
        kept.choose()
    for text in ("", "[]", "{}", '{"version": 1}'):
        (kernel.folder / kept.FACTS).write_text(text, encoding="utf-8")
        assert kept.kernels() == []


def test_newer_versions_come_first() -> None:
    """By number: 6.12 is newer than 6.9."""
    assert kept._ordered("6.12.1") > kept._ordered("6.9.100") > kept._ordered("6.9")


# What runs in the guest


def test_programs_compile_and_are_kept(cache: Path) -> None:
    """Ours, with all warnings as errors; they are compiled once."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = programs.programs()
    assert folder.parent == cache / "guests"
    assert sorted(path.name for path in folder.iterdir()) == sorted(programs.NAMES)
    times = [path.stat().st_mtime_ns for path in folder.iterdir()]
    assert programs.programs() == folder
    assert [path.stat().st_mtime_ns for path in folder.iterdir()] == times


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    """The first line that tells an error, else the last of all."""
    with pytest.raises(RunFailedError, match=r"^sh failed: a: error: b$"):
        tools.run(["sh", "-c", "echo x; echo a: error: b; echo y; exit 3"], folder=tmp_path)
    with pytest.raises(RunFailedError, match=r"^sh failed: exit code 3$"):
        tools.run(["sh", "-c", "exit 3"], folder=tmp_path)
