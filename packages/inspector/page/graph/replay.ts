import { signal } from '@preact/signals';
import type { RequestDetails, RequestSummary, Step } from '../../src/wire.js';
import { fetchRequest } from '../stream/connection.js';
import { newsOf } from './caption.js';

/** How long a step is shown, in milliseconds: bad news longest, and what comes by the dozen most briefly. */
const SHOW_MS: Readonly<Partial<Record<Step['kind'], number>>> = {
  disposed: 160,
  connection: 250,
  created: 300,
  line: 300,
  arrived: 500,
  responded: 650,
  commit: 850,
};
const showMs = (step: Step): number => SHOW_MS[step.kind] ?? (newsOf(step) === 'bad' ? 1000 : 430);
/** All steps of a request together: long requests are shown faster. */
const LONGEST_MS = 7000;
const AFTERWARDS_MS = 900;

const total = (steps: readonly Step[]): number => steps.reduce((sum, step) => sum + showMs(step), 0);

const NOTHING = {
  request: undefined as RequestDetails | undefined,
  /** The number of the step that is shown; after the last step it is the number of steps. */
  position: 0,
  playing: false,
  /** Whether a newer request takes its place. */
  following: true,
  /** A newer one, which nothing but the user starts. */
  newer: undefined as RequestSummary | undefined,
};
export type ReplayState = Readonly<typeof NOTHING>;

/** Plays requests in slow motion: the newest ones, one after another, or one that the user holds. */
export class Replay {
  readonly state = signal<ReplayState>(NOTHING);
  readonly #reduced = matchMedia('(prefers-reduced-motion: reduce)');
  /** The user has chosen this request, so no other takes its place when it is over. */
  #chosen = false;
  #last = 0;
  #wanted = 0;
  #shown = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#playNewest());
  }

  /** While the panel is hidden, nothing moves. */
  set shown(shown: boolean) {
    this.#shown = shown;
    this.#set({});
    this.#playNewest();
  }

  /** How many times slower than the request its replay is. */
  get slower(): number {
    const { request } = this.state.value;
    const steps = request?.steps ?? [];
    const took = Math.max(steps.at(-1)?.at ?? 1, 0.1);
    return Math.max(1, Math.round(Math.min(LONGEST_MS, total(steps)) / took));
  }

  /** Takes the newest one with a transaction, or else the newest. */
  offer(requests: readonly RequestSummary[]): void {
    const over = requests.filter(
      ({ id, state, open, leaks }) => id > this.#last && state !== 'open' && (open === 0 || leaks > 0),
    );
    const newer = over.findLast(({ outcome }) => outcome !== undefined) ?? over.at(-1);
    if (!newer) return;
    this.state.value = { ...this.state.value, newer };
    this.#playNewest();
  }

  /** Plays this request, and stays with it. */
  async play(id: number): Promise<void> {
    this.#chosen = true;
    this.#set({ following: false });
    await this.#load(id, true);
  }

  /** Play, pause, or begin again. */
  toggle(): void {
    const { request, playing, position } = this.state.value;
    if (!request) return this.newest();
    const isOver = position >= request.steps.length;
    // A user who pauses wants to look at this one.
    this.#set({ playing: !playing, following: !playing && !this.#chosen, ...(!playing && isOver && { position: 0 }) });
  }

  seek(position: number): void {
    const { request } = this.state.value;
    if (!request) return;
    const within = Math.min(request.steps.length, Math.max(0, position));
    this.#set({ playing: false, following: false, position: within });
  }

  step(by: -1 | 1): void {
    const { request, position, newer } = this.state.value;
    if (request) this.seek(position + by);
    else if (newer) void this.#load(newer.id, false);
  }

  /** Goes on with the newest requests. */
  newest(): void {
    const { request, playing, newer } = this.state.value;
    this.#chosen = false;
    this.#set({ following: true });
    if (newer) void this.#load(newer.id, true);
    else if (request && !playing) this.toggle();
  }

  /** A restart of the server has other requests with the same ids. */
  reset(): void {
    this.#last = 0;
    this.#wanted++;
    this.#chosen = false;
    this.#set(NOTHING);
  }

  #playNewest(): void {
    const { following, playing, newer } = this.state.value;
    const isFree = following && !playing && !this.#reduced.matches;
    if (isFree && newer && this.#shown && !document.hidden) void this.#load(newer.id, true);
  }

  async #load(id: number, play: boolean): Promise<void> {
    const wanted = ++this.#wanted;
    this.#last = Math.max(this.#last, id);
    const { newer } = this.state.value;
    clearTimeout(this.#timer);
    // From here on no other one is taken.
    this.state.value = {
      ...this.state.value,
      playing: play,
      newer: newer && newer.id > this.#last ? newer : undefined,
    };
    const request = await fetchRequest(id).catch(() => undefined);
    // The server keeps only so many.
    if (wanted === this.#wanted) this.#set({ request, playing: play && request !== undefined, position: 0 });
  }

  /** Begins to wait for the next step, if it is playing. */
  #set(changes: Partial<ReplayState>): void {
    const state = { ...this.state.value, ...changes };
    this.state.value = state;
    clearTimeout(this.#timer);
    const { request, position, playing } = state;
    if (!playing || !this.#shown || !request) return;
    const step = request.steps[position];
    const rest = step ? showMs(step) * Math.min(1, LONGEST_MS / total(request.steps)) : AFTERWARDS_MS;
    this.#timer = setTimeout(() => this.#next(), rest);
  }

  #next(): void {
    const { request, position } = this.state.value;
    if (position < (request?.steps.length ?? 0)) return this.#set({ position: position + 1 });
    this.#set({ playing: false });
    this.#playNewest();
  }
}
