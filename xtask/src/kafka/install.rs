//! Kafka's jars, an archive of its loaded classes, and a formatted data folder: made once, kept in the target folder.
//!
//! It must not know what brokers are used for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};

use crate::installing::{self, note, step};
use crate::kafka::broker::Broker;
use crate::{tools, workspace};

const POM: &str = include_str!("pom.xml");

/// Part of the folder's name: raise it when anything that is kept there is made differently.
const EDITION: &str = "4.4.0-1";

/// The heap of one of Kafka's tools.
const TOOL_HEAP_MIB_MAX: u32 = 128;

/// A Kafka that is ready to be started.
#[derive(Clone, Debug)]
pub struct Installation {
    folder: PathBuf,
    class_path: String,
}

impl Installation {
    /// Returns the installation of this workspace, and makes it first where it is not there.
    ///
    /// Safe to call from several threads and processes at once: the first one works, the others wait for it.
    ///
    /// # Errors
    ///
    /// When Java or Maven is missing, the jars cannot be fetched, or Kafka does not start.
    pub fn ready() -> Result<&'static Self> {
        static READY: OnceLock<std::result::Result<Installation, String>> = OnceLock::new();
        let outcome = READY.get_or_init(|| Self::make(&folder()).map_err(|error| format!("{error:#}")));
        outcome.as_ref().map_err(|text| anyhow!("{text}"))
    }

    fn make(folder: &Path) -> Result<Self> {
        tools::require(tools::FOR_KAFKA)?;
        let _lock = installing::lock(folder)?;
        step(folder, "lib", fetch_jars)?;
        let class_path = class_path(&folder.join("lib"))?;
        let made = Self { folder: folder.to_owned(), class_path };
        step(folder, "formatted", |target| made.format(target))?;
        step(folder, "template", |target| made.warm_up(target))?;
        Ok(made)
    }

    /// A JVM command that has Kafka on its class path; the main class and its arguments are still to be added.
    #[must_use]
    pub fn java(&self, heap_mib_max: u32) -> Command {
        let mut command = self.java_without_archive(heap_mib_max);
        command.arg(format!("-XX:SharedArchiveFile={}", self.archive().display()));
        // An archive that does not fit any more only costs time: no word about it in the output of a tool.
        command.args(["-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr", "-cp", &self.class_path]);
        command
    }

    /// One of Kafka's tools, by its class name below `org.apache.kafka.tools.`.
    #[must_use]
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        let mut command = self.java(TOOL_HEAP_MIB_MAX);
        command.arg(format!("org.apache.kafka.tools.{class}")).args(arguments);
        command
    }

    /// True when Kafka has a tool of this class name.
    ///
    /// # Errors
    ///
    /// When Kafka's jars cannot be read.
    pub fn has_tool(&self, class: &str) -> Result<bool> {
        let is_of_tools = |jar: &&str| {
            Path::new(jar).file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"kafka-tools-"))
        };
        // The names of an archive's files stand in it as they are.
        let name = format!("org/apache/kafka/tools/{}.class", class.replace('.', "/"));
        for jar in self.class_path.split(':').filter(is_of_tools) {
            let bytes = fs::read(jar).with_context(|| format!("cannot read {jar}"))?;
            if bytes.windows(name.len()).any(|window| window == name.as_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Kafka's jars, for a program of ours that is not one of its tools.
    #[must_use]
    pub fn class_path(&self) -> &str {
        &self.class_path
    }

    /// Kafka's version, by the name of its client's jar.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let names = self.class_path.split([':', '/']);
        names.filter_map(|name| name.strip_prefix("kafka-clients-")?.strip_suffix(".jar")).next()
    }

    /// The data folder that every new broker starts from.
    #[must_use]
    pub fn template(&self) -> PathBuf {
        self.folder.join("template").join("data")
    }

    fn archive(&self) -> PathBuf {
        self.folder.join("template").join("classes.jsa")
    }

    fn java_without_archive(&self, heap_mib_max: u32) -> Command {
        let mut command = tools::java();
        command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]).arg(format!("-Xmx{heap_mib_max}m"));
        command.args([
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
            // What was denied to whom, where the broker asks for rights at all.
            "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=info",
        ]);
        command
    }

    /// Formats an empty data folder.
    fn format(&self, target: &Path) -> Result<()> {
        note("formatting a data folder");
        fs::create_dir_all(target).context("cannot create the data folder")?;
        let properties = target.join("server.properties");
        let text = crate::kafka::properties::server(&target.join("data"), 9092, 9093, &[]);
        fs::write(&properties, text).context("cannot write the broker's properties")?;
        let mut command = self.java_without_archive(256);
        command.args([
            "-cp",
            &self.class_path,
            "kafka.tools.StorageTool",
            "format",
            "-t",
            "Z3Jpc3RtaWxsLXRlc3RzMQ",
            "-c",
        ]);
        succeed(command.arg(&properties))
    }

    /// Starts a broker once, lets it make its internal topics, and keeps its data and its loaded classes.
    fn warm_up(&self, target: &Path) -> Result<()> {
        note("starting Kafka once, to keep its internal topics and its loaded classes");
        fs::create_dir_all(target).context("cannot create the template folder")?;
        let mut java = self.java_without_archive(256);
        java.arg(format!("-XX:ArchiveClassesAtExit={}", target.join("classes.jsa").display()));
        java.args(["-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-cp", &self.class_path]);
        let broker = Broker::start_with(java, self, &self.folder.join("formatted").join("data"))?;
        let bootstrap = broker.bootstrap();
        let steps: [&[&str]; 4] = [
            &["org.apache.kafka.tools.TopicCommand", "--create", "--topic", "warm", "--partitions", "1"],
            &[
                "org.apache.kafka.tools.ProducerPerformance",
                "--topic=warm",
                "--num-records=1",
                "--record-size=1",
                "--throughput=-1",
                "--transactional-id=warm",
            ],
            &[
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
                "--topic",
                "warm",
                "--group",
                "warm",
                "--from-beginning",
                "--max-messages",
                "1",
            ],
            &["org.apache.kafka.tools.TopicCommand", "--delete", "--topic", "warm"],
        ];
        for arguments in steps {
            let mut tool = self.java_without_archive(128);
            tool.args(["-cp", &self.class_path]).args(arguments).args(["--bootstrap-server", &bootstrap]);
            succeed(&mut tool)?;
        }
        broker.terminate()?;
        if !target.join("classes.jsa").is_file() {
            bail!("the broker ended without leaving an archive of its classes:\n{}", broker.log_tail());
        }
        copy_folder(&broker.data(), &target.join("data"))
    }
}

