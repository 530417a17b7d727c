use super::*;
use crate::page::*;

const EVIL: &str = "</script></title><img src=x onerror=alert(1)>\"'";

/// A page with every element, with malicious names.
fn page(name: &str) -> Page {
    let cell = Some(Cell { mean: 1.5, ends: Some((1.25, 1.75)), ..Cell::default() });
    let s = || name.to_owned();
    let line = LineChart {
        lines: vec![XyLine { label: s(), x: vec![1.0], y: vec![Some(f64::NAN)], ..XyLine::default() }],
        ..LineChart::default()
    };
    let figure =
        |id: &str, chart| Figure { id: id.into(), title: s(), text: s(), choice: s(), views: vec![View { name: s(), chart }] };
    let section = |id: &str, figures| Section { id: id.into(), title: s(), text: s(), figures, ..Section::default() };
    Page {
        title: s(),
        summary: s(),
        facts: vec![Fact { label: s(), value: s() }],
        notes: vec![s()],
        subjects: vec![Subject { name: s(), ..Subject::default() }],
        headline: Headline {
            sentences: vec![s()],
            charts: vec![HeadlineChart { title: s(), unit: Dimension::Seconds, better: s(), values: vec![cell] }],
        },
        differences: None,
        next: vec![s()],
        folded: Vec::new(),
        table: MetricTable { rows: vec![MetricRow { label: s(), unit: Dimension::Ratio, help: s(), cells: vec![cell] }] },
        sections: vec![
            section("net", vec![figure("f-net", Chart::Topology(Topology::default()))]),
            section(
                "rest",
                vec![
                    figure("f-time", Chart::Time(TimeChart::default())),
                    figure("f-lines", Chart::Lines(line)),
                    figure("f-bars", Chart::Bars(BarChart::default())),
                ],
            ),
        ],
        scenarios: vec![ScenarioText { file: s(), text: s(), overrides: vec![s()], resolved: vec![(s(), s())] }],
        glossary: vec![Term { name: s(), unit: s(), text: s() }],
    }
}

/// The page without its script and style sheet, which are fixed.
fn body(html: &str) -> String {
    html.replace(assets::SCRIPT, "").replace(&assets::style(), "")
}

#[test]
fn names_never_become_markup() {
    let html = body(&render(&page(EVIL)));
    assert!(!html.contains("<img"), "{html}");
    // The same number of elements as with a harmless name: none was added and none ended early.
    let tags = |html: &str| html.matches('<').count();
    assert_eq!(tags(&html), tags(&body(&render(&page("harmless")))));
}

#[test]
fn nothing_leaves_the_file() {
    let html = body(&render(&page("x")));
    for attribute in ["src=\"", "href=\"http", "href=\"//", "url(", "@import", "action="] {
        assert!(!html.contains(attribute), "{attribute}");
    }
    let style = assets::style();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn figures_once_topology_after_numbers() {
    let html = render(&page("x"));
    for id in ["f-net", "f-time", "f-lines", "f-bars"] {
        assert_eq!(html.matches(&format!("data-figure=\"{id}\"")).count(), 1, "{id}");
    }
    let at = |s: &str| html.find(s).unwrap_or_else(|| panic!("no {s}"));
    let order =
        ["id=\"headline\"", "id=\"rest\"", "id=\"numbers\"", "id=\"net\"", "id=\"scenario\"", "id=\"glossary\"", "id=\"about\""];
    assert!(order.windows(2).all(|w| at(w[0]) < at(w[1])));
}

#[test]
fn folded_sections_keep_heading_and_charts() {
    let html = render(&Page { folded: vec!["rest".into()], ..page("x") });
    assert!(html.contains("<section id=\"rest\" aria-labelledby=\"rest-title\"><details class=\"fold paper\"><summary><h2"));
    assert_eq!(html.matches("data-figure=\"f-time\"").count(), 1);
    // The reference sections are folded as well. Without folded sections everything is open.
    assert_eq!(html.matches("class=\"fold paper\"").count(), 5);
    assert!(!render(&page("x")).contains("class=\"fold"));
}

#[test]
fn one_chart_beside_verdict() {
    let mut page = page("x");
    page.headline.charts = vec![page.headline.charts[0].clone(), page.headline.charts[0].clone()];
    page.folded.push("rest".into());
    let html = render(&page);
    let at = |s: &str| html.find(s).unwrap_or_else(|| panic!("no {s}"));
    assert!(at("<table class=\"bar\">") < at("class=\"next\"") && at("class=\"next\"") < at("class=\"more paper\""));
}

#[test]
fn empty_sections_are_omitted() {
    let html = render(&Page { title: "empty".into(), ..Page::default() });
    for id in ["numbers", "scenario", "glossary", "about"] {
        assert!(!html.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

/// Every page allows exactly its own script and style sheet.
#[test]
fn policy_hashes_match_page() {
    let html = render(&page("x"));
    let between = |from: &str, to: &str| {
        let (_, rest) = html.rsplit_once(from).expect("there");
        rest.split_once(to).expect("closed").0.to_owned()
    };
    let policy = assets::policy(&between("<style>", "</style>"), &between("<script>", "</script>"));
    assert!(html.contains(&policy));
}

#[test]
fn many_subjects_narrow_columns() {
    let with = |n: usize| {
        let subjects = (0..n).map(|i| Subject { name: format!("congestion control {i}"), ..Subject::default() }).collect();
        body(&render(&Page { subjects, ..page("x") }))
    };
    assert!(with(5).contains("<table class=\"all\">") && with(8).contains("<table class=\"all many\">"));
}

#[test]
fn subjects_without_value_share_a_line() {
    let mut page = page("x");
    page.subjects = ["a", "b", "c"].map(|name| Subject { name: name.into(), ..Subject::default() }).into();
    page.headline.charts.truncate(1);
    page.headline.charts[0].values = vec![Some(Cell { mean: 1.0, ..Cell::default() })];
    let html = body(&render(&page));
    assert!(html.contains("<tfoot><tr><td colspan=\"3\" class=\"none\">No value: b; c</td></tr></tfoot>"), "{html}");
    page.subjects = (0..9).map(|i| Subject { name: format!("s{i}"), ..Subject::default() }).collect();
    assert!(body(&render(&page)).contains("No value: s1; s2; s3; s4; 4 more</td>"));
    let (chart, _) = html.split_once("<tfoot>").unwrap();
    assert_eq!(chart.rsplit_once("<table class=\"bar\">").unwrap().1.matches("<tr class").count(), 1);
}
