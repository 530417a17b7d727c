// One panel of a chart: lines, bands and a rug of events over a shared x axis, drawn by uPlot.
//
// A line is { key, subject, label, dash, step, mark, strokes, x, y, lo, hi }. With `lo` and `hi` it has a band; without `y` it is the outline of the band, or
// with `strokes` a vertical stroke at each x.

// Mode of uPlot.join.
const EXPAND_NULLS = 2;

// Height of a label, and its places above and below a point at its `top`, the preferred one first.
const LABEL_HEIGHT = 14,
  LABEL_PLACES = [-27, 13, -43, 29];

// The first place of a label where it overlaps no other.
function placeLabel(label, others) {
  const meets = top =>
    others.some(o => label.left < o.right && o.left < label.right && top < o.top + LABEL_HEIGHT && o.top < top + LABEL_HEIGHT);
  const place = LABEL_PLACES.find(place => !meets(label.top + place)) ?? LABEL_PLACES[0];
  return { ...label, top: label.top + place };
}

// Converts lines to uPlot columns over a common list of x. `undefined` means no sample of this line at this x, null is a gap.
function align(lines) {
  const columns = [];
  const tables = lines
    .map((line, i) => {
      const parts = [
        ["y", line.y],
        ["lo", line.lo],
        ["hi", line.hi],
      ].filter(p => p[1]);
      parts.forEach(([part]) => columns.push({ line: i, part }));
      return [line.x, ...parts.map(p => p[1])];
    })
    .filter(t => t.length > 1);
  // A gap extends to the next sample of its line, over the x of other lines.
  return { columns, data: tables.length ? uPlot.join(tables, tables.map(t => t.map(() => EXPAND_NULLS))) : [[0]] };
}

// Value of a line at x: the sample that holds there (steps) or the nearest one; null beyond its ends.
function sampleAt(line, x) {
  const n = line.x.length;
  if (!n || x < line.x[0] || x > line.x[n - 1]) return null;
  let i = lowerBound(line.x, x);
  if (i > 0 && line.x[i] > x && (line.step || x - line.x[i - 1] <= line.x[i] - x)) i--;
  return i;
}

function readout(line, i, factor) {
  const v = list => (list && list[i] != null ? digits(list[i] / factor) : null);
  const [y, lo, hi] = [v(line.y), v(line.lo), v(line.hi)];
  const band = lo != null && hi != null && lo !== hi ? lo + "\u2009–\u2009" + hi : hi;
  if (!line.y) return band || "–";
  if (y == null || lo == null || lo === hi) return y ?? "–";
  const [up, down] = [line.hi[i] - line.y[i], line.y[i] - line.lo[i]];
  return Math.abs(up - down) < 1e-6 * Math.abs(up) ? y + " ±\u2009" + digits(up / factor) : y + " (" + band + ")";
}

// All thresholds of a panel as text, including those out of view.
function thresholdNames(thresholds, unit) {
  return thresholds.length ? h("span", { class: "thresholds" }, thresholds.map(l => l.name + " " + show(unit, l.value)).join(" · ")) : null;
}

// Thresholds up to this multiple of the largest value are drawn.
const THRESHOLD_REACH = 1.8;

