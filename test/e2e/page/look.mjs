// Looks at the broker's page in a real browser, one look after the other or several at a time, until stdin ends.
//
// A line on stdin asks for a look, in JSON: `id`, `way`, a file of ways/ without its end, and `words`, which hold `url`, where the
// page is, `deadline`, for how many milliseconds anything is waited for, and what the way takes. One with the `id` alone says that
// nobody waits for that look any more. Lines on stdout have the `id`: `says`, what the way has to tell meanwhile; and at the end
// `found`, each finding a text.

import { createInterface } from "node:readline";

import { Browser } from "./browser.mjs";

// A finding may end in the middle of a character.
const whole = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);
const tell = (line) => console.log(JSON.stringify(line, whole));

const browser = await Browser.start();

const visits = new Map();

const answer = async ({ id, way, words }) => {
  if (!way) return visits.get(id)?.leave();
  const visit = browser.visit();
  visits.set(id, visit);
  const found = await import(new URL(`ways/${way}.mjs`, import.meta.url))
    .then(({ look }) => look(visit, words, (says) => tell({ id, says })))
    .catch((error) => [String(error?.stack ?? error)]);
  await visit.leave();
  visits.delete(id);
  tell({ id, found });
};

for await (const line of createInterface({ input: process.stdin })) answer(JSON.parse(line));
await browser.close();
process.exit(0);
