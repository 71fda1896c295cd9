import type { Rect } from './graph-layout.js';

const SMALLEST = 0.1;
const LARGEST = 3;
const STEP = 1.2;
/** Below this the names cannot be read, so the drawing does not begin smaller. */
const READABLE = 0.6;
/** Until the browser draws the text sharp again. */
const SETTLED_MS = 150;
/** Around a service that is brought into view. */
const MARGIN = 60;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Zooms by buttons, keys, Ctrl and wheel, and two fingers; dragging the background moves the drawing. */
export class Zoom {
  readonly #canvas: HTMLElement;
  readonly #sheet: HTMLElement;
  readonly #content: HTMLElement;
  readonly #onChange: (scale: number) => void;
  #width = 0;
  #height = 0;
  #scale = 1;
  #settled: ReturnType<typeof setTimeout> | undefined;

  constructor(canvas: HTMLElement, sheet: HTMLElement, content: HTMLElement, onChange: (scale: number) => void) {
    this.#canvas = canvas;
    this.#sheet = sheet;
    this.#content = content;
    this.#onChange = onChange;
    canvas.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.#onPointerDown(event));
    canvas.addEventListener('touchstart', (event) => this.#onTouch(event), { passive: false });
  }

  get scale(): number {
    return this.#scale;
  }

  /** The size of the drawing at 100 %. */
  resize(width: number, height: number): void {
    this.#width = width;
    this.#height = height;
    this.#apply();
  }

  /** As large as it fits, but never larger than 100 % and, at first, large enough to read. */
  fit(least = SMALLEST): void {
    const { paddingLeft, paddingRight, paddingTop, paddingBottom } = getComputedStyle(this.#canvas);
    const width = this.#canvas.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    const height = this.#canvas.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom);
    this.#set(Math.max(least, Math.min(1, width / this.#width, height / this.#height)));
  }

  begin(): void {
    this.fit(READABLE);
    this.#canvas.scrollTo(0, 0);
  }

  /** Around this point of the window; by default the middle of the canvas stays where it is. */
  to(scale: number, around: Point = this.#middle()): void {
    const before = this.#content.getBoundingClientRect();
    const [x, y] = [(around.x - before.left) / this.#scale, (around.y - before.top) / this.#scale];
    this.#set(scale);
    const after = this.#content.getBoundingClientRect();
    this.#canvas.scrollBy(after.left + x * this.#scale - around.x, after.top + y * this.#scale - around.y);
  }

  by(steps: number): void {
    this.to(this.#scale * STEP ** steps);
  }

  /** Scrolls no more than is necessary. */
  bringIntoView({ x, y, width, height }: Rect): void {
    const seen = this.#canvas.getBoundingClientRect();
    const { left, top } = this.#content.getBoundingClientRect();
    const scale = this.#scale;
    const aside = excess(left + x * scale, width * scale, seen.left, seen.width);
    const down = excess(top + y * scale, height * scale, seen.top, seen.height);
    if (aside !== 0 || down !== 0) this.#canvas.scrollBy(aside, down);
  }

  #set(scale: number): void {
    this.#scale = Math.min(LARGEST, Math.max(SMALLEST, scale));
    this.#apply();
    this.#content.classList.add('zooming');
    clearTimeout(this.#settled);
    this.#settled = setTimeout(() => this.#content.classList.remove('zooming'), SETTLED_MS);
    this.#onChange(this.#scale);
  }

  #apply(): void {
    this.#sheet.style.setProperty('width', `${this.#width * this.#scale}px`);
    this.#sheet.style.setProperty('height', `${this.#height * this.#scale}px`);
    this.#content.style.setProperty('width', `${this.#width}px`);
    this.#content.style.setProperty('height', `${this.#height}px`);
    this.#content.style.setProperty('transform', this.#scale === 1 ? 'none' : `scale(${this.#scale})`);
  }

  #middle(): Point {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2 };
  }

  #onWheel(event: WheelEvent): void {
    // A trackpad reports two fingers as the wheel with Ctrl.
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.to(this.#scale * Math.exp(-event.deltaY / 400), { x: event.clientX, y: event.clientY });
  }

  #onPointerDown(event: PointerEvent): void {
    const isBackground = !(event.target instanceof Element && event.target.closest('button'));
    // Fingers scroll by themselves.
    if (event.button !== 0 || event.pointerType === 'touch' || !isBackground) return;
    const { clientX, clientY } = event;
    const { scrollLeft, scrollTop } = this.#canvas;
    const drag = new AbortController();
    const { signal } = drag;
    const move = (moved: PointerEvent): void => {
      this.#canvas.classList.add('dragged');
      this.#canvas.scrollTo(scrollLeft - (moved.clientX - clientX), scrollTop - (moved.clientY - clientY));
    };
    const drop = (): void => {
      this.#canvas.classList.remove('dragged');
      drag.abort();
    };
    this.#canvas.setPointerCapture(event.pointerId);
    this.#canvas.addEventListener('pointermove', move, { signal });
    this.#canvas.addEventListener('pointerup', drop, { signal });
    this.#canvas.addEventListener('pointercancel', drop, { signal });
  }

  #onTouch(event: TouchEvent): void {
    const start = pinch(event);
    if (!start) return;
    event.preventDefault();
    const scale = this.#scale;
    const fingers = new AbortController();
    const { signal } = fingers;
    const move = (moved: TouchEvent): void => {
      const now = pinch(moved);
      if (!now) return;
      moved.preventDefault();
      this.to(scale * (now.distance / start.distance), now.middle);
    };
    this.#canvas.addEventListener('touchmove', move, { signal, passive: false });
    this.#canvas.addEventListener('touchend', () => fingers.abort(), { signal });
    this.#canvas.addEventListener('touchcancel', () => fingers.abort(), { signal });
  }
}

function pinch({ touches }: TouchEvent): { readonly distance: number; readonly middle: Point } | undefined {
  const [one, other] = touches;
  if (!one || !other || touches.length > 2) return undefined;
  return {
    distance: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
    middle: { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 },
  };
}

/** How far to scroll so that a part is within what is seen. */
function excess(start: number, length: number, seenFrom: number, seen: number): number {
  const margin = Math.min(MARGIN, Math.max(0, (seen - length) / 2));
  if (start < seenFrom + margin) return start - seenFrom - margin;
  return Math.max(0, start + length - (seenFrom + seen - margin));
}
