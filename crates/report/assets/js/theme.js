// Colors for canvases, read from the style sheet, and the switch between light and dark. Nothing is stored.
let palette = null;

function colours() {
  if (!palette) {
    const css = getComputedStyle(document.documentElement);
    const get = name => css.getPropertyValue("--" + name).trim();
    palette = { series: [], heat: [] };
    for (const name of ["bg", "fg", "dim", "rule", "grid", "accent"]) palette[name] = get(name);
    for (let i = 0; i < COLOURS; i++) palette.series.push(get("c" + i));
    for (let i = 0; i < 5; i++) palette.heat.push(get("h" + i));
  }
  return palette;
}

// Color of a fraction from 0 to 1 on the utilization scale.
function heat(fraction) {
  const stops = colours().heat,
    at = clamp(fraction || 0, 0, 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2),
    f = at - i;
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  return "rgb(" + [0, 1, 2].map(k => Math.round(part(stops[i], k) * (1 - f) + part(stops[i + 1], k) * f)).join(",") + ")";
}

function themeSwitch(changed) {
  const root = document.documentElement,
    query = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : query.matches);
  const button = h("button", { type: "button", class: "theme" });
  const update = () => {
    palette = null;
    button.textContent = dark() ? "Light theme" : "Dark theme";
    changed();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    update();
  });
  query.addEventListener("change", update);
  button.textContent = dark() ? "Light theme" : "Dark theme";
  return button;
}
