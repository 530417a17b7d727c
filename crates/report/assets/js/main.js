// Draws all figures one after the other, so that the page stays responsive, and again when colors, width or medium change.
const subjects = looks.map(s => s.name);
const figures = [];
document.body.append(tip);

function drawAll() {
  for (const f of figures) f.draw();
}

const waiting = [...document.querySelectorAll("[data-figure]")];
function drawNext() {
  const figure = waiting.shift();
  if (!figure) {
    document.documentElement.dataset.drawn = figures.length;
    return;
  }
  const mounted = mount(figure, subjects);
  figures.push(mounted);
  new ResizeObserver(() => mounted.resize()).observe(mounted.plot);
  setTimeout(drawNext);
}

document.querySelector("nav").append(themeSwitch(drawAll));
addEventListener("keydown", e => {
  if (e.key === "Escape") hideTip();
});

// Print: light colors, page width, scenario unfolded.
let unfolded = [];
addEventListener("beforeprint", () => {
  while (waiting.length) figures.push(mount(waiting.shift(), subjects));
  document.documentElement.dataset.printing = "";
  palette = null;
  unfolded = [...document.querySelectorAll("details.paper:not([open])")];
  for (const d of unfolded) d.open = true;
  drawAll();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.printing;
  palette = null;
  for (const d of unfolded) d.open = false;
  drawAll();
});

// A folded section opens when the table of contents or the address leads to it.
function unfold(id) {
  const fold = document.getElementById(id)?.querySelector(":scope>details.fold");
  if (fold) fold.open = true;
}
document.querySelector("nav").addEventListener("click", e => {
  const link = e.target.closest("a");
  if (link) unfold(decodeURIComponent(link.hash.slice(1)));
});
unfold(decodeURIComponent(location.hash.slice(1)));

// Current section in the table of contents.
const links = new Map([...document.querySelectorAll("nav a")].map(a => [decodeURIComponent(a.hash.slice(1)), a]));
const parts = [...document.querySelectorAll("main>section")];
function follow() {
  const line = innerHeight * 0.3,
    now = parts.filter(p => p.getBoundingClientRect().top <= line).pop() || parts[0];
  for (const [id, a] of links) {
    if (now && id === now.id) {
      if (!a.hasAttribute("aria-current")) {
        a.setAttribute("aria-current", "true");
        const row = a.closest("ol");
        if (row.scrollWidth > row.clientWidth) row.scrollLeft = a.offsetLeft - row.offsetLeft - 16;
      }
    } else a.removeAttribute("aria-current");
  }
}
let pending = false;
addEventListener(
  "scroll",
  () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      follow();
    });
  },
  { passive: true },
);
follow();

// Hooks for the browser tests.
window.forebay = {
  prefixFor,
  show,
  digits,
  fixed,
  compact,
  tickLabels,
  logTicks,
  linearTicks,
  upwardRange,
  withinReach,
  roundDown,
  placeLabel,
  exact,
  lowerBound,
  binEvents,
  sampleAt,
  toCsv,
  heat,
  decimalsOf,
};
drawNext();
