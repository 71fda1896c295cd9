import type { Rect } from './graph-layout.js';

/** How far an arrow between two services of one column swings out. */
const SWING = 20;

/** To the left if the dependency has a longer lifetime; a curve if both are in one column; to the right it is a captive dependency. */
export function way(from: Rect, to: Rect): string {
  const [fromY, toY] = [from.y + from.height / 2, to.y + to.height / 2];
  const inOneColumn = from.x < to.x + to.width && to.x < from.x + from.width;
  if (inOneColumn) {
    const x = Math.min(from.x, to.x);
    return `M${from.x} ${fromY} C${x - SWING} ${fromY} ${x - SWING} ${toY} ${to.x - 1} ${toY}`;
  }
  const [start, end, sign] = from.x > to.x ? [from.x, to.x + to.width + 1, -1] : [from.x + from.width, to.x - 1, 1];
  const pull = sign * Math.max(30, Math.abs(end - start) / 2.4);
  return `M${start} ${fromY} C${start + pull} ${fromY} ${end - pull} ${toY} ${end} ${toY}`;
}
