//! Conversion of panics to errors. In a program of its own: panics of other tests would be counted.

use forebay_runner::catch_panic;
use std::thread;

#[test]
fn first_panic_message_is_kept() {
    let output = catch_panic(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("two packets too many"));
        });
    })
    .unwrap_err();
    assert!(output.contains("two packets too many") && output.contains("defect.rs"), "{output}");
    assert_eq!(catch_panic(|| 1), Ok(1));
    assert!(catch_panic(|| panic!("again")).unwrap_err().contains("again"), "the first one is over");
}
