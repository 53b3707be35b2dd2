//! How the binary compiles: by a child of its own kind that lives no longer than it must, and once for many starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gristmill_tests::{TemporaryFolder, bombs};

use crate::process::{Ended, Run, binary, configuration, forget_own_variables, plugin};

const SOON: Duration = Duration::from_secs(30);

/// Calls a plugin with one record, with compiled plugins in this folder.
fn call(cache: &Path, more: &[&str]) -> Ended {
    let text = configuration("gristmill-echo", "");
    let run = Run::new().file("g.toml", text).variable("XDG_CACHE_HOME", cache);
    let echo = plugin("gristmill-echo");
    run.input("{\"key\":\"a\"}\n").with(&[&["call", &echo, "-", "-c", "g.toml", "--log-level", "info"], more].concat())
}

#[test]
fn the_second_start_finds_what_the_first_compiled() {
    let folder = TemporaryFolder::new();
    let first = call(folder.path(), &[]);
    assert!(first.good().stderr.contains("loaded the plugin") && first.stderr.contains("cached=false"), "{first:#?}");
    let second = call(folder.path(), &[]);
    assert!(second.good().stderr.contains("cached=true"), "{second:#?}");
    assert!(folder.path().join("gristmill/key").exists());
}

#[test]
fn with_the_cache_off_every_start_compiles_and_nothing_is_written() {
    let folder = TemporaryFolder::new();
    for _ in 0..2 {
        let ended = call(folder.path(), &["--set", "plugin.cache=off"]);
        assert!(ended.good().stderr.contains("cached=false"), "{ended:#?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_of_ones_own_is_used() {
    let (folder, other) = (TemporaryFolder::new(), TemporaryFolder::new());
    let set = format!("plugin.cache={}", other.path().join("code").display());
    assert!(call(folder.path(), &["--set", &set]).good().stderr.contains("cached=false"));
    assert!(call(folder.path(), &["--set", &set]).good().stderr.contains("cached=true"));
    assert!(other.path().join("code/key").exists() && !folder.path().join("gristmill").exists());
}

#[test]
fn a_folder_that_others_can_reach_is_warned_of_and_not_used() {
    let folder = TemporaryFolder::new();
    let cache = folder.path().join("gristmill");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, PermissionsExt::from_mode(0o755)).unwrap();
    let ended = call(folder.path(), &[]);
    let warning = ended.good().stderr.lines().find(|line| line.contains("compiled plugins are not kept")).unwrap();
    assert!(
        warning.contains("WARN") && warning.contains("name a folder of this user's own in plugin.cache"),
        "{warning}"
    );
    assert!(ended.stderr.contains("cached=false"), "{ended:#?}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
}

/// A folder's name is whatever somebody wrote.
#[test]
fn a_folders_name_cannot_forge_a_line_of_the_log() {
    let folder = TemporaryFolder::new();
    let cache = folder.path().join("a\n2026 ERROR \u{1b}[2Jforged");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, PermissionsExt::from_mode(0o755)).unwrap();
    let ended = call(folder.path(), &["--set", &format!("plugin.cache={}", cache.display())]);
    let warning = ended.good().stderr.lines().find(|line| line.contains("compiled plugins are not kept")).unwrap();
    assert!(warning.contains("a\\n2026 ERROR \\u{1b}[2Jforged"), "{warning}");
    assert!(!ended.stderr.contains('\u{1b}') && !ended.stderr.contains("\n2026 ERROR"), "{ended:#?}");
}

/// Such a word would be made as a folder, beside the configuration.
#[test]
fn a_word_that_is_meant_otherwise_is_refused_with_what_is_meant() {
    for (written, wanted) in [
        ("\"Off\"", "write \"off\""),
        ("\"none\"", "write \"off\""),
        ("\"\"", "write \"auto\", \"off\" or a folder"),
        ("\"~/gm\"", "write \"${HOME}/gm\""),
        ("false", "plugin.cache = false: write \"off\""),
        ("true", "plugin.cache = true: write \"auto\""),
        ("5", "plugin.cache = 5: wanted \"auto\", \"off\" or a folder, as a string"),
    ] {
        let run = Run::new().file("g.toml", configuration("gristmill-echo", &format!("cache = {written}\n")));
        run.with(&["check", "g.toml"]).refused(78, &["g.toml:9:9: plugin.cache = ", wanted]);
    }
    let folder = TemporaryFolder::new();
    let ended = call(folder.path(), &["--set", "plugin.cache=no"]);
    ended.refused(78, &["flag --set plugin.cache: ", "write \"off\"; a folder of this name would be \"./no\""]);
}

/// T-62: a file that somebody put there in place of an entry.
#[test]
fn a_cache_that_was_tampered_with_costs_a_compile_and_a_warning() {
    let folder = TemporaryFolder::new();
    call(folder.path(), &[]).good();
    let files = fs::read_dir(folder.path().join("gristmill")).unwrap().map(|file| file.unwrap().path());
    let entry = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "code")).unwrap();
    let mut bytes = fs::read(&entry).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0xff;
    fs::write(&entry, bytes).unwrap();
    let ended = call(folder.path(), &[]);
    let warnings = ended.good().stderr.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>();
    assert!(warnings.len() == 1 && warnings[0].contains("its MAC is wrong"), "{warnings:?}");
    assert!(ended.stderr.contains("cached=false"), "{ended:#?}");
    assert!(call(folder.path(), &[]).good().stderr.contains("cached=true"));
}

