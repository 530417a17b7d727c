//! Reports of the shim, and the sign of life that it checks (`crates/kernel/bpf/proboscis/helper.bpf.h`).

use super::schedule::Notice;
use crate::Error;
use forebay_platform::clock;
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBuffer, RingBufferBuilder};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Timer interval while a packet waits (the publication's tick), and otherwise: well below the time after which the shim considers the process dead
/// (HELPER_ALIVE).
pub(super) const TICK: Duration = Duration::from_millis(1);
pub(super) const IDLE: Duration = Duration::from_millis(10);
/// HELPER_ALIVE of helper.bpf.h, ns.
const ALIVE: u64 = 50_000_000;
/// The only entry of the map with the sign of life.
const FIRST: [u8; 4] = [0; 4];

fn failed(e: libbpf_rs::Error) -> Error {
    Error::bpf("the ring of the shim", &e)
}

/// Returns true if a process updates the sign of life in that map.
pub(super) fn is_kept(alive: &impl MapCore) -> Result<bool, Error> {
    let seen = alive.lookup(&FIRST, MapFlags::ANY).map_err(failed)?.and_then(|v| v.try_into().ok()).map_or(0, u64::from_ne_bytes);
    Ok(clock::monotonic_ns().saturating_sub(seen) < ALIVE)
}

/// The end of the ring that belongs to the process beside the shim.
pub(super) struct Ring {
    alive: MapHandle,
    ring: RingBuffer<'static>,
    heard: Receiver<Notice>,
}

impl Ring {
    /// Opens the ring buffer of a shim with these maps. Reports to an earlier process are outdated and dropped.
    pub(super) fn open(alive: MapHandle, notices: &dyn MapCore) -> Result<Ring, Error> {
        let (tell, heard) = channel();
        let mut builder = RingBufferBuilder::new();
        let receive = move |bytes: &[u8]| {
            // The other end is dropped behind the ring.
            Notice::read(bytes).into_iter().for_each(|notice| drop(tell.send(notice)));
            0
        };
        builder.add(notices, receive).map_err(failed)?;
        let ring = Ring { alive, ring: builder.build().map_err(failed)?, heard };
        ring.ring.consume().map_err(failed)?;
        ring.heard.try_iter().for_each(drop);
        Ok(ring)
    }

    /// Updates the sign of life: the shim relies on this process for the next 50 ms.
    pub(super) fn show_life(&self) -> Result<(), Error> {
        self.alive.update(&FIRST, &clock::monotonic_ns().to_ne_bytes(), MapFlags::ANY).map_err(failed)
    }

    /// Returns the reports, or none within `most`.
    pub(super) fn wait(&self, most: Duration) -> Result<Vec<Notice>, Error> {
        self.ring.poll(most).map_err(failed)?;
        Ok(self.heard.try_iter().collect())
    }

    /// Ends the reports and the holding of packets; returns the reports until then.
    pub(super) fn end(&self) -> Result<Vec<Notice>, Error> {
        self.alive.update(&FIRST, &[0; 8], MapFlags::ANY).map_err(failed)?;
        self.ring.consume().map_err(failed)?;
        Ok(self.heard.try_iter().collect())
    }
}
