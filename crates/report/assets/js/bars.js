// Groups of bars, each with an optional mark above.
function barChart(ctx, chart) {
  const { host, state, subjects } = ctx;
  const series = chart.series.map((b, i) => ({ ...b, key: "b" + i, label: subjects[b.subject] }));
  const draw = () => {
    const shown = series.filter(b => !state.hidden.has(b.key));
    widen(host.closest("figure"), barSpace(chart, shown.length));
    room.replaceChildren(drawBars(room.clientWidth || 600, chart, shown));
  };
  const names = legend(
    series.map(b => ({ key: b.key, label: b.label, symbol: marker(b.subject) })),
    state.hidden,
    draw,
  );
  const room = h("div", { class: "over" });
  const markName = series.map(b => b.mark_name).find(Boolean);
  const prefix = prefixFor(chart.y.unit, barTop(series) || 1);
  host.append(
    h(
      "p",
      { class: "head" },
      chart.y.title,
      h("span", null, [chart.y.log ? "" : prefix.name, markName ? "line above: " + markName : ""].filter(Boolean).join(", ")),
    ),
    names.el,
    room,
    h("p", { class: "xlab" }, chart.x_title),
  );
  draw();
  return {
    resize: draw,
    destroy() {},
    csv() {
      const rows = [[chart.x_title, "subject", chart.y.title + " (" + chart.y.unit + ")", markName || "mark", "n", "low", "high"]];
      for (const b of series) {
        if (state.hidden.has(b.key)) continue;
        chart.categories.forEach((name, k) => rows.push([name, b.label, b.value[k], b.mark[k], b.n[k], ...(b.ends?.[k] || [null, null])]));
      }
      return rows;
    },
  };
}

const barValues = series => series.flatMap(b => [...b.value, ...b.mark, ...(b.ends || []).flatMap(e => e || [])]).filter(v => v != null && Number.isFinite(v));
const barTop = series => barValues(series).reduce((a, v) => Math.max(a, v), 0);

// Space beside the bars, and the width of a chart with distinct bars and symbols.
const BAR_MARGINS = { left: 54, right: 8 };
const barSpace = (chart, n, each = 8) => BAR_MARGINS.left + BAR_MARGINS.right + chart.categories.length * Math.max(34, n * each + 14);

// Gives a figure the whole width of the page if it needs more than half of it.
function widen(figure, needed) {
  if (!figure?.parentElement) return;
  const gap = parseFloat(getComputedStyle(figure.parentElement).columnGap) || 0;
  figure.classList.toggle("full", needed > (figure.parentElement.clientWidth - gap) / 2);
}