#[test]
fn the_worker_is_no_command_for_people() {
    let help = Run::new().with(&["--help"]);
    assert!(!help.good().stdout.contains("compile-plugin"), "{help:#?}");
    let ended = Run::new().input("(component)").with(&["compile-plugin"]);
    assert!(ended.code == 1 && ended.stdout.is_empty() && ended.stderr.contains("for the host itself"), "{ended:#?}");
    // Nor for anybody who is not its parent.
    let ended = Run::new().input("(component)").with(&["compile-plugin", "1", "60", "4294967296", "0"]);
    assert!(
        ended.code == 1 && ended.stdout.is_empty() && ended.stderr.contains("the host that asked is gone"),
        "{ended:#?}"
    );
}

/// A running host confines itself before it loads a plugin; its cache is what it can still write to, and it can still start itself.
#[test]
fn a_confined_host_compiles_and_keeps() {
    let folder = TemporaryFolder::new();
    let run = || {
        let text = configuration("gristmill-echo", "[start]\nwait = \"100ms\"\n");
        Run::new().file("g.toml", text).variable("XDG_CACHE_HOME", folder.path()).with(&["run", "g.toml"])
    };
    let (first, second) = (run(), run());
    assert!(first.stderr.contains("gave up what it does not need of the system"), "{first:#?}");
    assert!(first.stderr.contains("cached=false") && second.stderr.contains("cached=true"), "{first:#?} {second:#?}");
    assert!(!first.stderr.contains("not kept") && !first.stderr.contains("could not be kept"), "{first:#?}");
}

/// A compiler that is at work for long, on a bomb, and its host.
struct AtWork {
    /// Removed with it.
    _folder: TemporaryFolder,
    host: Child,
}

