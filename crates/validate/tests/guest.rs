//! A kernel for tests.

/// Returns true if there is a kernel for the backend `linux`; reports that the test is skipped if not.
///
/// # Panics
/// If `FOREBAY_REQUIRE` contains `kernel` and there is none.
pub(crate) fn has_kernel() -> bool {
    let Err(why) = forebay_validate::kernel() else { return true };
    forebay_platform::doctor::requirements::skip("kernel", &why);
    false
}
