//! Style sheet and script that every page embeds.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Colors of the light theme and of print; declarations only.
pub(super) const LIGHT: &str = include_str!("../../assets/light.css");
/// Colors of the dark theme.
pub(super) const DARK: &str = include_str!("../../assets/dark.css");

/// The whole script. uPlot and its users share one function, which shadows `devicePixelRatio`: canvases have at least two pixels per screen pixel,
/// so that they are sharp in print, too.
pub(super) const SCRIPT: &str = concat!(
    "(function(){\"use strict\";const devicePixelRatio=Math.max(2,window.devicePixelRatio||1);\n",
    include_str!("../../assets/uplot/uPlot.iife.min.js"),
    include_str!("../../assets/js/dom.js"),
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/ticks.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/tip.js"),
    include_str!("../../assets/js/legend.js"),
    include_str!("../../assets/js/rug.js"),
    include_str!("../../assets/js/panel.js"),
    include_str!("../../assets/js/zoom.js"),
    include_str!("../../assets/js/time.js"),
    include_str!("../../assets/js/lines.js"),
    include_str!("../../assets/js/bars.js"),
    include_str!("../../assets/js/lanes.js"),
    include_str!("../../assets/js/topology.js"),
    include_str!("../../assets/js/csv.js"),
    include_str!("../../assets/js/figure.js"),
    include_str!("../../assets/js/sort.js"),
    include_str!("../../assets/js/main.js"),
    "})();"
);

/// The whole style sheet. The dark theme follows the reader's preference unless the page's switch overrides it; print is light.
pub(super) fn style() -> String {
    let rest = concat!(
        include_str!("../../assets/uplot/uPlot.min.css"),
        include_str!("../../assets/css/base.css"),
        include_str!("../../assets/css/text.css"),
        include_str!("../../assets/css/charts.css"),
        include_str!("../../assets/css/print.css"),
    );
    format!(
        ":root{{color-scheme:light;{LIGHT}}}\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light],[data-printing]){{color-scheme:dark;{DARK}}}}}\
         @media screen{{:root[data-theme=dark]:not([data-printing]){{color-scheme:dark;{DARK}}}}}{rest}"
    )
}

/// Content security policy of the page: it allows this script and this style sheet only.
pub(super) fn policy(style: &str, script: &str) -> String {
    let hash = |s: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(s.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of a color variable, as red, green and blue from 0 to 1.
    fn colour(theme: &str, name: &str) -> [f64; 3] {
        let (_, rest) = theme.split_once(&format!("--{name}:#")).unwrap_or_else(|| panic!("no color {name}"));
        let part = |i: usize| f64::from(u8::from_str_radix(&rest[2 * i..2 * i + 2], 16).expect("two hexadecimal digits")) / 255.0;
        [part(0), part(1), part(2)]
    }

    /// WCAG 2.2, "contrast ratio" and "relative luminance".
    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let linear = |v: f64| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
        let luminance = |c: [f64; 3]| 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn contrast_in_both_themes() {
        for theme in [LIGHT, DARK] {
            let ratio = |name: &str, on: &str| contrast(colour(theme, name), colour(theme, on));
            // WCAG 2.2, 1.4.3: text 4.5 to 1; 1.4.11: graphical objects 3 to 1.
            for name in ["fg", "dim", "accent"] {
                assert!(ratio(name, "bg") >= 4.5 && ratio(name, "soft") >= 4.5, "{name}: {}", ratio(name, "soft"));
            }
            for i in 0..8 {
                assert!(ratio(&format!("c{i}"), "bg") >= 3.0, "c{i}: {}", ratio(&format!("c{i}"), "bg"));
            }
            for i in 0..5 {
                assert!(ratio(&format!("h{i}"), "bg") >= 3.0, "h{i}: {}", ratio(&format!("h{i}"), "bg"));
            }
        }
    }

    /// Perceived difference of two colors in OKLab (Ottosson 2020): 0.02 is hardly visible, black and white are 1.
    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        let lab = |rgb: [f64; 3]| {
            let dot = |m: [f64; 3], v: [f64; 3]| m[0] * v[0] + m[1] * v[1] + m[2] * v[2];
            let cones =
                [[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]].map(|m| dot(m, rgb).cbrt());
            [[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]].map(|m| dot(m, cones))
        };
        let (a, b) = (lab(a), lab(b));
        a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    }

    /// Colors as seen with normal vision and by protan, deutan and tritan dichromats (Machado, Oliveira and Fernandes 2009, severity 1).
    #[test]
    fn colours_differ_with_colour_blindness() {
        const SIGHT: [[[f64; 3]; 3]; 4] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ];
        for theme in [LIGHT, DARK] {
            for (i, j) in (0..8).flat_map(|j| (0..j).map(move |i| (i, j))) {
                for sight in SIGHT {
                    let seen = |k: usize| {
                        let c = colour(theme, &format!("c{k}"))
                            .map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) });
                        sight.map(|m| (m[0] * c[0] + m[1] * c[1] + m[2] * c[2]).clamp(0.0, 1.0))
                    };
                    // The first four are on most pages and have the largest distances.
                    let least = if j < 4 { 0.11 } else { 0.07 };
                    assert!(distance(seen(i), seen(j)) >= least, "c{i} and c{j}: {}", distance(seen(i), seen(j)));
                }
            }
        }
    }

    /// The heat scale differs in lightness alone, so that its order survives gray print and color blindness.
    #[test]
    fn heat_has_one_direction_of_lightness() {
        for theme in [LIGHT, DARK] {
            let steps: Vec<f64> = (0..5).map(|i| contrast(colour(theme, &format!("h{i}")), colour(theme, "bg"))).collect();
            assert!(steps.windows(2).all(|w| w[1] > 1.2 * w[0]), "{steps:?}");
        }
    }

    #[test]
    fn third_party_files_are_unchanged() {
        let readme = include_str!("../../assets/uplot/README.md");
        for file in [include_str!("../../assets/uplot/uPlot.iife.min.js"), include_str!("../../assets/uplot/uPlot.min.css")] {
            let hex: String = Sha256::digest(file.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
            assert!(readme.contains(&hex), "{hex}");
        }
    }

    #[test]
    fn code_stays_small() {
        let size = SCRIPT.len() + style().len();
        assert!(size < 150_000, "{size} bytes");
    }

    /// Neither may contain the end tag of its element.
    #[test]
    fn code_cannot_end_its_element() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--") && !style().contains("</style"));
    }
}
