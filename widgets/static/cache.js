// The cached-token chart: a stacked bar a request, or one for several.
import { count, money, nice, seconds } from "./format.js";
import { button, frame, fresh, make } from "./page.js";
import { textPane } from "./pane.js";
import { CAUSE, COST, EXPECTED, FIRST, grown, headline, LAST, MARKS, OTHER, OUTPUT, READ, TTFT, TURN, UNSPLIT, whole, WRITTEN } from "./sums.js";
import { panned, zoomed } from "./zoom.js";

const SERIES = [[READ, "read", "read from cache"], [WRITTEN, "written", "written to cache"], [OTHER, "other", "other input"], [OUTPUT, "output", "output"]];
const WORDS = { t: "turn", c: "compaction", m: "model", x: "measure", e: "failed" };
const WIDE = 900, HIGH = 260, LEFT = 62, TOP = 16, BOTTOM = 222, STUB = 16;
const NS = "http://www.w3.org/2000/svg";

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export default {
  render(context) {
    let bars = [], total = 0, first = 0, last = 0, width = 1, mode = "tokens", at = -1, scale = 0, step = 1, groups = [], worded = -90, sums = null;
    const page = frame(context, "cache", { show, update });
    const hatch = fresh("hatch"), stripes = fresh("stripes"), dots = fresh("dots"), prefix = fresh("bar");
    const modes = make("div", { className: "nb-group", role: "radiogroup", "aria-label": "What the bars show" },
      ...[["tokens", "tokens"], ["cost", "cost"], ["ttft", "first token"]].map(([value, words]) => make("label", {},
        make("input", { type: "radio", name: prefix, value, checked: value === mode, onchange: () => { mode = value; redraw(); } }), words)));
    const range = make("span", { className: "nb-range", role: "status" });
    const legend = make("div", { className: "nb-legend" });
    const axis = svg("g", { class: "nb-axis" }), plot = svg("g", {}), over = svg("rect", { class: "nb-over", y: TOP - 4, height: BOTTOM - TOP + 12, visibility: "hidden" });
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "nb-plot", role: "presentation" },
      svg("defs", {}, pattern(hatch, "nb-hatched", "M0 0V6", 45), pattern(stripes, "nb-striped", "M0 1.5H6", 0), pattern(dots, "nb-dotted", "M1 1h2v2h-2z", 0)), axis, plot, over);
    const chart = make("div", { className: "nb-chart", tabIndex: 0, role: "listbox", "aria-label": "Requests", "aria-orientation": "horizontal" }, picture);
    const detail = make("div", { className: "nb-detail", role: "region", "aria-label": "The chosen request", "aria-live": "polite", hidden: true });
    const pane = textPane(page, () => { pane.el.hidden = true; chart.focus(); });
    pane.el.hidden = true;
    page.body.append(make("div", { className: "nb-bar" }, modes, make("span", { className: "nb-group" },
      button("+", "Zoom in (+)", () => zoom(0.5)), button("−", "Zoom out (-)", () => zoom(2)), button("all", "Show all requests (0)", () => reach(0, total)),
      button("◀", "Earlier requests (<)", () => pan(-0.5)), button("▶", "Later requests (>)", () => pan(0.5))), range), legend, chart, detail, pane.el,
      make("div", { className: "nb-keys" }, "Keys: ← → Home End bars · Enter tells about it · + − 0 zoom · < > move · m tokens, cost, first token"));
    chart.addEventListener("click", (event) => { const box = picture.getBoundingClientRect(); choose(Math.floor(((event.clientX - box.left) / box.width * WIDE - LEFT) / step), true); });
    chart.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? bars.length - 1 : at - 1, Home: 0, End: bars.length - 1 }[event.key];
      const act = { Enter: () => tell(), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => reach(0, total), "<": () => pan(-0.5), ">": () => pan(0.5), m: other }[event.key];
      if (to === undefined && !act) return;
      event.preventDefault();
      if (act) act();
      else choose(to, false);
    });

    function show(state) {
      told(state);
      take(state);
    }

    function update(state) {
      if (Array.isArray(state)) {
        const bar = whole(state);
        return update({ at: bars.length, bars: [bar], head: grown(sums, bar, bars.at(-1)) });
      }
      told(state);
      if (state.reset) return take(state);
      if (state.bars) {
        if (last === total && state.head) last = state.head[0];
        state.bars.forEach((bar, place) => { bars[state.at + place] = whole(bar); });
        draw(state.at);
      }
      if (state.head) total = state.head[0];
      named();
    }

    function told(state) {
      if (state.about) page.told(state.about);
      if (state.head === undefined) return;
      sums = state.head;
      page.told({ sums: headline(sums) });
    }

    function take(state) {
      ({ bars, total, first, last, width } = state);
      bars = bars.map(whole);
      at = Math.min(at, bars.length - 1);
      redraw();
    }

    const parts = (bar) => {
      if (mode === "cost") return bar[COST] === null ? [["unknown", null]] : [["cost", bar[COST]]];
      if (mode === "ttft") return bar[TTFT] === null ? [["unknown", null]] : [["ttft", bar[TTFT]]];
      const known = SERIES.filter(([key]) => bar[key]).map(([key, name]) => [name, bar[key]]);
      if (bar[UNSPLIT] !== null) return [["unknown", bar[UNSPLIT]], ...known];
      return bar[READ] === null ? [["unknown", null], ...known] : known;
    };
    const height = (bar) => Math.max(parts(bar).reduce((sum, [, value]) => sum + (value || 0), 0), mode === "tokens" ? bar[EXPECTED] || 0 : 0);

    function redraw() {
      scale = 0;
      draw(0);
      named();
      const shown = mode === "tokens" ? SERIES.map(([, name, words]) => [name, words]) : mode === "cost" ? [["cost", "cost in US dollars"]] : [["ttft", "seconds to the first token"]];
      if (mode === "tokens" && bars.some((bar) => bar[EXPECTED] !== null)) shown.push(["expected", "expected from cache"]);
      legend.replaceChildren(...[...shown, ["unknown", "not reported"]].map(([name, words]) => make("span", {}, swatch(name), words)));
    }

    function swatch(name) {
      return svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, ...boxes(name, 0, 0, 12, 12));
    }

    function boxes(name, x, y, w, h) {
      const place = { x: x.toFixed(2), y: y.toFixed(2), width: Math.max(w, 0.4).toFixed(2), height: Math.max(h, 0).toFixed(2) };
      const over = { unknown: hatch, written: stripes, output: dots }[name];
      const box = svg("rect", { class: `nb-s-${name}`, ...place });
      return over && (w > 5 || name === "unknown") ? [box, svg("rect", { fill: `url(#${over})`, ...place })] : [box];
    }

    function draw(from) {
      const need = nice(bars.reduce((most, bar) => Math.max(most, height(bar)), 0));
      const wide = (WIDE - LEFT) / Math.max(Math.ceil(bars.length / 20) * 20, 40);
      if (need !== scale || wide !== step) from = 0;
      [scale, step] = [need, wide];
      if (from === 0) { plot.replaceChildren(); groups = []; worded = -90; lines(); }
      for (let place = from; place < bars.length; place++) {
        const group = bar(place);
        if (groups[place]) groups[place].replaceWith(group);
        else plot.append(group);
        groups[place] = group;
      }
      choose(at, false);
    }

    function lines() {
      const words = (value) => (mode === "cost" ? money(value) : mode === "ttft" ? seconds(value) : count(value));
      axis.replaceChildren(...[0, 0.5, 1].flatMap((share) => {
        const y = BOTTOM - share * (BOTTOM - TOP);
        return [svg("path", { d: `M${LEFT} ${y}H${WIDE}` }), svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, words(scale * share))];
      }));
    }

    function bar(place) {
      const it = bars[place], x = LEFT + place * step, w = step > 3 ? step * 0.82 : step, rects = [];
      let y = BOTTOM;
      for (const [name, value] of parts(it)) {
        const h = value === null ? STUB : value / scale * (BOTTOM - TOP);
        y -= h;
        rects.push(...boxes(name, x, y, w, h));
      }
      if (mode === "tokens" && it[EXPECTED] !== null) {
        const h = it[EXPECTED] / scale * (BOTTOM - TOP);
        rects.push(svg("rect", { class: "nb-s-expected", x, y: BOTTOM - h, width: w, height: h }));
      }
      if (it[MARKS].includes("t")) rects.push(svg("path", { class: "nb-tick", d: `M${x} ${BOTTOM}v6` }));
      const marks = [...it[MARKS]].filter((mark) => mark !== "t").map((mark) => WORDS[mark]).join(", ");
      const free = x === worded || x - worded >= (x > WIDE - 90 ? 160 : 90);
      if (marks) rects.push(svg("path", { class: "nb-mark", d: `M${x} ${TOP - 8}V${BOTTOM + 10}` }));
      if (marks && free) {
        worded = x;
        rects.push(svg("text", { class: "nb-word", x: x + 2, y: BOTTOM + 18, "text-anchor": x > WIDE - 90 ? "end" : "start" }, marks));
      } else if (!marks && it[MARKS].includes("t") && x - worded > 30 && (step > 14 || (width === 1 && it[TURN] % 10 === 0))) rects.push(svg("text", { class: "nb-word", x, y: BOTTOM + 18 }, `t${it[TURN]}`));
      return svg("g", { role: "option", id: `${prefix}-${place}`, "aria-selected": "false", "aria-label": words(it) }, ...rects);
    }

    function words(it) {
      const name = it[FIRST] === it[LAST] ? `Request ${it[FIRST]}` : `Requests ${it[FIRST]} to ${it[LAST]}`;
      const split = it[READ] === null ? `${count(it[UNSPLIT])} input tokens, cached not reported`
        : `${count(it[READ])} read from cache, ${count(it[WRITTEN])} written, ${count(it[OTHER])} other input`;
      const marks = [...it[MARKS]].map((mark) => (mark === "t" ? "a turn begins" : WORDS[mark]));
      return [`${name}, turn ${it[TURN]}: ${split}`, `${count(it[OUTPUT])} output`, `cost ${money(it[COST])}`, `first token ${seconds(it[TTFT])}`, it[CAUSE], ...marks].filter(Boolean).join(", ");
    }

    function choose(place, tells) {
      const old = groups[at];
      if (old) old.setAttribute("aria-selected", "false");
      at = bars.length && place >= 0 ? Math.min(place, bars.length - 1) : -1;
      const group = groups[at];
      over.setAttribute("visibility", group ? "visible" : "hidden");
      if (!group) { chart.removeAttribute("aria-activedescendant"); return; }
      group.setAttribute("aria-selected", "true");
      chart.setAttribute("aria-activedescendant", group.id);
      over.setAttribute("x", LEFT + at * step - 1.5);
      over.setAttribute("width", Math.max(step, 2) + 1.5);
      if (tells) tell();
      else if (!detail.hidden && detail.dataset.of !== String(bars[at][FIRST])) brief();
    }

    function brief() {
      if (at < 0) return;
      detail.hidden = false;
      detail.dataset.of = bars[at][FIRST];
      detail.replaceChildren(make("div", { className: "nb-head" }, words(bars[at])));
    }

    async function tell() {
      if (at < 0) return;
      const it = bars[at];
      brief();
      if (it[FIRST] !== it[LAST]) {
        detail.append(button("zoom to these", "Zoom to these requests", () => reach(it[FIRST] - 1, it[LAST])));
        return;
      }
      const answer = await page.ask({ ask: "detail", request: it[FIRST] });
      if (answer.problem || bars[at] !== it && (!bars[at] || bars[at][FIRST] !== it[FIRST])) return;
      const facts = make("dl", {}, ...answer.facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]));
      const where = answer.at < 0 ? "the tool list" : answer.at === 0 ? "the system prompt" : `message ${answer.at}`;
      const open = (source) => { pane.el.hidden = false; pane.open(source).then(pane.focus); };
      const what = button(answer.broke ? `open ${where}, where the prefix broke` : `open ${where}, where the new part begins`,
        `Open ${where}`, () => open({ request: it[FIRST], message: answer.at }));
      const how = answer.broke ? button("how it changed", "Show how it changed", () => open({ request: it[FIRST], change: answer.at })) : null;
      detail.replaceChildren(make("div", { className: "nb-head" }, `Request ${it[FIRST]}`), facts, make("div", { className: "nb-bar" }, what, how));
    }

    function other() {
      mode = { tokens: "cost", cost: "ttft", ttft: "tokens" }[mode];
      modes.querySelector(`[value=${mode}]`).checked = true;
      redraw();
    }

    function named() {
      const several = width > 1 ? `, ${width} a bar` : "";
      range.textContent = total ? `requests ${count(first + 1)}–${count(last)} of ${count(total)}${several}` : "no requests yet";
    }

    async function reach(from, to) {
      const answer = await page.ask({ ask: "range", first: from, last: to });
      if (!answer.problem) { at = -1; take(answer); }
    }
    const zoom = (factor) => reach(...zoomed([first, last], total, factor, at < 0 ? (first + last) / 2 : first + (at + 0.5) * width));
    const pan = (share) => reach(...panned([first, last], total, share));

    page.begin();
  },
};

function pattern(id, name, d, turn) {
  return svg("pattern", { id, class: name, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, svg("path", { d }));
}
