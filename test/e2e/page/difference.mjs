// How much two pictures differ: runs in the browser, which reads them.

export const difference = async (pictures) => {
  // How much of a colour one does not notice, of 255.
  const NOTICED = 32;
  const read = async (picture) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const { width, height } = image;
    const canvas = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return { width, height, data: canvas.getImageData(0, 0, width, height).data };
  };
  const [one, other] = await Promise.all(pictures.map(read));
  if (one.width !== other.width || one.height !== other.height) {
    return { why: `${one.width}×${one.height} pixels, not ${other.width}×${other.height}` };
  }
  let others = 0;
  for (let at = 0; at < one.data.length; at += 4) {
    if ([0, 1, 2].some((part) => Math.abs(one.data[at + part] - other.data[at + part]) > NOTICED)) others += 1;
  }
  return { share: others / (one.width * one.height) };
};
