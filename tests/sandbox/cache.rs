//! Compiled plugins are kept from one start to the next, and nothing that was changed meanwhile is ever run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gristmill_core::outcome::{Answer, Outcome};
use gristmill_guest::{Cache, CacheError, Compile, CompileLimits, Engine, EngineSettings, Plugin, PluginSettings};
use gristmill_tests::TemporaryFolder;

use crate::compile::program;
use crate::journal;
use crate::mill::{Batch, Mill, guest_bytes};

/// A cache in a folder of its own.
struct Kept {
    folder: TemporaryFolder,
}

impl Kept {
    fn new() -> Self {
        journal::listen();
        Self { folder: TemporaryFolder::new() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Loads as a host does that has just started.
    fn load(&self, bytes: &[u8]) -> Plugin {
        load(&Cache::open(&self.path()).unwrap(), bytes)
    }

    /// The one entry, with its name.
    fn entry(&self) -> (PathBuf, String) {
        let [entry] = &self.entries()[..] else { panic!("{:?}", self.entries()) };
        (entry.clone(), entry.file_name().unwrap().to_str().unwrap().to_owned())
    }

    fn entries(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "code")).collect()
    }

    /// What was said about entries that were not used.
    fn warnings(&self) -> Vec<String> {
        let events = journal::events_with(self.folder.path().to_str().unwrap());
        events.into_iter().filter(|event| event.contains("a compiled plugin in the cache is not used")).collect()
    }
}

fn load(cache: &Cache, bytes: &[u8]) -> Plugin {
    let compile =
        Compile::Worker { program: program().to_owned(), limits: CompileLimits::STRICT, cache: Some(cache.clone()) };
    let engine = Engine::new(&EngineSettings { compile, ..EngineSettings::default() }).unwrap();
    let plugin = Plugin::load(&engine, "orders.wasm", bytes, &PluginSettings::default()).unwrap();
    let mut mill = Mill::of(plugin.clone());
    assert_eq!(mill.run(Batch::told("ok")).answer, Answer::Outcome(Outcome::OK), "whatever it is, it runs");
    plugin
}

#[test]
fn what_was_compiled_once_is_found_at_the_next_start() {
    let kept = Kept::new();
    let bytes = guest_bytes("gristmill_echo");
    let (first, second) = (kept.load(&bytes).compiled(), kept.load(&bytes).compiled());
    assert_eq!((first.cached, second.cached), (false, true));
    assert!(second.took < first.took, "{first:?} {second:?}");
    assert_eq!(kept.warnings(), [""; 0]);
}

/// B31: the name of an entry is a digest of the whole file, so nothing but the same bytes can share it.
#[test]
fn a_file_with_one_other_byte_is_compiled_by_itself() {
    let kept = Kept::new();
    let one = guest_bytes("gristmill_echo");
    // The last bytes stand in a custom section, so that this is a plugin as well, of the same size.
    let mut other = one.clone();
    other.extend([0, 3, 1, b'x', 1]);
    let mut another = one.clone();
    another.extend([0, 3, 1, b'x', 2]);
    assert!(!kept.load(&other).compiled().cached);
    assert!(!kept.load(&another).compiled().cached, "same size, another byte");
    assert!(kept.load(&other).compiled().cached && kept.load(&another).compiled().cached);
    let (entry, name) = (kept.entries(), one.len());
    assert_eq!(entry.len(), 2, "{name}");
    let name = entry[0].file_name().unwrap().to_str().unwrap();
    assert!(name.len() > 2 * 64, "two digests of 256 bits: {name}");
}

/// B32, T-62: cut short, changed, exchanged, made by somebody else: a miss, one warning, and compiled again.
#[test]
fn an_entry_that_is_not_what_was_written_is_a_miss_with_one_warning() {
    let bytes = guest_bytes("gristmill_echo");
    let foreign = Kept::new();
    foreign.load(&bytes);
    let foreign = fs::read(foreign.entry().0).unwrap();
    let compiler = wasmtime::Engine::new(wasmtime::Config::new().gc_support(false)).unwrap();
    let users = compiler.precompile_component(&bytes).unwrap();
    type Change<'a> = &'a dyn Fn(Vec<u8>) -> Vec<u8>;
    let cases: [(&str, Change<'_>, &str); 8] = [
        ("empty", &|_| Vec::new(), "it is cut short"),
        ("half", &|entry| entry[..entry.len() / 2].to_vec(), "it is cut short"),
        ("a byte less", &|entry| entry[..entry.len() - 1].to_vec(), "it is cut short"),
        ("a byte more", &|entry| [entry, vec![0]].concat(), "its MAC is wrong"),
        ("garbage", &|entry| vec![0xa5; entry.len()], "it is no entry of this version"),
        ("one bit of the code", &flipped, "its MAC is wrong"),
        ("of another folder", &|_| foreign.clone(), "its MAC is wrong"),
        ("compiled by a user", &|_| users.clone(), "it is no entry of this version"),
    ];
    for (name, change, cause) in cases {
        let kept = Kept::new();
        kept.load(&bytes);
        let (path, file) = kept.entry();
        fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
        assert!(!kept.load(&bytes).compiled().cached, "{name}");
        let warnings = kept.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains(cause), "{name}: {warnings:?}");
        assert!(warnings[0].contains(&file) && warnings[0].contains("compiled again"), "{name}: {warnings:?}");
        assert!(kept.load(&bytes).compiled().cached, "{name}: it is whole again");
        assert_eq!(kept.warnings().len(), 1, "{name}: and nobody is warned twice");
    }
}

