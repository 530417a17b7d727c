//! The process that judges. Nothing that others control can block it: it has no terminal and no output, and messages to the foreground
//! process are dropped if they do not fit.

use super::channel::{Channel, Received, wait};
use super::rollback::{Found, is_lost, keep, roll_back};
use super::signals::{self, Signals};
use super::{Command, Order, Report, Subject};
use crate::lease::Lease;
use crate::state::{self, Attachment, Guard, Lock};
use crate::tune::named;
use crate::watch::Watch;
use crate::{Error, attach, privileges};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// Shortest time over which connections are judged, after a delay of this process.
const LEAST: Duration = Duration::from_millis(500);
/// Errors in a row after which connections count as unreadable.
const ERRORS_IN_A_ROW: u32 = 3;

/// The guard ends.
enum Verdict {
    Keep,
    Detached,
    RollBack(String),
}

struct Judge {
    channel: Channel,
    /// The foreground process is still running.
    connected: bool,
    signals: Signals,
    attachment: Attachment,
    guard: Guard,
    lease: Lease,
    watch: Watch,
    keep_after: Option<Duration>,
}

/// Runs the whole process.
pub(super) fn run_process(order: Order, since: u64, channel: Channel) -> ! {
    // A panic must not return into the code of the foreground process, which rolls back when this process ends.
    let code = i32::from(catch_unwind(AssertUnwindSafe(|| run(&order, since, channel))).is_err());
    // SAFETY: ends the process; nothing of the foreground process is written or closed by this copy.
    unsafe { libc::_exit(code) }
}

fn run(order: &Order, since: u64, channel: Channel) {
    let channel = settle(channel);
    let guard = Guard { process: std::process::id(), since };
    match begin(order, guard, &channel) {
        Ok((signals, attachment, lease, watch)) => {
            let keep_after = order.keep_after;
            Judge { channel, connected: true, signals, attachment, guard, lease, watch, keep_after }.run();
        }
        Err(e) => {
            channel.send(&Report::Refused(e.to_string()));
        }
    }
}

/// Detaches from the terminal, the output and the files of the foreground process.
fn settle(channel: Channel) -> Channel {
    const FIRST: libc::c_int = 3;
    // SAFETY: plain system calls of a process with a single thread. Descriptors that are closed belong to values of the foreground
    // process, of which this copy uses none; the channel is moved to another number first.
    unsafe {
        libc::setsid();
        // A file system of the user can be unmounted; nothing here is found by a relative path.
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"forebay-guard".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..FIRST {
            libc::dup2(null, standard);
        }
        if channel.descriptor() == FIRST || libc::dup3(channel.descriptor(), FIRST, libc::O_CLOEXEC) == FIRST {
            // Linux before 5.9 does not have this call: the descriptors stay open.
            libc::syscall(libc::SYS_close_range, FIRST + 1, libc::c_uint::MAX, 0);
            std::mem::forget(channel);
            return Channel::from_descriptor(FIRST);
        }
    }
    channel
}

/// Attaches, or takes over an attachment. After an error the attachment is unchanged, or the foreground process rolls it back.
fn begin(order: &Order, guard: Guard, channel: &Channel) -> Result<(Signals, Attachment, Lease, Watch), Error> {
    let signals = Signals::of_guard().map_err(|e| Error::io("signals of the guard", &e))?;
    privileges::keep_needed()?;
    let name = match &order.subject {
        Subject::New(request) => {
            let wanted = || match channel.is_closed() {
                true => Err(Error::new("the forebay process that started the guard has ended")),
                false => Ok(()),
            };
            let (attachment, lease, attached) = attach::attach_guarded(request, guard, &wanted)?;
            for line in attached.done {
                channel.send(&Report::Done(line));
            }
            let watch = Watch::of(&attachment, &order.conditions).inspect_err(|_| {
                let _ = roll_back(&attachment.name, guard, Some(&attachment), &mut |_| {});
            })?;
            return Ok((signals, attachment, lease, watch));
        }
        Subject::Attached(name) => name,
    };
    let lock = Lock::take()?;
    for line in lock.tidy()? {
        channel.send(&Report::Done(line));
    }
    let mut attachment = named(name)?;
    if let Some(other) = attachment.guard {
        return Err(Error::new(format!("{} is already guarded by process {}", attachment.name, other.process))
            .fix("watch it without --rollback-on, or end the other guard first"));
    }
    let watch = Watch::of(&attachment, &order.conditions)?;
    let lease = Lease::take(attachment.lease())?;
    attachment.guard = Some(guard);
    match attachment.save() {
        Ok(()) => Ok((signals, attachment, lease, watch)),
        Err(e) => {
            lease.give_back();
            Err(e)
        }
    }
}

