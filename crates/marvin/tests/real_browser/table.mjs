// Scenes of the page "Table": a whole game by keyboard, one by mouse, at desktop and phone width, and a game of two people.
import { spawn } from "node:child_process";
import assert from "node:assert/strict";

const MAX_ANSWERS = 1500;

/** Waits until the person is asked or the game is over; returns the sentence. */
async function asked(page, before) {
  await page.waitForFunction((old) => {
    const ask = document.querySelector(".mtg-ask");
    return ask && ask.dataset.stamp !== old && (ask.querySelector("button") || /You win|You lose|draw/.test(ask.textContent));
  }, before, { timeout: 60000 });
  return page.locator(".mtg-sentence").innerText();
}

const stamp = (page) => page.locator(".mtg-ask").getAttribute("data-stamp");
const over = (page) => page.evaluate(() => /You win|You lose|draw/.test(document.querySelector(".mtg-ask").textContent) && !document.querySelector(".mtg-answers"));

/** Starts a game in the form; returns when the first question is there. */
async function start(page, seed, training = false) {
  await page.evaluate(() => { location.hash = "#/table"; });
  await page.getByRole("button", { name: "Start a game" }).waitFor();
  await page.selectOption("#deck", "boundless_elves");
  await page.selectOption("#against", "dark_sacrifice");
  await page.selectOption("#opponent", "heuristic");
  await page.fill("#seed", String(seed));
  if (training) await page.check("#training");
  await page.getByRole("button", { name: "Start a game" }).click();
  await page.locator(".mtg-ask button").first().waitFor();
}

/** Nothing is wider than the window, and every card and answer can be touched. */
async function fits(page, what) {
  const found = await page.evaluate(() => {
    const main = document.getElementById("main");
    const small = [...document.querySelectorAll(".mtg-answers button, .mtg-hand .mtg-card")].filter((one) => one.getBoundingClientRect().height < 36).map((one) => one.textContent);
    return { wide: Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth), small };
  });
  assert.ok(found.wide <= 0, `${what} is ${found.wide} px too wide`);
  assert.deepEqual(found.small, [], `${what}: too small to touch`);
}

