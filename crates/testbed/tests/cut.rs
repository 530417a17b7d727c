//! Runs that are ended early, in a program of their own; see `make test-hosts`.

mod real_time {
    mod cut;
}