/// B32: the same file for an engine with other settings is another entry.
#[test]
fn another_engine_has_another_entry() {
    let kept = Kept::new();
    let bytes = guest_bytes("gristmill_echo");
    kept.load(&bytes);
    let cache = Cache::open(&kept.path()).unwrap();
    let compile = Compile::Worker { program: program().to_owned(), limits: CompileLimits::STRICT, cache: Some(cache) };
    let engine = Engine::new(&EngineSettings { deterministic: true, compile, ..EngineSettings::default() }).unwrap();
    let load = || Plugin::load(&engine, "orders.wasm", &bytes, &PluginSettings::default()).unwrap().compiled().cached;
    assert_eq!((load(), load()), (false, true));
    assert_eq!((kept.entries().len(), kept.warnings().len()), (2, 0));
}

fn flipped(mut entry: Vec<u8>) -> Vec<u8> {
    let middle = entry.len() / 2;
    entry[middle] ^= 1;
    entry
}

/// T-62: the code of one plugin under the name of another.
#[test]
fn an_entry_under_another_name_is_a_miss() {
    let kept = Kept::new();
    let (echo, noop) = (guest_bytes("gristmill_echo"), guest_bytes("gristmill_noop"));
    kept.load(&echo);
    let (echo_entry, _) = kept.entry();
    kept.load(&noop);
    let noop_entry = kept.entries().into_iter().find(|entry| *entry != echo_entry).unwrap();
    fs::copy(&echo_entry, &noop_entry).unwrap();
    assert!(!kept.load(&noop).compiled().cached);
    assert!(kept.warnings()[0].contains("changed, renamed, or comes from another folder"), "{:?}", kept.warnings());
}

#[test]
fn an_entry_that_is_a_link_or_open_to_others_is_a_miss() {
    let bytes = guest_bytes("gristmill_echo");
    let kept = Kept::new();
    kept.load(&bytes);
    let (path, _) = kept.entry();
    let elsewhere = kept.folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(!kept.load(&bytes).compiled().cached);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    assert!(!kept.load(&bytes).compiled().cached);
    let warnings = kept.warnings();
    assert!(
        warnings.len() == 2 && warnings.iter().all(|warning| warning.contains("no private file of this user")),
        "{warnings:?}"
    );
    assert!(elsewhere.exists(), "what a link leads to is left alone");
}

/// Somebody's folder does not go away as a file does: it is told once at each start, and nothing is kept in its place.
#[test]
fn a_folder_in_an_entrys_place_is_a_miss_with_one_warning() {
    let bytes = guest_bytes("gristmill_echo");
    let kept = Kept::new();
    kept.load(&bytes);
    let (path, _) = kept.entry();
    fs::remove_file(&path).unwrap();
    fs::create_dir_all(path.join("precious")).unwrap();
    assert!(!kept.load(&bytes).compiled().cached);
    let said = journal::events_with(kept.folder.path().to_str().unwrap());
    let told: Vec<_> = said.iter().filter(|event| event.contains("message=a compiled plugin")).collect();
    assert!(told.len() == 1 && told[0].contains("is not used; it is compiled again"), "{told:?}");
    assert!(path.join("precious").exists(), "and it is left alone");
}

/// B32: running code is not mapped from the file.
#[test]
fn an_entry_may_be_overwritten_while_its_code_runs() {
    let kept = Kept::new();
    let bytes = guest_bytes("gristmill_mischief");
    kept.load(&bytes);
    let plugin = kept.load(&bytes);
    assert!(plugin.compiled().cached);
    let mut mill = Mill::of(plugin);
    let delivery = mill.deliver(Batch::told("sleep:300"));
    let (path, _) = kept.entry();
    let length = fs::metadata(&path).unwrap().len() as usize;
    // In place, as whoever has the file open would: not by a new file under its name.
    fs::OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    fs::write(&path, vec![0xcc; length]).unwrap();
    assert_eq!(mill.next_answer().delivery, delivery);
    mill.still_works();
}

