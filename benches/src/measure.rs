//! Child processes: output, peak memory, and a time limit.

use crate::runner::peak_kb;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Output and memory of a child.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Last line on standard output that is a JSON object.
    pub line: String,
    /// All of standard error.
    pub stderr: String,
    /// Largest resident memory seen, kB.
    pub peak_kb: u64,
}

/// Runs a child to its end, at most `limit`. Its peak memory is read while it runs, because afterwards only system calls outside the standard library
/// have it. The kernel keeps the peak, so only growth in the last milliseconds can be missed.
pub(crate) fn child(command: &mut Command, limit: Duration) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{name} does not start: {e}"))?;
    // Read on a thread, so that a child with much output never blocks.
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let pid = child.id().to_string();
    let mut peak = 0;
    let status = loop {
        peak = peak_kb(&pid).unwrap_or(0).max(peak);
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if started.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("stopped after {} s", limit.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(3)),
        }
    };
    let stdout = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    if !status.success() {
        let last = stderr.lines().last().unwrap_or("no message");
        return Err(format!("{name} ended with {status}: {last}"));
    }
    let line = stdout.lines().rev().find(|l| l.starts_with('{')).unwrap_or("").to_owned();
    if let Some(error) = crate::json::field(&line, "error") {
        return Err(error.to_owned());
    }
    Ok(Output { line, stderr, peak_kb: peak })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
