// Lanes over a common time axis: the messages of a query or of a connection, with the timers that expired.
const SPANS = {
  request: "request",
  response: "response",
  message: "message",
  timeout: "retransmission timer, expired",
  probe: "tail loss probe",
  reordering: "reordering timer of RACK, expired",
  syn: "SYN timer, expired",
};
const isTimer = kind => ["timeout", "probe", "reordering", "syn"].includes(kind);

function lanesChart(ctx, chart) {
  const { host } = ctx;
  const kinds = Object.keys(SPANS).filter(k => chart.lanes.some(l => l.spans.some(s => s.kind === k)));
  const sample = kind =>
    svg(
      "svg",
      { class: "mk " + colourClass(chart.subject), width: 26, height: 12, "aria-hidden": "true" },
      hatch("key-" + kind),
      spanShape(kind, 0, 26, 0, 12, "key-" + kind),
    );
  const room = h("div", { class: "over" });
  host.append(
    h("p", { class: "about-lanes" }, chart.caption),
    h("p", { class: "key" }, ...kinds.map(k => h("span", null, sample(k), SPANS[k]))),
    room,
    h("p", { class: "xlab" }, "time since the start"),
    h("p", { class: "note" }, "Its events, and the queues on its path: ", h("code", null, chart.command)),
  );
  const draw = () => room.replaceChildren(drawLanes(room.clientWidth || 600, chart));
  draw();
  return {
    resize: draw,
    destroy() {},
    csv() {
      const rows = [["lane", "part", "from (s)", "to (s)", "note"]];
      for (const l of chart.lanes) for (const s of l.spans) rows.push([l.name, SPANS[s.kind], s.from, s.to, s.text.join("; ")]);
      return rows;
    },
  };
}

// Stripes, so that timers differ from messages in more than color.
function hatch(id) {
  return svg(
    "defs",
    null,
    svg(
      "pattern",
      { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "gap", width: 6, height: 6 }),
      svg("rect", { class: "stripe", width: 2.4, height: 6 }),
    ),
  );
}

function spanShape(kind, x, width, y, height, pattern) {
  if (isTimer(kind)) return svg("rect", { class: "timer " + kind, x, width, y, height, fill: "url(#" + pattern + ")" });
  if (kind === "request") return svg("rect", { class: "request", x, width, y: y + height / 4, height: height / 2 });
  return svg("rect", { class: "col", x, width, y, height });
}

function drawLanes(space, chart) {
  const longest = Math.max(...chart.lanes.map(l => l.name.length));
  const left = clamp(longest * 6.6 + 12, 40, space * 0.3),
    right = 14,
    row = 24,
    bar = 14,
    axis = 22;
  const all = chart.lanes.flatMap(l => l.spans);
  const from = Math.min(0, ...all.map(s => s.from)),
    to = Math.max(chart.length, ...all.map(s => s.to)) || 1;
  const x = t => left + ((space - left - right) * (t - from)) / (to - from);
  const height = chart.lanes.length * row + axis,
    id = "hatch-" + drawLanes.count++;
  const root = svg(
    "svg",
    { class: "draw lanes " + colourClass(chart.subject), width: space, height, role: "group", "aria-label": chart.caption },
    hatch(id),
  );
  const ticks = linearTicks(from, to, Math.max(2, Math.floor((space - left - right) / 90)));
  const { factor, name } = prefixFor("seconds", Math.max(Math.abs(from), to)),
    labels = tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : 1, factor);
  ticks.forEach((t, i) =>
    root.append(
      svg("line", { class: "grid", x1: x(t), x2: x(t), y1: 0, y2: height - axis }),
      svg(
        "text",
        { x: x(t), y: height - 6, "text-anchor": x(t) > space - 40 ? "end" : "middle" },
        labels[i] + (i === ticks.length - 1 ? "\u00a0" + name : ""),
      ),
    ),
  );
  const items = [];
  chart.lanes.forEach((lane, i) => {
    const top = i * row + (row - bar) / 2,
      most = Math.floor((left - 10) / 6.4),
      label = lane.name.length > most ? lane.name.slice(0, most - 1) + "…" : lane.name;
    root.append(svg("text", { x: left - 8, y: top + bar - 3, "text-anchor": "end" }, label));
    for (const s of lane.spans) {
      const [a, b] = [x(s.from), x(s.to)],
        node = svg("g", null);
      // A short message is at least visible.
      node.append(spanShape(s.kind, a, Math.max(1.5, b - a), top, bar, id));
      if (isTimer(s.kind)) node.append(svg("use", { class: "expired", href: "#ev-timeout", x: b, y: top + bar / 2 }));
      if (s.unfinished) node.append(svg("path", { class: "cap", d: `M${b - 6} ${top}l6 ${bar / 2}l-6 ${bar / 2}`, fill: "none" }));
      node.append(svg("rect", { class: "hit", x: a - 2, width: Math.max(6, b - a + 4), y: top - 3, height: bar + 6 }));
      items.push({ node, title: lane.name + ", " + SPANS[s.kind], lines: s.text });
      root.append(node);
    }
  });
  explain(root, items);
  return root;
}
drawLanes.count = 0;
