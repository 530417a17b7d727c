//! Commands from the application thread to the switch thread. Each is sent before the first packet that it concerns.

use crate::frame::End;
use crate::stream::Stream;
use forebay_types::PortId;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// A connection, or a stream of datagrams, in the switch.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its number.
    pub conn: u32,
    /// The sending end.
    pub from: End,
    /// The receiving end.
    pub to: End,
    /// The ports that its data passes, the sending host's own first.
    pub forth: Box<[PortId]>,
    /// The ports that its ACKs pass.
    pub back: Box<[PortId]>,
    /// Class of service of its data.
    pub class: u8,
    /// Wire bytes of a packet with payload, beside the payload.
    pub header: u32,
    /// Wire bytes of a packet without.
    pub ack_size: u32,
    /// Wire bytes of a probe of its shim.
    pub probe_size: u32,
    /// True if its congestion control delays data (TRIM).
    pub waits: bool,
    /// Input of the packet classifier; `None` if all data packets have the same class.
    pub stream: Option<Stream>,
    /// The other direction of the same TCP connection.
    pub reverse: Option<u32>,
}

/// Command to the switch thread.
#[derive(Debug, Clone)]
pub enum Command {
    /// A flow opens.
    Flow(Flow),
    /// Connection `conn` is given a message of `bytes` to send, 0 for one without end.
    Write {
        /// Its number.
        conn: u32,
        /// Length.
        bytes: u64,
    },
    /// The path of a connection changes.
    Route {
        /// Its number.
        conn: u32,
        /// The ports of its data.
        forth: Box<[PortId]>,
        /// The ports of its ACKs.
        back: Box<[PortId]>,
    },
}

/// Sending end of the command channel.
#[derive(Debug)]
pub struct CommandSender {
    commands: Sender<Command>,
    wakeup: Arc<EventFd>,
}

/// Receiving end of the command channel.
#[derive(Debug)]
pub struct CommandReceiver {
    commands: Receiver<Command>,
    wakeup: Arc<EventFd>,
}

/// Both ends.
///
/// # Errors
/// Errors of eventfd(2).
pub fn channel() -> io::Result<(CommandSender, CommandReceiver)> {
    let wakeup = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
    let (from, to) = mpsc::channel();
    Ok((CommandSender { commands: from, wakeup: Arc::clone(&wakeup) }, CommandReceiver { commands: to, wakeup }))
}

impl CommandSender {
    /// Sends a command. The switch thread runs it before the next packet that it reads.
    pub fn send(&self, command: Command) {
        // The switch thread ends before the sender only if it has failed, which ends the run.
        let _ = self.commands.send(command);
    }

    /// Sends a command and wakes the switch thread.
    pub fn send_now(&self, command: Command) {
        self.send(command);
        let _ = self.wakeup.write(1);
    }
}

impl CommandReceiver {
    /// Descriptor that becomes readable after [`CommandSender::send_now`].
    pub fn wakeup(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }

    /// The next one, if there is one.
    pub fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    /// Clears the wakeup event.
    pub fn clear_wakeup(&self) {
        let _ = self.wakeup.read();
    }
}
