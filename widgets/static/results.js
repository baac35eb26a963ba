// The result table: rows in view and a margin, the rest in the kernel.
import { forget, inView, lacking, scrollTo, step } from "./windowing.js";
import { button, frame, fresh, make } from "./page.js";
import { textPane } from "./pane.js";

const ROW = 28, MARGIN = 15, KEPT = 1000;
const COLUMNS = [["id", "id"], ["turn", "turn"], ["tool", "tool"], ["kind", "kind"], ["path", "path"], ["lines", "lines"], ["sha", "sha"],
  ["disk", "on disk"], ["made", "made"], ["sent", "sent"], ["saved", "saved"], ["stands_for", "stub of"], ["where", "where"]];
const NUMBERS = new Set(["turn", "made", "sent", "saved"]);

export default {
  render(context) {
    let names = [], rows = new Map(), total = 0, at = 0, query = {}, pending = null, drawn = "", stale = 0;
    const page = frame(context, "results", { show, update });
    const text = make("input", { type: "search", className: "nb-input", placeholder: "filter", "aria-label": "Filter by text in any column" });
    const tool = make("select", { className: "nb-input", "aria-label": "Filter by tool" });
    const kind = make("select", { className: "nb-input", "aria-label": "Filter by kind" });
    const path = make("input", { type: "search", className: "nb-input", placeholder: "path", "aria-label": "Filter by path" });
    const matching = make("span", { className: "nb-found", role: "status" });
    const heads = make("div", { role: "row", className: "nb-row nb-heads", "aria-rowindex": "1" }, ...COLUMNS.map(([key, name]) =>
      make("span", { role: "columnheader", className: `nb-c-${key}`, "data-key": key },
        key === "disk" ? name : make("button", { type: "button", title: `Sort by ${name}`, onclick: () => sort(key) }, name))));
    const space = make("div", { role: "rowgroup", className: "nb-space" });
    const grid = make("div", { role: "grid", className: "nb-grid", tabIndex: 0, "aria-colcount": COLUMNS.length, "aria-label": "Results" },
      make("div", { role: "rowgroup", className: "nb-top" }, heads), space);
    const high = () => Math.max(0, grid.clientHeight - ROW);
    const pane = textPane(page, () => { pane.el.hidden = true; grid.focus(); });
    pane.el.hidden = true;
    page.body.append(make("div", { className: "nb-bar" }, text, tool, kind, path,
      button("clear", "Clear every filter", () => { text.value = path.value = tool.value = kind.value = ""; filter(); }), matching), grid, pane.el,
      make("div", { className: "nb-keys" }, "Keys: ↑ ↓ PgUp PgDn Home End rows · Enter opens · s to what a stub stands for · / filter · Escape closes"));
    new ResizeObserver(draw).observe(grid);
    grid.addEventListener("scroll", draw);
    let typing;
    for (const box of [text, path]) box.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, 200); });
    for (const box of [tool, kind]) box.addEventListener("change", filter);
    grid.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== grid) return;
      const to = step(event.key, at, total, Math.max(1, Math.floor(high() / ROW) - 1));
      const act = { Enter: () => open(at), s: () => jump(at), "/": () => text.focus() }[event.key];
      if (to === null && !act) return;
      event.preventDefault();
      if (act) act();
      else choose(to);
    });
    page.root.addEventListener("keydown", (event) => event.key === "Escape" && [text, path].includes(event.target) && grid.focus());

    function show(state) {
      names = [...state.columns, "disk", "number", "stands_for_number"];
      query = state.query;
      [text.value, path.value] = [query.text, query.path];
      options(tool, "every tool", state.tools, query.tool);
      options(kind, "every kind", state.kinds, query.kind);
      rows = new Map();
      head(state);
      take(state);
    }

    function update(state) {
      head(state);
      for (const row of state.rows || []) for (const [box, key] of [[tool, "tool"], [kind, "kind"]]) {
        const value = row[names.indexOf(key)];
        if (![...box.options].some((option) => option.value === value)) box.append(make("option", { value }, value));
      }
      if (state.reset) rows = new Map();
      const wasAtEnd = grid.scrollTop + high() >= space.clientHeight - ROW && total > 20;
      take(state);
      if (wasAtEnd && !state.reset) grid.scrollTop = grid.scrollHeight;
    }

    function head(state) {
      page.told(state);
      total = state.matching;
      at = Math.min(at, Math.max(0, total - 1));
      matching.textContent = total === state.total ? "" : `${total.toLocaleString("en-US")} of ${state.total.toLocaleString("en-US")}`;
      grid.setAttribute("aria-rowcount", total + 1);
      for (const cell of heads.children) cell.setAttribute("aria-sort", cell.dataset.key !== query.sort ? "none" : query.descending ? "descending" : "ascending");
    }

    function take(state) {
      (state.rows || []).forEach((row, place) => rows.set(state.at + place, row));
      space.style.height = `${total * ROW}px`;
      drawn = "";
      draw();
    }

    function draw() {
      const [first, last] = inView(grid.scrollTop, high(), ROW, total, MARGIN);
      const key = `${first} ${last} ${at} ${total} ${rows.size} ${stale}`;
      if (key !== drawn) {
        drawn = key;
        const nodes = [];
        for (let place = first; place < last; place++) nodes.push(line(place));
        space.replaceChildren(...nodes);
        const active = space.querySelector(".nb-chosen");
        if (active) grid.setAttribute("aria-activedescendant", active.id);
        else grid.removeAttribute("aria-activedescendant");
      }
      const need = lacking(rows, first, last);
      if (need && !pending) fetchRows(...need);
    }

    async function fetchRows(first, last) {
      pending = query;
      const answer = await page.ask({ ask: "rows", first, count: Math.min(200, last - first), query });
      const mine = pending === query;
      pending = null;
      if (!answer.problem && mine) {
        head(answer);
        take(answer);
        forget(rows, first, last, KEPT);
        drawn = "";
      }
      if (!answer.problem) draw();
    }

    const prefix = fresh("row");
    function line(place) {
      const row = rows.get(place);
      const values = Object.fromEntries(names.map((name, index) => [name, row ? row[index] : ""]));
      const cells = COLUMNS.map(([key]) => {
        const value = values[key];
        const shown = NUMBERS.has(key) && row ? value.toLocaleString("en-US") : key === "id" && !row ? "…" : value;
        const extra = key === "kind" && row ? ` nb-kind nb-k-${value}` : key === "disk" ? ` nb-d-${value}` : "";
        const cell = make("span", { role: "gridcell", className: `nb-c-${key}${extra}`, title: key === "path" ? value : null });
        if (key === "stands_for" && value) cell.append(make("button", { type: "button", tabIndex: -1, title: `Go to ${value}`, onclick: () => jump(place) }, value));
        else cell.textContent = key === "disk" ? { same: "unchanged", changed: "≠ changed", gone: "✕ gone" }[value] || value : shown;
        return cell;
      });
      const node = make("div", { role: "row", id: `${prefix}-${place}`, "aria-rowindex": place + 2, "aria-selected": String(place === at),
        className: `nb-row${place === at ? " nb-chosen" : ""}${row && values.where !== "in context" ? " nb-away" : ""}`,
        onclick: (event) => { if (event.target.tagName !== "BUTTON") { choose(place); open(place); } } }, ...cells);
      node.style.top = `${place * ROW}px`;
      return node;
    }

    function choose(place) {
      at = place;
      const to = scrollTo(place, grid.scrollTop, high(), ROW);
      if (to !== null) grid.scrollTop = to;
      draw();
    }

    const value = (place, name) => rows.has(place) ? rows.get(place)[names.indexOf(name)] : null;

    async function open(place) {
      const number = value(place, "number");
      if (number === null) return;
      pane.el.hidden = false;
      await pane.open({ result: number });
      pane.el.scrollIntoView({ block: "nearest" });
      pane.focus();
    }

    async function jump(place) {
      const number = value(place, "stands_for_number");
      if (!number) return;
      const answer = await page.ask({ ask: "rows", number, query });
      if (answer.found >= 0) choose(answer.found);
      else page.say("What it stands for is left out by the filter.");
      grid.focus();
    }

    function sort(key) {
      query = { ...query, sort: key, descending: query.sort === key && !query.descending };
      again();
    }

    function filter() {
      query = { ...query, text: text.value, path: path.value, tool: tool.value, kind: kind.value };
      again();
    }

    function again() {
      stale += 1;
      rows = new Map();
      at = 0;
      grid.scrollTop = 0;
      fetchRows(0, 60);
    }

    page.begin();
  },
};

function options(box, all, values, chosen) {
  box.replaceChildren(make("option", { value: "" }, all), ...values.map((value) => make("option", { value }, value)));
  box.value = chosen;
}
