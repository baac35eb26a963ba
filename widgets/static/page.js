// What the views share: elements, and the line to the kernel.
import { judge } from "./sequence.js";

/** An element: properties, `on…` listeners, `aria-…`, `role` and `data-…` attributes, then children; null is left out. */
export function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !name.includes("-") && name !== "role" && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function button(label, title, onclick) {
  return make("button", { type: "button", className: "nb-button", title, "aria-label": title, onclick }, label);
}

let ids = 0;
/** An id that no other element of the page has. */
export function fresh(name) {
  ids += 1;
  return `nbcontext-${name}-${ids}-${Math.random().toString(36).slice(2, 7)}`;
}

/** The frame of a view: head, notices, body; and the line to its model in the kernel. */
export function frame({ model, el, signal }, kind, { show, update }) {
  el.replaceChildren();
  const heading = make("div", { className: "nb-title" });
  const sums = make("div", { className: "nb-sums" });
  const note = make("div", { className: "nb-note", hidden: true });
  const status = make("div", { className: "nb-status", role: "status" });
  const body = make("div", { className: "nb-body" });
  const root = make("section", { className: `nbcontext nb-${kind}` },
    heading, sums, note, status, body);
  // JupyterLab listens as keys bubble; Notebook 7 before that, with selectors that the focused element itself may match.
  root.addEventListener("keydown", (event) => event.stopPropagation());
  root.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
  el.append(root);
  const page = { root, body, ask, told, say };
  const waiting = new Map();
  let asked = 0, seq = 0, dead = false, back = "";

  function ask(what) {
    return new Promise((resolve) => {
      asked += 1;
      const id = `${kind}${asked}-${Math.random().toString(36).slice(2, 8)}`;
      const timer = setTimeout(() => dead || say(`The kernel has not answered yet: it does when the running cell has ended. If it was restarted, ${back} brings this back.`), 600);
      waiting.set(id, { resolve, timer });
      if (dead) say(gone());
      else model.send({ ...what, id });
    });
  }

  function say(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  function gone() {
    return `The kernel is gone: this shows what it had last. ${back} brings it back.`;
  }

  /** Show what every message may carry: title, sums, note. */
  function told(state) {
    if (state.title !== undefined) heading.textContent = state.title;
    if (state.title !== undefined) root.setAttribute("aria-label", state.title);
    if (state.sums !== undefined) sums.textContent = state.sums;
    if (state.note !== undefined) [note.textContent, note.hidden] = [state.note, !state.note];
    if (state.back !== undefined) back = state.back;
  }

  function onMessage(message, buffers) {
    lives(true);
    if (message.answer !== undefined) {
      const pending = waiting.get(message.answer);
      if (!pending) return;
      waiting.delete(message.answer);
      clearTimeout(pending.timer);
      if (!waiting.size) say(message.problem || "");
      pending.resolve({ ...message, buffer: buffers && buffers[0] });
      return;
    }
    if (message.update === undefined) return;
    const verdict = judge(seq, message.seq);
    if (verdict === "take") {
      seq = message.seq;
      update(message.update);
    } else if (verdict === "ask") {
      model.send({ ask: "state" });
    }
  }

  function onState() {
    const state = JSON.parse(model.get("state"));
    if (state.seq < seq) return;
    seq = state.seq;
    show(state);
  }

  /** The front end says so when the kernel restarts; a message that comes says that it lives. */
  function lives(now) {
    if (dead === !now) return;
    dead = !now;
    root.classList.toggle("nb-dead", dead);
    say(dead ? gone() : "");
  }
  const onLost = () => lives(false);

  model.on("msg:custom", onMessage);
  model.on("change:state", onState);
  model.on("comm_live_update", onLost);
  const close = () => {
    model.off("msg:custom", onMessage);
    model.off("change:state", onState);
    model.off("comm_live_update", onLost);
  };
  if (signal) signal.addEventListener("abort", close);
  page.begin = onState;
  return page;
}
