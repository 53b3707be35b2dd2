//! What a host gives up before it loads a plugin: writing files beyond a few folders, starting programs, and system calls that it never
//! makes. A guest that got out of its sandbox would find itself without them.
//!
//! As far as the kernel gives it; what it does not give is said and no more. System calls are taken from every thread; files and programs
//! from the calling thread and those that it starts later.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use gristmill_guest::Cache;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use tracing::info;

/// What was given up, in words for the log.
#[derive(Debug)]
struct Confined {
    /// Files and programs.
    landlock: String,
    /// System calls.
    seccomp: String,
}

/// Gives it up before a plugin's file is opened, where that is `wanted`, and says what was had. The cache that is open already can be
/// written to.
pub(crate) fn before_a_plugin(wanted: bool, cache: Option<&Cache>) {
    if !wanted {
        return;
    }
    let writable: Vec<_> = cache.iter().map(|cache| cache.folder().to_owned()).collect();
    let Confined { landlock, seccomp } = confine(&writable);
    info!(%landlock, %seccomp, "gave up what it does not need of the system");
}

/// Gives it up. Files can be written below `writable` from now on, and nowhere else. Files that are open stay what they are.
fn confine(writable: &[PathBuf]) -> Confined {
    let landlock = close_files(writable).unwrap_or_else(|error| no(&error));
    let seccomp = forbid_calls().map_or_else(|error| no(&error), |()| "yes".to_owned());
    Confined { landlock, seccomp }
}

fn no(error: &dyn fmt::Display) -> String {
    format!("no ({error})")
}

/// What loads this program when it starts itself again, for compiling: of these the one that is there.
const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

fn close_files(writable: &[PathBuf]) -> Result<String, RulesetError> {
    let write = AccessFs::from_write(ABI::V3);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(write | AccessFs::Execute)?
        .create()?;
    let writable = writable.iter().map(PathBuf::as_path).map(|path| (path, write));
    let null = (Path::new("/dev/null"), AccessFs::WriteFile.into());
    let runs = LOADERS.iter().map(Path::new).chain([Path::new("/proc/self/exe")]);
    let allowed = writable.chain([null]).chain(runs.map(|path| (path, AccessFs::Execute.into())));
    // What is not there needs no rule.
    let opened = allowed.filter_map(|(path, access)| Some(Ok(PathBeneath::new(PathFd::new(path).ok()?, access))));
    let status = rules.add_rules(opened.collect::<Vec<Result<_, RulesetError>>>())?.restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => "yes",
        RulesetStatus::PartiallyEnforced => "in part",
        RulesetStatus::NotEnforced => "no (the kernel has none)",
    }
    .to_owned())
}

/// Calls that nothing in this process makes: other processes' memory, mounts, namespaces, the kernel's own modules, keys and clocks, and
/// interfaces that kernels had most of their holes in.
const NEVER_MADE: [libc::c_long; 50] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Namespaces that a new process could ask for: in one of its own it would be root, and reach parts of the kernel that are root's.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// They fail from now on as they fail for somebody without the right.
fn forbid_calls() -> Result<(), seccompiler::Error> {
    let mut forbidden: BTreeMap<_, _> =
        NEVER_MADE.iter().flat_map(in_each_table).map(|call| (call, Vec::new())).collect();
    // Threads and processes, but none in a namespace of its own.
    let asks_for = |namespace: &libc::c_int| {
        let flag = *namespace as u64;
        let is_set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
        SeccompRule::new(vec![is_set])
    };
    let asks = NAMESPACES.iter().map(asks_for).collect::<Result<Vec<_>, BackendError>>()?;
    forbidden.extend(in_each_table(&libc::SYS_clone).map(|call| (call, asks.clone())));
    forbid(forbidden, libc::EPERM)?;
    // What the flags of clone3 are stands in memory, where no filter looks. Told that there is no such call, the C library uses clone.
    forbid(in_each_table(&libc::SYS_clone3).map(|call| (call, Vec::new())).collect(), libc::ENOSYS)
}

/// The numbers of a call. x86-64 has a second table of calls, x32, where a kernel was built with it: the same calls, this bit set.
fn in_each_table(call: &libc::c_long) -> impl Iterator<Item = libc::c_long> + use<> {
    let x32 = if cfg!(target_arch = "x86_64") { Some(*call | 0x4000_0000) } else { None };
    std::iter::once(*call).chain(x32)
}

