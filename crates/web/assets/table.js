// The page "Table": a game of Magic. Cards are buttons with words; what can be used has a sign, what is asked stands below with its answers.
import { h, notice, show, table as rowsTable, tag, tell } from "./dom.js";
import { nodes } from "./text.js";
import { get, listen, post } from "./api.js";
import { Form } from "./table_form.js";

const YIELDS = [["p", "Pass", null], ["e", "Until end of turn", "end_of_turn"], ["n", "Until my turn", "own_turn"], ["r", "Until the stack is empty", "empty_stack"]];
const STEPS = [["upkeep", "upkeep"], ["draw", "draw"], ["main1", "first main phase"], ["begin_combat", "beginning of combat"], ["declare_attackers", "declare attackers"], ["declare_blockers", "declare blockers"], ["end_combat", "end of combat"], ["main2", "second main phase"], ["end", "end step"]];
const KEYS = [["1 to 9", "take the answer with this number"], ["p", "pass"], ["e, n, r", "pass until the end of the turn, until your turn, until the stack is empty"], ["Enter", "on a card: use it; on an answer: take it"], ["t", "text of the card in focus"], ["h", "hint; again: a stronger one"], ["w", "why can't I use the card in focus?"], ["u", "take the last answer back (training)"], ["Esc", "show all answers again, close what is open"], ["?", "this list"]];
const COLOURS = { W: "white", U: "blue", B: "black", R: "red", G: "green", C: "colourless" };

const cost = (text) => (text || "").replace(/\{(\d+|.)\}/gu, "$1");

/** The page: a list of games with a form to start one, or one game. */
export async function table(page, game) {
  if (!game) return lobby(page);
  const view = new GameView(page, game);
  await view.open();
  return view;
}

async function lobby(page) {
  const { games, decks } = await get("/api/table");
  const choose = (id, list, value) => h("select", { id }, list.map(([key, name]) => h("option", { value: key, selected: key === value }, name)));
  const names = decks.map((one) => [one.id, one.name]);
  const players = [["heuristic", "heuristic: quick and decent"], ["mcts", "search: thinks, plays best"], ["random", "random: any legal move"], ["model", "model: the configured one"]];
  const field = (label, control) => h("label", { class: "field" }, label, control);
  const check = (id, text, on) => h("label", { class: "check" }, h("input", { type: "checkbox", id, checked: on }), text);
  const deck = choose("deck", names, "boundless_elves"), against = choose("against", names, "glorious_combat"), opponent = choose("opponent", players, "heuristic");
  const seed = h("input", { id: "seed", inputmode: "numeric", placeholder: "random" });
  const said = h("div", { role: "status" });
  const start = async (event) => {
    event.preventDefault();
    show(said);
    const order = { deck: deck.value, against: against.value, opponent: opponent.value, tutor: page.querySelector("#tutor").checked, training: page.querySelector("#training").checked };
    if (seed.value.trim()) order.seed = Number(seed.value);
    try {
      location.hash = `#/table/${(await post("/api/table", order)).game}`;
    } catch (error) { show(said, notice(error.message, true)); }
  };
  const state = (one) => (one.summary?.reason ? tag(one.summary.winner_id === null || one.summary.winner_id === undefined ? "draw" : one.players[one.summary.winner_id] === "person" ? "won" : "lost") : tag("open"));
  show(page,
    h("h1", {}, "Table"),
    h("form", { class: "card starts", onsubmit: start }, field("Your deck", deck), field("Against", against), field("Opponent", opponent), field("Seed", seed),
      h("div", { class: "row" }, check("tutor", "Hints and warnings", true), check("training", "Training: answers can be taken back", false)),
      h("div", { class: "row" }, h("button", { class: "main", type: "submit" }, "Start a game")), said),
    h("h2", {}, "Games"),
    games.length ? rowsTable([{ name: "Game" }, { name: "State" }, { name: "Decks" }, { name: "Against" }, { name: "Answers", number: true }],
      games.map((one) => [h("a", { href: `#/table/${encodeURIComponent(one.id)}` }, one.id.replace(/^game_/, "")), state(one), one.decks.join(" : "), one.players[1], one.answers]), "Games")
      : notice("No games yet. Choose two decks and start one; it is kept, and you can leave and come back. `marvin mtg play` shows the same games in the terminal."));
  return null;
}

