/** Whether a list, to which rows are added at the top, follows them: while it is scrolled to the top and no mouse is over it. */
export class ScrollAnchor {
  readonly #scroller: HTMLElement;
  #atTop = true;
  #over = false;
  #top = 0;

  /** @param onChange - called when the user has scrolled, or the mouse has left */
  constructor(scroller: HTMLElement, onChange: (why: 'left' | 'scrolled') => void) {
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      const { scrollTop } = scroller;
      // Where the page itself has scrolled to.
      if (Math.abs(scrollTop - this.#top) < 1) return;
      this.#top = scrollTop;
      this.#atTop = scrollTop < 1;
      onChange('scrolled');
    });
    // Not with touch: a finger does not rest above the list.
    scroller.addEventListener('pointerenter', ({ pointerType }) => (this.#over = pointerType === 'mouse'));
    scroller.addEventListener('pointerleave', () => {
      this.#over = false;
      onChange('left');
    });
  }

  get follows(): boolean {
    return this.#atTop && !this.#over;
  }

  get top(): number {
    return this.#top;
  }

  /** Stops following, also when the mouse has left. */
  stay(): void {
    this.#atTop = false;
  }

  follow(): void {
    this.#atTop = true;
  }

  scrollTo(top: number): void {
    if (Math.abs(top - this.#top) < 0.5) return;
    this.#scroller.scrollTop = top;
    // Browsers round it, and limit it to what is there.
    this.#top = this.#scroller.scrollTop;
  }
}
