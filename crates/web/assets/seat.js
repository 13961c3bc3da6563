// The page of one seat: the game that two people play, and nothing else.
import { h, notice, show } from "./dom.js";
import { get, takeToken } from "./api.js";
import { GameView } from "./table.js";

const main = document.getElementById("main");

async function start() {
  const page = h("div", { class: "page" });
  show(main, page);
  try {
    if (!await takeToken("")) {
      show(page, h("h1", {}, "Table"), notice("Open the link of your seat that `marvin mtg serve --browser` printed: it works once."));
      return;
    }
    const { games } = await get("/api/table");
    const view = new GameView(page, games[0].id, null);
    await view.open();
    document.getElementById("seat").textContent = `seat ${view.state.board.seat}`;
    document.getElementById("status").textContent = `${view.state.board.you.deck} against ${view.state.board.opponent.deck}`;
  } catch (error) { show(page, h("h1", {}, "Table"), notice(error.message, true)); }
}

start();
