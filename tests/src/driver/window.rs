//! The window that ProBoSCIS keeps for a connection below its guest, as the program for real hosts has it (`bpf/proboscis/window_core.bpf.h`).

/// `struct shim_params`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Alpha's gain is 2 to the minus this.
    pub shift_g: u32,
    /// The least window, bytes.
    pub least: u32,
    /// Connections with more bytes acknowledged are left alone; 0: none is.
    pub elephant: u32,
}

/// Denominator of alpha (`SHIM_ALPHA_ONE`).
pub const ALPHA_ONE: u32 = 1 << 20;

/// `struct shim_window`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    bytes: u64,
    high: u32,
    una: u32,
    window_end: u32,
    cut_end: u32,
    acked: u32,
    marked: u32,
    alpha: u32,
    window: u32,
    restart: u32,
    restart_window: u32,
    restart_end: u32,
}

// SAFETY: the C code reads and writes its arguments, which have its layout, during the call only.
unsafe extern "C" {
    safe fn fb_test_window_open(s: &mut Window, ack: u32);
    safe fn fb_test_window_sent(s: &mut Window, end: u32);
    safe fn fb_test_window_restart(s: &mut Window);
    safe fn fb_test_window_acked(s: &mut Window, p: &Limits, ack: u32, echo: u32, field: u16, scale: u32) -> u16;
}

impl Window {
    /// Of a connection whose SYN-ACK acknowledged `ack`.
    pub fn open(ack: u32) -> Window {
        let mut window = Window::default();
        fb_test_window_open(&mut window, ack);
        window
    }

    /// Everything up to `end` has left.
    pub fn sent(&mut self, end: u32) {
        fb_test_window_sent(self, end);
    }

    /// Data leaves after a pause.
    pub fn restart(&mut self) {
        fb_test_window_restart(self);
    }

    /// An ACK; the window field that the guest gets.
    pub fn acked(&mut self, limits: &Limits, ack: u32, echo: bool, field: u16, scale: u32) -> u16 {
        fb_test_window_acked(self, limits, ack, echo.into(), field, scale)
    }

    /// Of [`ALPHA_ONE`].
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// In force, bytes.
    pub fn window(&self) -> Option<u32> {
        (self.window > 0).then_some(self.window)
    }
}
