//! A web server on loopback for unit tests: every answer is a function of the request, every request is remembered. The
//! whole Hub, with its network and its Xet store, is `weightless-hub-sim`.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// `GET /path?query`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// An answer to give.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Self {
        Reply { status, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn json(value: serde_json::Value) -> Self {
        Reply { body: value.to_string(), ..Reply::new(200) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A server; it ends with the runtime of its test.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let handler: Arc<Handler> = Arc::new(handler);
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(talk(stream, Arc::clone(&handler), Arc::clone(&log)));
            }
        });
        Server { url, seen }
    }

    /// The requests so far; forgets them.
    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// The requests so far as `GET /path?query`; forgets them.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        self.take().iter().map(Seen::line).collect()
    }
}

async fn talk(stream: TcpStream, handler: Arc<Handler>, log: Arc<Mutex<Vec<Seen>>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut seen = Seen::default();
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|len| *len > 0)?;
        let mut words = line.split(' ').map(str::to_owned);
        (seen.method, seen.target) = (words.next()?, words.next()?);
        loop {
            line.clear();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            seen.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let len = seen.header("content-length").map_or(0, |len| len.parse().unwrap());
        let mut body = vec![0; len];
        stream.read_exact(&mut body).await.ok()?;
        seen.body = String::from_utf8(body).ok()?;
        log.lock().unwrap().push(seen.clone());

        let reply = handler(&seen);
        let mut head = format!("HTTP/1.1 {} x\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !reply.headers.iter().any(|(name, _)| *name == "content-length") {
            head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
        }
        head.push_str("\r\n");
        if seen.method != "HEAD" {
            head.push_str(&reply.body);
        }
        stream.write_all(head.as_bytes()).await.ok()?;
    }
}