/// Lets these calls fail with this error, in every thread.
fn forbid(calls: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Result<(), seccompiler::Error> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, architecture)?;
    seccompiler::apply_filter_all_threads(&BpfProgram::try_from(filter)?)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::{fs, process, thread};

    use super::*;

    /// On a thread of its own, since what is given up is gone for good. The system calls are gone for all tests of this process, none of
    /// which makes them.
    fn confined<T: Send>(writable: &[PathBuf], then: impl FnOnce(&Confined) -> T + Send) -> T {
        thread::scope(|scope| scope.spawn(|| then(&confine(writable))).join().unwrap())
    }

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gristmill-confine-{name}-{}", process::id()));
        fs::create_dir_all(path.join("ours")).unwrap();
        path
    }

    #[test]
    fn files_are_written_in_the_folders_that_are_left_and_nowhere_else() {
        let folder = folder("write");
        fs::write(folder.join("precious"), "as it was").unwrap();
        confined(&[folder.join("ours")], |confined| {
            if confined.landlock.starts_with("no") {
                return println!("landlock: {}", confined.landlock);
            }
            for denied in [fs::write(folder.join("precious"), ""), fs::remove_file(folder.join("precious"))] {
                assert_eq!(denied.unwrap_err().kind(), ErrorKind::PermissionDenied);
            }
            assert_eq!(fs::read_to_string(folder.join("precious")).unwrap(), "as it was");
            fs::write(folder.join("ours/new"), "").unwrap();
            fs::rename(folder.join("ours/new"), folder.join("ours/renamed")).unwrap();
        });
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_program_is_started_but_this_one() {
        confined(&[], |confined| {
            if confined.landlock.starts_with("no") {
                return println!("landlock: {}", confined.landlock);
            }
            for program in ["/bin/sh", "/usr/bin/env", "/usr/lib/git-core/git"] {
                if Path::new(program).exists() {
                    let refused = process::Command::new(program).arg("--version").output();
                    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied, "{program}");
                }
            }
            let own = process::Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
            assert!(own.status.success());
        });
    }

    #[test]
    fn calls_that_are_never_made_fail() {
        confined(&[], |confined| {
            if confined.seccomp.starts_with("no") {
                return println!("seccomp: {}", confined.seccomp);
            }
            let refused = std::os::unix::fs::chroot("/").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        });
    }

    /// Calls of which the kernel itself says that they make no sense, so that none is ever done: a filter answers before it.
    #[test]
    fn nobody_gets_a_namespace_of_their_own_and_threads_and_processes_still_start() {
        let sum = confined(&[], |confined| {
            if confined.seccomp.starts_with("no") {
                println!("seccomp: {}", confined.seccomp);
                return None;
            }
            let own = process::Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
            assert!(own.status.success(), "{own:?}");
            Some((0..4_u64).map(|part| thread::spawn(move || part).join().unwrap()).sum::<u64>())
        });
        let Some(sum) = sum else { return };
        assert_eq!(sum, 6);
        // A thread that shares no signals is none.
        let flags = NAMESPACES.map(|namespace| namespace | libc::CLONE_THREAD).into_iter().chain([libc::CLONE_THREAD]);
        let clones = flags.map(|flags| format!("{}:{flags}", libc::SYS_clone));
        let calls = clones.chain([format!("{}:0", libc::SYS_clone3)]);
        let script = "foreach (@ARGV) { my ($call, $flags) = split /:/; \
                      print syscall($call, $flags + 0, 0, 0, 0, 0) == -1 ? $! + 0 : \"done\", \"\\n\" }";
        // Perl is what a build needs anyway. This thread may still start programs; what it starts has the filter.
        let asked = process::Command::new("perl").args(["-e", script]).args(calls).output().unwrap();
        let answers = String::from_utf8(asked.stdout).unwrap();
        let mut wanted = vec![libc::EPERM; NAMESPACES.len()];
        wanted.extend([libc::EINVAL, libc::ENOSYS]);
        let answers: Vec<_> = answers.lines().collect();
        assert_eq!(answers, wanted.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}
