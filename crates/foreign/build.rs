//! Compiles ngtcp2 and its adapter, with the feature `ngtcp2`.

fn main() {
    #[cfg(feature = "ngtcp2")]
    ngtcp2::build();
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "ngtcp2")]
mod ngtcp2 {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// The release that the adapter is written for.
    const VERSION: &str = "1.25.0";

    /// How to get it.
    const HOW: &str = "The cargo feature `ngtcp2` needs NGTCP2_SOURCE, the folder of the sources of ngtcp2 1.25.0:\n  \
        git clone https://github.com/ngtcp2/ngtcp2 ngtcp2\n  \
        git -C ngtcp2 checkout f9e9ff01ad2c8116bc09de4f644b0028a61486a6  # v1.25.0\n  \
        export NGTCP2_SOURCE=$PWD/ngtcp2";

    pub(super) fn build() {
        println!("cargo::rerun-if-env-changed=NGTCP2_SOURCE");
        match compile() {
            Ok(()) => {}
            Err(problem) => {
                // Cargo shows each of them as an error of its own, without a backtrace.
                problem.lines().chain(HOW.lines()).for_each(|line| println!("cargo::error={line}"));
            }
        }
    }

    fn compile() -> Result<(), String> {
        let source = env::var_os("NGTCP2_SOURCE").map(PathBuf::from).ok_or("NGTCP2_SOURCE is not set.")?;
        expect_version(&source)?;
        let gnutls = pkg_config::Config::new().atleast_version("3.7.5").probe("gnutls");
        let gnutls = gnutls.map_err(|error| format!("GnuTLS (libgnutls28-dev) is missing: {error}"))?;
        let generated = with_version(&source)?;
        for input in ["adapters/ngtcp2", "windtunnel_stack.h"] {
            println!("cargo::rerun-if-changed={input}");
        }
        println!("cargo::rerun-if-changed={}", source.display());
        cc::Build::new()
            .define("HAVE_ARPA_INET_H", None)
            .define("_GNU_SOURCE", None)
            .include(".")
            .include(generated)
            .includes(["lib/includes", "lib", "crypto/includes", "crypto"].map(|folder| source.join(folder)))
            .includes(gnutls.include_paths)
            .file("adapters/ngtcp2/ngtcp2.c")
            .files(c_files(&source.join("lib"))?)
            .files(["crypto/shared.c", "crypto/gnutls/gnutls.c"].map(|file| source.join(file)))
            .warnings(false)
            .try_compile("wt_ngtcp2")
            .map_err(|error| format!("ngtcp2 does not compile: {error}"))
    }

    fn expect_version(source: &Path) -> Result<(), String> {
        let list = source.join("CMakeLists.txt");
        let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        if text.contains(&format!("project(ngtcp2 VERSION {VERSION} ")) {
            return Ok(());
        }
        Err(format!("{} is not ngtcp2 {VERSION}.", source.display()))
    }

    /// Writes ngtcp2's header with its version, which configuring it would write. Returns the folder of headers.
    fn with_version(source: &Path) -> Result<PathBuf, String> {
        let failed = |error: std::io::Error| format!("ngtcp2's version.h: {error}");
        let template = fs::read_to_string(source.join("lib/includes/ngtcp2/version.h.in")).map_err(failed)?;
        let text =
            template.replace("@PACKAGE_VERSION@", VERSION).replace("@PACKAGE_VERSION_NUM@", "0x011900");
        let generated = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("include");
        fs::create_dir_all(generated.join("ngtcp2")).map_err(failed)?;
        fs::write(generated.join("ngtcp2/version.h"), text).map_err(failed)?;
        Ok(generated)
    }

    /// The C files of a folder, in a fixed order.
    fn c_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
        files.sort();
        Ok(files)
    }
}
