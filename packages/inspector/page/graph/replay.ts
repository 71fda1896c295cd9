import type { RequestDetails, RequestSummary, Step } from '../../src/wire.js';
import { h, svg } from '../dom.js';
import { fetchRequest } from '../stream/connection.js';

/** How long each step is shown, in milliseconds. */
const SHOW_MS: Record<Step['kind'], number> = {
  arrived: 500,
  'scope opened': 450,
  created: 300,
  failed: 1000,
  connection: 250,
  'no connection': 900,
  begin: 450,
  statement: 420,
  commit: 850,
  rollback: 1000,
  'commit unknown': 1000,
  finding: 1000,
  line: 300,
  responded: 650,
  aborted: 1000,
  disposed: 160,
  'scope closed': 420,
};
/** All steps of a request together: long requests are shown faster. */
const LONGEST = 7000;

/** How long a step of a request with these steps is shown. */
function shownFor({ kind }: Step, steps: readonly Step[]): number {
  return SHOW_MS[kind] * Math.min(1, LONGEST / total(steps));
}

/** How many times slower than the request its replay is. */
function slowness(steps: readonly Step[], speed: number): number {
  const took = Math.max(steps.at(-1)?.at ?? 1, 0.1);
  return Math.max(1, Math.round(Math.min(LONGEST, total(steps)) / took / speed));
}

function total(steps: readonly Step[]): number {
  return steps.reduce((sum, { kind }) => sum + SHOW_MS[kind], 0);
}

export interface ReplayState {
  readonly request: RequestDetails | undefined;
  /** The number of the step that is shown; after the last step it is the number of steps. */
  readonly position: number;
  readonly playing: boolean;
  /** Whether a newer request takes its place. */
  readonly following: boolean;
  /** Whether there is a newer one, which nothing but the user starts. */
  readonly newer: RequestSummary | undefined;
  readonly repeat: boolean;
  /** How many times slower than the request. */
  readonly slower: number;
}

const AFTERWARDS = 900;

/** Plays requests in slow motion: the newest ones, one after another, or one that the user holds. */
export class Replay {
  readonly #onChange: (state: ReplayState, moved: 'jump' | 'next' | 'no') => void;
  readonly #reduced = matchMedia('(prefers-reduced-motion: reduce)');
  #request: RequestDetails | undefined;
  #position = 0;
  #playing = false;
  #following = true;
  /** The user has chosen this request, so no other takes its place when it is over. */
  #chosen = false;
  #repeat = false;
  #speed = 1;
  #newer: RequestSummary | undefined;
  #last = 0;
  #wanted = 0;
  #shown = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onChange: (state: ReplayState, moved: 'jump' | 'next' | 'no') => void) {
    this.#onChange = onChange;
    document.addEventListener('visibilitychange', () => this.#playNewest());
  }

  /** While the panel is hidden, nothing moves. */
  set shown(shown: boolean) {
    this.#shown = shown;
    this.#schedule();
    this.#playNewest();
  }

  set repeat(repeat: boolean) {
    this.#repeat = repeat;
    this.#changed('no');
  }

  set speed(speed: number) {
    this.#speed = speed;
    this.#schedule();
    this.#changed('no');
  }

