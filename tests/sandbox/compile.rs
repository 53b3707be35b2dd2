//! Compiling happens in a child with bounds: bombs end there, a child that dies is an error with a cause, and the host goes on.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gristmill_core::outcome::{Answer, Outcome};
use gristmill_guest::{
    Compile, CompileError, CompileLimit, CompileLimits, Engine, EngineSettings, Limits, LoadError, Plugin,
    PluginSettings, Refusal,
};
use gristmill_tests::{TemporaryFolder, bombs};

use crate::mill::{Batch, Mill, guest_bytes, with_limits};

/// The program that compiles: the host's own binary.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| xtask::host::binary().unwrap())
}

/// An engine whose plugins are compiled by this program within these limits.
fn engine(program: &Path, limits: CompileLimits) -> Engine {
    let compile = Compile::Worker { program: program.to_owned(), limits, cache: None };
    Engine::new(&EngineSettings { compile, ..EngineSettings::default() }).unwrap()
}

fn compile_error(engine: &Engine, bytes: &[u8]) -> (CompileError, String) {
    match Plugin::load(engine, "orders.wasm", bytes, &PluginSettings::default()).unwrap_err() {
        error @ LoadError::Compile { .. } => {
            let text = error.to_string();
            assert!(text.starts_with("cannot load plugin orders.wasm: "), "{text}");
            let LoadError::Compile { source, .. } = error else { unreachable!() };
            (source, text)
        }
        other => panic!("{other}"),
    }
}

/// The limit that it ran into, which the text names as such.
fn limit(engine: &Engine, bytes: &[u8]) -> CompileLimit {
    let (error, text) = compile_error(engine, bytes);
    let CompileError::Limit(limit) = error else { panic!("{text}") };
    assert!(text.contains("compile limit: "), "{text}");
    limit
}

/// Whatever a child did: the next plugin loads, and no child is left.
fn goes_on(engine: &Engine) {
    let plugin = Plugin::load(engine, "echo", &guest_bytes("gristmill_echo"), &PluginSettings::default()).unwrap();
    assert!(!plugin.compiled().cached);
    let mut mill = Mill::of(plugin);
    assert_eq!(mill.run(Batch::told("k")).answer, Answer::Outcome(Outcome::OK));
}

#[test]
fn a_plugin_that_a_child_compiled_runs() {
    goes_on(&engine(program(), CompileLimits::STRICT));
}

/// T-20: a small valid file that takes for ever.
#[test]
fn a_time_bomb_ends_at_the_limit_of_processor_time() {
    let limits = CompileLimits { cpu: Duration::from_secs(1), ..CompileLimits::STRICT };
    let engine = engine(program(), limits);
    let bomb = bombs::of_time(20_000);
    assert!(bomb.len() < 600_000, "{} bytes", bomb.len());
    assert_eq!(limit(&engine, &bomb), CompileLimit::Cpu(limits.cpu));
    goes_on(&engine);
}

/// T-20, B114: the same on the clock, which also a child ends that computes nothing.
#[test]
fn a_time_bomb_ends_at_the_limit_of_time() {
    let limits = CompileLimits { wall: Duration::from_secs(1), ..CompileLimits::STRICT };
    let began = Instant::now();
    assert_eq!(limit(&engine(program(), limits), &bombs::of_time(20_000)), CompileLimit::Wall(limits.wall));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    goes_on(&engine(program(), CompileLimits::STRICT));
}

/// T-21: seven hundred bytes that mean ten million instances.
#[test]
fn a_memory_bomb_ends_at_the_limit_of_address_space() {
    let limits = CompileLimits { address_space_bytes: 1 << 30, ..CompileLimits::STRICT };
    let engine = engine(program(), limits);
    let bomb = bombs::of_instances(7);
    assert!(bomb.len() < 1_000, "{} bytes", bomb.len());
    assert_eq!(limit(&engine, &bomb), CompileLimit::AddressSpace(1 << 30));
    goes_on(&engine);
}

#[test]
fn code_that_is_too_large_is_refused() {
    let limits = CompileLimits { artefact_bytes: 100_000, ..CompileLimits::STRICT };
    assert_eq!(limit(&engine(program(), limits), &guest_bytes("gristmill_echo")), CompileLimit::Artefact(100_000));
}