function panel(spec, zoom) {
  const { lines, events, x, y, height, last, points, hidden } = spec,
    thresholds = spec.thresholds || [];
  const { columns, data } = align(lines);
  const unitName = h("span"),
    c = colours();
  const colour = colourOf;
  const rugSize = events.length ? events.length * LANE + 6 : 0;
  let prefix = { factor: 1, name: "" },
    faded = null;

  const lanes = () => events.map(e => ({ events: e, hidden: hidden.has(e.key) }));
  const names = legend(
    [
      ...lines.map(l => ({
        key: l.key,
        label: l.label,
        symbol: lineKey(l.subject, l.dash),
        known: l.known,
        room: l.lo ? 6 : 3.5,
      })),
      ...events.map(e => ({ key: e.key, label: e.label, symbol: marker(e.subject, "ev-" + e.kind), known: e.known, room: 2.8 })),
    ],
    hidden,
    () => zoom.toggled(),
    key => zoom.pointed(key),
  );

  const series = columns.map(({ line, part }) => {
    const l = lines[line],
      edge = part !== "y";
    return {
      show: !hidden.has(l.key),
      scale: "y",
      stroke: colour(l.subject),
      width: l.strokes || (edge && l.y) ? 0 : edge ? 1 : 1.6,
      dash: DASHES[l.dash].length ? DASHES[l.dash] : undefined,
      paths: l.strokes ? () => null : l.step ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
      points: { show: false },
    };
  });
  const bands = lines.flatMap((l, i) => {
    const at = part => columns.findIndex(col => col.line === i && col.part === part) + 1;
    return l.lo && l.hi && !l.strokes ? [{ series: [at("hi"), at("lo")], fill: colour(l.subject) + (lines.length > 4 ? "1c" : "38") }] : [];
  });

  // Vertical strokes, such as segments with their first and last byte; at least two pixels high.
  function drawStrokes(u) {
    const { ctx, bbox } = u,
      k = uPlot.pxRatio,
      [from, to] = zoom.range();
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = 1.6 * k;
    for (const l of lines) {
      if (!l.strokes || hidden.has(l.key)) continue;
      ctx.globalAlpha = faded != null && faded !== l.key ? 0.15 : 1;
      ctx.strokeStyle = colour(l.subject);
      ctx.beginPath();
      for (let j = lowerBound(l.x, from); j < l.x.length && l.x[j] <= to; j++) {
        const x = u.valToPos(l.x[j], "x", true),
          low = u.valToPos(l.lo[j], "y", true);
        ctx.moveTo(x, low);
        ctx.lineTo(x, Math.min(u.valToPos(l.hi[j], "y", true), low - 2 * k));
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  // Symbols on the lines, so that lines differ in more than color: at every measured point, else at intervals.
  function drawMarkers(u) {
    if (!points && lines.length < 2) return;
    const { ctx, bbox } = u,
      k = uPlot.pxRatio,
      labels = [],
      [from, to] = zoom.range();
    lines.forEach((l, i) => {
      if (hidden.has(l.key) || (faded != null && faded !== l.key)) return;
      const ys = l.y || l.hi,
        path = outline(shapeId(l.subject)),
        at = [];
      if (points) for (let j = lowerBound(l.x, from); j < l.x.length && l.x[j] <= to; j++) at.push(j);
      else
        for (let px = 30 + ((41 * i) % 150); px < bbox.width / k; px += 150) {
          const j = sampleAt(l, u.posToVal(px, "x"));
          if (j != null) at.push(j);
        }
      // A line too short for these positions has its symbol in the middle.
      const [first, end] = [lowerBound(l.x, from), lowerBound(l.x, to)];
      if (!at.length && end > first) at.push((first + end) >> 1);
      ctx.fillStyle = colour(l.subject);
      ctx.strokeStyle = c.bg;
      for (const j of at) {
        if (ys[j] == null) continue;
        drawInterval(u, l, j, ys[j]);
        ctx.save();
        ctx.translate(u.valToPos(l.x[j], "x", true), u.valToPos(ys[j], "y", true));
        ctx.scale(k, k);
        ctx.lineWidth = 2;
        ctx.stroke(path);
        ctx.fill(path);
        if (l.mark) drawMark(ctx, l.mark, [u.valToPos(l.x[j], "x"), u.valToPos(ys[j], "y")], bbox.width / k, labels);
        ctx.restore();
      }
    });
  }

  // Intervals of a point: thin strokes, which have no end where the interval continues beyond the panel.
  function drawInterval(u, l, j, y) {
    const { ctx, bbox } = u,
      k = uPlot.pxRatio,
      cap = 3 * k,
      at = [u.valToPos(l.x[j], "x", true), u.valToPos(y, "y", true)];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colour(l.subject);
    ctx.lineWidth = k;
    ctx.beginPath();
    for (const end of (l.xEnds && l.xEnds[j]) || []) {
      const x = u.valToPos(end, "x", true);
      ctx.moveTo(at[0], at[1]);
      ctx.lineTo(x, at[1]);
      ctx.moveTo(x, at[1] - cap);
      ctx.lineTo(x, at[1] + cap);
    }
    for (const end of (l.yEnds && l.yEnds[j]) || []) {
      const to = u.valToPos(end, "y", true);
      ctx.moveTo(at[0], at[1]);
      ctx.lineTo(at[0], to);
      ctx.moveTo(at[0] - cap, to);
      ctx.lineTo(at[0] + cap, to);
    }
    ctx.stroke();
    ctx.restore();
  }

  // A ring around a point, and its text above or below it, within the panel of this width and clear of earlier texts.
  function drawMark(ctx, text, [x, y], width, labels) {
    ctx.strokeStyle = ctx.fillStyle = c.fg;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.arc(0, 0, 9, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.font = "600 12px " + getComputedStyle(document.body).fontFamily;
    const long = ctx.measureText(text).width,
      left = x < 0.2 * width ? -9 : x > 0.8 * width ? 9 - long : -long / 2,
      label = placeLabel({ left: x + left, right: x + left + long, top: y }, labels);
    labels.push(label);
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.fillText(text, left, label.top - y);
  }

  // Visible thresholds: a dashed line with its name at the right end.
  function drawLevels(u) {
    const { ctx, bbox } = u,
      k = uPlot.pxRatio;
    ctx.save();
    ctx.font = 11 * k + "px " + getComputedStyle(document.body).fontFamily;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = k;
    ctx.setLineDash([4 * k, 3 * k]);
    for (const l of thresholds) {
      if (!(l.value >= u.scales.y.min && l.value <= u.scales.y.max)) continue;
      const at = Math.round(u.valToPos(l.value, "y", true)) + 0.5;
      ctx.strokeStyle = ctx.fillStyle = c.dim;
      ctx.beginPath();
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.stroke();
      // A halo makes the name readable on lines and bands.
      ctx.save();
      ctx.setLineDash([]);
      ctx.strokeStyle = c.bg;
      ctx.lineWidth = 3 * k;
      ctx.strokeText(l.name, bbox.left + bbox.width - 4 * k, at - k);
      ctx.restore();
      ctx.fillText(l.name, bbox.left + bbox.width - 4 * k, at - k);
    }
    ctx.restore();
  }

  function upward(u, min, max) {
    // Panels of one quantity share a scale and are therefore comparable.
    if (spec.peers) [min, max] = spec.peers() || [min, max];
    // Thresholds near the values are in view; a distant one would flatten the lines.
    for (const l of thresholds) if (max != null && l.value > max && l.value <= THRESHOLD_REACH * max) max = l.value;
    const inner = u.series.filter(
      (s, k) => k && s.show && columns[k - 1].part === "y" && s.min != null && Number.isFinite(s.min),
    );
    if (inner.length && min != null) {
      [min, max] = withinReach(min, max, Math.min(...inner.map(s => s.min)), Math.max(...inner.map(s => s.max)), y.log);
    }
    return upwardRange(min, max, y.log, y.unit === "fraction");
  }

  const axis = (side, a, space, size, change) => ({
    side,
    space,
    size,
    scale: side === 3 ? "y" : "x",
    stroke: c.dim,
    font: "12px " + getComputedStyle(document.body).fontFamily,
    grid: { stroke: c.grid, width: 1 },
    ticks: { show: false },
    gap: side === 3 ? 6 : rugSize + 5,
    ...(a.log
      ? { splits: (u, i, min, max) => logTicks(min, max, side === 3 ? height - 40 : u.width - 70, space), filter: (u, s) => s }
      : {}),
    values: (u, ticks, i, room, step) => {
      if (!ticks.length) return [];
      if (side === 2 && !last) return ticks.map(() => "");
      if (a.log) return ticks.map(t => exact(a.unit, t));
      const scale = prefixFor(a.unit, Math.max(Math.abs(ticks[0]), Math.abs(ticks[ticks.length - 1])) || 1);
      change(scale);
      return tickLabels(ticks, step, scale.factor);
    },
  });
  const xAxis = axis(2, x, 78, rugSize + (last ? 24 : 6), scale => zoom.unit(scale));
  const yAxis = axis(3, y, 30, y.log ? 76 : 52, scale => {
    prefix = scale;
    unitName.textContent = scale.name;
  });

  const el = h("div", { class: "panel" }, h("p", { class: "head" }, spec.title, unitName, thresholdNames(thresholds, y.unit)), names.el);
  const room = h("div");
  el.append(room);
  spec.host.append(el);
  const u = new uPlot(
    {
      width: room.clientWidth || 600,
      height: height + rugSize + (last ? 18 : 0),
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 4 },
        points: { size: 6 },
        bind: {
          dblclick: () => () => {
            zoom.reset();
            return null;
          },
        },
      },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: () => zoom.range() },
        y: { distr: y.log ? 3 : 1, range: upward },
      },
      axes: [xAxis, yAxis],
      series: [{}, ...series],
      bands,
      hooks: {
        setCursor: [u => zoom.cursor(u)],
        setSelect: [u => zoom.select(u)],
        draw: [
          u => {
            drawLevels(u);
            drawStrokes(u);
            drawMarkers(u);
            drawRug(u, lanes(), zoom.range());
          },
        ],
      },
    },
    data,
    room,
  );

  return {
    u,
    el,
    // Values of all lines and counts of all events at x; nothing at null.
    at(xv) {
      const parts = [];
      const reach = u.posToVal(5, "x") - u.posToVal(0, "x");
      for (const l of lines) {
        const i = xv == null ? null : sampleAt(l, xv);
        const text = i == null ? "" : readout(l, i, prefix.factor);
        names.set(l.key, text);
        if (text && !hidden.has(l.key)) parts.push(l.label + " " + text + " " + prefix.name);
      }
      for (const e of events) {
        const n = xv == null ? 0 : countEvents(e, xv - reach, xv + reach);
        names.set(e.key, n ? "× " + group(String(n)) : "");
        if (n) parts.push(n + " " + e.label);
      }
      return parts;
    },
    // Applies a change of hidden items, in this panel or another one.
    toggled() {
      names.update();
      u.batch(() =>
        columns.forEach((col, k) => {
          const show = !hidden.has(lines[col.line].key);
          if (u.series[k + 1].show !== show) u.setSeries(k + 1, { show });
        }),
      );
      // Panels with a common scale are also rescaled by a change in another panel.
      u.redraw(!!spec.peers);
    },
    // Other lines fade while one is pointed at.
    pointed(key) {
      if (key != null && !lines.some(l => l.key === key && !hidden.has(key))) return;
      columns.forEach((col, k) => {
        u.series[k + 1].alpha = key == null || lines[col.line].key === key ? 1 : 0.15;
      });
      faded = key;
      u.redraw(false);
    },
    resize() {
      u.setSize({ width: room.clientWidth, height: height + rugSize + (last ? 18 : 0) });
    },
    destroy() {
      u.destroy();
      el.remove();
    },
  };
}
