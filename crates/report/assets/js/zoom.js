// Common x axis of all panels of a chart: zoom, pan and cursor, by mouse, touch and keys.
function zooming({ full, log, state, title, xTitle, tools }) {
  const to = log ? Math.log10 : v => v,
    from = log ? v => 10 ** v : v => v;
  const [lo, hi] = full.map(to),
    smallest = (hi - lo) / 1e6;
  let panels = [],
    busy = false,
    unit = { factor: 1, name: "" },
    cursorX = null;
  const range = () => state.range || full;
  const zoomed = () => !!state.range;

  const announced = h("output", { class: "sr", "aria-live": "polite" });
  const label = h("p", { class: "xlab" });
  const button = (text, name, act) => h("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
  const reset = button("Reset", "Show everything", () => set(null));
  tools.append(
    h(
      "span",
      { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("−", "Zoom out", () => scale(2)),
      button("+", "Zoom in", () => scale(0.5)),
      reset,
    ),
  );
  const box = h("div", {
    class: "keys",
    tabindex: 0,
    role: "application",
    "aria-label": title + ". Plus and minus zoom, arrow keys pan, Shift with arrow keys moves the cursor, 0 shows everything.",
  });

  function set(next) {
    if (next) {
      let [a, b] = next;
      const width = clamp(b - a, smallest, hi - lo);
      a = clamp((a + b - width) / 2, lo, hi - width);
      state.range = width >= (hi - lo) * (1 - 1e-9) ? null : [from(a), from(a + width)];
    } else state.range = null;
    reset.disabled = !zoomed();
    const [min, max] = range();
    for (const p of panels) p.u.setScale("x", { min, max });
  }

  // Zooms by a factor about a point (by default the middle).
  function scale(factor, about) {
    const [a, b] = range().map(to),
      c = about == null ? (a + b) / 2 : clamp(to(about), a, b);
    set([c - (c - a) * factor, c + (b - c) * factor]);
  }

  const pan = part => {
    const [a, b] = range().map(to),
      d = (b - a) * part;
    set([clamp(a + d, lo, hi - (b - a)), clamp(b + d, lo + (b - a), hi)]);
  };

  function moveCursor(source, left) {
    if (busy) return;
    busy = true;
    for (const p of panels) if (p.u !== source) p.u.setCursor({ left, top: left < 0 ? -10 : 10 }, false);
    busy = false;
    const u = source || panels[0].u;
    cursorX = left < 0 ? null : u.posToVal(left, "x");
    const words = panels.flatMap(p => p.at(cursorX));
    writeLabel();
    return words;
  }

  const number = v => {
    const w = to(range()[1]) - to(range()[0]);
    return log
      ? show(unitOf, v)
      : fixed(v / unit.factor, clamp(3 - Math.floor(Math.log10(w / unit.factor)), 0, 9)) + " " + unit.name;
  };
  let unitOf = "ratio";
  function writeLabel() {
    const name = log || !unit.name ? xTitle : xTitle + ", " + unit.name;
    label.textContent = cursorX == null ? name : xTitle + " " + number(cursorX);
  }

  box.addEventListener("keydown", e => {
    if (e.target !== box || e.ctrlKey || e.metaKey || e.altKey) return;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (side && e.shiftKey) {
      const u = panels[0].u,
        width = u.over.clientWidth,
        now = u.cursor.left >= 0 ? u.cursor.left : width / 2 - side * 8;
      const words = moveCursor(null, clamp(now + side * 8, 0, width));
      announced.textContent = label.textContent + ": " + words.join("; ");
    } else if (side) pan(0.2 * side);
    else if (e.key === "+" || e.key === "=") scale(0.5, cursorX);
    else if (e.key === "-") scale(2, cursorX);
    else if (e.key === "0" || e.key === "Home") set(null);
    else if (e.key === "Escape") moveCursor(null, -10);
    else return;
    e.preventDefault();
  });

  // The wheel scrolls the page; with Ctrl, or as a pinch on a touchpad, it zooms; sideways it pans.
  box.addEventListener(
    "wheel",
    e => {
      const over = e.target.closest(".u-over");
      if (!over) return;
      const at = panels[0].u.posToVal(e.clientX - over.getBoundingClientRect().left, "x");
      if (e.ctrlKey || e.metaKey) scale(Math.exp(clamp(e.deltaY, -60, 60) / 100), at);
      else if (zoomed() && (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))) pan((e.deltaX || e.deltaY) / 800);
      else return;
      e.preventDefault();
    },
    { passive: false },
  );

  // One finger moves the cursor (vertical moves still scroll the page), two fingers pinch.
  const fingers = new Map();
  let grip = null;
  const position = e => e.clientX - panels[0].u.over.getBoundingClientRect().left;
  box.addEventListener("pointerdown", e => {
    if (e.pointerType !== "touch" || !e.target.closest(".u-over")) return;
    fingers.set(e.pointerId, position(e));
    if (fingers.size === 2) grip = [...fingers.values()].map(p => to(panels[0].u.posToVal(p, "x")));
  });
  box.addEventListener("pointermove", e => {
    if (!fingers.has(e.pointerId)) return;
    fingers.set(e.pointerId, position(e));
    const p = [...fingers.values()],
      width = panels[0].u.over.clientWidth;
    if (fingers.size === 1) moveCursor(null, clamp(p[0], 0, width));
    else if (grip && Math.abs(p[1] - p[0]) > 10) {
      const perPixel = (grip[1] - grip[0]) / (p[1] - p[0]),
        a = grip[0] - p[0] * perPixel;
      if (perPixel > 0) set([Math.max(lo, a), Math.min(hi, a + width * perPixel)]);
    }
  });
  for (const end of ["pointerup", "pointercancel"])
    box.addEventListener(end, e => {
      fingers.delete(e.pointerId);
      grip = null;
    });

  return {
    box,
    range,
    use(list, xUnit) {
      panels = list;
      unitOf = xUnit;
      box.append(label, announced);
      reset.disabled = !zoomed();
      writeLabel();
    },
    reset: () => set(null),
    pointed: key => panels.forEach(p => p.pointed(key)),
    toggled: () => panels.forEach(p => p.toggled()),
    unit(next) {
      unit = next;
      writeLabel();
    },
    cursor: u => moveCursor(u, u.cursor.left),
    select(u) {
      const { left, width } = u.select;
      if (width < 4) return;
      const ends = [u.posToVal(left, "x"), u.posToVal(left + width, "x")].map(to);
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      set(ends);
    },
  };
}
