// Looks at the broker's page in a real browser, in one way.
//
//   node look.mjs WAY ARGUMENTS      # a file of ways/ without its end, and JSON
//
// ARGUMENTS hold `url`, where the page is, `deadline`, for how many milliseconds anything is waited for, and what the way takes.
// Each finding is a line on stderr; the exit code is 1 where there is any. What a way has to tell meanwhile is a line on stdout.
// When stdin ends, whoever wanted to know has gone.

import { Browser } from "./browser.mjs";

const [way, given] = process.argv.slice(2);
const words = JSON.parse(given);

process.stdin.on("end", () => process.exit(1)).resume();

const { look } = await import(new URL(`ways/${way}.mjs`, import.meta.url));
const browser = await Browser.start();
let found;
try {
  found = await look(browser, words);
} catch (error) {
  found = [error.stack];
} finally {
  await browser.close();
}
for (const finding of found) console.error(finding);
process.exit(found.length > 0 ? 1 : 0);
