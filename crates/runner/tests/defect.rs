//! Conversion of panics to errors. In a program of its own: panics of other tests would be counted.

use forebay_runner::caught;
use std::thread;

#[test]
fn first_panic_message_is_kept() {
    let said = caught(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("two packets too many"));
        });
    })
    .unwrap_err();
    assert!(said.contains("two packets too many") && said.contains("defect.rs"), "{said}");
    assert_eq!(caught(|| 1), Ok(1));
    assert!(caught(|| panic!("again")).unwrap_err().contains("again"), "the first one is over");
}
