//! The files that a scenario names: which ones it may read, and what messages say about the others. Here a stranger
//! wrote the scenario.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, process};

use windtunnel_scenario::{LinkRate, Reading, Registry, Scenario};

/// The content of a foreign file: no message may reveal it.
const SECRET: &str = "root:x:0";

/// A folder for one test, with the scenario's folder `ours` and a foreign file next to it; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = env::temp_dir().join(format!("windtunnel-{name}-{}", process::id()));
        fs::create_dir_all(folder.join("ours/traces")).expect("a folder");
        fs::write(folder.join("secret"), SECRET).expect("a file");
        for name in ["ours/up.trace", "ours/traces/down.trace"] {
            fs::write(folder.join(name), "1\n2\n").expect("a file");
        }
        Folder(folder)
    }

    /// Reads a scenario in `ours` whose links have the traces `names`.
    fn read(&self, names: &[&str], allow_read: &[PathBuf]) -> Result<Scenario, String> {
        let links: String = names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                format!("[[link]]\nname = \"l{i}\"\nfrom = \"a\"\nto = \"b\"\nrate.trace = {name:?}\n")
            })
            .collect::<Vec<_>>()
            .concat();
        let text = format!(
            "duration = \"1 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
             [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\nfrom = \"a\"\nto = \"b\"\n{links}"
        );
        let file = self.0.join("ours/s.toml");
        let registry = Registry::default();
        let reading = Reading { file: file.to_str(), allow_read, ..Reading::new(&registry) };
        Scenario::read(&text, &reading).map_err(|error| error.to_string())
    }

    /// The message about a trace, without its place and the name of the folder.
    fn message(&self, name: &str, allow_read: &[PathBuf]) -> String {
        let message = self.read(&[name], allow_read).expect_err("not allowed");
        assert!(!message.contains(SECRET), "{message}");
        let message = message.replace(&format!("{}/", self.0.display()), "");
        let problem = message.strip_prefix("ours/s.toml:15: link[0].rate.trace: ");
        problem.unwrap_or_else(|| panic!("{message}")).to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Traces next to the scenario and in folders below it are read; two links with the same trace share it.
#[test]
fn in_the_scenarios_folder() {
    let folder = Folder::new("inside");
    let scenario =
        folder.read(&["up.trace", "./traces/down.trace", "traces/../up.trace"], &[]).expect("allowed");
    let trace = |link: usize| match &scenario.links[link].rate {
        Some(LinkRate::Trace { opportunities, .. }) => opportunities,
        other => panic!("{other:?}"),
    };
    assert!(std::sync::Arc::ptr_eq(trace(0), trace(2)) && trace(0) == trace(1));
}

/// Files outside are refused, whether they exist or not, and whichever way the name leads there.
#[test]
#[cfg(unix)]
fn outside_of_it() {
    let folder = Folder::new("outside");
    let link = |to: &Path, name: &str| {
        std::os::unix::fs::symlink(to, folder.0.join("ours").join(name)).expect("a link");
    };
    link(&folder.0.join("secret"), "link");
    link(&folder.0, "out");
    let absolute = folder.0.join("secret").display().to_string();
    for name in [
        "../secret",
        "../missing",
        "missing/../../secret",
        &absolute,
        "/no/such/file",
        "link",
        "out/secret",
        "out/sekret",
    ] {
        let message = folder.message(name, &[]);
        let shown = name.replace(&format!("{}/", folder.0.display()), "");
        let expected = format!(
            "{shown:?} is not allowed: a file in the scenario's folder or below it, also at the end of links; \
             --allow-read PATH (in Python allow_read) allows more"
        );
        assert_eq!(message, expected);
        // If the user allows the file, it is read. The message that it is not a trace does not quote it.
        if !name.contains("missing/") && (name.ends_with("secret") || name == "link") {
            let message = folder.message(name, std::slice::from_ref(&folder.0));
            assert_eq!(message, format!("{shown:?}: line 1 is not a whole number of milliseconds"));
        }
    }
    link(&folder.0.join("ours/up.trace"), "inside");
    folder.read(&["inside"], &[]).expect("a link that stays in the folder");
}

/// The message names a missing file, and the file with the nearest name.
#[test]
fn a_missing_one() {
    let folder = Folder::new("missing");
    assert_eq!(
        folder.message("upp.trace", &[]),
        "there is no file \"upp.trace\" in ours\n  did you mean `up.trace`?"
    );
    assert_eq!(
        folder.message("traces/dwn.trace", &[]),
        "there is no file \"traces/dwn.trace\" in ours/traces\n  did you mean `traces/down.trace`?"
    );
    assert_eq!(folder.message("tarces/x", &[]), "there is no file \"tarces/x\" in ours/tarces");
}

/// Only regular files are opened; those of /proc have no length.
#[test]
#[cfg(target_os = "linux")]
fn no_regular_file() {
    let folder = Folder::new("irregular");
    let regular = |name: &str, what: &str| {
        let expected = format!("{name:?} is not allowed: a regular file; this is {what}");
        assert_eq!(folder.message(name, &["/dev".into()]), expected);
    };
    regular("traces", "a folder");
    regular("", "a folder");
    regular("/dev/zero", "a pipe or a device");
    let pipe = folder.0.join("ours/pipe");
    let made = process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    regular("pipe", "a pipe or a device");
    let proc = folder.message("/proc/self/environ", &["/proc".into()]);
    assert_eq!(proc, "\"/proc/self/environ\" is not allowed: a file that is not empty");
}

/// Neither bad lines nor bad bytes are quoted, and no more is read than the limit.
#[test]
fn no_trace() {
    let folder = Folder::new("content");
    let message = |content: &[u8]| {
        fs::write(folder.0.join("ours/bad"), content).expect("a file");
        folder.message("bad", &[])
    };
    assert_eq!(message(b"1\n\nroot:x:0\n"), "\"bad\": line 3 is not a whole number of milliseconds");
    assert_eq!(message(b"7\n6\n"), "\"bad\": line 2 is earlier than a line before it");
    assert_eq!(message(b"1\n\xff\n"), "\"bad\" is not allowed: a text file");
    assert_eq!(message(b""), "\"bad\" is not allowed: a file that is not empty");
    let long = File::create(folder.0.join("ours/long")).expect("a file");
    long.set_len((100 << 20) + 1).expect("a length");
    let expected = "\"long\" is not allowed: the traces of a scenario have at most 100 MiB together";
    assert_eq!(folder.message("long", &[]), expected);
}
