type Direction = 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'ArrowUp';

/** A sideways step costs more than a long one, so that arrow keys stay in a column. */
const ASIDE = 3;

/** One element of the graph is reached with Tab, the others from there with arrow keys. */
export class TabStop {
  #at: HTMLElement | undefined;

  /** Stays where it is, unless that was removed: then `first` is the one. */
  renew(first: HTMLElement | undefined): void {
    this.#set(this.#at?.isConnected ? this.#at : first);
  }

  /** Returns the element that an arrow key has moved to. */
  move(event: KeyboardEvent, all: readonly HTMLElement[]): HTMLElement | undefined {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || !key.startsWith('Arrow')) return undefined;
    event.preventDefault();
    const next = neighbour(target, key, all);
    if (next) this.focus(next);
    return next;
  }

  focus(element: HTMLElement): void {
    this.#set(element);
    element.focus({ preventScroll: true });
  }

  #set(element: HTMLElement | undefined): void {
    if (this.#at) this.#at.tabIndex = -1;
    this.#at = element;
    if (element) element.tabIndex = 0;
  }
}

/** The nearest service in the direction of an arrow key, if there is one. */
function neighbour(from: HTMLElement, key: string, all: Iterable<HTMLElement>): HTMLElement | undefined {
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
