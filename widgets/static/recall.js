// The recall browser.
import { frame } from "./page.js";
import { textPane } from "./pane.js";

export default {
  render(context) {
    let opened = false;
    const page = frame(context, "recall", { show, update: tell });
    const pane = textPane(page, null);
    page.body.append(pane.el);

    function tell(state) {
      const told = state.where === undefined ? state : { ...state, sums: WHERE[state.where] };
      page.told(told);
    }
    function show(state) {
      tell(state);
      if (!opened) pane.open(state.source, state.first);
      opened = true;
    }
    page.begin();
  },
};

const WHERE = {
  "in context": "The next request carries this result.",
  summarised: "A summary took this result's place: no request carries it any more.",
  "not carried": "A chat carries no earlier reply's results.",
  "taken back": "Its turn was taken back: no request carries it any more.",
};