export function addTableScenes({ scene, World, open, picture, servers, MARVIN }) {
  scene("a game at the table by keyboard", async () => {
    const world = new World("table");
    const page = await open((await world.serve([{ reply: { text: "hi" } }])).link);
    await page.locator("#box").waitFor();
    await page.locator("nav").getByText("Table").click();
    await page.getByText("No games yet").waitFor();
    await picture(page, "table-empty");
    await start(page, 3);
    await picture(page, "table-start");
    let answers = 0;
    for (;;) {
      const before = await stamp(page);
      if (await over(page)) break;
      const passes = await page.locator("[data-key=yield-p]").count(), rows = await page.locator(".mtg-answers > *").count(), done = await page.locator("[data-key=done]").count();
      if (done) {
        await page.locator("[data-key=done]").focus();
        await page.keyboard.press("Enter");
      } else await page.keyboard.press(rows > 0 ? "1" : passes ? "p" : "1");
      await asked(page, before);
      answers += 1;
      if (answers === 25) { await fits(page, "the table"); await picture(page, "table-middle"); }
      assert.ok(answers < MAX_ANSWERS, "the game does not end");
    }
    assert.ok(answers > 10, `${answers} answers`);
    await picture(page, "table-end");
    // The game is in the list, and its end is there after a reload.
    await page.reload();
    await page.locator(".mtg-sentence").getByText(/You win|You lose|draw/).waitFor();
    await page.getByText("Back to the games").click();
    await page.locator("tbody tr").first().waitFor();
    await page.context().close();
    await world.end();
  });

  scene("a game at the table by mouse on a phone", async () => {
    const world = new World("phone");
    const page = await open((await world.serve([{ reply: { text: "hi" } }])).link, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    await page.locator("#box").waitFor();
    await start(page, 5, true);
    await fits(page, "the start");
    let answers = 0;
    for (;;) {
      const before = await stamp(page);
      if (await over(page)) break;
      const usable = page.locator(".mtg-hand .mtg-card.usable").first();
      if (await page.locator("[data-key=done]").count()) await page.locator("[data-key=done]").tap();
      else if (await page.locator("[data-key=all]").count() === 0 && await usable.count()) {
        await usable.tap();
        // A card with several uses shows them; the first is taken.
        if (await page.locator("[data-key=all]").count()) await page.locator(".mtg-answers > *").first().tap();
      } else if (await page.locator("[data-key=yield-p]").count()) await page.locator("[data-key=yield-p]").tap();
      else await page.locator(".mtg-answers > *").first().tap();
      await asked(page, before);
      answers += 1;
      if (answers === 12) {
        await fits(page, "the table on a phone");
        await picture(page, "table-phone");
        const sentence = await page.locator(".mtg-sentence").innerText();
        await page.getByRole("button", { name: "Undo" }).tap();
        await asked(page, await stamp(page));
        assert.ok(sentence, "an answer was taken back");
      }
      assert.ok(answers < MAX_ANSWERS, "the game does not end");
    }
    await picture(page, "table-phone-end");
    await page.context().close();
    await world.end();
  });

  scene("cards of the table are read, dragged and refused", async () => {
    const world = new World("drag");
    const page = await open((await world.serve([{ reply: { text: "hi" } }])).link);
    await page.locator("#box").waitFor();
    await start(page, 3);
    let before;
    for (let answers = 0; answers < 50 && !await page.locator(".mtg-hand .mtg-card.usable", { hasText: "Forest" }).count(); answers += 1) {
      before = await stamp(page);
      await page.keyboard.press(await page.locator("[data-key=yield-p]").count() ? "p" : "1");
      await asked(page, before);
    }
    const land = page.locator(".mtg-hand .mtg-card.usable", { hasText: "Forest" }).first();
    await land.hover();
    await page.locator(".mtg-info").getByText("Basic Land").waitFor();
    before = await stamp(page);
    await land.dragTo(page.locator(".mtg-you .field").last());
    await page.locator(".mtg-you .field .mtg-card", { hasText: "Forest" }).waitFor();
    await asked(page, before);
    const other = page.locator(".mtg-hand .mtg-card:not(.usable)").first();
    await other.click();
    await page.getByText("This answers nothing now.").waitFor();
    await page.keyboard.press("w");
    await page.locator("dialog").getByText("Why not").waitFor();
    await picture(page, "table-why-not");
    await page.keyboard.press("Escape");
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Yes, concede" }).click();
    await page.locator(".mtg-sentence").getByText("You lose.").waitFor();
    await page.context().close();
    await world.end();
  });

  scene("two people at one table", async () => {
    const world = new World("seats");
    const server = spawn(MARVIN, ["mtg", "serve", "--browser", "--seed", "3", "--json"], { cwd: world.project, env: world.env, stdio: ["ignore", "pipe", "inherit"] });
    servers.push(server);
    const { url, links } = JSON.parse(await new Promise((resolve) => { let text = ""; server.stdout.on("data", (data) => { text += data; if (text.includes("\n")) resolve(text); }); }));
    const pages = [await open(links[0]), await open(links[1])];
    for (const page of pages) await page.locator(".mtg-head").waitFor();
    // The seat that is asked answers; the other page follows.
    for (let answers = 0; answers < 6; answers += 1) {
      const turn = await Promise.race(pages.map(async (page, seat) => { await page.locator(".mtg-ask button").first().waitFor(); return seat; }));
      const page = pages[turn], before = await stamp(page);
      await page.locator(".mtg-ask button").first().click();
      await page.waitForFunction((old) => document.querySelector(".mtg-ask").dataset.stamp !== old, before);
    }
    // Who begins is asked before the hands are drawn.
    const hands = await Promise.all(pages.map((page) => page.locator(".mtg-hand .mtg-title").allInnerTexts()));
    assert.ok(hands.every((hand) => hand.length >= 1), JSON.stringify(hands));
    const secret = hands[0].find((name) => !hands[1].includes(name));
    assert.ok(!(await pages[1].content()).includes(secret), "the other hand is not shown");
    await picture(pages[0], "table-seat-0");
    pages[0].expectsTrouble = true;
    const answers = await pages[0].evaluate(async () => [(await fetch("/api/status", { headers: { Authorization: `Bearer ${sessionStorage.getItem("marvin-token")}` } })).status, (await fetch("/api/table", {})).status]);
    assert.deepEqual(answers, [404, 401], `${url} gives more than the game`);
    for (const page of pages) await page.context().close();
    server.kill("SIGTERM");
  });
}
