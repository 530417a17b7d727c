//! Measured series that are drawn over those of a run.

use super::draft::Draft;
use super::reduce::Series;
use crate::page::Dimension;

/// A measured series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Name in legend and hover, such as "lab.flent.gz: TCP upload".
    pub label: String,
    /// Unit of the values: bits per second are drawn over goodputs, seconds over RTTs.
    pub unit: Dimension,
    /// Time of each value since the start of the measurement, ns; ascending.
    pub times: Vec<i64>,
    /// The values; `None` is a gap.
    pub values: Vec<Option<f64>>,
}

/// Draws each series in all panels of its unit. Returns a note for each series without such a panel.
pub(super) fn draw(drafts: &mut [Draft], overlays: &[Overlay]) -> Vec<String> {
    let mut notes = Vec::new();
    for overlay in overlays {
        let mut panels: Vec<_> = drafts
            .iter_mut()
            .flat_map(|d| &mut d.views)
            .flat_map(|(_, panels)| panels)
            .filter(|p| p.unit == overlay.unit)
            .collect();
        if panels.is_empty() {
            let remedy = if overlay.unit == Dimension::Seconds { "; observe senders with `[observe] tcp`" } else { "" };
            notes.push(format!("`{}` is not drawn: the results have no series over time in its unit{remedy}.", overlay.label));
        }
        for panel in &mut panels {
            let Overlay { label, times, values, .. } = overlay.clone();
            panel.series.push(Series { subject: None, label, times, values });
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::draft::DraftPanel;
    use super::*;

    fn draft(units: &[Dimension]) -> Draft {
        let panels = || units.iter().map(|unit| DraftPanel { unit: *unit, ..DraftPanel::default() }).collect();
        let views = vec![("seed 1".into(), panels()), ("seed 2".into(), panels())];
        Draft { id: "d", title: "d", text: String::new(), choice: "seed", views }
    }

    #[test]
    fn series_in_panels_of_their_unit() {
        let mut drafts = vec![draft(&[Dimension::BitsPerSecond, Dimension::Segments]), draft(&[Dimension::BitsPerSecond])];
        let rate =
            Overlay { label: "rate".into(), unit: Dimension::BitsPerSecond, times: vec![0, 5], values: vec![Some(1.0), None] };
        let delay = Overlay { label: "delay".into(), unit: Dimension::Seconds, ..Overlay::default() };
        let notes = draw(&mut drafts, &[rate, delay]);
        assert_eq!(
            notes,
            ["`delay` is not drawn: the results have no series over time in its unit; observe senders with `[observe] tcp`."]
        );
        let lines = |d: &Draft, view: usize| d.views[view].1.iter().map(|p| p.series.len()).collect::<Vec<_>>();
        assert_eq!((lines(&drafts[0], 0), lines(&drafts[0], 1), lines(&drafts[1], 0)), (vec![1, 0], vec![1, 0], vec![1]));
        let drawn = &drafts[0].views[0].1[0].series[0];
        assert_eq!((drawn.subject, drawn.label.as_str(), &drawn.times[..]), (None, "rate", &[0, 5][..]));
    }
}
