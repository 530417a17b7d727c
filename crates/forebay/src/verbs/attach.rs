//! `forebay attach`: a transport in the running kernel.

use std::path::PathBuf;

/// Attach a congestion control or a shim to connections of this host, as a BPF program in the running kernel
///
/// New connections use it immediately, and open connections with --live. The attachment remains until `forebay detach`, also after this process has
/// ended. Needs root (SECURITY.md lists the capabilities). `forebay doctor` lists the missing features of this host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program; `forebay attach list` names them with their parameters. With --daemon also the name of an attachment
    #[arg(value_name = "CC|SHIM")]
    pub(crate) program: String,
    /// For connections to this prefix, such as 10.1.0.0/16 (with --cgroup: only connections of its processes); can be given more than once
    #[arg(long, value_name = "PREFIX")]
    pub(crate) dst: Vec<String>,
    /// For processes of this cgroup (version 2)
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,
    /// For all new connections of this network namespace
    #[arg(long)]
    pub(crate) default: bool,
    /// Also for open connections
    #[arg(long)]
    pub(crate) live: bool,
    /// For a shim: attach it to this interface, such as a bridge's uplink, instead of those of the routes to --dst; can be given more than once
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) dev: Vec<String>,
    /// Set a parameter; can be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) param: Vec<String>,
    /// Name of the attachment in the kernel, at most 15 characters [default: fb_ and the program's]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Change nothing; print the commands that do the same by hand
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Attach nothing; run the timers of the shim that is attached under this name, until interrupted or until the shim is detached
    ///
    /// For `proboscis`: unanswered probes and SYNs are retransmitted, and SYN-ACKs wait until enough probes have arrived. Start it beside the
    /// shim at both ends, as a service. When it ends, or is killed, the shim continues without timers within 50 ms
    #[arg(long, conflicts_with_all = ["dst", "cgroup", "default", "live", "dev", "param", "name", "dry_run", "rollback_on"])]
    pub(crate) daemon: bool,
    /// Guard the attachment: roll back when this holds for three seconds: retransmissions>FACTOR, rtt-p99>FACTOR or throughput<FACTOR of
    /// the five seconds before attaching; can be given more than once
    ///
    /// A separate process, the guard, judges the connections. It also rolls back on Ctrl-C, SIGTERM, a closed terminal (SIGHUP), the end of
    /// either process, connections that cannot be read, and a guard that stops or hangs for ten seconds. The program stays attached after
    /// --watch-for, or on Ctrl-C with --keep-on-interrupt. Closed or blocked output and a stopped foreground process (Ctrl-Z) do not end the
    /// guard. A condition that can never be met, such as throughput<0.9 without earlier traffic, is refused. The exit code is 1 after a
    /// rollback, 130 if Ctrl-C was the reason
    #[arg(long, value_name = "CONDITION", conflicts_with = "dry_run")]
    pub(crate) rollback_on: Vec<String>,
    /// With --rollback-on: leave it attached and end after this many seconds
    #[arg(long, value_name = "SECONDS", requires = "rollback_on")]
    pub(crate) watch_for: Option<u64>,
    /// With --rollback-on: Ctrl-C ends the guard and leaves it attached, once it is attached
    #[arg(long, requires = "rollback_on")]
    pub(crate) keep_on_interrupt: bool,
}
