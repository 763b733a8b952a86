// `Browser`: Chromium as Debian has it, and the tabs in it with all that goes wrong there.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// Where install.sh has put it.
const { chromium } = createRequire(`${process.env.PAGE_MODULES}/`)("playwright-core");

const FONTS = fileURLToPath(new URL("fonts.conf", import.meta.url));

// What Chromium says itself of a request that failed; which one and how is in `requestfailed` and `response` already.
const FAILED_REQUEST = /^Failed to load resource: /;

export class Browser {
  #chromium;
  #contexts = [];

  constructor(started) {
    this.#chromium = started;
  }

  static async start() {
    const args = [
      "--font-render-hinting=none",
      "--disable-lcd-text",
      "--force-color-profile=srgb",
      // It fetches from nobody but the broker.
      "--disable-background-networking",
      // Where /dev/shm is small, as it is in containers.
      "--disable-dev-shm-usage",
    ];
    // Chromium's own sandbox cannot be set up by root.
    if (process.getuid() === 0) args.push("--no-sandbox");
    const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
    const env = { ...process.env, FONTCONFIG_FILE: FONTS };
    return new Browser(await chromium.launch({ executablePath, args, env }));
  }

  // A tab of its own. `options`: how it is looked at, such as `colorScheme`.
  async tab({ url, deadline, ...options }) {
    const viewport = { width: 1280, height: 900 };
    const context = await this.#chromium.newContext({ baseURL: url, viewport, ...options });
    this.#contexts.push(context);
    context.setDefaultTimeout(deadline);
    context.setDefaultNavigationTimeout(deadline);
    return Tab.open(context, new URL(url).origin);
  }

  // The same Chromium for somebody else.
  visit() {
    return new Browser(this.#chromium);
  }

  // Closes the tabs that were opened here.
  async leave() {
    await Promise.all(this.#contexts.splice(0).map((context) => context.close().catch(() => {})));
  }

  async close() {
    await this.#chromium.close();
  }
}

// One tab. What it complains of is kept.
export class Tab {
  complaints = [];
  #mayFail = () => false;

  constructor(page, origin) {
    this.page = page;
    this.origin = origin;
  }

  static async open(context, origin) {
    const tab = new Tab(await context.newPage(), origin);
    await tab.#listen();
    return tab;
  }

  // From now on a request for such a path may fail.
  mayFail(path) {
    this.#mayFail = path;
  }

  async #listen() {
    const complain = (what) => this.complaints.push(what);
    const { page } = this;
    page.on("pageerror", (error) => complain(`an error that nobody caught: ${error}`));
    page.on("crash", () => complain("it crashed"));
    page.on("dialog", (dialog) => {
      complain(`a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("popup", (popup) => complain(`another window: ${popup.url()}`));
    page.on("console", (message) => {
      const text = message.text();
      const known = message.type() === "error" && FAILED_REQUEST.test(text);
      if (["error", "warning"].includes(message.type()) && !known) complain(`in the console: ${text}`);
    });
    page.on("request", (request) => {
      const { origin } = new URL(request.url());
      if (origin !== this.origin) complain(`it asks ${origin}: ${request.url()}`);
    });
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText;
      // Whoever leaves a page ends what it was still being sent.
      const left = why === "net::ERR_ABORTED";
      if (!left && !this.#mayFail(new URL(request.url()).pathname)) complain(`${request.url()}: ${why}`);
    });
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (response.status() >= 400 && !this.#mayFail(pathname)) complain(`${response.url()}: ${response.status()}`);
    });
    await page.exposeFunction("complain", complain);
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        window.complain(`the policy forbids it: ${event.violatedDirective} ${event.blockedURI}`);
      });
      // What somebody else's text would call, if it ran.
      window.trap = (from) => window.complain(`a script in ${from} ran`);
    });
  }

  // Opens a path of the page. The answer has to have this status.
  async open(path, status = 200) {
    const before = this.#mayFail;
    if (status !== 200) this.#mayFail = () => true;
    const response = await this.page.goto(path, { waitUntil: "load" });
    this.#mayFail = before;
    if (response.status() !== status) this.complaints.push(`${path}: ${response.status()}, not ${status}`);
  }

  // Waits until the page listens to what changes, if it is one that does: all of it has been made anew by then.
  async live() {
    if (await this.page.locator("main[data-events]").count()) await this.told("Live");
  }

  // Waits until it says so of its connection.
  async told(words) {
    await this.#until("#connection", words);
  }

  // Waits until it shows a text, wherever that is.
  async shows(text) {
    await this.#until("main", text);
  }

  // Waits until the flow of something is more than none in a second of the last minute.
  async flows(measure) {
    const row = this.page.getByRole("row", { name: measure });
    await row.locator('svg:not([aria-label="At most 0 in a second"])').waitFor();
  }

  async #until(selector, text) {
    const { page } = this;
    await page.locator(selector, { hasText: text }).waitFor().catch(async (error) => {
      const shown = await page.locator(selector).textContent();
      const told = [`${page.url()} does not show “${text}”, but ${shown}`, ...this.complaints];
      throw new Error(told.join("\n"), { cause: error });
    });
  }

  // Stops it from changing while it shows these texts.
  async hold(texts) {
    for (;;) {
      for (const text of texts) await this.shows(text);
      await this.live();
      await this.page.getByRole("button", { name: "Pause" }).click();
      await this.told("Paused");
      const held = await this.page.locator("main").textContent();
      if (texts.every((text) => held.includes(text))) return;
      await this.page.getByRole("button", { name: "Go on" }).click();
    }
  }
}
