// Network picture. Each direction of a link is a separate line, on its right-hand side; color and width show its utilization.
const linkWidth = utilization => 1.5 + 5.5 * clamp(utilization || 0, 0, 1);

function topologyChart(ctx, chart) {
  const { host, tools, state, title } = ctx;
  const about = h("div", { class: "about" }),
    room = h("div", { class: "over" });
  const runs = chart.subjects;
  state.subject = state.subject == null ? runs[0] : state.subject;
  const pick = l => about.replaceChildren(linkTable(l, chart.labels, runs, state.subject));
  const worst = l => runs.reduce((a, i) => Math.max(a, l.utilization[i] || 0), 0);
  const busiest = chart.links.reduce((a, l) => (a && worst(a) >= worst(l) ? a : l), null);
  const draw = () => {
    if (busiest) pick(busiest);
    room.replaceChildren(drawNet(room.clientWidth || 600, chart, state.subject, title, pick));
  };
  const hint = h(
    "p",
    { class: "hint" },
    "Point at a link, or use the arrow keys, to compare its statistics across runs.",
  );
  if (runs.length > 1)
    tools.prepend(
      chooser(
        "run",
        chart.labels,
        runs.indexOf(state.subject),
        i => {
          state.subject = runs[i];
          draw();
        },
      ),
    );
  host.append(heatScale(), room, hint);
  if (chart.note) host.append(h("p", { class: "note" }, chart.note));
  host.append(about);
  draw();
  return {
    resize: draw,
    destroy() {},
    csv() {
      const rows = [
        ["link", "from", "to", "links", "rate (bit/s)", "run", "utilization", "drops", "marks", "largest queue (packets)"],
      ];
      for (const l of chart.links)
        runs.forEach((i, k) =>
          rows.push([
            l.name,
            chart.nodes[l.from].name,
            chart.nodes[l.to].name,
            l.count,
            l.rate_bps,
            chart.labels[k],
            l.utilization[i],
            l.drops[i],
            l.marks[i],
            l.queue_max[i],
          ]),
        );
      return rows;
    },
  };
}

// Legend of colors and widths.
function heatScale() {
  const root = svg("svg", {
    class: "draw",
    width: 300,
    height: 36,
    role: "img",
    "aria-label": "Scale of utilization, from 0 % thin and gray to 100 % wide",
  });
  const steps = 40,
    length = 200;
  for (let i = 0; i < steps; i++) {
    const f = (i + 0.5) / steps,
      w = linkWidth(f);
    root.append(
      svg("rect", { x: 10 + (i * length) / steps, width: length / steps + 0.3, y: 9 - w / 2, height: w, fill: heat(f) }),
    );
  }
  [0, 0.25, 0.5, 0.75, 1].forEach(f =>
    root.append(svg("text", { x: 10 + f * length, y: 30, "text-anchor": f === 0 ? "start" : "middle" }, 100 * f + " %")),
  );
  root.append(svg("text", { x: 34 + length, y: 30 }, "utilization"));
  return root;
}

// One link in all runs.
function linkTable(l, labels, runs, now) {
  const head = ["", "utilization", "drops", "marks", "largest queue"];
  const rows = runs.map((i, k) =>
    h(
      "tr",
      { class: i === now ? "now" : null },
      h("th", { scope: "row" }, labels[k]),
      ...[show("fraction", l.utilization[i]), show("count", l.drops[i]), show("count", l.marks[i]), show("packets", l.queue_max[i])].map(
        t => h("td", null, t),
      ),
    ),
  );
  return h(
    "div",
    null,
    h(
      "p",
      null,
      h("b", null, l.name),
      ", " + show("bits-per-second", l.rate_bps) + (l.count > 1 ? `, the busiest of ${l.count}` : ""),
    ),
    h("table", null, h("thead", null, h("tr", null, ...head.map(t => h("th", { scope: "col" }, t)))), h("tbody", null, ...rows)),
  );
}

