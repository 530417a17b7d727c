//! In a build without BPF programs there are none.

use crate::shim::{UNAVAILABLE, config};
use forebay_linux::protocol::{Group, ShimRow};
use forebay_types::Time;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// None.
#[derive(Debug, Default)]
pub struct Programs;

impl Programs {
    /// Loads the programs that the transports need.
    ///
    /// # Errors
    /// They want one.
    pub fn load(groups: &[Group], _first_port: u16) -> io::Result<Programs> {
        match groups.iter().any(|g| config(&g.shim) != Ok(None)) {
            true => Err(io::Error::new(io::ErrorKind::Unsupported, UNAVAILABLE)),
            false => Ok(Programs),
        }
    }

    /// Attaches none.
    ///
    /// # Errors
    /// Never.
    pub fn attach(&mut self, _profile: u32, _device: &str, _address: Ipv4Addr, _cost_of_probe: &[Time]) -> io::Result<()> {
        Ok(())
    }

    /// None.
    ///
    /// # Errors
    /// Never.
    pub fn timer_loops(&mut self) -> io::Result<Vec<Timekeeper>> {
        Ok(Vec::new())
    }

    /// Returns nothing.
    ///
    /// # Errors
    /// Never.
    pub fn row(&self, _now: Time, _conn: u32, _group: u32, _ends: (SocketAddrV4, SocketAddrV4)) -> io::Result<Option<ShimRow>> {
        Ok(None)
    }

    /// Returns nothing.
    ///
    /// # Errors
    /// Never.
    pub fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        Ok(Vec::new())
    }
}

/// Does not exist in this build.
#[derive(Debug)]
pub struct Timekeeper(Infallible);

impl Timekeeper {
    /// Does not exist in this build.
    ///
    /// # Errors
    /// Never.
    pub fn run(self, _stop: impl Fn() -> bool) -> io::Result<()> {
        match self.0 {}
    }
}