#[test]
fn two_hosts_may_use_one_folder_at_once() {
    let kept = Kept::new();
    let bytes = [guest_bytes("gristmill_echo"), guest_bytes("gristmill_noop")];
    let path = kept.path();
    std::thread::scope(|scope| {
        for host in 0..4 {
            let (bytes, path) = (&bytes[host % 2], &path);
            scope.spawn(move || {
                for _ in 0..3 {
                    load(&Cache::open(path).unwrap(), bytes);
                }
            });
        }
    });
    assert_eq!(kept.warnings(), [""; 0]);
    assert_eq!(kept.entries().len(), 2);
    assert!(bytes.iter().all(|bytes| kept.load(bytes).compiled().cached));
}

#[test]
fn who_waits_for_the_same_plugin_does_not_compile_it_again() {
    let kept = Kept::new();
    let (cache, bytes) = (Cache::open(&kept.path()).unwrap(), guest_bytes("gristmill_noop"));
    let compiled = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| load(&cache, &bytes).compiled().cached)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|cached| !cached).count()
    });
    assert_eq!(compiled, 1);
}

fn refused(path: &Path) -> CacheError {
    Cache::open(path).unwrap_err()
}

/// T-62: only a folder that nobody else can write to is one to run code from.
#[test]
fn a_folder_that_is_not_private_is_refused_with_the_way_out() {
    let folder = TemporaryFolder::new();
    for mode in [0o755, 0o770, 0o701] {
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        let error = refused(folder.path());
        assert!(matches!(error, CacheError::Open { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("{mode:o}"))
                && text.contains("name a folder of this user's own in plugin.cache")
                && !text.contains("chmod it"),
            "{text}"
        );
    }
    // The root folder is root's; where we are root, give one away.
    let foreign =
        if std::os::unix::fs::chown(folder.path(), Some(1), None).is_ok() { folder.path() } else { Path::new("/") };
    let error = refused(foreign);
    assert!(matches!(error, CacheError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("plugin.cache"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_with_the_way_out() {
    let folder = TemporaryFolder::new();
    let file = folder.write("file", "");
    let error = refused(&file.join("cache"));
    assert!(matches!(error, CacheError::System { .. }), "{error}");
    assert!(error.to_string().ends_with("or name another in plugin.cache"), "{error}");
}

#[test]
fn a_key_that_is_none_is_refused_with_the_way_out() {
    for key in [&b""[..], &[7; 31], &[7; 33]] {
        let kept = Kept::new();
        drop(Cache::open(&kept.path()).unwrap());
        fs::write(kept.path().join("key"), key).unwrap();
        let error = refused(&kept.path());
        assert!(matches!(error, CacheError::Key { .. }) && error.to_string().contains("remove the folder"), "{error}");
    }
    let kept = Kept::new();
    drop(Cache::open(&kept.path()).unwrap());
    fs::set_permissions(kept.path().join("key"), PermissionsExt::from_mode(0o644)).unwrap();
    assert!(matches!(refused(&kept.path()), CacheError::Key { .. }), "one that others can read");
}

/// T-60: the file is read once. What lies there later changes nothing of what was loaded, nor of what is kept.
#[test]
fn what_is_kept_belongs_to_the_bytes_that_were_compiled() {
    let kept = Kept::new();
    let bytes = guest_bytes("gristmill_echo");
    let file = kept.folder.path().join("orders.wasm");
    fs::write(&file, &bytes).unwrap();
    let read = fs::read(&file).unwrap();
    fs::write(&file, guest_bytes("gristmill_noop")).unwrap();
    let plugin = kept.load(&read);
    assert!(kept.entry().1.starts_with(&plugin.digest().to_string().replace(':', "-")), "{}", kept.entry().1);
    let swapped = kept.load(&fs::read(&file).unwrap());
    assert!(!swapped.compiled().cached && swapped.digest() != plugin.digest());
}

/// Shows what the cache is worth; `GRISTMILL_COMPONENTS` names more files, separated by colons.
#[test]
fn loading_from_the_cache_is_faster_than_compiling() {
    let more = std::env::var("GRISTMILL_COMPONENTS").unwrap_or_default();
    let files = more.split(':').filter(|file| !file.is_empty()).map(|file| (file.to_owned(), fs::read(file).unwrap()));
    let own = ["gristmill_echo", "gristmill_count"].map(|name| (name.to_owned(), guest_bytes(name)));
    println!("| file | bytes | compiled | cached | first load | second load |\n| --- | --- | --- | --- | --- | --- |");
    for (name, bytes) in own.into_iter().chain(files) {
        let kept = Kept::new();
        let timed = || {
            let began = Instant::now();
            let compiled = kept.load(&bytes).compiled();
            (compiled.took, began.elapsed())
        };
        let (cold, cached) = (timed(), timed());
        let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let [one, two, three, four] = [cold.0, cached.0, cold.1, cached.1].map(millis);
        println!("| {name} | {} | {one} | {two} | {three} | {four} |", bytes.len());
        assert!(cached.0 * 2 < cold.0, "{name}: {cold:?} {cached:?}");
    }
}