function drawNet(width, chart, subject, title, picked) {
  const rows = new Map();
  for (const n of chart.nodes) rows.set(n.y.toFixed(2), (rows.get(n.y.toFixed(2)) || 0) + 1);
  const crowd = Math.max(1, ...rows.values()),
    w = Math.max(width, crowd * 26),
    step = (w - 92) / crowd;
  const nameOf = n => n.name + (n.count > 1 ? ` ×${n.count}` : ""),
    lowest = chart.nodes.reduce((a, n) => Math.max(a, n.y), 0);
  const bottom = chart.nodes.filter(n => n.y === lowest).map(nameOf),
    longest = bottom.reduce((a, s) => Math.max(a, Math.min(16, s.length)), 0);
  // Names below the lowest row are tilted if they would overlap.
  const tilted = longest * 6.6 > step,
    below = tilted ? longest * 4.4 : 0,
    height = clamp(90 + rows.size * 105, 220, 480) + below;
  const px = n => 46 + n.x * (w - 92),
    py = n => 34 + n.y * (height - below - 76);
  const root = svg("svg", {
    class: "draw net",
    width: w,
    height,
    role: "group",
    "aria-label": title + ". Arrow keys go from link to link.",
  });
  // Links with high utilization are drawn on top.
  const order = chart.links
    .map((_, i) => i)
    .sort((a, b) => (chart.links[a].utilization[subject] || 0) - (chart.links[b].utilization[subject] || 0) || a - b);
  const nodes = new Map(),
    labels = [];
  for (const i of order) {
    const l = chart.links[i],
      a = chart.nodes[l.from],
      b = chart.nodes[l.to],
      utilization = l.utilization[subject];
    const dx = px(b) - px(a),
      dy = py(b) - py(a),
      length = Math.hypot(dx, dy) || 1,
      [nx, ny] = [-dy / length, dx / length];
    const wide = linkWidth(utilization),
      off = 1.5 + wide / 2,
      colour = heat(utilization);
    const at = f => [px(a) + f * dx + off * nx, py(a) + f * dy + off * ny];
    const [p, q, m] = [at(0), at(1), at(0.58)],
      s = wide / 2 + 3,
      [ux, uy] = [dx / length, dy / length];
    const tipAt = [m[0] + ux * s, m[1] + uy * s],
      foot = k => [m[0] - ux * s + k * nx * s, m[1] - uy * s + k * ny * s];
    const node = svg(
      "g",
      null,
      svg("line", { class: "wide", x1: p[0], y1: p[1], x2: q[0], y2: q[1] }),
      svg("line", { class: "link", x1: p[0], y1: p[1], x2: q[0], y2: q[1], stroke: colour, "stroke-width": wide }),
      svg("path", { class: "arrow", d: `M${tipAt}L${foot(1)}L${foot(-1)}Z`, fill: colour }),
    );
    nodes.set(i, {
      node,
      title: l.name + (l.count > 1 ? ` × ${l.count}` : ""),
      enter: () => picked(l),
      lines: [
        show("bits-per-second", l.rate_bps),
        "utilization " + show("fraction", utilization),
        "drops " + show("count", l.drops[subject]),
        "marks " + show("count", l.marks[subject]),
        "largest queue " + show("packets", l.queue_max[subject]),
      ],
    });
    root.append(node);
    const [ex, ey] = at(0.3);
    labels.push({ utilization: utilization || 0, drops: l.drops[subject] || 0, x: m[0], y: m[1], ex, ey, nx });
  }
  // The three busiest links, and the three that drop most at their beginning, have a number where it covers no other.
  const placed = [];
  const write = (kind, x, y, text) => {
    const half = text.length * 3.6 + 3;
    if (placed.some(p => Math.abs(p.x - x) < p.half + half && Math.abs(p.y - y) < 15)) return;
    placed.push({ x, y, half });
    root.append(svg("text", { class: kind, x, y }, text));
  };
  const side = (t, far) => (t.nx < 0 ? -far : far);
  const dropping = labels.filter(t => t.drops > 0).sort((a, b) => b.drops - a.drops);
  for (const t of dropping.slice(0, 3)) write("drops", t.ex + side(t, 40), t.ey + 4, show("count", t.drops) + " drops");
  for (const t of dropping.slice(3)) root.append(svg("text", { class: "drops", x: t.ex, y: t.ey + 4 }, "×"));
  for (const t of labels.slice(-3).reverse())
    if (t.utilization > 0) write("utilization", t.x + side(t, 24), t.y + 4, digits(Math.round(t.utilization * 100)) + " %");
  for (const n of chart.nodes) {
    const [x, y] = [px(n), py(n)];
    if (n.count > 1)
      root.append(
        n.switch
          ? svg("rect", { class: "node", x: x - 8, y: y - 11, width: 22, height: 16, rx: 3 })
          : svg("circle", { class: "node", cx: x + 3, cy: y - 3, r: 7 }),
      );
    root.append(
      n.switch
        ? svg("rect", { class: "node", x: x - 11, y: y - 8, width: 22, height: 16, rx: 3 })
        : svg("circle", { class: "node", cx: x, cy: y, r: 7 }),
    );
    const name = nameOf(n),
      tilt = tilted && n.y === lowest,
      room = tilt ? 16 : Math.max(3, Math.floor((w - 92) / rows.get(n.y.toFixed(2)) / 6.6));
    const text = name.length > room ? name.slice(0, room - 1) + "…" : name,
      above = n.switch && n.y < lowest,
      ty = above ? y - 15 : y + (tilt ? 17 : 24);
    root.append(
      svg(
        "text",
        {
          class: "name",
          x,
          y: ty,
          ...(tilt ? { transform: `rotate(-38 ${x} ${ty})`, "text-anchor": "end" } : { "text-anchor": "middle" }),
        },
        svg("title", null, name),
        text,
      ),
    );
  }
  explain(
    root,
    chart.links.map((_, i) => nodes.get(i)),
  );
  return root;
}
