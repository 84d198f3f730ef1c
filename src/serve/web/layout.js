// Places the nodes of a flow in layers, from its beginning down; ways that lead back run around the side.

const WIDTH = 208;
const GAP_X = 36;
const GAP_Y = 54;
const LINE = 17;

/** Where nodes and edges of `{nodes, edges}` stand: `{width, height, nodes: Map(id → frame), edges: [{edge, path, x, y}]}`. */
export function layout({ nodes, edges }) {
  const order = new Map(nodes.map((n, i) => [n.id, i]));
  const on = edges.filter((e) => order.get(e.source) < order.get(e.target));
  const layer = new Map(nodes.map((n) => [n.id, 0]));
  // Nodes stand in the author's order, so one pass gives the longest way to each.
  for (const node of nodes) {
    for (const e of on.filter((e) => e.source === node.id)) layer.set(e.target, Math.max(layer.get(e.target), layer.get(node.id) + 1));
  }
  const rows = [];
  for (const node of nodes) (rows[layer.get(node.id)] ??= []).push(node);
  untangle(rows, on);
  const widest = Math.max(...rows.map((row) => row.length));
  const inner = widest * WIDTH + (widest - 1) * GAP_X;
  const frames = new Map();
  let y = 16;
  for (const row of rows) {
    const heights = row.map((n) => 22 + n.lines.length * LINE);
    let x = (inner - (row.length * WIDTH + (row.length - 1) * GAP_X)) / 2;
    row.forEach((n, i) => {
      frames.set(n.id, { x, y, w: WIDTH, h: heights[i] });
      x += WIDTH + GAP_X;
    });
    y += Math.max(...heights) + GAP_Y;
  }
  const lanes = { left: 0, right: 0 };
  const paths = edges.filter((e) => frames.has(e.source) && frames.has(e.target)).map((edge) => ({ edge, ...path(frames.get(edge.source), frames.get(edge.target), edge, { layer, lanes, inner }) }));
  const margin = (n) => (n ? 24 + n * 18 + 56 : 16);
  const left = margin(lanes.left);
  const right = margin(lanes.right);
  return { left, width: inner + left + right, height: y - GAP_Y + 24, nodes: frames, edges: paths };
}

/** Puts the nodes of each row near those they come from. */
function untangle(rows, edges) {
  for (let pass = 0; pass < 4; pass += 1) {
    rows.forEach((row, i) => {
      if (i === 0) return;
      const place = new Map(rows.flatMap((r) => r.map((n, at) => [n.id, at / Math.max(r.length - 1, 1)])));
      const middle = (n) => {
        const from = edges.filter((e) => e.target === n.id).map((e) => place.get(e.source));
        return from.length ? from.reduce((a, b) => a + b, 0) / from.length : 0.5;
      };
      const middles = new Map(row.map((n) => [n.id, middle(n)]));
      row.sort((a, b) => middles.get(a.id) - middles.get(b.id));
    });
  }
}

function path(a, b, edge, { layer, lanes, inner }) {
  const near = layer.get(edge.target) === layer.get(edge.source) + 1;
  if (near) {
    const [x1, y1, x2, y2] = [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y - 5];
    const bend = (y2 - y1) / 2;
    return { path: `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 4 };
  }
  const [y1, y2] = [a.y + a.h / 2, b.y + b.h / 2];
  if (b.y > a.y) {
    lanes.right += 1;
    const far = inner + 14 + lanes.right * 18;
    const [x1, x2] = [a.x + a.w, b.x + b.w];
    return { path: `M${x1},${y1} C${far},${y1} ${far},${y1} ${far},${y1 + 24} L${far},${y2 - 24} C${far},${y2} ${far},${y2} ${x2 + 5},${y2}`, x: far, y: (y1 + y2) / 2 };
  }
  lanes.left += 1;
  const far = -14 - lanes.left * 18;
  return { path: `M${a.x},${y1} C${far},${y1} ${far},${y1} ${far},${y1 - 24} L${far},${y2 + 24} C${far},${y2} ${far},${y2} ${b.x - 5},${y2}`, x: far, y: (y1 + y2) / 2 };
}

/** Text in lines of at most so many letters. */
export function wrap(text, most = 30) {
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + word.length < most) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}
