//! `cargo xtask test` on a machine that lacks a tool: what cannot run is named as skipped, with the way to get what is missing.
//!
//! The machine is a folder of small scripts, cargo among them: nothing is built or tested in here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gristmill_tests::TemporaryFolder;
use xtask::workspace;

/// Writes down what it is asked, makes files where plugins are wanted, and reports one passed test for each call of `test`.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >> "$CARGO_TARGET_DIR/asked"
case "$1" in
build)
    folder="$CARGO_TARGET_DIR/plugins/wasm32-wasip2/plugin"
    /bin/mkdir -p "$folder"
    for name in asker caller copy count echo forger http_post mirror mischief noop noop_records postgres route sum validate witness; do : > "$folder/gristmill_$name.wasm"; done;;
test)
    echo "     Running tidy/main.rs (target/debug/deps/tidy-0123456789abcdef)" >&2
    echo "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.05s";;
esac
"#;

const JAVA: &str = "java 17 or newer is missing: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME";
const MAVEN: &str = "Maven (mvn) is missing: apt-get install maven";

/// A machine that has what it is given and no more.
struct Machine(TemporaryFolder);

impl Machine {
    /// One that can build the host.
    fn new() -> Self {
        let machine = Self(TemporaryFolder::new());
        fs::create_dir(machine.tools()).unwrap();
        machine.write("cargo", CARGO);
        for tool in ["cc", "make", "perl"] {
            machine.write(tool, "#!/bin/sh\n");
        }
        // Where the target's libraries are: any folder will do.
        machine.write("rustc", "#!/bin/sh\necho /\n");
        machine
    }

    fn with(self, tool: &str, script: &str) -> Self {
        self.write(tool, script);
        self
    }

    fn without(self, tool: &str) -> Self {
        fs::remove_file(self.tools().join(tool)).unwrap();
        self
    }

    /// The exit code of a command of xtask and all that it printed.
    fn xtask(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(xtask());
        command.args(arguments).env_clear().env("PATH", self.tools());
        command.env("CARGO", self.tools().join("cargo")).env("CARGO_TARGET_DIR", self.0.path());
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
    }

    /// What cargo was asked, a line for each call.
    fn asked(&self) -> String {
        fs::read_to_string(self.0.path().join("asked")).unwrap_or_default()
    }

    fn tools(&self) -> PathBuf {
        self.0.path().join("bin")
    }

    fn write(&self, tool: &str, script: &str) {
        let path = self.0.write(&format!("bin/{tool}"), script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The command as it is built from these sources.
fn xtask() -> &'static Path {
    static BINARY: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    BINARY.get_or_init(|| {
        // The whole workspace, so that nothing is built with another set of features.
        let mut command = workspace::cargo();
        workspace::run(command.args(["build", "--quiet", "--workspace", "--bin", "xtask"])).unwrap();
        workspace::target_dir().join("debug").join("xtask")
    })
}

#[test]
fn without_java_and_maven_the_suite_that_wants_them_is_named_as_skipped() {
    let machine = Machine::new();
    let (code, printed) = machine.xtask(&["test"]);
    assert!(printed.contains(&format!("SKIPPED end_to_end: {JAVA}; {MAVEN}\n")), "{printed}");
    // The other suites in one call, the doc tests in another.
    assert!(printed.ends_with("2 passed, 0 failed, 1 skipped\n"), "{printed}");
    assert_eq!(code, Some(0), "{printed}");
    let asked = machine.asked();
    assert!(asked.contains("--test tidy") && !asked.contains("end_to_end"), "{asked}");
}

#[test]
fn without_valgrind_nothing_is_counted_and_it_says_so() {
    let (code, printed) = Machine::new().xtask(&["test"]);
    assert!(
        printed.contains("instructions are not counted: valgrind is missing: apt-get install valgrind\n"),
        "{printed}"
    );
    assert_eq!(code, Some(0), "{printed}");
    let (code, printed) = Machine::new().xtask(&["count"]);
    assert!(printed.contains("valgrind is missing: apt-get install valgrind"), "{printed}");
    assert_eq!(code, Some(1), "{printed}");
}

#[test]
fn a_hot_path_that_takes_more_instructions_than_are_written_down_fails_unless_another_compiler_made_it() {
    let written = fs::read_to_string(workspace::root().join("tests/counted/figures.txt")).unwrap();
    let this = format!("#!/bin/sh\necho '{}'\n", written.lines().next().unwrap());
    let other = "#!/bin/sh\necho rustc 0.0.0\n";
    for (instructions, compiler, ends) in [(1, &*this, 0), (1_000_000, &this, 1), (1_000_000, other, 0)] {
        // So many for each record of each batch, whose number stands last.
        let count = format!("echo \"==1== Collected : $((batches * 10000 * {instructions}))\" >&2");
        let valgrind = format!("#!/bin/sh\nfor batches; do :; done\n{count}\n");
        let machine = Machine::new().with("valgrind", &valgrind).with("rustc", compiler);
        let (code, printed) = machine.xtask(&["count"]);
        assert!(printed.contains(&format!("{instructions}.0 instructions per record")), "{printed}");
        assert_eq!(code, Some(ends), "{printed}");
    }
}

#[test]
fn a_skipped_suite_fails_the_strict_form() {
    let (code, printed) = Machine::new().xtask(&["test", "--all"]);
    assert!(printed.contains(&format!("SKIPPED end_to_end: {JAVA}; {MAVEN}\n")), "{printed}");
    assert!(printed.ends_with("2 passed, 0 failed, 1 skipped\n"), "{printed}");
    assert_eq!(code, Some(1), "{printed}");
}

#[test]
fn only_what_is_missing_is_named() {
    let java = |version: &str| format!("#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n");
    let (_, printed) = Machine::new().with("java", &java("17.0.15")).xtask(&["test"]);
    assert!(printed.contains(&format!("SKIPPED end_to_end: {MAVEN}\n")), "{printed}");
    let old = Machine::new().with("java", &java("11.0.2")).with("mvn", "#!/bin/sh\n");
    let (_, printed) = old.xtask(&["test"]);
    assert!(
        printed.contains("SKIPPED end_to_end: java 11 is too old, 17 or newer is needed: apt-get install"),
        "{printed}"
    );
}

#[test]
fn what_nothing_works_without_ends_the_command() {
    let (code, printed) = Machine::new().without("cc").xtask(&["test"]);
    assert!(printed.contains("a C compiler (cc) is missing: apt-get install gcc libc6-dev"), "{printed}");
    assert_eq!(code, Some(1), "{printed}");
    let (code, printed) = Machine::new().xtask(&["chaos"]);
    assert!(printed.contains(JAVA) && printed.contains(MAVEN), "{printed}");
    assert_eq!(code, Some(1), "{printed}");
}
