// Goes through a page with the Tab key.

// Presses that no page takes.
const MOST = 400;

// What has the focus, as one can tell it from all else when the page was made anew meanwhile; and whether it is seen to have it.
const focused = () => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const within = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return { name: window.nameOf(element), seen: outlined && within };
};

// All that one should come to.
const wanted = () => {
  const all = document.querySelectorAll("a[href], button, input, [tabindex='0']");
  return [...all].filter((element) => !element.hidden).map(window.nameOf);
};

// What cannot be reached, or not be seen to have the focus; and the first link, which leads past the rest.
export const stops = async (page) => {
  await page.evaluate(() => {
    window.nameOf = (element) => {
      const what = ["href", "id", "aria-label"].map((attribute) => element.getAttribute(attribute)).find(Boolean);
      return `${element.tagName.toLowerCase()} ${what ?? element.textContent.trim()}`;
    };
  });
  const findings = [];
  const reached = new Set();
  let first = null;
  for (let presses = 0; presses < MOST; presses += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(focused);
    // Behind the last is the browser itself, and behind that the first.
    if (!stop || stop.name === first) break;
    first ??= stop.name;
    reached.add(stop.name);
    if (!stop.seen) findings.push(`nobody sees that it has the focus: ${stop.name}`);
  }
  const missed = (await page.evaluate(wanted)).filter((name) => !reached.has(name));
  if (missed.length > 0) findings.push(`the Tab key does not lead to ${missed.join(", ")}`);
  if (first !== "a #main") findings.push(`the first stop is ${first}, not the link past all that is above the content`);
  await page.locator("a.skip").focus();
  await page.keyboard.press("Enter");
  const at = await page.evaluate(() => document.activeElement.id);
  if (at !== "main") findings.push(`the link past all that is above leads to ${at || "nothing"}`);
  return findings;
};
