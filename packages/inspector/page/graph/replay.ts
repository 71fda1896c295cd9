import type { RequestDetails, RequestSummary } from '../../src/wire.js';
import { shownFor, slowness } from './replay-pace.js';
import { fetchRequest } from '../stream/server.js';

/** What is played now. */
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
