// What a page is like for who does not see it: runs in the browser, and tells what is missing.

export const structure = (heading) => {
  const findings = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const one = (selector) => {
    const count = all(selector).length;
    if (count !== 1) findings.push(`${count} of ${selector}, not one`);
  };
  if (!document.documentElement.lang) findings.push("no language");
  if (!document.title.includes("resource broker")) findings.push(`the title is ${document.title}`);
  if (!document.querySelector("meta[name=viewport]")) findings.push("telephones take it for wide");
  one("h1");
  const said = document.querySelector("h1")?.textContent;
  if (said !== heading) findings.push(`the heading is ${said}, not ${heading}`);
  for (const landmark of ["body > header", "main", "body > footer", "[role=search]"]) one(landmark);
  let level = 1;
  for (const title of all("h1, h2, h3, h4, h5, h6")) {
    const next = Number(title.tagName[1]);
    if (next > level + 1) findings.push(`after a heading of level ${level} comes ${title.textContent}`);
    level = next;
  }
  const ids = all("[id]").map((element) => element.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length > 0) findings.push(`ids that are there twice: ${twice}`);
  const named = (element) =>
    element.getAttribute("aria-label") ||
    document.getElementById(element.getAttribute("aria-labelledby"))?.textContent ||
    [...(element.labels ?? [])].map((label) => label.textContent).join("") ||
    (element.matches("a, button, th") && element.textContent.trim());
  for (const element of all("a, button:not([hidden]), input, nav, section, [role=img], [role=region]")) {
    if (!named(element)) findings.push(`without a name: ${element.outerHTML.slice(0, 200)}`);
  }
  for (const cell of all("th")) if (!cell.scope) findings.push(`of a row or a column? ${cell.textContent}`);
  for (const table of all("table")) if (!table.caption?.textContent) findings.push("a table that says not what it shows");
  for (const text of all("svg.picture text")) {
    const room = text.closest("svg");
    const isBounded = !room.matches(".picture") && getComputedStyle(room).overflow === "hidden";
    if (!isBounded) findings.push(`nothing keeps it within its box: ${text.textContent}`);
  }
  for (const target of all("[href^='#']")) {
    if (!document.getElementById(target.getAttribute("href").slice(1))) findings.push(`leads nowhere: ${target.outerHTML}`);
  }
  return findings;
};
