// All text can be told from what is behind it, by day and by night; and nothing moves for who does not want that.

import { contrast } from "../contrast.mjs";

// `pages`: paths.
export const look = async (browser, { pages, ...where }) => {
  const found = [];
  for (const colorScheme of ["light", "dark"]) {
    const tab = await browser.tab({ ...where, colorScheme, reducedMotion: "reduce" });
    for (const path of pages) {
      await tab.open(path);
      await tab.live();
      const { texts, findings } = await tab.page.evaluate(contrast);
      if (texts < 10) findings.push(`only ${texts} texts were found`);
      const moving = await tab.page.evaluate(() => document.getAnimations().length);
      if (moving > 0) findings.push(`${moving} things move`);
      found.push(...findings.map((finding) => `${path}, ${colorScheme}: ${finding}`));
    }
    found.push(...tab.complaints);
    await tab.page.context().close();
  }
  return found;
};
