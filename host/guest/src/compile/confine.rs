//! What the compile worker takes away from itself before it reads a byte: memory, time, files, the network, other programs.
//!
//! Limits on processor time, memory and files are set or the worker ends. Landlock and seccomp depend on the kernel; what it
//! gives is taken, and what it does not give is said.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetStatus,
    Scope,
};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, nice, set_parent_process_death_signal, setrlimit,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::sys;

/// Who started the worker, what it may use up, and what for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    parent: Pid,
    cpu_seconds: u64,
    address_space_bytes: u64,
    /// Whether the code is to count its instructions.
    pub(super) deterministic: bool,
}

impl Bounds {
    /// The bounds in the arguments that the host gives.
    pub(super) fn of(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut number = || arguments.next()?.to_str()?.parse::<u64>().ok();
        let parent = Pid::from_raw(i32::try_from(number()?).ok()?)?;
        let (cpu_seconds, address_space_bytes, deterministic) = (number()?, number()?, number()? != 0);
        let bounds = Self { parent, cpu_seconds, address_space_bytes, deterministic };
        arguments.next().is_none().then_some(bounds)
    }
}

/// How the line begins that says what was taken away.
pub(super) const CONFINED: &str = "confined: ";

/// What was taken away, as one line for the host's log.
#[derive(Debug)]
pub(super) struct Confined {
    landlock: String,
    seccomp: String,
}

impl fmt::Display for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CONFINED}limits=yes landlock={} seccomp={}", self.landlock, self.seccomp)
    }
}

/// Confines this process, which must have one thread only.
///
/// # Errors
///
/// The process that asked is gone, or a limit cannot be set.
pub(super) fn confine(bounds: &Bounds) -> io::Result<Confined> {
    die_with(bounds.parent)?;
    // Older kernels have no call for it; then Landlock and seccomp are what there is.
    let _ = sys::close_all_but_streams();
    step_back();
    let landlock = close_files().unwrap_or_else(|error| format!("no ({error})"));
    limit(bounds)?;
    let seccomp = match forbid_calls() {
        Ok(()) => "yes".to_owned(),
        Err(error) => format!("no ({error})"),
    };
    Ok(Confined { landlock, seccomp })
}

/// Ends with the host. A host that was gone before we asked for that is noticed by our having another parent.
fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::other("the host that asked is gone")) }
}

/// What a consumer beside it loses on a core that both want: ten steps are a share of ten to one.
const NICENESS: i32 = 10;

/// Leaves processor and memory to the host where they are short. As far as it goes.
fn step_back() {
    let _ = nice(NICENESS);
    // When memory is out, this process goes first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// No core files, no growing file, no new file, and so much time and memory. Never more than was allowed before.
fn limit(bounds: &Bounds) -> io::Result<()> {
    let cpu = bounds.cpu_seconds;
    // At the first number the system sends a signal that names the cause, at the second it kills.
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        (Resource::Nofile, 3, 3),
        (Resource::Cpu, cpu, cpu.saturating_add(1)),
        (Resource::As, bounds.address_space_bytes, bounds.address_space_bytes),
    ];
    for (resource, soft, hard) in limits {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        setrlimit(resource, Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) })?;
    }
    Ok(())
}

/// Takes every file, every TCP port, and signals and sockets to other processes away.
fn close_files() -> Result<String, landlock::RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => "yes",
        RulesetStatus::PartiallyEnforced => "in part",
        RulesetStatus::NotEnforced => "no (the kernel has none)",
    }
    .to_owned())
}

/// The calls that a compiler needs: memory, threads, its three pipes, the time. The same on every architecture.
const CALLS: [libc::c_long; 32] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_ppoll,
    // Another filter answers this one.
    libc::SYS_clone3,
];

/// Forbids every system call but those that a compiler needs. Others fail with EPERM and do nothing: a C library that tries a new
/// call first and has another way out goes on, and for whoever wants more than to compile an error is as good as death.
fn forbid_calls() -> Result<(), seccompiler::Error> {
    let only = |argument, operator, value| -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)?])
    };
    let masked = |mask: libc::c_int| SeccompCmpOp::MaskedEq(mask as u64);
    let not_executable = || only(2, masked(libc::PROT_EXEC), 0);
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    // Memory, but none that could be run: nothing is run here that was not in the program's file.
    calls.insert(libc::SYS_mmap, vec![not_executable()?]);
    calls.insert(libc::SYS_mprotect, vec![not_executable()?]);
    // Threads, but no processes.
    calls.insert(libc::SYS_clone, vec![only(0, masked(libc::CLONE_THREAD), libc::CLONE_THREAD as u64)?]);
    // Names for threads.
    calls.insert(libc::SYS_prctl, vec![only(0, SeccompCmpOp::Eq, libc::PR_SET_NAME as u64)?]);
    // Limits may be asked for, and not set.
    calls.insert(libc::SYS_prlimit64, vec![only(2, SeccompCmpOp::Eq, 0)?]);
    // What the flags of clone3 are stands in memory, where no filter looks. Told that there is no such call, the C library uses clone.
    let none = SeccompAction::Errno(libc::ENOSYS as u32);
    install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), SeccompAction::Allow, none)?;
    install(calls, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)
}

