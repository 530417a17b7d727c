// Ticks of logarithmic axes: 1, 2, 5 if they fit, else powers of ten; round steps when less than a decade is visible.
function logTicks(min, max, pixels, space) {
  const decades = Math.log10(max / min);
  if (!(decades > 0)) return [min];
  const room = pixels / decades;
  const factors = room > 3.4 * space ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(space / room));
  const out = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
    if (((e % every) + every) % every) continue;
    for (const f of factors) {
      const t = Number((f * 10 ** e).toPrecision(6));
      if (t >= min * (1 - 1e-9) && t <= max * (1 + 1e-9)) out.push(t);
    }
  }
  return out.length >= 2 ? out : linearTicks(min, max, Math.max(2, Math.floor(pixels / space)));
}

// About `count` round steps of 1, 2 or 5 times a power of ten.
function linearTicks(min, max, count) {
  const raw = (max - min) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [min];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw * (1 - 1e-9));
  const out = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

// Range of an upward axis: from 0, unless all values are far above it (and `zero` is not set), with a margin at the top.
function upwardRange(min, max, log, zero) {
  if (min == null || max == null || !Number.isFinite(min) || !Number.isFinite(max)) return log ? [1, 10] : [0, 1];
  if (log) return [min / 1.25, max * 1.25];
  if (min === max) return max > 0 ? [0, max * 1.25] : max < 0 ? [max * 1.25, 0] : [0, 1];
  if (min >= 0 && (zero || min < 0.6 * max)) return [0, max * 1.04];
  const air = 0.06 * (max - min);
  return [min - air, max + air];
}

// Visible range of lines from `low` to `high` whose bands reach from `min` to `max`. Bands much wider than the lines leave the picture; the range
// goes below 0 only if the lines do.
function withinReach(min, max, low, high, log) {
  if (log) return [Math.max(min, low / 4), Math.min(max, high * 4)];
  const reach = Math.max(high, 0) - Math.min(low, 0) || 1;
  return [low >= 0 ? Math.max(min, 0) : Math.max(min, low - reach), Math.min(max, high + reach)];
}

// The largest 1, 2 or 5 times a power of ten that is not above v.
function roundDown(v) {
  const power = 10 ** Math.floor(Math.log10(v));
  return Number(([5, 2, 1].find(f => f * power <= v * (1 + 1e-9)) * power).toPrecision(6));
}
