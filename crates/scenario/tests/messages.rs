//! Rendering of errors: the line, overrides, and no control characters.

use crate::common::{VALID, resolve, resolve_with};
use forebay_scenario::load;

#[test]
fn overrides_name_their_text() {
    for (set, says) in [
        ("topology.sendrs=3", "did you mean `senders`"),
        ("topology.senders", "has no `=`"),
        ("topology.senders=", "has no value"),
        ("=3", "not a path"),
        ("topology..senders=3", "not a path"),
        ("topology.senders.x=3", "holds 8, so it has no `x`"),
        ("workload.7.block=1KB", "`7` is not the number of an entry of `workload`"),
        ("workload.x.block=1KB", "legal: 0 to 1"),
        ("workload.0.block=1XB", "`1XB` is not a size"),
        ("transport.cc=[newreno]", "not valid TOML"),
        ("transport.cc.kind=dctcp.x", "does not exist"),
        ("runs=0", "1 to 10000"),
    ] {
        let errors = resolve_with(VALID, &[set]).expect_err(set);
        let all = errors.render();
        assert!(all.contains(says) && all.contains("--set"), "{set}: wanted {says}, got\n{all}");
    }
}

#[test]
fn files_that_are_not_scenarios() {
    let dir = std::env::temp_dir().join(format!("forebay-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let cases = [
        (dir.join("missing.toml"), "there is no such scenario file"),
        (dir.clone(), "is a directory"),
        (file("latin1.toml", b"name = \"a\"\nb = \"\xff\"\n"), "latin1.toml:2: the scenario file is not UTF-8"),
        (file("huge.toml", &vec![b'#'; 16_000_001]), "more than 16000000 bytes"),
        (file("nul.toml", b"\0\0\0"), "not valid TOML"),
    ];
    for (path, says) in cases {
        let errors = load(forebay_backends::all(), &path, &[], None).expect_err(says);
        assert!(errors.render().contains(says), "wanted {says}, got\n{}", errors.render());
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn long_lines_stay_readable() {
    let long = "x".repeat(10_000_000);
    for text in [
        format!("name = \"{long}\""),
        format!("{long} = 1"),
        long.clone(),
        format!("duration = \"{long}\""),
        format!("a = [{}", "[".repeat(1_000_000)),
        format!("{}a = 1", "a.".repeat(1_000_000)),
        format!("[{}a]", "a.".repeat(1_000_000)),
    ] {
        let shown = resolve(&text).expect_err("garbage").render();
        assert!(shown.len() < 20_000, "{} bytes", shown.len());
    }
}

#[test]
fn rendering() {
    let errors = resolve(&VALID.replace("senders = 8", "sendrs = 8")).unwrap_err();
    let expected = "error: unknown key `sendrs` in the topology `many-to-one`
 --> test.toml:7:1
  |
7 | sendrs = 8
  | ^^^^^^ did you mean `senders`?
  = legal keys: `kind`, `senders`, ";
    assert!(errors.render().contains(expected), "{}", errors.render());
}

#[test]
fn a_diagnostic_for_miette() {
    use miette::Diagnostic;
    let errors = resolve(&VALID.replace("senders = 8", "senders = 0")).unwrap_err();
    let first = errors.related().unwrap().next().unwrap();
    let label = first.labels().unwrap().next().unwrap();
    let contents = first.source_code().unwrap().read_span(label.inner(), 0, 0).unwrap();
    assert_eq!((contents.data(), contents.line(), contents.column()), (&b"0"[..], 6, 10));
    assert_eq!(contents.name(), Some("test.toml"));
}

#[test]
fn error_shows_override_of_line() {
    let shown = resolve_with(VALID, &["topology.bottleneck.buffer=10pkt"]).unwrap_err().render();
    assert!(
        shown.contains("`k` = 20pkt is above the buffer") && shown.contains("`\"100pkt\"` in this line is replaced"),
        "{shown}"
    );
    assert!(shown.contains("--set topology.bottleneck.buffer=10pkt"), "{shown}");
    // An error about an override shows the override itself.
    let shown = resolve_with(VALID, &["topology.bottleneck.buffer=0pkt"]).unwrap_err().render();
    assert!(shown.contains("--> --set:1:28") && shown.contains("0pkt") && !shown.contains("is replaced by"), "{shown}");
    let shown = resolve(&VALID.replace("\"100pkt\"", "\"10pkt\"")).unwrap_err().render();
    assert!(!shown.contains("is replaced by"), "{shown}");
}

#[test]
fn limits_use_fitting_units() {
    for (set, says) in [
        ("topology.access.delay=2h", "legal: at most 60s"),
        ("transport.rto-min=60h", "legal: at most 2 days"),
        ("duration=5000h", "legal: at most 200 days"),
    ] {
        let shown = resolve_with(VALID, &[set]).unwrap_err().render();
        assert!(shown.contains(says), "{set}: {shown}");
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_refused_at_once() {
    let dir = std::env::temp_dir().join(format!("forebay-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let pipe = dir.join("pipe.cdf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in ["pipe.cdf", "/dev/zero", "/dev/null"] {
        let sizes = format!("workload.0={{ kind = \"poisson\", sizes = {{ cdf = \"{file}\" }}, load = 0.1 }}");
        let list = format!("workload.0={{ kind = \"replay\", file = \"{file}\" }}");
        for set in [sizes, list] {
            let scenario = forebay_scenario::Scenario::from_text(
                forebay_backends::all(),
                VALID,
                "test.toml",
                &dir,
                std::slice::from_ref(&set),
                None,
            );
            let shown = scenario.and_then(|s| s.resolve()).unwrap_err().render();
            assert!(shown.contains("a pipe") && shown.contains(file) && shown.contains("copy it to a file"), "{set}: {shown}");
        }
        let shown = load(forebay_backends::all(), &dir.join(file), &[], None).unwrap_err().render();
        assert!(shown.contains("a pipe") && shown.contains("not a scenario file"), "{shown}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn messages_have_no_hidden_characters() {
    for hidden in ['\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{2028}'] {
        for text in [
            VALID.replace("\"newreno\"", &format!("\"new{hidden}reno\"")),
            VALID.replace("\"100pkt\"", &format!("\"100{hidden}pkt\"")),
            format!("# {hidden}\nname = {hidden}3\n"),
        ] {
            let name = format!("te{hidden}st.toml");
            let scenario = forebay_scenario::Scenario::from_text(
                forebay_backends::all(),
                &text,
                &name,
                std::path::Path::new("."),
                &[],
                None,
            );
            let Err(errors) = scenario.and_then(|s| s.resolve()) else { continue };
            assert!(!errors.render().contains(hidden), "{hidden:?}: {:?}", errors.render());
        }
    }
}
