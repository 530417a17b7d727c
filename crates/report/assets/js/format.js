// Numbers with units. Values are in SI units or counts; values shown together share a prefix.
const PREFIXES = {
  "bits-per-second": [
    [1e12, "Tbit/s"],
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
    [1, "bit/s"],
  ],
  seconds: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ],
  bytes: [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
  packets: [[1, "packets"]],
  segments: [[1, "segments"]],
  fraction: [[0.01, "%"]],
  count: [[1, ""]],
  ratio: [[1, ""]],
};

// The largest prefix in which `size` is at least 1: { factor, name }.
function prefixFor(unit, size) {
  const all = PREFIXES[unit] || PREFIXES.ratio;
  const [factor, name] = all.find(([f]) => f <= Math.abs(size) * (1 + 1e-9)) || all[all.length - 1];
  return { factor, name };
}

const group = text => text.replace(/^(\d{5,})/, d => d.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

function fixed(v, decimals) {
  if (v == null || !Number.isFinite(v)) return "–";
  const text = group(Math.abs(v).toFixed(clamp(decimals, 0, 12)));
  return (v < 0 && /[1-9]/.test(text) ? "−" : "") + text;
}

// Four significant digits, three below 1; whole numbers without decimals.
function digits(v) {
  if (v == null || !Number.isFinite(v)) return "–";
  if (Math.abs(v - Math.round(v)) < 1e-9) return fixed(v, 0);
  return fixed(v, clamp((Math.abs(v) < 1 ? 2 : 3) - Math.floor(Math.log10(Math.abs(v))), 0, 6));
}

// A single number with its unit: "12.34 ms".
function show(unit, v) {
  if (v == null || !Number.isFinite(v)) return "–";
  const { factor, name } = prefixFor(unit, v || 1);
  return name ? digits(v / factor) + "\u00a0" + name : digits(v / factor);
}

// A number with its unit and only the decimals that it has, for ticks that are not evenly spaced: "0.5 ms".
function exact(unit, v) {
  const { factor, name } = prefixFor(unit, v || 1),
    text = fixed(v / factor, decimalsOf(v / factor));
  return name && name !== "packets" && name !== "segments" ? text + "\u00a0" + name : text;
}

// Large plain numbers on an axis: 20 k.
function compact(v, decimals) {
  for (const [f, p] of [
    [1e9, " G"],
    [1e6, " M"],
    [1e4, " k"],
  ]) {
    if (Math.abs(v) >= f) {
      const s = p === " k" ? 1e3 : f;
      return fixed(v / s, Math.abs((v / s) % 1) < 1e-9 ? 0 : 1) + p;
    }
  }
  return fixed(v, decimals);
}

// Number of decimals that represent a step exactly.
function decimalsOf(step) {
  let d = 0;
  while (d < 12 && Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) > 1e-6) d++;
  return d;
}

// Labels of ticks `step` apart, with the prefix of the axis.
function tickLabels(ticks, step, factor) {
  const d = decimalsOf(step / factor);
  return ticks.map(t => (t ? compact(t / factor, d) : "0"));
}
