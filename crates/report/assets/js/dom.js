// DOM elements. Text is inserted as text nodes only, so that names from scenarios are never parsed as markup.
const SVG = "http://www.w3.org/2000/svg";

function build(node, attrs, kids) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...kids.filter(k => k != null));
  return node;
}

const h = (tag, attrs, ...kids) => build(document.createElement(tag), attrs, kids);
const svg = (tag, attrs, ...kids) => build(document.createElementNS(SVG, tag), attrs, kids);

// Colors and symbols repeat; see src/html/symbols.rs.
const COLOURS = 8,
  SHAPES = 7;
// Color and symbol of each subject; without an entry those of its index.
const looks = JSON.parse(document.getElementById("subjects").textContent);
const hueOf = subject => looks[subject]?.hue ?? subject;
const symbolOf = subject => looks[subject]?.shape ?? subject;
// Items without a single subject have the text color.
const colourClass = subject => "s" + (subject == null ? "x" : hueOf(subject) % COLOURS);
const shapeId = subject => "mk-" + (subject == null ? SHAPES - 1 : symbolOf(subject) % SHAPES);
const colourOf = subject => (subject == null ? colours().fg : colours().series[hueOf(subject) % COLOURS]);

function marker(subject, id) {
  return svg(
    "svg",
    { class: "mk " + colourClass(subject), viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" },
    svg("use", { href: "#" + (id || shapeId(subject)) }),
  );
}

// The same outlines for canvases.
const outlines = new Map();
function outline(id) {
  if (!outlines.has(id)) outlines.set(id, new Path2D(document.getElementById(id).getAttribute("d")));
  return outlines.get(id);
}

// Index of the first value of an ascending list that is at least x.
function lowerBound(list, x) {
  let lo = 0,
    hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid] < x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