  /** Takes the newest one with a transaction, or else the newest. */
  offer(requests: readonly RequestSummary[]): void {
    const over = requests.filter(
      ({ id, state, open, leaks }) => id > this.#last && state !== 'open' && (open === 0 || leaks > 0),
    );
    const best = over.findLast(({ outcome }) => outcome !== undefined) ?? over.at(-1);
    if (!best) return;
    this.#newer = best;
    if (!this.#playNewest()) this.#changed('no');
  }

  /** Plays this request, and stays with it. */
  async play(id: number): Promise<void> {
    this.#chosen = true;
    this.#following = false;
    await this.#load(id, true);
  }

  /** Play, pause, or begin again. */
  toggle(): void {
    if (!this.#request) return this.newest();
    this.#playing = !this.#playing;
    // A user who pauses wants to look at this one.
    this.#following = this.#playing && !this.#chosen;
    if (this.#playing && this.#position >= this.#request.steps.length) this.#position = 0;
    this.#schedule();
    this.#changed('jump');
  }

  seek(position: number): void {
    if (!this.#request) return;
    this.#playing = false;
    this.#following = false;
    this.#position = Math.min(this.#request.steps.length, Math.max(0, position));
    this.#schedule();
    this.#changed('jump');
  }

  step(by: -1 | 1): void {
    if (this.#request) this.seek(this.#position + by);
    else if (this.#newer) void this.#load(this.#newer.id, false);
  }

  /** Goes on with the newest requests. */
  newest(): void {
    this.#chosen = false;
    this.#following = true;
    if (this.#newer) void this.#load(this.#newer.id, true);
    else if (this.#request && !this.#playing) this.toggle();
    else this.#changed('no');
  }

  /** A restart of the server has other requests with the same ids. */
  reset(): void {
    this.#request = undefined;
    this.#newer = undefined;
    this.#last = 0;
    this.#wanted++;
    this.#playing = false;
    this.#following = true;
    this.#chosen = false;
    this.#schedule();
    this.#changed('jump');
  }

  /** Whether it has begun to. */
  #playNewest(): boolean {
    const isFree = this.#following && !this.#playing && !this.#reduced.matches;
    if (!isFree || !this.#newer || !this.#shown || document.hidden) return false;
    void this.#load(this.#newer.id, true);
    return true;
  }

  async #load(id: number, play: boolean): Promise<void> {
    const wanted = ++this.#wanted;
    this.#last = Math.max(this.#last, id);
    if (this.#newer && this.#newer.id <= this.#last) this.#newer = undefined;
    // From here on no other one is taken.
    this.#playing = play;
    clearTimeout(this.#timer);
    const request = await fetchRequest(id).catch(() => undefined);
    if (wanted !== this.#wanted) return;
    // The server keeps only so many.
    this.#playing = play && request !== undefined;
    this.#request = request;
    this.#position = 0;
    this.#schedule();
    this.#changed('jump');
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (!this.#playing || !this.#shown || !this.#request) return;
    const { steps } = this.#request;
    const step = steps[this.#position];
    const rest = step ? shownFor(step, steps) : AFTERWARDS;
    this.#timer = setTimeout(() => this.#next(), rest / this.#speed);
  }

  #next(): void {
    const length = this.#request?.steps.length ?? 0;
    if (this.#position < length) {
      this.#position++;
      this.#schedule();
      this.#changed('next');
    } else if (this.#repeat) {
      this.#position = 0;
      this.#schedule();
      this.#changed('jump');
    } else {
      this.#playing = false;
      if (!this.#playNewest()) this.#changed('no');
    }
  }

  #changed(moved: 'jump' | 'next' | 'no'): void {
    const steps = this.#request?.steps ?? [];
    this.#onChange(
      {
        request: this.#request,
        position: this.#position,
        playing: this.#playing,
        following: this.#following,
        newer: this.#newer,
        repeat: this.#repeat,
        slower: slowness(steps, this.#speed),
      },
      moved,
    );
  }
}

const ICONS = {
  back: 'M3 3h2v10H3z M13 3v10L6 8z',
  forward: 'M11 3h2v10h-2z M3 3v10l7-5z',
  pause: 'M4 3h3v10H4z M9 3h3v10H9z',
  play: 'M4 2.5v11L13 8z',
  repeat: 'M4 5h7V3l3.5 3L11 9V7H4v2H2V7a2 2 0 0 1 2-2z M12 11H5v2l-3.5-3L5 7v2h7V7h2v2a2 2 0 0 1-2 2z',
} as const;
const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** The buttons of a replay, and the bar that shows how far it is and can be dragged. */
export class ReplayControls {
  readonly buttons: HTMLElement;
  readonly bar = h('input', {
    type: 'range',
    class: 'scrub',
    min: '0',
    value: '0',
    'aria-label': 'Step of the request',
  });
  readonly #back = button('back', 'Step back');
  readonly #play = button('play', 'Play');
  readonly #forward = button('forward', 'Step forward');
  readonly #repeat = button('repeat', 'Repeat');
  readonly #newest = h('button', { class: 'newest' }, 'Newest');

  constructor(replay: () => Replay) {
    const speed = h('select', { 'aria-label': 'Speed' });
    for (const times of SPEEDS) speed.append(h('option', { value: String(times) }, `${times}×`));
    speed.value = '1';
    this.buttons = h(
      'div',
      { class: 'player', role: 'group', 'aria-label': 'Replay' },
      this.#newest,
      this.#back,
      this.#play,
      this.#forward,
      this.#repeat,
      speed,
    );
    this.#back.addEventListener('click', () => replay().step(-1));
    this.#forward.addEventListener('click', () => replay().step(1));
    this.#play.addEventListener('click', () => replay().toggle());
    this.#newest.addEventListener('click', () => replay().newest());
    this.#repeat.addEventListener('click', () => {
      replay().repeat = this.#repeat.getAttribute('aria-pressed') !== 'true';
    });
    speed.addEventListener('change', () => {
      replay().speed = Number(speed.value);
    });
    this.bar.addEventListener('input', () => replay().seek(Number(this.bar.value)));
  }

  /** `text` is what the current step says. */
  show({ request, position, playing, following, newer, repeat }: ReplayState, text: string): void {
    const length = request?.steps.length ?? 0;
    const isIdle = !request && !newer;
    this.buttons.toggleAttribute('inert', isIdle);
    this.bar.toggleAttribute('inert', !request);
    this.bar.max = String(length);
    this.bar.value = String(request ? position : 0);
    this.bar.setAttribute('aria-valuetext', `${position} of ${length}: ${text}`);
    this.#back.disabled = !request || position === 0;
    this.#forward.disabled = request !== undefined && position >= length;
    this.#repeat.setAttribute('aria-pressed', String(repeat));
    this.#newest.classList.toggle('away', following);
    name(this.#play, playing ? 'pause' : 'play', playing ? 'Pause' : 'Play');
  }
}

function button(icon: keyof typeof ICONS, label: string): HTMLButtonElement {
  const made = h('button', { class: 'icon' });
  name(made, icon, label);
  return made;
}

/** Changes the icon only when it is another one, so that a pressed button stays the same element. */
function name(of: HTMLButtonElement, icon: keyof typeof ICONS, label: string): void {
  if (of.getAttribute('aria-label') === label) return;
  of.setAttribute('aria-label', label);
  of.setAttribute('title', label);
  of.replaceChildren(svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: ICONS[icon] })));
}
