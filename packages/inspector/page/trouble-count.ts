import { byId, setText } from './dom.js';
import type { Store } from './stream/store.js';

const TITLE = document.title;
const MOST_SHOWN = 99;

/** How many requests had trouble since the list was looked at: on its tab, and in the title of the page. */
export class TroubleCount {
  readonly #badge = byId('trouble-count');
  readonly #isLooking: () => boolean;
  #number = 0;

  constructor(store: Store, isLooking: () => boolean) {
    this.#isLooking = isLooking;
    store.onChange((_, { troubled, complete }) => {
      // What happened before the page was open, or while it was disconnected, cannot be distinguished from what was seen.
      if (!complete) this.#number += troubled.length;
      this.update();
    });
    document.addEventListener('visibilitychange', () => this.update());
  }

  update(): void {
    if (this.#isLooking() && !document.hidden) this.#number = 0;
    const text = this.#number > MOST_SHOWN ? `${MOST_SHOWN}+` : String(this.#number);
    this.#badge.hidden = this.#number === 0;
    setText(this.#badge, text);
    const title = this.#number > 0 ? `(${text}) ${TITLE}` : TITLE;
    if (document.title !== title) document.title = title;
    this.#badge.title = `${text} with trouble since you looked`;
  }
}
