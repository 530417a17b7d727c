//! An engine with the callbacks of its messages and timers.

use forebay_experiment::world::World;
use forebay_experiment::worlds::Worlds;
use forebay_sim::program::{Engine, Step};
use forebay_sim::world::Simulator;
use forebay_types::Time;
use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::OnceLock;

/// A function of the program.
pub type Callback = unsafe extern "C" fn(*mut Handle, *mut c_void);

/// The simulator is the only backend of the library.
const WORLDS: &[&dyn World] = &[&Simulator];

/// An engine as C sees it, by a pointer.
pub struct Handle {
    pub(crate) engine: Engine,
    /// True while forebay_run runs.
    pub(crate) running: bool,
    /// True after a panic.
    pub(crate) failed: bool,
    /// By the number of the message, and of the timer. Used for lookups only, never iterated.
    messages: HashMap<u64, (Callback, *mut c_void)>,
    timers: HashMap<u64, (Callback, *mut c_void)>,
}

/// Next action of forebay_run.
pub(crate) enum Next {
    /// Call this function.
    Call(Callback, *mut c_void),
    /// Everything has been delivered.
    Done,
    /// An error, which has been reported.
    Failed,
}

impl Handle {
    /// Opens a scenario file with these settings.
    pub(crate) fn open(file: &str, settings: &[String]) -> Result<Handle, String> {
        static ALL: OnceLock<Worlds> = OnceLock::new();
        let worlds = ALL.get_or_init(|| Worlds::new(WORLDS));
        let resolved = forebay_scenario::load(worlds, Path::new(file), settings, None).and_then(|s| s.resolve_for_program());
        let resolved = resolved.map_err(|e| e.render().trim_end().to_owned())?;
        let engine = Engine::new(resolved.for_program(Simulator.name())?).map_err(|e| e.to_string())?;
        Ok(Handle { engine, running: false, failed: false, messages: HashMap::new(), timers: HashMap::new() })
    }

    pub(crate) fn send(
        &mut self,
        (src, dst): (u32, u32),
        bytes: u64,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> Result<(), String> {
        let (number, _) = self.engine.send(src, dst, bytes).map_err(|e| e.to_string())?;
        if let Some(callback) = callback {
            self.messages.insert(number, (callback, argument));
        }
        Ok(())
    }

    pub(crate) fn schedule(&mut self, delay: u64, callback: Option<Callback>, argument: *mut c_void) -> Result<(), String> {
        let callback = callback.ok_or("`callback` is NULL")?;
        let number = self.engine.schedule(self.engine.now().saturating_add(Time(delay)));
        self.timers.insert(number, (callback, argument));
        Ok(())
    }

    /// Notes that forebay_run runs.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.running, true) {
            return Err("forebay_run was called in a callback".into());
        }
        Ok(())
    }

    /// Runs to the next event with a callback.
    pub(crate) fn next(&mut self) -> Result<Next, String> {
        loop {
            let called = match self.engine.step(u32::MAX) {
                Step::Delivered(message) => self.messages.remove(&message),
                Step::Due(timer) => self.timers.remove(&timer),
                Step::Paused => None,
                Step::Idle => return Ok(Next::Done),
                Step::Ended => {
                    let (open, now) = (self.engine.open(), self.engine.now());
                    return Err(format!(
                        "{open} messages cannot be delivered: at {now} the duration of the scenario is over, or no packet is left"
                    ));
                }
            };
            if let Some((callback, argument)) = called {
                return Ok(Next::Call(callback, argument));
            }
        }
    }
}
