//! Tools that must be on the machine: how each is recognised and, when it is missing, how to get it.
//!
//! It must not know what the tools are used for.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// A program that we call and do not bring along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The C compiler that builds librdkafka and its TLS library.
    C,
    /// Drives their builds.
    Make,
    /// Configures the TLS library's build.
    Perl,
    /// Runs Apache Kafka.
    Java,
    /// Fetches Kafka's jars.
    Maven,
    /// Builds librdkafka for a peer that wants it built so.
    Cmake,
    /// Builds a peer of the measurements.
    Go,
    /// Counts instructions.
    Valgrind,
}

/// What the host itself needs to be built.
pub const FOR_THE_HOST: &[Tool] = &[Tool::C, Tool::Make, Tool::Perl];

/// What a real broker needs.
pub const FOR_KAFKA: &[Tool] = &[Tool::Java, Tool::Maven];

/// The oldest Java that Kafka 4 runs on.
const JAVA_MIN: u32 = 17;

impl Tool {
    /// Says what is missing and the way to get it; `None` when the tool is there.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        match self {
            Self::C => absent("cc", "a C compiler (cc)", "apt-get install gcc libc6-dev"),
            Self::Make => absent("make", "make", "apt-get install make"),
            Self::Perl => absent("perl", "perl", "apt-get install perl"),
            Self::Cmake => absent("cmake", "cmake", "apt-get install cmake g++"),
            Self::Valgrind => absent("valgrind", "valgrind", "apt-get install valgrind"),
            Self::Go => absent("go", "Go", "apt-get install golang-go"),
            Self::Maven => absent("mvn", "Maven (mvn)", "apt-get install maven"),
            Self::Java => match java_major() {
                Some(major) if major >= JAVA_MIN => None,
                Some(major) => Some(format!("java {major} is too old, {JAVA_MIN} or newer is needed: {JAVA_HINT}")),
                None => Some(format!("java {JAVA_MIN} or newer is missing: {JAVA_HINT}")),
            },
        }
    }
}

const JAVA_HINT: &str = "apt-get install openjdk-17-jdk-headless, or set JAVA_HOME";

/// The texts of all tools of a list that are not there.
#[must_use]
pub fn missing(tools: &[Tool]) -> Vec<String> {
    tools.iter().filter_map(|tool| tool.missing()).collect()
}

/// Checks that every tool of a list is there.
///
/// # Errors
///
/// Lists all that are missing, each with the way to get it.
pub fn require(tools: &[Tool]) -> Result<()> {
    let missing = missing(tools);
    if !missing.is_empty() {
        bail!("tools are missing on this machine:\n  {}", missing.join("\n  "));
    }
    Ok(())
}

/// The `java` to run: the one of `JAVA_HOME`, else the one on the path.
#[must_use]
pub fn java() -> Command {
    match std::env::var_os("JAVA_HOME") {
        Some(home) => Command::new(std::path::Path::new(&home).join("bin").join("java")),
        None => Command::new("java"),
    }
}

/// The `keytool` that came with that `java`.
#[must_use]
pub fn keytool() -> Command {
    match std::env::var_os("JAVA_HOME") {
        Some(home) => Command::new(std::path::Path::new(&home).join("bin").join("keytool")),
        None => Command::new("keytool"),
    }
}

fn absent(program: &str, name: &str, hint: &str) -> Option<String> {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(_) => None,
        Err(_) => Some(format!("{name} is missing: {hint}")),
    }
}

fn java_major() -> Option<u32> {
    let output = java().arg("-version").output().ok()?;
    parse_java_major(&String::from_utf8_lossy(&output.stderr))
}

/// Reads the major version from what `java -version` prints: `openjdk version "17.0.15" 2025-04-15`.
fn parse_java_major(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("version \"")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_java_version_is_read_from_what_java_prints() {
        assert_eq!(parse_java_major("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime"), Some(17));
        assert_eq!(parse_java_major("openjdk version \"25\" 2025-09-16"), Some(25));
        assert_eq!(parse_java_major("java version \"1.8.0_421\""), Some(1));
        assert_eq!(parse_java_major("command not found"), None);
    }

    #[test]
    fn a_missing_tool_is_named_with_the_way_to_get_it() {
        let text = absent("gristmill-no-such-tool", "the tool", "apt-get install tool").unwrap();
        assert_eq!(text, "the tool is missing: apt-get install tool");
    }
}
