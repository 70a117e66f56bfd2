//! Measures how fast and how cheaply the simulated network feeds bare readers: raw sockets that throw the bytes away.
//!
//! `cargo run --release -p weightless-hub-sim --example feed -- [PROFILE] [CONNECTIONS] [MIB_PER_CONNECTION]`
//!
//! The server is a process of its own, so that its CPU time is known.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use weightless_hub_sim::net::{Network, Profile, Site};

/// One answer: as large as the largest xorb.
const BODY_BYTES: usize = 64 << 20;
const GIB: f64 = (1u64 << 30) as f64;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, profile] = &arguments[..]
        && mode == "serve"
    {
        return serve(profile.parse()?);
    }
    let profile = arguments.first().map_or("lan", String::as_str);
    let connections = arguments.get(1).map_or(Ok(4), |n| n.parse())?;
    let mib = arguments.get(2).map_or(Ok(512), |n| n.parse())?;

    let mut server = Command::new(std::env::current_exe()?).args(["serve", profile]).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(server.stdout.take().context("no stdout")?).read_line(&mut line)?;
    let address: SocketAddr = line.trim().parse()?;
    let (before, own_before) = (cpu(server.id())?, cpu(std::process::id())?);
    let start = Instant::now();
    let readers: Vec<_> = (0..connections).map(|_| std::thread::spawn(move || read(address, mib << 20))).collect();
    let mut bytes = 0;
    for reader in readers {
        bytes += reader.join().expect("a reader panicked")?;
    }
    let took = start.elapsed();
    let gib = bytes as f64 / GIB;
    println!(
        "{profile}, {connections} connections: {:.0} MB/s, {:.2} CPU s/GiB serving, {:.2} reading",
        bytes as f64 / took.as_secs_f64() / 1e6,
        (cpu(server.id())? - before).as_secs_f64() / gib,
        (cpu(std::process::id())? - own_before).as_secs_f64() / gib,
    );
    server.kill()?;
    server.wait()?;
    Ok(())
}

fn serve(profile: Profile) -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let content = Bytes::from(vec![7; BODY_BYTES]);
        let router = Router::new().route("/{*path}", get(async move || Body::from(content)));
        Network::with_link(profile.link()).serve(listener, Site::Data, router).await?;
        Ok(())
    })
}

fn read(address: SocketAddr, bytes: usize) -> Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    while done < bytes {
        stream.write_all(b"GET /xorbs/a HTTP/1.1\r\nhost: sim\r\n\r\n")?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let mut left = BODY_BYTES;
        while left > 0 {
            let wanted = left.min(buffer.len());
            match stream.read(&mut buffer[..wanted])? {
                0 => bail!("closed early"),
                got => left -= got,
            }
        }
        done += BODY_BYTES;
    }
    Ok(done)
}

/// User and system time of a process, from fields 14 and 15 of its `stat`, in ticks of 10 ms.
fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(") ").context("no name")?.1;
    let ticks: u64 = after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
    Ok(Duration::from_millis(ticks * 10))
}