export class GameView {
  /** `base` is the address of the game's data; `leave` the link back to the list, if there is one. */
  constructor(page, game, leave = "#/table") {
    this.page = page;
    this.base = `/api/table/${encodeURIComponent(game)}`;
    this.log = [];
    this.hint = [0, 0];
    this.texts = new Map();
    this.stop = new AbortController();
    this.parts = Object.fromEntries(["head", "opponent", "stack", "you", "hand", "ask", "info", "lines", "said"].map((name) => [name, h("div", { class: `mtg-${name}` })]));
    this.parts.said.setAttribute("role", "status");
    const { head, opponent, stack, you, hand, ask, info, lines, said } = this.parts;
    this.dialog = h("dialog", { class: "mtg-dialog" });
    this.leave = leave;
    page.classList.add("mtg");
    show(page, h("h1", { class: "unseen" }, "Table"), head, h("div", { class: "mtg-board" }, opponent, stack, you, hand), h("div", { class: "mtg-below" }, said, ask), h("aside", { class: "mtg-side" }, info, h("details", { open: innerWidth >= 900 }, h("summary", {}, "Log"), lines)), this.dialog);
    this.keys = (event) => this.press(event);
    document.addEventListener("keydown", this.keys);
  }

  async open() {
    await this.read();
    listen(this.state.version, () => this.read(), () => {}, `${this.base}/events`, this.stop.signal);
  }

  /** The page is left. */
  end() {
    this.stop.abort();
    document.removeEventListener("keydown", this.keys);
    this.page.classList.remove("mtg");
  }

