// What people look for is found, by keyboard and by pointer, and leads to its page; and what is hostile in it is text.

// `searches`: what is typed, the one link that is found, what the heading of its page says, and whether that has the picture of a
// trace. `hostile`: paths, and texts that are to be seen there as they were written.
export const look = async (browser, { searches, hostile, ...where }) => {
  const tab = await browser.tab(where);
  const { page } = tab;
  const found = [];
  for (const { typed, link, heading, picture = true } of searches) {
    for (const open of [(result) => result.click(), (result) => result.press("Enter")]) {
      await tab.open("./");
      await page.getByRole("searchbox", { name: "Find an object" }).fill(typed);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Found", exact: true }).waitFor();
      const field = await page.getByRole("searchbox").inputValue();
      if (field !== typed) found.push(`${typed}: the field says ${field}`);
      const links = await page.locator("main a").allTextContents();
      if (links.length !== 1 || links[0] !== link) found.push(`${typed}: found ${links}, not ${link}`);
      else {
        await open(page.locator("main a"));
        await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
        if (picture) await page.getByRole("img", { name: "Trace of" }).waitFor();
      }
    }
  }
  for (const { path, texts } of hostile) {
    await tab.open(path);
    await tab.live();
    for (const text of texts) await tab.shows(text);
    // All that is on it is of the kinds that the broker makes, and nothing has an attribute that could run.
    const strange = await page.evaluate(() => {
      const all = [...document.querySelectorAll("*")];
      const runs = (element) => [...element.attributes].some((attribute) => /^on|^srcdoc$|^style$/i.test(attribute.name));
      const isStrange = (element) => element.matches("img, iframe, object, embed, style, base, svg svg svg") || runs(element);
      const scripts = document.scripts.length === 1 ? [] : [`${document.scripts.length} scripts`];
      return [...scripts, ...all.filter(isStrange).map((element) => element.outerHTML.slice(0, 200))];
    });
    found.push(...strange.map((element) => `${path}: ${element}`));
  }
  // The same where it is typed.
  const typed = "\"'><script>trap('the search')</script><img src=x onerror=trap('the search')>";
  await tab.open(`/search?q=${encodeURIComponent(typed)}`);
  const field = await page.getByRole("searchbox").inputValue();
  if (field !== typed) found.push(`the field says ${field}, not ${typed}`);
  return [...found, ...tab.complaints];
};
