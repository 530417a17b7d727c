// A figure: its tools, its views, and the current chart.
const KINDS = { time: timeChart, lines: lineChart, bars: barChart, lanes: lanesChart, topology: topologyChart };

// Choice of one view: buttons if they are few and short, else a list.
function chooser(name, options, chosen, change) {
  if (options.length <= 5 && options.join("").length <= 36) {
    const id = "choice-" + chooser.count++;
    return h(
      "fieldset",
      null,
      h("legend", null, name),
      ...options.map((o, i) => {
        const input = h("input", { type: "radio", name: id, value: i, onchange: () => change(i) });
        input.checked = i === chosen;
        return h("label", null, input, o);
      }),
    );
  }
  const select = h(
    "select",
    { onchange: () => change(select.selectedIndex) },
    ...options.map((o, i) => h("option", { value: i, selected: i === chosen }, o)),
  );
  return h("label", null, name, select);
}
chooser.count = 0;

function mount(figure, subjects) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const plot = figure.querySelector(".plot"),
    states = spec.views.map(() => ({ hidden: new Set(), range: null }));
  const tools = h("div", { class: "tools" }),
    own = h("span", { class: "own" }),
    host = h("div");
  let view = 0,
    chart = null,
    width = 0;

  function draw() {
    hideTip();
    if (chart) chart.destroy();
    own.replaceChildren();
    host.replaceChildren();
    chart = null;
    width = plot.clientWidth;
    // Within a folded section: drawn when it opens.
    if (!width) return;
    const v = spec.views[view];
    const title = spec.title + (spec.views.length > 1 ? ", " + v.name : "");
    chart = KINDS[v.chart.kind]({ host, tools: own, state: states[view], subjects, title }, v.chart);
  }

  const save = h(
    "button",
    {
      type: "button",
      class: "csv",
      title: "Download the displayed numbers",
      "aria-label": "Download as CSV: " + spec.title,
      onclick: () => download(spec.id + (view ? "-" + (view + 1) : "") + ".csv", toCsv(chart.csv())),
    },
    "CSV",
  );
  if (spec.views.length > 1)
    tools.append(
      chooser(
        spec.choice,
        spec.views.map(v => v.name),
        0,
        i => {
          view = i;
          draw();
        },
      ),
    );
  tools.append(own, save);
  plot.replaceChildren(tools, host);
  draw();
  return {
    plot,
    draw,
    resize() {
      if (plot.clientWidth === width) return;
      if (!chart) return draw();
      width = plot.clientWidth;
      if (width) chart.resize();
    },
  };
}