  /** Reads the game; a call while it is being read has it read once more. */
  async read() {
    this.stale = true;
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.stale) {
        this.stale = false;
        this.take(await get(this.base, { since: this.log.length }));
      }
    } catch (error) { this.say(error.message, true); } finally { this.reading = false; }
  }

  take(state) {
    const first = state.log.length ? state.log[0].number : state.log_length;
    this.log = [...this.log.slice(0, first), ...state.log];
    if (this.log.length < state.log_length) { this.log = []; this.stale = true; return; }
    const asked = state.question?.number;
    const fresh = asked !== undefined && asked !== this.form?.number;
    if (asked === undefined) this.form = null;
    else if (fresh) this.form = new Form(state.question);
    const over = state.board.outcome && !this.state?.board.outcome;
    this.state = state;
    if (fresh) tell(state.question.sentence);
    if (over) tell(this.result());
    this.draw();
  }

  side(id) {
    const { board } = this.state;
    return id === board.seat ? "you" : "opponent";
  }

  result() {
    const { outcome, seat } = this.state.board;
    return outcome.winner === null || outcome.winner === undefined ? "The game is a draw." : outcome.winner === seat ? "You win." : "You lose.";
  }

  /** Draws everything; the card or answer that had the focus has it again. */
  draw() {
    const key = this.page.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const { board, is_thinking: thinking } = this.state;
    this.candidates = this.form ? this.form.candidates() : new Set();
    this.marks = this.form ? this.form.marks() : new Map();
    const whose = board.active === board.seat ? "your turn" : "opponent's turn";
    show(this.parts.head,
      this.leave && h("a", { href: this.leave }, "← Games"),
      h("b", {}, `Turn ${board.turn} · ${whose} · ${board.step_name}`),
      board.outcome ? tag(this.result()) : thinking ? h("span", { class: "dim" }, `${board.opponent.player} is thinking …`) : null,
      h("span", { class: "row mtg-tools" },
        this.tool("h", "Hint", () => this.askHint()), this.tool("w", "Why not?", () => this.askWhy()), this.tool("d", "Ask the opponent", () => this.askTalk()), this.tool("s", "Stops", () => this.showStops()),
        this.state.is_training && this.tool("u", "Undo", () => this.order({ order: "undo" })),
        this.tool("t", this.reads ? "Use cards" : "Read cards", () => { this.reads = !this.reads; this.draw(); }, this.reads),
        !board.outcome && this.tool("c", "Concede", () => this.concede()), this.tool("?", "Keys", () => this.showKeys())));
    this.drawSide(this.parts.opponent, board.opponent, "opponent", true);
    show(this.parts.stack, board.stack.length > 0 && [h("b", {}, "Stack, the top first"), h("ol", {}, board.stack.map((item) => this.stackItem(item)))]);
    this.drawSide(this.parts.you, board.you, "you", false);
    show(this.parts.hand, h("div", { class: "mtg-name" }, `Hand (${board.hand.length})`), h("div", { class: "mtg-row", "data-zone": "hand" }, board.hand.map((card) => this.card(card, true))));
    this.drawQuestion();
    this.drawLog();
    if (key) [...this.page.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key)?.focus({ preventScroll: true });
  }

  tool(key, name, act, on) {
    return h("button", { class: "plain", "data-key": `tool-${key}`, "aria-pressed": on === undefined ? undefined : String(Boolean(on)), title: `key ${key}`, onclick: act }, name);
  }

  stackItem(item) {
    const on = item.targets?.length ? ` on ${item.targets.join(", ")}` : "";
    return h("li", {}, this.cardButton(item.id, item.source, [h("span", {}, `${item.is_ability ? "ability of " : ""}${item.source} (${this.side(item.controller)})${on}`)], "stacked"));
  }

  drawSide(part, side, name, above) {
    const mana = Object.entries(side.mana).map(([kind, count]) => `${count} ${COLOURS[kind] || kind}`).join(", ");
    const zone = (label, cards) => cards.length > 0 && h("details", { class: "zone" }, h("summary", {}, `${label} ${cards.length}`), h("div", { class: "mtg-row" }, cards.map((card) => this.card(card))));
    const who = name === "you" ? "You" : `Opponent (${side.player})`;
    const facts = h("div", { class: "mtg-name" },
      this.cardButton(side.id, null, [h("b", {}, who), ` life ${side.life}`], "player"),
      side.poison > 0 && h("span", {}, `poison ${side.poison}`), h("span", {}, `hand ${side.hand_size}`), h("span", {}, `library ${side.library_size}`), mana && h("span", {}, `mana ${mana}`), zone("graveyard", side.graveyard), zone("exile", side.exile));
    const lands = side.battlefield.filter((one) => one.is_land && !one.is_creature), others = side.battlefield.filter((one) => !one.is_land || one.is_creature);
    const row = (list) => h("div", { class: "mtg-row field", "data-zone": name, ondragover: (event) => event.preventDefault(), ondrop: (event) => this.drop(event, null) }, this.permanents(list, side));
    show(part, above ? [facts, row(lands), row(others)] : [row(others), row(lands), facts]);
  }

  /** Permanents; lands and others that are alike are one button with a count. */
  permanents(list, side) {
    const groups = [];
    for (const one of list) {
      const text = JSON.stringify({ ...one, id: "" });
      const known = !one.is_creature && groups.find((group) => group.text === text);
      if (known) known.ids.push(one.id);
      else groups.push({ text, one, ids: [one.id] });
    }
    return groups.map(({ one, ids }) => this.permanent(one, ids, side));
  }

  permanent(one, ids) {
    const { board } = this.state;
    const named = (id) => [...board.you.battlefield, ...board.opponent.battlefield].find((other) => other.id === id)?.name || (id === board.you.id ? "you" : "opponent");
    const words = [];
    if (one.tapped) words.push("tapped");
    if (one.summoning_sick) words.push("new");
    if (one.damage) words.push(`${one.damage} damage`);
    for (const [kind, count] of one.counters || []) words.push(`${kind} ×${count}`);
    if (one.attached_to) words.push(`on ${named(one.attached_to)}`);
    if (one.attacks) words.push(`attacks ${named(one.attacks)}`);
    for (const id of one.blocks || []) words.push(`blocks ${named(id)}`);
    const numbers = one.power !== undefined ? `${one.power}/${one.toughness}` : "";
    return this.cardButton(ids[0], one.name, [h("span", { class: "mtg-title" }, nodes(one.name), ids.length > 1 && ` ×${ids.length}`), numbers && h("b", {}, numbers), words.length > 0 && h("span", { class: "mtg-words" }, words.join(" · "))], one.tapped ? "tapped" : "", ids);
  }

  card(card, own) {
    return this.cardButton(card.id, card.name, [h("span", { class: "mtg-title" }, nodes(card.name)), card.mana_cost && h("span", { class: "mtg-cost" }, cost(card.mana_cost)), card.numbers && h("b", {}, card.numbers)], own ? "own" : "");
  }

  /** A card or a player that can be pointed at, dragged, or dropped on. */
  cardButton(id, name, content, kind, ids = [id]) {
    const usable = ids.some((one) => this.candidates.has(one)), mark = ids.map((one) => this.marks.get(one)).find(Boolean) || (this.form?.card && ids.includes(this.form.card) ? "for what?" : null);
    const drag = (event) => event.dataTransfer.setData("text/plain", id);
    return h("button", {
      class: `mtg-card ${kind} ${usable ? "usable" : ""} ${mark ? "marked" : ""}`, "data-key": id, "data-name": name, draggable: usable ? "true" : undefined,
      onclick: () => (this.reads && name ? this.showText(name) : this.point(id)), ondragstart: drag, onmouseenter: name && (() => this.preview(name)), onfocus: name && (() => this.preview(name)),
      oncontextmenu: name && ((event) => { event.preventDefault(); this.showText(name); }), ondragover: (event) => event.preventDefault(), ondrop: (event) => this.drop(event, id),
    }, usable && h("span", { class: "mtg-sign", title: "can be used now" }, "●"), content, mark && h("span", { class: "mtg-words" }, mark));
  }

  /** A card was dropped: it is used, on what it was dropped on. */
  drop(event, on) {
    event.preventDefault();
    event.stopPropagation();
    const id = event.dataTransfer.getData("text/plain");
    if (!this.form || !id || id === on) return;
    let answer = this.form.point(id);
    if (answer === null && on && (this.form.card === id || this.form.held !== null)) answer = this.form.point(on);
    this.follow(answer);
  }

  point(id) {
    if (!this.form) { this.say("Nothing is asked now."); return; }
    this.follow(this.form.point(id));
  }

  follow(answer) {
    if (answer === false) this.say("This answers nothing now. “Why not?” says why.");
    else if (answer) this.answer(answer);
    else this.draw();
  }

  drawQuestion() {
    const { form } = this;
    // Tells a test, or another program, that a new state is shown.
    this.parts.ask.dataset.stamp = `${this.state.version}-${form?.number ?? ""}`;
    const { board, warnings, failure } = this.state;
    if (!form) {
      const text = failure ? `The game cannot continue: ${failure}` : board.outcome ? `${this.result()} ${this.log.findLast((line) => line.kind === "end")?.text || ""}` : `${board.opponent.player} is to answer …`;
      show(this.parts.ask, h("p", { class: "mtg-sentence" }, text), board.outcome && this.leave && h("a", { href: this.leave }, "Back to the games"));
      return;
    }
    const shown = form.shown();
    const numbered = (at, index) => h("button", { class: form.isChosen(at) ? "mtg-answer marked" : "mtg-answer", "data-key": `row-${at}`, "aria-pressed": form.single ? undefined : String(form.isChosen(at)), onclick: () => this.follow(form.choose(at)) }, index < 9 && h("span", { class: "mtg-number" }, index + 1), nodes(form.label(at)));
    const amount = (at) => h("div", { class: "row" }, h("button", { "data-key": `less-${at}`, "aria-label": `less for ${form.rows[at].label}`, onclick: () => { form.change(at, -1); this.draw(); } }, "−"), h("b", {}, form.amounts[at]), h("button", { "data-key": `more-${at}`, "aria-label": `more for ${form.rows[at].label}`, onclick: () => { form.change(at, 1); this.draw(); } }, "+"), nodes(form.rows[at].label));
    const isPass = (at) => form.canPass && form.rows[at].id === "a0";
    const rest = shown.filter((at) => !isPass(at));
    show(this.parts.ask,
      h("p", { class: "mtg-sentence" }, nodes(form.sentence), (form.card || form.held !== null) && h("button", { class: "plain", "data-key": "all", onclick: () => { form.widen(); this.draw(); } }, "Show all answers")),
      warnings.map((text) => h("p", { class: "warn" }, `! ${text}`)),
      h("div", { class: "mtg-answers" }, form.kind === "amounts" ? rest.map(amount) : rest.map(numbered)),
      h("div", { class: "row" },
        form.button() && h("button", { class: "main", "data-key": "done", onclick: () => this.answer(form.answer()) }, form.button()),
        form.canPass && YIELDS.filter(([key]) => key !== "r" || board.stack.length > 0).map(([key, name, until]) => h("button", { class: key === "p" ? "main" : "", "data-key": `yield-${key}`, title: `key ${key}`, onclick: () => this.pass(until) }, name))));
  }

  drawLog() {
    const { lines } = this.parts;
    const end = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    show(lines, this.log.slice(-200).map((line) => h("div", { class: `line ${line.kind}` }, nodes(line.text))));
    if (end) lines.scrollTop = lines.scrollHeight;
  }

  say(text, bad) {
    show(this.parts.said, text && notice(text, bad));
  }

  async order(order) {
    this.say("");
    try {
      await post(this.base, order);
      return true;
    } catch (error) {
      this.say(error.message, true);
      if (this.form) this.draw();
      return false;
    }
  }

  async answer(answer) {
    if (this.sent === this.form.number) return;
    this.sent = this.form.number;
    await this.order({ order: "answer", number: this.form.number, answer });
    this.sent = null;
  }

  pass(until) {
    if (!this.form?.canPass) { this.say("This question cannot be passed: choose an answer."); return; }
    if (until) this.order({ order: "yield", until });
    else this.answer({ action: "a0" });
  }

  async text(name) {
    if (!this.texts.has(name)) this.texts.set(name, await get(`${this.base}/card`, { name }));
    return this.texts.get(name);
  }

  words(text) {
    return [h("b", {}, nodes(text.name), " ", h("span", { class: "mtg-cost" }, cost(text.mana_cost))), h("div", { class: "dim" }, nodes(`${text.type_line}${text.numbers ? `  ${text.numbers}` : ""}`)), h("div", { class: "mtg-text" }, nodes(text.text || ""))];
  }

  async preview(name) {
    this.wanted = name;
    const text = await this.text(name).catch(() => null);
    if (text && this.wanted === name) show(this.parts.info, this.words(text));
  }

  async showText(name) {
    const text = await this.text(name).catch((error) => { this.say(error.message, true); });
    if (text) this.open_(this.words(text));
  }

  /** Shows something over the game. */
  open_(content) {
    show(this.dialog, content, h("div", { class: "row" }, h("button", { onclick: () => this.dialog.close() }, "Close")));
    if (!this.dialog.open) this.dialog.showModal();
  }

  showKeys() {
    this.open_([h("h2", {}, "Keys"), h("dl", {}, KEYS.map(([key, meaning]) => [h("dt", {}, key), h("dd", {}, meaning)])), h("p", { class: "dim" }, "Click a card to use it, then what it is for; or drag it there. ● marks what can be used now.")]);
  }

  showStops() {
    const stops = structuredClone(this.state.stops);
    const box = (list, step) => h("input", { type: "checkbox", "aria-label": step, checked: list.includes(step), onchange: (event) => { if (event.target.checked) list.push(step); else list.splice(list.indexOf(step), 1); this.order({ order: "stops", stops }); } });
    this.open_([h("h2", {}, "Stops"), h("p", { class: "dim" }, "You are asked in these steps when you can do something."),
      h("table", {}, h("thead", {}, h("tr", {}, ["Step", "Your turn", "Opponent's"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, STEPS.map(([step, name]) => h("tr", {}, h("td", {}, name), h("td", {}, box(stops.own_turn, step)), h("td", {}, box(stops.opponent_turn, step)))))),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: stops.opponent_stack, onchange: (event) => { stops.opponent_stack = event.target.checked; this.order({ order: "stops", stops }); } }), "when the opponent's spell or ability is on top of the stack")]);
  }

  concede() {
    this.open_([h("h2", {}, "Concede?"), h("p", {}, "You lose the game if you concede."), h("div", { class: "row" }, h("button", { class: "bad", onclick: () => { this.dialog.close(); this.order({ order: "concede" }); } }, "Yes, concede"))]);
  }

  async ask(body, title) {
    this.say("…");
    try {
      const { text } = await post(`${this.base}/ask`, body);
      this.say("");
      this.open_([h("h2", {}, title), h("p", { class: "mtg-text" }, nodes(text))]);
    } catch (error) { this.say(error.message, true); }
  }

  askHint() {
    const number = this.form?.number;
    if (number === undefined) { this.say("Nothing is asked now."); return; }
    this.hint = [number, this.hint[0] === number ? Math.min(3, this.hint[1] + 1) : 1];
    this.ask({ ask: "hint", level: this.hint[1] }, `Hint, level ${this.hint[1]} of 3`);
  }

  askWhy() {
    if (this.wanted) this.ask({ ask: "why_not", text: this.wanted }, `Why not ${this.wanted}?`);
    else this.say("Point at a card first, or focus it.");
  }

  askTalk() {
    const text = h("input", { "aria-label": "Question", maxlength: "500" });
    const send = (event) => { event.preventDefault(); this.dialog.close(); if (text.value.trim()) this.ask({ ask: "talk", text: text.value.trim() }, "The opponent answers"); };
    this.open_([h("h2", {}, "Ask the opponent"), h("form", { onsubmit: send }, text, h("div", { class: "row" }, h("button", { class: "main" }, "Ask")))]);
    text.focus();
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.dialog.open || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const yields = YIELDS.find(([key]) => key === event.key);
    const name = document.activeElement?.dataset?.name;
    const acts = { h: () => this.askHint(), w: () => this.askWhy(), d: () => this.askTalk(), s: () => this.showStops(), "?": () => this.showKeys(), c: () => this.concede(), t: () => (name ? this.showText(name) : this.wanted && this.showText(this.wanted)), u: () => this.state.is_training && this.order({ order: "undo" }), Escape: () => { if (this.form?.widen()) this.draw(); } };
    if (yields) this.pass(yields[2]);
    else if (/^[1-9]$/.test(event.key)) this.page.querySelectorAll(".mtg-answers > *")[Number(event.key) - 1]?.click?.();
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }
}