impl Judge {
    fn run(mut self) {
        let before = *self.watch.before();
        let copy = Some(Box::new(self.attachment.clone()));
        if !self.channel.send(&Report::Guarded { attachment: copy, before }) {
            // With thousands of routes the copy is too long for a message. The foreground process then reads the file.
            self.channel.send(&Report::Guarded { attachment: None, before });
        }
        match self.judge() {
            Verdict::Keep => self.keep(),
            Verdict::RollBack(why) => self.roll_back(why),
            Verdict::Detached => {
                self.lease.give_back();
                self.channel.send(&Report::Detached);
            }
        }
    }

    fn judge(&mut self) -> Verdict {
        let begin = Instant::now();
        let (mut due, mut errors) = (begin, 0);
        loop {
            due = (due + SECOND).max(Instant::now() + LEAST);
            if let Some(verdict) = self.listen(due) {
                return verdict;
            }
            let name = &self.attachment.name;
            match state::load(name) {
                Ok(Some(a)) if a.guard == Some(self.guard) => {}
                Ok(None) if is_lost(&self.attachment) => {
                    return Verdict::RollBack(format!("the state file of {name} in {} was removed", crate::run_dir::FOLDER));
                }
                Ok(_) => return Verdict::Detached,
                // The copy in memory is sufficient.
                Err(_) => {}
            }
            // Without a renewal other processes roll back, which is right if this process cannot write.
            let _ = self.lease.renew();
            match self.watch.second() {
                Ok(now) => {
                    errors = 0;
                    let crossed = now.crossed.clone();
                    self.channel.send(&Report::Second { at: begin.elapsed().as_secs(), now });
                    if let Some(why) = crossed {
                        return Verdict::RollBack(why);
                    }
                }
                Err(e) => {
                    errors += 1;
                    self.channel.send(&Report::Note(format!("the connections cannot be read: {e}")));
                    if errors >= ERRORS_IN_A_ROW {
                        return Verdict::RollBack(format!("the connections could not be read for {errors} s: {}", e.what()));
                    }
                }
            }
            if self.keep_after.is_some_and(|k| begin.elapsed() >= k) {
                return Verdict::Keep;
            }
        }
    }

    /// Waits for signals and for the foreground process.
    fn listen(&mut self, until: Instant) -> Option<Verdict> {
        loop {
            let left = until.checked_duration_since(Instant::now()).filter(|l| !l.is_zero())?;
            wait(&[self.signals.as_fd(), self.channel.as_fd()], left);
            if let Some(signal) = self.signals.next() {
                return Some(Verdict::RollBack(format!("the guard received {}", signals::name(signal))));
            }
            match self.channel.receive() {
                Received::Nothing => {}
                Received::Message(Command::Keep) => return Some(Verdict::Keep),
                Received::Message(Command::RollBack(why)) => return Some(Verdict::RollBack(why)),
                Received::Closed => {
                    self.connected = false;
                    return Some(Verdict::RollBack("the forebay process that started the guard has ended".into()));
                }
            }
        }
    }

    fn keep(self) {
        let mut note = |text| {
            self.channel.send(&Report::Note(text));
        };
        match keep(&self.attachment.name, self.guard, Some(&self.attachment), &mut note) {
            Ok(Found::Gone) => {
                self.channel.send(&Report::Detached);
            }
            Ok(_) => {
                self.channel.send(&Report::Kept);
            }
            Err(e) => self.roll_back(format!("the attachment cannot be kept: {e}")),
        }
    }

    /// Rolls back; retries until it succeeds, or until another process has done it.
    fn roll_back(self, why: String) {
        let name = &self.attachment.name;
        loop {
            self.channel.send(&Report::RollingBack(why.clone()));
            let mut note = |text| {
                self.channel.send(&Report::Note(text));
            };
            match roll_back(name, self.guard, Some(&self.attachment), &mut note) {
                Ok(Found::Kept) => {
                    self.channel.send(&Report::Kept);
                    return;
                }
                Ok(Found::Ours | Found::Gone) => {
                    if !(self.channel.send(&Report::RolledBack(why.clone())) && self.connected) {
                        log(&format!("rolled back {name}: {why}"));
                    }
                    return;
                }
                Err(e) => {
                    self.channel.send(&Report::Stuck(e.to_string()));
                    std::thread::sleep(SECOND);
                }
            }
        }
    }
}

/// Writes a line to the kernel's log, for a user whose terminal is gone.
fn log(line: &str) {
    if let Ok(mut log) = OpenOptions::new().write(true).open("/dev/kmsg") {
        // Errors are ignored: a container may not have the log or may deny access.
        let _ = log.write_all(format!("forebay: {line}\n").as_bytes());
    }
}
