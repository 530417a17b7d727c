//! A capture of the running kernel, by dumpcap on the loopback interface, against the counts of the sockets.

use forebay_formats::trains::capture::Capture;
use forebay_formats::trains::{Analysis, ConnectionRow, Options, Sink};
use forebay_platform::doctor::requirements;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Rows(Vec<ConnectionRow>);

impl Sink for Rows {
    fn connection(&mut self, c: &ConnectionRow) {
        self.0.push(*c);
    }
}

/// Waits for `done`, up to the limit.
fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !done() {
        if began.elapsed() > LIMIT {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Starts dumpcap for one port; `None` if it is missing or not permitted. Packets to the port are sent until the file has one.
fn start(file: &Path, listener: &TcpListener) -> Option<Child> {
    let address = listener.local_addr().unwrap();
    let filter = format!("tcp port {}", address.port());
    let mut command = Command::new("dumpcap");
    command.args(["-q", "-i", "lo", "-s", "96", "-f", &filter, "-w"]).arg(file);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let began = wait_until(|| {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        // Empty connections tell when packets are captured.
        drop(TcpStream::connect(address).unwrap());
        drop(listener.accept().unwrap());
        thread::sleep(Duration::from_millis(100));
        file.metadata().is_ok_and(|m| m.len() > 1_000)
    });
    if began && matches!(child.try_wait(), Ok(None)) { Some(child) } else { None }
}

fn analyze(file: &Path) -> Vec<ConnectionRow> {
    let mut analysis = Analysis::new(Options::default(), Rows::default());
    let mut capture = Capture::new("capture", Box::new(File::open(file).unwrap()), None).unwrap();
    assert!(analysis.read(&mut capture, |_| ControlFlow::Continue(())).unwrap().is_continue());
    analysis.finish().1.0
}

#[test]
fn bytes_of_sockets() {
    let dir = std::env::temp_dir().join(format!("forebay-trains-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("capture.pcapng");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(mut dumpcap) = start(&file, &listener) else {
        return requirements::skip("netns", "dumpcap is missing, or may not capture the loopback interface");
    };
    let address = listener.local_addr().unwrap();
    let sizes: [usize; 3] = [1, 100_000, 3_000_000];
    let mut ports = Vec::new();
    for size in sizes {
        let mut client = TcpStream::connect(address).unwrap();
        ports.push(client.local_addr().unwrap().port());
        let (mut server, _) = listener.accept().unwrap();
        let reader = thread::spawn(move || {
            let mut got = Vec::new();
            server.read_to_end(&mut got).unwrap();
            server.write_all(&vec![0; got.len() / 3 + 1]).unwrap();
            got.len()
        });
        client.write_all(&vec![1; size]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!((reader.join().unwrap(), answer.len()), (size, size / 3 + 1));
    }
    // The capture is complete when the last connection is.
    let complete = wait_until(|| {
        let rows = analyze(&file);
        ports.iter().all(|port| rows.iter().any(|r| r.client.end.port() == *port && r.closed))
    });
    dumpcap.kill().unwrap();
    dumpcap.wait().unwrap();
    assert!(complete, "dumpcap wrote no complete capture");
    let rows = analyze(&file);
    for (size, port) in sizes.into_iter().zip(ports) {
        let row = rows.iter().find(|r| r.client.end.port() == port).unwrap();
        assert_eq!((row.from_client.bytes, row.from_server.bytes), (size as u64, size as u64 / 3 + 1), "{row:?}");
        assert!(row.opened && row.handshake_rtt_ns.is_some_and(|rtt| rtt < 1_000_000_000), "{row:?}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
