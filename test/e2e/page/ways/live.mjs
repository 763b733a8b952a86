// The page shows what changes by itself, without being loaded anew.

// `path`: where to look. `steps`, each after the other: what the page shows (`shows`), of which measure something has come lately
// (`flows`), what it says of its connection (`told`, else that it is live), and the word that is said to `say` when it does (`says`).
export const look = async (browser, { path, steps, ...where }, say) => {
  const tab = await browser.tab(where);
  const { page } = tab;
  // While the broker is away it cannot be asked.
  if (steps.some(({ told }) => told)) tab.mayFail((asked) => asked === "/events");
  await tab.open(path);
  // Gone where the page is loaded again.
  await page.evaluate(() => (window.loadedOnce = true));
  for (const { shows, flows, told = "Live", says } of steps) {
    await tab.told(told);
    if (shows) await tab.shows(shows);
    if (flows) await tab.flows(flows);
    say(says);
  }
  const found = (await page.evaluate(() => window.loadedOnce)) ? [] : ["it was loaded anew"];
  return [...found, ...tab.complaints];
};