/// Where the installation of this workspace lies.
fn folder() -> PathBuf {
    workspace::target_dir().join("kafka").join(EDITION)
}

fn fetch_jars(target: &Path) -> Result<()> {
    note("fetching Kafka's jars with Maven (40 MB)");
    fs::create_dir_all(target).context("cannot create the folder of the jars")?;
    fs::write(target.join("pom.xml"), POM).context("cannot write the pom")?;
    let mut command = Command::new("mvn");
    command.args(["-B", "-q", "-Dstyle.color=never", "dependency:copy-dependencies", "-DincludeScope=runtime"]);
    command.arg(format!("-DoutputDirectory={}", target.display())).current_dir(target);
    workspace::run(&mut command).context("cannot fetch Kafka's jars")
}

/// All jars in a fixed order: the class archive is refused when the order differs.
fn class_path(lib: &Path) -> Result<String> {
    let mut jars = Vec::new();
    for entry in fs::read_dir(lib).with_context(|| format!("cannot read {}", lib.display()))? {
        let path = entry.with_context(|| format!("cannot read {}", lib.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "jar") {
            jars.push(path.display().to_string());
        }
    }
    if jars.is_empty() {
        bail!("there are no jars in {}: remove that folder and try again", lib.display());
    }
    jars.sort();
    Ok(jars.join(":"))
}

/// Copies a folder with everything in it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot copy to {}", target.display()))?;
        }
    }
    Ok(())
}

/// Runs a command silently; what it printed is part of the error.
pub(super) fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {}", workspace::shown(command)))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        bail!("{} ended with {}:\n{}", class_of(command), output.status, String::from_utf8_lossy(&text));
    }
    Ok(())
}

/// The part of a Java command line that a person wants to see: from the main class on.
pub(super) fn class_of(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy());
    words
        .skip_while(|word| !word.starts_with("org.apache") && !word.starts_with("kafka."))
        .collect::<Vec<_>>()
        .join(" ")
}
