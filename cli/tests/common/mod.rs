//! A home of its own for the binary under test, and a Hub on loopback beside it.

#![allow(dead_code, reason = "each test file uses its part of the harness")]

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use weightless_control::client::DeadlineStream;
use weightless_control::{Client, Hello};
use weightless_hub_sim::{Content, HubSim, RepoDef};

/// Bounds every wait, so that a broken mount fails its test instead of holding the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The first line on stderr: the sentence.
    pub(crate) fn sentence(&self) -> &str {
        self.err.lines().next().unwrap_or_default()
    }
}

/// A user's home, runtime folder and Hub.
pub(crate) struct World {
    home: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    pub(crate) hub: HubSim,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::serving(repos())
    }

    /// The same with a Hub of these repos.
    pub(crate) fn serving(repos: Vec<RepoDef>) -> Self {
        let home = tempfile::Builder::new().prefix("wl-").tempdir().unwrap();
        let run = home.path().join("run");
        fs::create_dir(&run).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let hub = runtime.block_on(HubSim::builder().repos(repos).start()).unwrap();
        World { home, runtime, hub }
    }

    /// A path in the home, with links resolved, as the command prints it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    /// What is in the runtime folder with this extension.
    pub(crate) fn left(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(listed) = fs::read_dir(self.path("run/weightless")) else { return Vec::new() };
        let paths = listed.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }

    /// The command, in this home, talking to this Hub.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weightless"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("HF_ENDPOINT", self.hub.endpoint())
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Said {
        said(&mut self.command(words))
    }

    /// `words`, split at blanks.
    pub(crate) fn say(&self, words: &str) -> Said {
        self.run(words.split_whitespace())
    }

    /// Mounts that the kernel has in this home.
    pub(crate) fn mounted(&self) -> Vec<PathBuf> {
        let home = self.home.path().canonicalize().unwrap();
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        table
            .lines()
            .filter_map(|line| line.split(' ').nth(4))
            .map(PathBuf::from)
            .filter(|at| at.starts_with(&home))
            .collect()
    }

    /// A token in a file, for `--token-file`.
    pub(crate) fn token_file(&self, token: &str) -> String {
        let path = self.path("token");
        fs::write(&path, token).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Waits until something is so; looks often, and not for ever.
    #[track_caller]
    pub(crate) fn until(&self, is_so: impl Fn(&World) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < PATIENCE, "it never came to be so: {:#?}", self.say("status --json"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The engine's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path("run/weightless/engine.sock")
    }

    /// The engine's process.
    pub(crate) fn engine_pid(&self) -> u64 {
        let hello = Hello::new("test");
        Client::connect(&self.socket(), &hello, PATIENCE).unwrap().welcome().pid.into()
    }

    /// A client of the engine's socket.
    pub(crate) fn client(&self) -> Client<DeadlineStream> {
        Client::connect(&self.socket(), &Hello::new("test"), PATIENCE).unwrap()
    }

    /// Kills the engine, and waits until it is gone.
    pub(crate) fn kill_engine(&self) {
        let watch = Watch::on(&self.socket());
        send(self.engine_pid(), "KILL");
        watch.until_gone();
    }

    /// The mounts that `status` shows.
    pub(crate) fn status(&self) -> Vec<Value> {
        self.say("status --json").ok().json()["mounts"].as_array().unwrap().clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Also after a failed assertion; a mount that stays would keep the home, an engine that stays would outlive the run.
        let _ = self.say("unmount --all --lazy");
        let _ = self.say("engine stop --force");
        for at in self.mounted() {
            let _ = Command::new("fusermount3").args(["-u", "-z"]).arg(at).status();
        }
    }
}

pub(crate) fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

pub(crate) const MODEL_BYTES: u64 = 3 << 20;

fn repos() -> Vec<RepoDef> {
    let model = |id: &str| {
        RepoDef::model(id)
            .file("config.json", Content::text("{\"model_type\": \"test\"}\n"))
            .file("model.safetensors", Content::random(1, MODEL_BYTES))
            .file("onnx/model.onnx", Content::random(2, 70_000))
    };
    vec![
        model("org/model").tag("v1").file("new.txt", Content::text("later\n")),
        RepoDef::dataset("org/data").file("train.csv", Content::text("a,b\n1,2\n")),
        model("org/private").private(),
        model("org/gated").gated(),
    ]
}

/// A command that stays, with its first line on stdout read.
pub(crate) struct Staying {
    pub(crate) child: Child,
    pub(crate) first_line: String,
    _out: BufReader<ChildStdout>,
}

impl Staying {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        out.read_line(&mut first_line).unwrap();
        let first_line = first_line.trim_end().to_owned();
        Staying { child, first_line, _out: out }
    }

    /// Sends a signal and waits for the end: exit code and stderr.
    pub(crate) fn end_by(mut self, signal: &str) -> (Option<i32>, String) {
        send(self.child.id().into(), signal);
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), err)
    }
}

pub(crate) fn send(pid: u64, signal: &str) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(status.success(), "kill -{signal} {pid}");
}

/// Notices the end of a process that is not our child: the kernel closes its sockets last of what it holds of ours.
pub(crate) struct Watch(UnixStream);

impl Watch {
    pub(crate) fn on(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Watch(stream)
    }

    pub(crate) fn until_gone(mut self) {
        match self.0.read(&mut [0; 1]) {
            Ok(0) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            other => panic!("the process is still there: {other:?}"),
        }
    }
}