/// T-21: blocks within blocks, a branch with half a million ways, types that hold each other: ended by the compiler or by a limit,
/// never by the death of the host.
#[test]
fn bombs_of_recursion_and_counts_are_refused_and_the_host_goes_on() {
    let limits = CompileLimits { cpu: Duration::from_secs(2), wall: Duration::from_secs(20), ..CompileLimits::STRICT };
    let engine = engine(program(), limits);
    for (name, bomb) in [
        ("blocks", bombs::of_blocks(600_000)),
        ("ways", bombs::of_ways(2, 500_000)),
        ("types", bombs::of_types(60)),
        ("instances", bombs::of_instances(7)),
    ] {
        let began = Instant::now();
        let error = Plugin::load(&engine, name, &bomb, &PluginSettings::default()).unwrap_err();
        let by_worker = matches!(error, LoadError::Compile { .. });
        assert!(by_worker || matches!(error, LoadError::Refused { refusal: Refusal::Invalid { .. }, .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(30), "{name}: {:?}", began.elapsed());
    }
    goes_on(&engine);
}

/// T-21: what is refused by its shape costs no child: this program could not even be started.
#[test]
fn a_shape_that_no_toolchain_makes_is_refused_before_anything_is_compiled() {
    let engine = engine(Path::new("/nonexistent"), CompileLimits::STRICT);
    let module = "(core module)".repeat(300);
    let began = Instant::now();
    let error =
        Plugin::load(&engine, "orders.wasm", &bombs::component(&module), &PluginSettings::default()).unwrap_err();
    assert!(error.to_string().contains("it has more than 200 modules and components"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// T-19: names are for the frames of a trap. Thirty megabytes of them neither keep a plugin from loading nor stay in its code.
#[test]
fn a_huge_section_of_names_costs_next_to_nothing() {
    let plain = guest_bytes("gristmill_echo");
    let named = bombs::of_names(&plain, 50 << 20);
    let settings = with_limits(|limits| limits.file_bytes = 64 << 20);
    // The names alone would be more than that.
    let limits = CompileLimits { artefact_bytes: 8 << 20, ..CompileLimits::STRICT };
    let engine = engine(program(), limits);
    let began = Instant::now();
    Plugin::load(&engine, "plain", &plain, &settings).unwrap();
    let plain_took = began.elapsed();
    let began = Instant::now();
    Plugin::load(&engine, "named", &named, &settings).unwrap();
    // What is left is to read the file's bytes a few times.
    let more = began.elapsed().saturating_sub(plain_took);
    assert!(more < Duration::from_secs(10), "{more:?}");
    assert!(named.len() as u64 > Limits::STRICT.file_bytes, "and the usual limit refuses such a file anyway");
}

/// The proposals that are off stay off for the file, although the compiler is allowed one for its own use.
#[test]
fn a_file_that_does_not_validate_is_refused_by_the_child_as_by_the_host() {
    let engine = engine(program(), CompileLimits::STRICT);
    for body in ["(memory 1) (memory 1)", "(memory i64 1)", "(func (result i32))"] {
        let bytes = bombs::component(&format!("(core module {body})"));
        let error = Plugin::load(&engine, "orders.wasm", &bytes, &PluginSettings::default()).unwrap_err();
        let in_process =
            Plugin::load(crate::mill::engine(), "orders.wasm", &bytes, &PluginSettings::default()).unwrap_err();
        assert!(matches!(error, LoadError::Refused { refusal: Refusal::Invalid { .. }, .. }), "{body}: {error}");
        assert_eq!(error.to_string(), in_process.to_string(), "{body}");
    }
}

/// Components that talk to each other within a component, as those of QuickJS do: the compiler puts a module with two memories
/// between them, and panics where that is off.
#[test]
fn components_within_a_component_compile() {
    let lists = r#"
        (component $one
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 8)
                (func (export "f") (param i32 i32)))
            (core instance $i (instantiate $m))
            (func (export "f") (param "x" (list u8))
                (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
        (component $other
            (import "f" (func $f (param "x" (list u8))))
            (core module $libc
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 8))
            (core instance $libc (instantiate $libc))
            (core func $lowered (canon lower (func $f) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
            (core module $m (import "" "f" (func (param i32 i32))))
            (core instance (instantiate $m (with "" (instance (export "f" (func $lowered)))))))
        (instance $a (instantiate $one))
        (instance (instantiate $other (with "f" (func $a "f"))))"#;
    let bytes = bombs::component(lists);
    for engine in [&engine(program(), CompileLimits::STRICT), crate::mill::engine()] {
        let error = Plugin::load(engine, "orders.wasm", &bytes, &PluginSettings::default()).unwrap_err();
        assert!(matches!(error, LoadError::Contract { .. }), "it compiled, and only its handler is none: {error}");
    }
}

/// A program for a test, as a script. A process of its own writes it: a file that we write ourselves cannot be run while another
/// test starts a process.
fn script(folder: &TemporaryFolder, text: &str) -> PathBuf {
    let path = folder.path().join("worker");
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    path
}

/// What becomes of a load when this script compiles.
fn compiled_by(text: &str, limits: CompileLimits) -> (CompileError, String) {
    let folder = TemporaryFolder::new();
    compile_error(&engine(&script(&folder, text), limits), &guest_bytes("gristmill_echo"))
}

/// T-22: a worker that dies.
#[test]
fn a_worker_that_dies_is_told_with_how_it_ended_and_its_last_words() {
    let (error, text) = compiled_by("echo out of luck >&2; kill -SEGV $$", CompileLimits::STRICT);
    assert!(matches!(error, CompileError::Died { .. }), "{text}");
    assert!(text.contains("was ended by signal 11 (SIGSEGV) and said: out of luck"), "{text}");
    let (_, text) = compiled_by("kill -KILL $$", CompileLimits::STRICT);
    assert!(text.contains("was ended by signal 9 (SIGKILL"), "{text}");
    let (_, text) = compiled_by("cat > /dev/null; exit 3", CompileLimits::STRICT);
    assert!(text.contains("ended with code 3;"), "{text}");
    goes_on(&engine(program(), CompileLimits::STRICT));
}

/// T-22: a worker that answers with anything but code.
#[test]
fn an_answer_that_is_no_code_is_never_loaded() {
    let whole = format!("'{}' compile-plugin $$ $3 $4 $5", program().display());
    let cases = [
        ("nothing", "cat > /dev/null".to_owned()),
        ("garbage", "cat > /dev/null; head -c 100000 /dev/zero".to_owned()),
        ("the component itself", "cat".to_owned()),
        ("half an answer", format!("{whole} | head -c 100000")),
        ("all but a byte", format!("{whole} > answer; head -c -1 answer; rm answer")),
        ("a changed byte", format!("{whole} | sed 's/ELF/elf/'")),
        ("something behind it", format!("{whole}; echo")),
    ];
    for (name, text) in cases {
        let folder = TemporaryFolder::new();
        let text = format!("cd '{}' || exit 1\n{text}", folder.path().display());
        let (error, text) = compiled_by(&text, CompileLimits::STRICT);
        assert!(matches!(error, CompileError::Answer { .. }), "{name}: {text}");
    }
}

/// The scripts of the test above hand on what they are given: this one answers what the real worker answers.
#[test]
fn a_worker_behind_a_script_is_as_good() {
    let folder = TemporaryFolder::new();
    let whole = format!("'{}' compile-plugin $$ $3 $4 $5; exit $?", program().display());
    goes_on(&engine(&script(&folder, &whole), CompileLimits::STRICT));
}

/// T-22: one that hangs, holds its pipes open by a child of its own, and babbles.
#[test]
fn a_worker_that_hangs_is_killed_with_all_that_it_started() {
    let folder = TemporaryFolder::new();
    let mark = folder.path().join("started");
    let text = format!("sleep 1000 & echo $! > '{}'; yes >&2", mark.display());
    let limits = CompileLimits { wall: Duration::from_secs(1), ..CompileLimits::STRICT };
    let (error, text) = compiled_by(&text, limits);
    assert!(matches!(error, CompileError::Limit(CompileLimit::Wall(_))), "{text}");
    assert!(text.len() < 1_000, "and its babble is not repeated: {} bytes", text.len());
    let sleeper = std::fs::read_to_string(mark).unwrap();
    wait_until_gone(sleeper.trim());
}

/// Waits until a process is no more, or only a corpse that nobody has buried yet.
fn wait_until_gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            return;
        }
        assert!(Instant::now() < deadline, "process {pid} still runs: {stat}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_worker_that_cannot_be_started_is_told_with_its_path() {
    let (error, text) = compile_error(
        &engine(Path::new("/nonexistent/gristmill"), CompileLimits::STRICT),
        &guest_bytes("gristmill_echo"),
    );
    assert!(matches!(error, CompileError::Start { .. }), "{text}");
    assert!(text.contains("cannot start the compile worker /nonexistent/gristmill: No such file"), "{text}");
}

/// Two children at once would take twice of all that one is bounded in.
#[test]
fn children_compile_one_after_the_other() {
    let folder = TemporaryFolder::new();
    let busy = folder.path().join("busy");
    let text = format!("mkdir '{0}' || exit 7; cat > /dev/null; sleep 0.2; rmdir '{0}'; exit 3", busy.display());
    let engine = engine(&script(&folder, &text), CompileLimits::STRICT);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (_, text) = compile_error(&engine, &guest_bytes("gristmill_echo"));
                assert!(text.contains("ended with code 3"), "{text}");
            });
        }
    });
}

/// The child compiles for the host's own engine: one that counts instructions gets code that does.
#[test]
fn a_deterministic_engine_gets_its_own_code() {
    let compile = Compile::Worker { program: program().to_owned(), limits: CompileLimits::STRICT, cache: None };
    let engine = Engine::new(&EngineSettings { deterministic: true, compile, ..EngineSettings::default() }).unwrap();
    goes_on(&engine);
}

/// The worker sees nothing of the host: neither its environment nor its arguments.
#[test]
fn a_worker_gets_an_empty_environment() {
    let folder = TemporaryFolder::new();
    let seen = folder.path().join("seen");
    let (_, text) = compiled_by(&format!("env > '{}'; exit 9", seen.display()), CompileLimits::STRICT);
    assert!(text.contains("ended with code 9"), "{text}");
    let seen = std::fs::read_to_string(seen).unwrap();
    // What a shell adds by itself is not of ours.
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    let odd = names
        .iter()
        .find(|name| !["PWD", "OLDPWD", "SHLVL", "_", "RAYON_NUM_THREADS", "LD_LIBRARY_PATH"].contains(name));
    assert!(odd.is_none() && names.contains(&"RAYON_NUM_THREADS"), "{names:?}");
}
