type Direction = 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'ArrowUp';

/** A sideways step costs more than a long one, so that arrow keys stay in a column. */
const ASIDE = 3;

/** The nearest service in the direction of an arrow key, if there is one. */
export function neighbour(from: HTMLElement, key: string, all: Iterable<HTMLElement>): HTMLElement | undefined {
  const direction = key as Direction;
  const start = from.getBoundingClientRect();
  let best: { element: HTMLElement; cost: number } | undefined;
  for (const element of all) {
    const { left, top } = element.getBoundingClientRect();
    const [ahead, aside] = distances(direction, left - start.left, top - start.top);
    if (ahead < 4) continue;
    const cost = ahead + ASIDE * aside;
    if (!best || cost < best.cost) best = { element, cost };
  }
  return best?.element;
}

function distances(direction: Direction, right: number, down: number): [ahead: number, aside: number] {
  switch (direction) {
    case 'ArrowDown':
      return [down, Math.abs(right)];
    case 'ArrowUp':
      return [-down, Math.abs(right)];
    case 'ArrowRight':
      return [right, Math.abs(down)];
    case 'ArrowLeft':
      return [-right, Math.abs(down)];
    default:
      return [0, 0];
  }
}
