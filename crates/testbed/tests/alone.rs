//! The tests that need the machine for themselves; see `make test-hosts`.

mod real_time {
    mod killed;
}
