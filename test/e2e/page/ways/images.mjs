// The page looks as it does on the pictures that the documentation shows.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { difference } from "../difference.mjs";

// Of the pixels, how many may look otherwise: another release of Chromium draws the edges of letters a bit differently.
const MOST = 0.005;

// Replaces what is another at each look. Runs in the browser.
const freeze = () => {
  const set = (selector, text) => document.querySelectorAll(selector).forEach((element) => (element.textContent = text));
  set(".age", "3 min, a person's");
  const facts = [...document.querySelectorAll("#overview dt")];
  const memory = facts.find((fact) => fact.textContent.startsWith("Memory"));
  if (memory) memory.nextElementSibling.textContent = "1 of 614 MiB";
  set("#flow td.number", "0.0");
  set("#flow small", "at most 0");
  set("#flow p", "Now 0 wait for their turn, and 0 are worked on.");
  document.querySelectorAll("#flow polyline").forEach((line) => line.setAttribute("points", "0,22 120,22"));
  set("footer p", document.querySelector("footer p").textContent.replace(/^(resource-broker) [^ ]+\. /, "$1. "));
  // It was stopped for the picture.
  set("#connection", "Live");
  set("#pause", "Pause");
};

// `pages`: names of pictures, paths, and texts that are to be there. `kept`: the folder of the pictures; `seen`: where what is
// seen is put; `keep`: whether that is what is kept from now on.
export const look = async (browser, { pages, kept, seen, keep, ...where }) => {
  const found = [];
  await mkdir(seen, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    const tab = await browser.tab({ ...where, colorScheme, reducedMotion: "reduce" });
    for (const { name, path, shows } of pages) {
      await tab.open(path);
      await tab.hold(shows);
      await tab.page.evaluate(freeze);
      // Nothing has the focus, nor is under the pointer.
      await tab.page.mouse.move(0, 0);
      await tab.page.evaluate(() => document.activeElement.blur());
      const file = `${name}-${colorScheme}.png`;
      const now = await tab.page.screenshot({ path: join(seen, file), fullPage: true, animations: "disabled" });
      const old = keep ? null : await readFile(join(kept, file)).catch(() => null);
      if (keep) await writeFile(join(kept, file), now);
      else if (!old) found.push(`${join(kept, file)} is not there`);
      else {
        const blank = await browser.tab(where);
        const { why, share } = await blank.page.evaluate(difference, [now, old].map((image) => image.toString("base64")));
        await blank.page.context().close();
        if (why || share > MOST) found.push(`${join(seen, file)} is not as ${join(kept, file)}: ${why ?? `${(100 * share).toFixed(2)} %`}`);
      }
    }
    found.push(...tab.complaints);
    await tab.page.context().close();
  }
  if (found.length > 0) found.push("UPDATE_SAID=1 keeps what is seen now: look at it before");
  return found;
};
