"use strict";

// Keeps the page up to date. Without it the page is as it was when it was loaded.
(() => {
  const main = document.querySelector("main[data-events]");
  const told = document.getElementById("connection");
  const button = document.getElementById("pause");
  if (!main || !told || !button || !window.TextDecoderStream) return;

  const LONGEST_SILENCE = 45000;
  const waiting = new Map();
  let paused = false;
  let connected = false;
  let stream = null;
  let heard = 0;

  const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  const tell = () => {
    const live = paused ? "Paused" : "Live";
    const words = connected ? live : "Not connected: this is how it stood";
    if (told.textContent !== words) told.textContent = words;
  };

  // What somebody has marked, to copy it, stays until he lets go of it.
  const isMarked = (place) => {
    const selection = document.getSelection();
    return Boolean(selection) && !selection.isCollapsed && selection.containsNode(place, true);
  };

  const stops = (place) => [...place.querySelectorAll("a[href], [tabindex]")];

  const replace = (place, html) => {
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    const index = focused ? stops(place).indexOf(focused) : -1;
    const link = focused ? focused.getAttribute("href") : null;
    const scrolled = [...place.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
    // All of it was escaped where it was made, and the policy lets no script in it run.
    place.innerHTML = html;
    place.querySelectorAll(".wide").forEach((wide, at) => {
      wide.scrollLeft = scrolled[at] || 0;
    });
    if (focused) {
      const again = stops(place);
      const same = again.find((stop) => link !== null && stop.getAttribute("href") === link) || again[index];
      if (same) same.focus({ preventScroll: true });
    }
  };

  const show = () => {
    if (paused) return;
    for (const [name, html] of waiting) {
      const place = document.getElementById(name);
      if (place && isMarked(place)) continue;
      waiting.delete(name);
      if (place && main.contains(place)) replace(place, html);
    }
  };

  const take = (event) => {
    let name = "";
    const data = [];
    for (const line of event.split("\n")) {
      if (line.startsWith("event: ")) name = line.slice(7);
      if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    if (name) waiting.set(name, data.join("\n"));
  };

  const listen = async () => {
    stream = new AbortController();
    heard = Date.now();
    // Not an EventSource: who has a token puts a proxy in between, which may answer with something else than events.
    const answer = await fetch(main.dataset.events, {
      headers: { Accept: "text/event-stream" },
      cache: "no-store",
      signal: stream.signal,
    });
    if (!answer.ok || !answer.body) throw new Error(`${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard = Date.now();
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      events.forEach(take);
      connected = true;
      tell();
      show();
    }
  };

  const visible = () =>
    new Promise((done) => {
      if (!document.hidden) done();
      else document.addEventListener("visibilitychange", () => done(), { once: true });
    });

  const run = async () => {
    let wait = 1000;
    for (;;) {
      await visible();
      try {
        await listen();
        wait = 1000;
      } catch {
        connected = false;
        // Whoever does not look is connected again when he does.
        if (!document.hidden) tell();
        wait = Math.min(2 * wait, 30000);
      }
      await sleep(wait);
    }
  };

  // Nobody looks: the place is for another.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && stream) stream.abort();
  });

  setInterval(() => {
    if (stream && !document.hidden && Date.now() - heard > LONGEST_SILENCE) stream.abort();
    show();
  }, 2000);

  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
    tell();
    show();
  });

  run();
})();
