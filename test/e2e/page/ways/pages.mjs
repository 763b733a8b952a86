// Every page opens without a complaint, is what people who do not see it need, and can be gone through with the keyboard.

import { structure } from "../structure.mjs";
import { stops } from "../keyboard.mjs";

// As wide as a laptop's window, and as a telephone.
const WIDTHS = [1280, 390];

// `pages`: path, status, what its heading says, and texts that it shows. `secrets`: texts that none of them has in it.
export const look = async (browser, { pages, secrets = [], ...where }) => {
  const found = [];
  for (const { path, status = 200, heading, shows = [] } of pages) {
    const tab = await browser.tab(where);
    const findings = [];
    await tab.open(path, status);
    for (const text of shows) await tab.shows(text);
    await tab.live();
    findings.push(...(await tab.page.evaluate(structure, heading)));
    const whole = await tab.page.content();
    findings.push(...secrets.filter((secret) => whole.includes(secret)).map((secret) => `it tells the secret ${secret}`));
    for (const width of WIDTHS) {
      await tab.page.setViewportSize({ width, height: 800 });
      const over = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) findings.push(`it is ${over} pixels wider than a window of ${width}`);
    }
    await tab.page.setViewportSize({ width: WIDTHS[0], height: 800 });
    findings.push(...(await stops(tab.page)));
    found.push(...[...findings, ...tab.complaints].map((finding) => `${path}: ${finding}`));
    await tab.page.context().close();
  }
  return found;
};