impl AtWork {
    fn new(arguments: &[&str]) -> Self {
        let folder = TemporaryFolder::new();
        fs::write(folder.path().join("bomb.wasm"), bombs::of_time(20_000)).unwrap();
        fs::write(
            folder.path().join("g.toml"),
            configuration("gristmill-echo", "").replace(&plugin("gristmill-echo"), "bomb.wasm"),
        )
        .unwrap();
        let mut command = Command::new(binary());
        forget_own_variables(&mut command);
        command
            .current_dir(folder.path())
            .args(arguments)
            .env("GRISTMILL_RUNTIME_DIR", folder.path().join("gristmill"))
            // What one test's compiler got done must not be found by the next.
            .env("XDG_CACHE_HOME", folder.path().join("cache"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self { host: command.spawn().unwrap(), _folder: folder }
    }

    /// Waits for the worker and returns its number.
    fn worker(&self) -> u32 {
        until("a worker", || {
            let threads = fs::read_dir(format!("/proc/{}/task", self.host.id())).ok()?;
            let children = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
            let children: Vec<u32> = children
                .flat_map(|text| text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
                .collect();
            let is_worker = |pid: &u32| {
                fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.starts_with(b"gristmill\0compile-plugin\0"))
            };
            children.into_iter().find(is_worker)
        })
    }

    /// How it ends, and what it said.
    fn end(mut self) -> (i32, String) {
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.host.stderr.take().unwrap(), &mut said).unwrap();
        let code = self.host.wait().unwrap().code().unwrap_or(-1);
        (code, said)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

/// Waits until something is there.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        match found() {
            Some(found) => return found,
            None => assert!(Instant::now() < deadline, "not within {SOON:?}: {what}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process is gone, or dead and only not buried.
fn until_gone(pid: u32) {
    until("the end of the worker", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        (state.is_empty() || state.starts_with('Z')).then_some(())
    });
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).status().unwrap();
    assert!(sent.success(), "SIG{name} to {pid}");
}

/// T-22: killed in the middle of its work.
#[test]
fn a_worker_that_is_killed_ends_the_command_with_its_cause() {
    let at_work = AtWork::new(&["check", "g.toml"]);
    signal("KILL", at_work.worker());
    let (code, said) = at_work.end();
    let last = said.lines().last().unwrap();
    assert_eq!(code, 78, "{said}");
    assert!(last.starts_with("gristmill: cannot load plugin bomb.wasm: the compiler broke over it"), "{last}");
    assert!(last.contains("was ended by signal 9 (SIGKILL"), "{last}");
}

#[test]
fn a_worker_ends_with_its_host() {
    let mut at_work = AtWork::new(&["call", "bomb.wasm"]);
    let worker = at_work.worker();
    at_work.host.kill().unwrap();
    until_gone(worker);
    at_work.end();
}

/// B114: a host that is asked to stop does not wait for a compiler.
#[test]
fn a_stop_does_not_wait_for_the_worker() {
    let at_work = AtWork::new(&["run", "g.toml"]);
    let worker = at_work.worker();
    let began = Instant::now();
    signal("TERM", at_work.host.id());
    let (code, said) = at_work.end();
    assert!(code == 0 && began.elapsed() < Duration::from_secs(5), "{code} after {:?}: {said}", began.elapsed());
    until_gone(worker);
}

/// The worker has the host's place in nothing: less right to the processor, and the first to go when memory is out. The second takes
/// a file that is written, which a host that gave up writing files has taken from its child too.
#[test]
fn a_worker_steps_back_behind_its_host() {
    let at_work = AtWork::new(&["call", "bomb.wasm", "-c", "g.toml", "--set", "start.confine=false"]);
    let worker = at_work.worker();
    let read = |name: &str| fs::read_to_string(format!("/proc/{worker}/{name}")).unwrap_or_default();
    let nice = |pid: u32| -> i32 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(16).unwrap().parse().unwrap()
    };
    let wanted = (nice(at_work.host.id()) + 10).min(19);
    until("its niceness", || (nice(worker) == wanted).then_some(()));
    until("its place before the killer", || (read("oom_score_adj").trim() == "1000").then_some(()));
    until("its limits", || {
        let limits = read("limits");
        let line = limits.lines().find(|line| line.starts_with("Max address space"))?;
        line.contains("4294967296").then_some(())
    });
    signal("KILL", worker);
    at_work.end();
}

/// Whatever a host has open, its child has its three pipes.
#[test]
fn a_worker_inherits_nothing_that_is_open() {
    let at_work = AtWork::new(&["run", "g.toml"]);
    let worker = at_work.worker();
    let open = |pid: u32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    assert!(open(at_work.host.id()) > 6, "the host has more than that");
    until("its pipes and no more", || (open(worker) == 3).then_some(()));
    signal("KILL", worker);
    at_work.end();
}

/// An upgrade that replaces the binary while a host runs: the child is still of the host's own version.
#[test]
fn a_host_whose_binary_is_gone_still_compiles() {
    let folder = TemporaryFolder::new();
    let copy = folder.path().join("gristmill");
    // By a process of its own: a file that we have open for writing cannot be run while another test starts a process.
    assert!(Command::new("cp").arg(binary()).arg(&copy).status().unwrap().success());
    let records = folder.write("r.jsonl", "{\"key\":\"a\"}\n");
    let script = "exec 9<\"$0\"; rm \"$0\"; exec /proc/self/fd/9 call \"$1\" \"$2\" --log-level info";
    let mut command = Command::new("sh");
    forget_own_variables(&mut command);
    command.args(["-c", script]).arg(&copy).arg(plugin("gristmill-echo")).arg(records);
    command.env("XDG_CACHE_HOME", folder.path().join("cache"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("cached=false") && !copy.exists(), "{said}");
}
