// Panels over a common time axis.
const timesOf = (at, n) => (Array.isArray(at) ? at : Array.from({ length: n }, (_, i) => at.from + i * at.step));

// Lines of one color in one panel have different dashes.
function dashes(lines) {
  const seen = new Map();
  return lines.map(l => {
    const hue = l.subject == null ? null : hueOf(l.subject);
    const n = seen.get(hue) || 0;
    seen.set(hue, n + 1);
    return Math.max(n, l.dash === true ? 1 : 0) % DASHES.length;
  });
}

function extent(lists) {
  let min = Infinity,
    max = -Infinity;
  for (const list of lists) {
    if (!list.length) continue;
    min = Math.min(min, list[0]);
    max = Math.max(max, list[list.length - 1]);
  }
  return min < max ? [min, max] : Number.isFinite(min) ? [min - 0.5, min + 0.5] : null;
}

function timeChart(ctx, chart) {
  const { host, tools, state, title } = ctx;
  // Items with equal names in several panels are shown and hidden together; only the first panel lists them.
  const listed = new Set();
  const panels = chart.panels.map((p, k) => {
    const name = item => {
      item.known = listed.has(item.key);
      if (k === 0) listed.add(item.key);
      return item;
    };
    const dash = dashes(p.lines);
    const lines = p.lines.map((l, i) => {
      const reduced = l.low.length > 0;
      return name({
        key: l.subject + ":" + l.label + ":" + dash[i],
        subject: l.subject,
        label: l.label,
        dash: dash[i],
        strokes: l.strokes === true,
        x: timesOf(l.at, l.y.length),
        y: reduced ? null : l.y,
        lo: reduced ? l.low : null,
        hi: reduced ? l.y : null,
      });
    });
    const events = p.events.map(e =>
      name({ ...e, key: e.subject + ":" + e.kind + ":" + e.label }),
    );
    return { ...p, lines, events };
  });
  const full = extent(panels.flatMap(p => [...p.lines.map(l => l.x), ...p.events.map(e => e.at)]));
  if (!full) return emptyChart(host);
  const zoom = zooming({ full, log: false, state, title, xTitle: "time", tools });
  host.append(zoom.box);
  const height = panels.length > 1 ? 168 : 240;
  // Smallest and largest visible value of all panels of a unit.
  const extremes = unit => {
    const [from, to] = zoom.range();
    let min = Infinity,
      max = -Infinity;
    for (const p of panels.filter(p => p.unit === unit)) {
      for (const l of p.lines.filter(l => !state.hidden.has(l.key)))
        for (let i = lowerBound(l.x, from); i < l.x.length && l.x[i] <= to; i++)
          for (const list of [l.y, l.lo, l.hi]) {
            if (!list || list[i] == null) continue;
            min = Math.min(min, list[i]);
            max = Math.max(max, list[i]);
          }
    }
    if (!(min <= max)) return null;
    for (const p of panels.filter(p => p.unit === unit))
      for (const l of p.thresholds) if (l.value > max && l.value <= THRESHOLD_REACH * max) max = l.value;
    return [min, max];
  };
  const several = unit => panels.filter(p => p.unit === unit).length > 1;
  const drawn = panels.map((p, k) =>
    panel(
      {
        host: zoom.box,
        title: p.title,
        lines: p.lines,
        events: p.events,
        thresholds: p.thresholds,
        peers: several(p.unit) ? () => extremes(p.unit) : null,
        x: { unit: "seconds" },
        y: { unit: p.unit },
        height: p.tall ? 420 : height,
        last: k === panels.length - 1,
        points: false,
        hidden: state.hidden,
      },
      zoom,
    ),
  );
  zoom.use(drawn, "seconds");
  host.append(
    h(
      "p",
      { class: "hint" },
      h("span", { class: "mouse" }, "Drag to zoom, double-click to reset. Keys: + − zoom, ← → pan, Shift ← → cursor, 0 reset."),
      h("span", { class: "touch" }, "Slide for values, pinch to zoom."),
    ),
  );
  if (chart.note) host.append(h("p", { class: "note" }, chart.note));
  return {
    resize: () => drawn.forEach(p => p.resize()),
    destroy: () => drawn.forEach(p => p.destroy()),
    csv() {
      const [min, max] = zoom.range(),
        rows = [["panel", "line", "time (s)", "value", "low", "unit"]];
      for (const p of panels) {
        for (const l of p.lines) {
          if (state.hidden.has(l.key)) continue;
          for (let i = lowerBound(l.x, min); i < l.x.length && l.x[i] <= max; i++)
            rows.push([p.title, l.label, l.x[i], (l.y || l.hi)[i], l.lo ? l.lo[i] : null, p.unit]);
        }
        for (const e of p.events) {
          if (state.hidden.has(e.key)) continue;
          for (let i = lowerBound(e.at, min); i < e.at.length && e.at[i] <= max; i++)
            rows.push([p.title, e.label, e.at[i], e.n[i], null, "count"]);
        }
      }
      return rows;
    },
  };
}

function emptyChart(host) {
  host.append(h("p", { class: "empty" }, "No data: no value was recorded."));
  return { resize() {}, destroy() {}, csv: () => [] };
}
