//! Where PostgreSQL's programs are: Debian's, wherever it put them, or those that are fetched once with Maven.
//!
//! It must not know what they are run for.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::installing::{self, note, step};
use crate::postgres::NOBODY;
use crate::{tools, workspace};

/// What is fetched where none is installed.
const VERSION: &str = "18.6.0";

/// Finds PostgreSQL's programs, and fetches them where there are none.
///
/// # Errors
///
/// When there are none and they cannot be fetched, or when who runs as root cannot run them as somebody else.
pub fn installed() -> Result<PathBuf> {
    if we_are_root() && !answers("setpriv") {
        bail!(
            "PostgreSQL refuses to run as root, and setpriv, which runs it as nobody, is missing: apt-get install util-linux"
        );
    }
    match of_the_system() {
        Some(folder) => Ok(folder),
        None => fetched(),
    }
}

/// The newest that Debian installed; it puts all but one of the programs where no shell finds them.
fn of_the_system() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let number = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut folders: Vec<PathBuf> = versions.filter(|folder| number(folder).is_some()).collect();
    folders.sort_by_key(number);
    let mut folders = folders.into_iter().rev().map(|folder| folder.join("bin"));
    folders.find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

fn fetched() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("postgres").join(VERSION);
    let _lock = installing::lock(&folder)?;
    step(&folder, "server", fetch)?;
    Ok(folder.join("server").join("bin"))
}

fn fetch(target: &Path) -> Result<()> {
    let platform = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64v8",
        other => bail!("no PostgreSQL can be fetched for {other}: apt-get install postgresql"),
    };
    tools::require(tools::FOR_KAFKA)
        .context("PostgreSQL is not installed (apt-get install postgresql) and cannot be fetched")?;
    note("fetching PostgreSQL with Maven (15 MB)");
    let unpacked = target.join("jar");
    fs::create_dir_all(&unpacked).with_context(|| format!("cannot create {}", unpacked.display()))?;
    let mut maven = Command::new("mvn");
    maven.args(["-B", "-q", "-Dstyle.color=never", "dependency:unpack"]);
    maven.arg(format!("-Dartifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-{platform}:{VERSION}:jar"));
    // What it did is noted in a folder that goes as well.
    maven
        .arg(format!("-DoutputDirectory={0}", unpacked.display()))
        .arg(format!("-DmarkersDirectory={0}", unpacked.join("markers").display()));
    maven.current_dir(target);
    workspace::run(&mut maven).context("cannot fetch PostgreSQL")?;
    let archive =
        fs::read_dir(&unpacked).context("cannot read what was fetched")?.filter_map(|entry| Some(entry.ok()?.path()));
    let archive = { archive }.find(|path| path.extension().is_some_and(|extension| extension == "txz"));
    let archive = archive.context("there is no PostgreSQL in what was fetched")?;
    let mut tar = Command::new("tar");
    tar.arg("xJf").arg(&archive).arg("-C").arg(target);
    workspace::run(&mut tar).context("cannot unpack PostgreSQL; xz is needed for it: apt-get install xz-utils")?;
    fs::remove_dir_all(&unpacked).context("cannot remove what was unpacked")
}

/// The programs where whoever runs them may read them: a copy in `folder` where root keeps them from everybody else.
pub(super) fn readable(binaries: &Path, folder: &Path) -> Result<PathBuf> {
    if !we_are_root() {
        return Ok(binaries.to_owned());
    }
    let mut look = Command::new("setpriv");
    look.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
    look.arg("test").arg("-x").arg(binaries.join("postgres"));
    if look.status().context("cannot start setpriv")?.success() {
        return Ok(binaries.to_owned());
    }
    let whole = binaries.parent().context("PostgreSQL's programs lie in no folder")?;
    let copy = folder.join("server");
    let mut copying = Command::new("cp");
    copying.args(["-r", "--"]).arg(whole).arg(&copy);
    workspace::run(&mut copying).context("cannot copy PostgreSQL to where it may be read")?;
    Ok(copy.join("bin"))
}

/// True when what we start runs as root.
pub(super) fn we_are_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
