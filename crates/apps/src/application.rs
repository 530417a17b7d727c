//! The functions that every kind of application has. [`App`](crate::App) describes them; the defaults are those of a kind without timers, open-loop flows
//! and requests.

use crate::{Host, Job, Notice};
use forebay_types::{AppId, ConnSlot, QueryId, Time};

pub(crate) trait Application {
    /// See [`App::start`](crate::App::start).
    fn start(&mut self, _host: &mut impl Host, _id: AppId) {}

    /// See [`App::on_wake`](crate::App::on_wake).
    fn on_wake(&mut self, _host: &mut impl Host, _id: AppId, _now: Time, _tag: u64) {}

    /// See [`App::on_notice`](crate::App::on_notice).
    fn on_notice(&mut self, _host: &mut impl Host, _id: AppId, _now: Time, _notice: Notice) {}

    /// See [`App::next_arrival`](crate::App::next_arrival).
    fn next_arrival(&self) -> Option<Time> {
        None
    }

    /// See [`App::shares_connections`](crate::App::shares_connections).
    fn shares_connections(&self) -> bool {
        false
    }

    /// See [`App::inject`](crate::App::inject).
    fn inject(&mut self, _host: &mut impl Host, _id: AppId, _until: Time) {}

    /// See [`App::remaining`](crate::App::remaining).
    fn remaining(&self) -> u64;

    /// See [`App::expected`](crate::App::expected).
    fn expected(&self) -> u64;

    /// The connection and the message of the timer with `tag`, set for a host in another process; `None` for a timer without a message.
    fn export_timer(&mut self, _tag: u64) -> Option<(ConnSlot, Job)> {
        None
    }

    /// Takes over the timer with `tag` of another process, with its message. Returns its tag in this process.
    fn import_timer(&mut self, tag: u64, _timer: (ConnSlot, Job)) -> u64 {
        tag
    }

    /// See [`App::on_remote_write`](crate::App::on_remote_write).
    fn on_remote_write(&mut self, _tag: u64, _query: Option<QueryId>, _start: Time) {}
}
