import type { RequestDetails, RequestSummary, Step } from '../src/wire.js';
import { fetchRequest } from './server.js';

/** Where a replay is shown. */
export interface Stage {
  begin(request: RequestDetails): void;
  step(request: RequestDetails, step: Step, slower: number): void;
  end(request: RequestDetails): void;
  /** No request is left to replay. */
  idle(): void;
}

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
const LONGEST = 7000;
const AFTERWARDS = 900;

/** Replays the newest complete requests in slow motion, one after another. */
export class Replay {
  readonly #stage: Stage;
  #next: number | undefined;
  #last = 0;
  #running = false;
  #shown = true;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** While the panel is hidden, no replay starts. */
  set shown(shown: boolean) {
    this.#shown = shown;
    if (shown && !this.#running) void this.#run();
  }

  /** Takes the newest one with a transaction, or else the newest. */
  offer(requests: readonly RequestSummary[]): void {
    const over = requests.filter(({ id, state, open }) => id > this.#last && state !== 'open' && open === 0);
    const best = over.findLast(({ outcome }) => outcome !== undefined) ?? over.at(-1);
    if (best) this.#next = best.id;
    if (!this.#running) void this.#run();
  }

  /** After a restart of the server, request ids start at 1 again. */
  reset(): void {
    this.#next = undefined;
    this.#last = 0;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#next !== undefined && this.#shown && !document.hidden) {
      const id = this.#next;
      this.#next = undefined;
      this.#last = Math.max(this.#last, id);
      const request = await fetchRequest(id).catch(() => undefined);
      if (request) await this.#play(request);
    }
    this.#running = false;
    this.#stage.idle();
  }

  async #play(request: RequestDetails): Promise<void> {
    const { steps } = request;
    const total = steps.reduce((sum, { kind }) => sum + SHOW_MS[kind], 0);
    const scale = Math.min(1, LONGEST / total);
    const took = steps.at(-1)?.at ?? 1;
    const slower = Math.max(1, Math.round((total * scale) / Math.max(took, 0.1)));
    this.#stage.begin(request);
    for (const step of steps) {
      this.#stage.step(request, step, slower);
      await pause(SHOW_MS[step.kind] * scale);
    }
    this.#stage.end(request);
    await pause(AFTERWARDS);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
