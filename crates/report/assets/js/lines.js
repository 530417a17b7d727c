// Lines over a common axis: distributions and curves of a sweep.
function lineChart(ctx, chart) {
  const { host, tools, state, title } = ctx;
  // A logarithmic axis has only values above 0.
  const clean = (list, log) => list.map(v => (v != null && (!log || v > 0) ? v : null));
  const dash = dashes(chart.lines);
  const least = chart.lines.flatMap(l => l.y).reduce((a, v) => (v > 0 && v < a ? v : a), 1) * 1e-3;
  const lines = chart.lines.map((l, i) => {
    const keep = l.x.map((_, j) => j).filter(j => l.x[j] != null && (!chart.x.log || l.x[j] > 0));
    const pick = list => keep.map(j => list[j]);
    // On a logarithmic axis a band that reaches 0 leaves the picture at its lower edge.
    const edge = list => (list.length ? pick(list).map(v => (chart.y.log && v != null && v <= 0 ? least : v)) : null);
    const [lo, hi] = [edge(l.low), edge(l.high)];
    return {
      key: "l" + i,
      subject: l.subject,
      label: l.label,
      dash: dash[i],
      step: l.step,
      mark: l.mark,
      xEnds: l.x_ends || [],
      yEnds: l.y_ends || [],
      x: pick(l.x),
      y: clean(pick(l.y), chart.y.log),
      lo: lo && hi ? lo : null,
      hi: lo && hi ? hi : null,
    };
  });
  let full = extent(lines.map(l => l.x));
  if (!full) return emptyChart(host);
  if (chart.x.log) full = full[0] > 0 ? full : lines[0].x.slice(0, 1).flatMap(v => [v / 2, v * 2]);
  // Margin at the ends: for points, and for distributions that rise at once.
  const air = 0.02;
  full = chart.x.log
    ? [full[0] * (full[0] / full[1]) ** air, full[1] * (full[1] / full[0]) ** air]
    : [full[0] === 0 && !chart.points ? 0 : full[0] - air * (full[1] - full[0]), full[1] + air * (full[1] - full[0])];
  const zoom = zooming({ full, log: chart.x.log, state, title, xTitle: chart.x.title, tools });
  host.append(zoom.box);
  const drawn = panel(
    {
      host: zoom.box,
      title: chart.y.title,
      lines,
      events: [],
      x: chart.x,
      y: chart.y,
      height: 290,
      last: true,
      points: chart.points,
      hidden: state.hidden,
    },
    zoom,
  );
  zoom.use([drawn], chart.x.unit);
  return {
    resize: () => drawn.resize(),
    destroy: () => drawn.destroy(),
    csv() {
      const [min, max] = zoom.range(),
        rows = [["line", chart.x.title + " (" + chart.x.unit + ")", chart.y.title + " (" + chart.y.unit + ")", "low", "high"]];
      for (const l of lines) {
        if (state.hidden.has(l.key)) continue;
        for (let i = lowerBound(l.x, min); i < l.x.length && l.x[i] <= max; i++)
          rows.push([l.label, l.x[i], l.y[i], l.lo ? l.lo[i] : null, l.hi ? l.hi[i] : null]);
      }
      return rows;
    },
  };
}
