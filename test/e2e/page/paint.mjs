// Loads the broker's page in a real browser, again and again, each time as somebody who has never seen it.
//
//   node paint.mjs URL TIMES PAUSE      # milliseconds between one and the next
//
// A line on stdout for each: milliseconds from the beginning of the navigation until the first text or picture is painted
// (first contentful paint, https://www.w3.org/TR/paint-timing/). Each complaint of the browser is a line on stderr; the exit
// code is 1 where there is any.

import { setTimeout } from "node:timers/promises";

import { Browser } from "./browser.mjs";

const DEADLINE = 60_000;

const [url, times, pause] = process.argv.slice(2);

// Told of it where it is still to come, too.
const painted = (deadline) =>
  new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("nothing is painted")), deadline);
    const told = (list) => {
      const [first] = list.getEntriesByName("first-contentful-paint");
      if (first) resolve(first.startTime);
    };
    new PerformanceObserver(told).observe({ type: "paint", buffered: true });
  });

const browser = await Browser.start();
const complaints = [];
try {
  for (let time = 0; time < Number(times); time += 1) {
    const tab = await browser.tab({ url, deadline: DEADLINE });
    await tab.open("/");
    console.log(await tab.page.evaluate(painted, DEADLINE));
    complaints.push(...tab.complaints);
    await tab.page.context().close();
    await setTimeout(Number(pause));
  }
} finally {
  await browser.close();
}
for (const complaint of complaints) console.error(complaint);
process.exit(complaints.length > 0 ? 1 : 0);
