// How well each text can be told from what is behind it (WCAG 2.2, 1.4.3): runs in the browser.

export const contrast = () => {
  const LARGE = { least: 3, size: 24, bold: 18.66 };
  const LEAST = 4.5;

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  // Any colour of CSS as red, green, blue, each to 255, and alpha to 1.
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (front, back) => {
    const alpha = front[3];
    return [0, 1, 2].map((at) => front[at] * alpha + back[at] * (1 - alpha)).concat(1);
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  const ancestors = (element) => {
    const all = [];
    for (let at = element; at; at = at.parentElement) all.push(at);
    return all;
  };
  // The shapes of a picture that lie under a text, the lowest first.
  const shapes = (element) => {
    const picture = element.closest("svg.picture");
    if (!picture) return [];
    const text = element.getBoundingClientRect();
    const [x, y] = [text.left + 1, text.top + text.height / 2];
    return [...picture.querySelectorAll("rect")].filter((shape) => {
      const box = shape.getBoundingClientRect();
      const before = shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
      return before && box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
    });
  };
  const behind = (element) => {
    // What the browser paints under everything.
    let colour = read("Canvas");
    for (const at of ancestors(element).reverse()) colour = over(read(getComputedStyle(at).backgroundColor), colour);
    for (const shape of shapes(element)) colour = over(read(getComputedStyle(shape).fill), colour);
    return colour;
  };
  const opacity = (element) => ancestors(element).reduce((all, at) => all * Number(getComputedStyle(at).opacity), 1);

  // Every text that is seen, with the element whose colours it has.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    const isShown = parentElement.checkVisibility({ visibilityProperty: true }) && !parentElement.closest("svg title");
    if (data.trim() && isShown) texts.push({ text: data.trim(), element: parentElement, style: getComputedStyle(parentElement) });
  }
  for (const field of document.querySelectorAll("input")) {
    const style = getComputedStyle(field, field.value ? undefined : "::placeholder");
    texts.push({ text: field.value || field.placeholder, element: field, style });
  }

  const findings = [];
  for (const { text, element, style } of texts) {
    const isSvg = Boolean(element.closest("svg"));
    const back = behind(element);
    const front = read(isSvg ? style.fill : style.color);
    front[3] *= opacity(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= LARGE.size || (size >= LARGE.bold && Number(style.fontWeight) >= 700);
    const least = isLarge ? LARGE.least : LEAST;
    const seen = ratio(over(front, back), back);
    if (seen < least) findings.push(`${text.slice(0, 60)}: ${seen.toFixed(2)} to 1, not ${least}`);
  }
  return { texts: texts.length, findings };
};