fn install(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    others: SeccompAction,
    these: SeccompAction,
) -> Result<(), seccompiler::Error> {
    let filter = SeccompFilter::new(calls, others, these, std::env::consts::ARCH.try_into()?)?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Output, Stdio};

    use super::*;

    /// Tells this test binary, when a test starts it again, that it is the process to confine, and what it then does.
    const CONFINED_ACT: &str = "GRISTMILL_TEST_CONFINED";

    /// Runs `act` in a confined process, which is the same test once more, and returns how that ended.
    fn confined(test: &str, act: impl FnOnce()) -> Option<Output> {
        if let Some(parent) = std::env::var(CONFINED_ACT).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let bounds = Bounds { parent, cpu_seconds: 1, address_space_bytes: 1 << 30, deterministic: false };
            println!("{}", confine(&bounds).unwrap());
            act();
            return None;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = format!("compile::confine::tests::{test}");
        command.args(["--exact", &name, "--nocapture"]).env(CONFINED_ACT, std::process::id().to_string());
        Some(command.stdin(Stdio::null()).output().unwrap())
    }

    fn say<T>(what: &str, tried: io::Result<T>) {
        println!("{what}: {}", tried.map_or_else(|error| error.kind().to_string(), |_| "done".to_owned()));
    }

    #[test]
    fn a_confined_process_reaches_no_file_no_network_and_no_program() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let act = || {
            say("open", File::open("/proc/self/status"));
            say("create", File::create(std::env::temp_dir().join("gristmill-confined")));
            say("list", std::fs::read_dir("/"));
            say("look", std::fs::metadata("/"));
            say("remove", std::fs::remove_file("/nonexistent"));
            say("connect", TcpStream::connect("127.0.0.1:9"));
            say("bind", UdpSocket::bind("127.0.0.1:0"));
            say("pair", UnixStream::pair());
            say("start", Command::new("/bin/true").spawn());
            say("limit", setrlimit(Resource::Cpu, Rlimit { current: Some(0), maximum: Some(0) }).map_err(Into::into));
            say("signal", rustix::process::kill_process(Pid::INIT, Signal::WINCH).map_err(Into::into));
        };
        let Some(output) = confined("a_confined_process_reaches_no_file_no_network_and_no_program", act) else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        for what in ["open", "create", "list", "look", "remove", "connect", "bind", "pair", "start", "limit", "signal"]
        {
            assert!(text.contains(&format!("{what}: permission denied\n")), "{what}: {text}");
        }
        assert!(text.contains("seccomp=yes"), "{text}");
    }

    #[test]
    fn a_confined_process_has_memory_and_threads() {
        let act = || {
            let sums = (0..4_u64).map(|thread| std::thread::spawn(move || vec![thread; 1 << 20].iter().sum::<u64>()));
            let sums: Vec<u64> = sums.map(|thread| thread.join().unwrap()).collect();
            println!("sum: {}", sums.iter().sum::<u64>());
        };
        let Some(output) = confined("a_confined_process_has_memory_and_threads", act) else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("sum: {}\n", 6_u64 << 20)), "{text}");
    }

    #[test]
    fn a_confined_process_ends_when_its_time_or_its_memory_is_spent() {
        let test = "a_confined_process_ends_when_its_time_or_its_memory_is_spent";
        let act = || {
            println!("large: {}", Vec::<u8>::new().try_reserve_exact(2 << 30).is_err());
            loop {
                std::hint::spin_loop();
            }
        };
        let Some(output) = confined(test, act) else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("large: true"), "{text}");
        assert_eq!(output.status.signal(), Some(Signal::XCPU.as_raw()), "{output:?}");
    }

    #[test]
    fn a_process_whose_parent_is_another_refuses_to_work() {
        if getppid() != Some(Pid::INIT) {
            assert!(die_with(Pid::INIT).is_err());
            set_parent_process_death_signal(None).unwrap();
        }
    }

    #[test]
    fn arguments_are_four_numbers() {
        let bounds = |words: &[&str]| Bounds::of(words.iter().map(OsString::from));
        assert!(bounds(&["7", "60", "4294967296", "0"]).is_some());
        for wrong in
            [&["7", "60", "1"][..], &["7", "60", "x", "0"], &["0", "60", "1", "0"], &["7", "60", "1", "0", "1"], &[]]
        {
            assert!(bounds(wrong).is_none(), "{wrong:?}");
        }
    }
}
