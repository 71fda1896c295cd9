import { type Position, START, UNKNOWN } from './position.js';

/** How far a session has written. */
export class Written {
  #position: Position;
  /** How often a position could not be found out. */
  #unknown = 0;

  constructor(position: Position = START) {
    this.#position = position;
  }

  get position(): Position {
    return this.#position;
  }

  /** Before the primary is asked: its response covers what was written before, and not what becomes unknown meanwhile. */
  asking(): (position: Position) => void {
    const before = this.#unknown;
    return (position) => {
      if (position === UNKNOWN) this.#unknown += 1;
      else if (this.#position === UNKNOWN ? this.#unknown > before : this.#position > position) return;
      this.#position = position;
    };
  }
}