function drawBars(space, chart, series) {
  const log = chart.y.log,
    values = barValues(series).filter(v => !log || v > 0);
  const top = (values.reduce((a, v) => Math.max(a, v), 0) || 1) * (log ? 1.3 : 1.05);
  const bottom = log ? roundDown(values.reduce((a, v) => Math.min(a, v), top) / 1.5) : 0;
  const { left, right } = BAR_MARGINS,
    above = 10,
    plotHeight = 230;
  // Narrower bars rather than a cut chart.
  const width = Math.max(space, barSpace(chart, series.length, 4)),
    slot = (width - left - right) / Math.max(1, chart.categories.length);
  const bar = clamp((slot - Math.min(18, slot * 0.25)) / Math.max(1, series.length), 3, 46);
  const tilt = chart.categories.some(c => c.length * 6.4 > slot - 6);
  const below = 14 + (tilt ? 16 + Math.max(...chart.categories.map(c => Math.min(c.length, 18))) * 4 : 16);
  const y = v => above + plotHeight * (1 - (log ? Math.log10(v / bottom) / Math.log10(top / bottom) : v / top));
  const root = svg("svg", {
    class: "draw",
    width,
    height: above + plotHeight + below,
    role: "group",
    "aria-label": chart.y.title + " by " + chart.x_title + ". Arrow keys go from bar to bar.",
  });

  const ticks = log ? logTicks(bottom, top, plotHeight, 30) : linearTicks(0, top, 6);
  const { factor } = prefixFor(chart.y.unit, barTop(series) || 1);
  const labels = log
    ? ticks.map(t => exact(chart.y.unit, t))
    : tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : 1, factor);
  ticks.forEach((t, i) =>
    root.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
      svg("text", { x: left - 7, y: y(t) + 4, "text-anchor": "end" }, labels[i]),
    ),
  );

  const items = [],
    floor = above + plotHeight;
  chart.categories.forEach((name, k) => {
    const middle = left + slot * (k + 0.5),
      start = middle - (bar * series.length) / 2;
    series.forEach((b, i) => {
      const value = b.value[k],
        mark = b.mark[k],
        x = start + i * bar;
      if (value == null && mark == null) return;
      const node = svg("g", { class: colourClass(b.subject) }),
        gap = bar > 6 ? 1.5 : 0.5;
      // A length from the floor of a logarithmic axis has no meaning: a short bar is at the value.
      if (value != null && (!log || value > 0))
        node.append(
          log
            ? svg("rect", { class: "col", x: x + gap, width: bar - 2 * gap, y: y(value) - 3.5, height: 7, rx: 3.5 })
            : svg("rect", { class: "col", x: x + gap, width: bar - 2 * gap, y: y(value), height: Math.max(0.5, floor - y(value)) }),
        );
      if (mark != null && (!log || mark > 0)) {
        const from = value != null && (!log || value > 0) ? y(value) : floor,
          centre = x + bar / 2;
        node.append(
          svg("line", { class: "stem", x1: centre, x2: centre, y1: from, y2: y(mark) }),
          svg("line", { class: "cap", x1: x + gap, x2: x + bar - gap, y1: y(mark), y2: y(mark) }),
        );
      }
      const interval = b.ends?.[k];
      if (interval) {
        const edge = v => y(clamp(v, bottom, top)),
          centre = x + bar / 2;
        node.append(svg("line", { class: "cap", x1: centre, x2: centre, y1: edge(interval[0]), y2: edge(interval[1]) }));
        for (const end of interval) node.append(svg("line", { class: "cap", x1: centre - 4, x2: centre + 4, y1: edge(end), y2: edge(end) }));
      }
      // An arrow upward: the true value is above.
      const upward = at => node.append(svg("path", { class: "cap", d: `M${x + bar / 2 - 4} ${at - 3}l4 -6l4 6`, fill: "none" }));
      if (b.value_at_least?.[k] && value != null && mark == null) upward(y(interval ? clamp(interval[1], bottom, top) : value));
      if (bar >= 8) node.append(svg("use", { class: "col", href: "#" + shapeId(b.subject), x: x + bar / 2, y: floor + 8 }));
      node.append(svg("rect", { class: "hit", x, width: bar, y: above, height: plotHeight + 14 }));
      const bound = known => (known?.[k] ? " ≥ " : " ");
      const lines = [chart.y.title + bound(b.value_at_least) + show(chart.y.unit, value)];
      if (mark != null) lines.push((b.mark_name || "mark") + bound(b.mark_at_least) + show(chart.y.unit, mark));
      if (b.mark_at_least?.[k] && mark != null) upward(y(mark));
      if (interval) lines.push("between " + show(chart.y.unit, interval[0]) + " and " + show(chart.y.unit, interval[1]));
      if (b.n[k] != null) lines.push(group(String(b.n[k])) + " messages");
      items.push({ node, title: b.label + ", " + name, lines });
      root.append(node);
    });
    const ly = floor + 14 + 14;
    root.append(
      svg(
        "text",
        tilt
          ? { x: middle + 4, y: ly - 4, "text-anchor": "end", transform: `rotate(-32 ${middle + 4} ${ly - 4})` }
          : { x: middle, y: ly, "text-anchor": "middle" },
        name.length > 18 ? name.slice(0, 17) + "…" : name,
      ),
    );
  });
  root.append(svg("line", { class: "base", x1: left, x2: width - right, y1: floor, y2: floor }));
  explain(root, items);
  return root;
}
