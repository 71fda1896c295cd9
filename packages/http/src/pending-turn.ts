import { AsyncResource } from 'node:async_hooks';
import type { ConnectedRequest } from './connection-parts.js';
import type { Connection } from './connection.js';
import type { Load } from './load.js';
import { onNextToLeave } from './node-internals.js';

interface TurnListener {
  /** Called when the request counts as one that is in progress on its connection; `passTurn()` must follow. */
  readonly take: () => void;
  /** Called once, in the asynchronous context of this request, and not of the one that makes way for it. */
  readonly begin: () => void;
}

/**
 * A request that waits until fewer requests of its connection are in progress. One whose response is the next to leave
 * begins at once: behind a middleware that takes its time others may have overtaken it, and they finish only after it.
 */
export class PendingTurn {
  readonly #load: Load;
  readonly #begin: () => void;
  #isOver = false;

  constructor(request: ConnectedRequest, connection: Connection, load: Load, { take, begin }: TurnListener) {
    this.#load = load;
    this.#begin = AsyncResource.bind(begin);
    const onTurn = (): void => {
      if (request.isFinished) return connection.passTurn();
      take();
      this.#beginOnce();
    };
    connection.waitForTurn(load, onTurn);
    const beginNext = (): void => {
      if (this.#isOver) return;
      if (connection.isFull) load.soon(() => this.#beginOnce());
      else connection.putFirst(onTurn);
    };
    // Most often the response before it hands over its turn as it finishes.
    onNextToLeave(request.res, () => queueMicrotask(beginNext));
  }

  cancel(): void {
    if (!this.#isOver) this.#load.endWait();
    this.#isOver = true;
  }

  #beginOnce(): void {
    if (this.#isOver) return;
    this.cancel();
    this.#begin();
  }
}

/** Whether others finish only after this request, or, where a middleware is mounted twice, only with it. */
export function mayNotWait({ req, res, older }: ConnectedRequest): boolean {
  let before = older;
  while (before && before.res !== res) before = before.older;
  return before !== undefined || res.socket !== null || req.httpVersionMajor > 1;
}
