// Find texts with too little contrast. axe cannot read colors in oklch, so that it is computed here.
const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
function luminance(color) {
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function background(node) {
  for (let one = node; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") return color;
  }
}
const found = [];
for (const node of document.querySelectorAll("body *:not(script)")) {
  const texts = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!texts || !node.checkVisibility() || node.disabled) continue;
  const [one, other] = [getComputedStyle(node).color, background(node)].map(luminance).sort((a, b) => b - a);
  const ratio = (one + 0.05) / (other + 0.05);
  if (ratio < arguments[0]) found.push(`contrast ${ratio.toFixed(2)}: ${node.outerHTML.slice(0, 120)}`);
}
return found;
