// Events along the lower edge of a panel: one lane per kind and subject. Symbols that would touch are merged.
const LANE = 11;
const SYMBOL_WIDTH = { mark: 3, drop: 8, timeout: 8 };

// Events between two times in bins of `width` pixels: [{ px, n }], by a function from time to pixel.
function binEvents(events, from, to, toPixel, width) {
  const bins = [];
  for (let i = lowerBound(events.at, from); i < events.at.length && events.at[i] <= to; i++) {
    const slot = Math.floor(toPixel(events.at[i]) / width),
      last = bins[bins.length - 1];
    if (last && last.slot === slot) last.n += events.n[i];
    else bins.push({ slot, px: (slot + 0.5) * width, n: events.n[i] });
  }
  return bins;
}

const countEvents = (events, from, to) => {
  let n = 0;
  for (let i = lowerBound(events.at, from); i < events.at.length && events.at[i] <= to; i++) n += events.n[i];
  return n;
};

function drawRug(u, lanes, range) {
  const { ctx, bbox } = u,
    k = uPlot.pxRatio;
  lanes.forEach(({ events, hidden }, lane) => {
    if (hidden) return;
    const y = bbox.top + bbox.height + (lane + 0.5) * LANE * k + 3 * k;
    const path = outline("ev-" + events.kind),
      width = SYMBOL_WIDTH[events.kind] * k;
    const bins = binEvents(events, range[0], range[1], t => u.valToPos(t, "x", true), width);
    // Faint for few events, full for many; never below a contrast of 3:1.
    const top = Math.log1p(bins.reduce((a, b) => Math.max(a, b.n), 1));
    ctx.fillStyle = colourOf(events.subject);
    for (const { px, n } of bins) {
      ctx.save();
      ctx.globalAlpha = 0.7 + (0.3 * Math.log1p(n)) / top;
      ctx.translate(px, y);
      ctx.scale(k, k);
      ctx.fill(path);
      ctx.restore();
    }
  });
}
