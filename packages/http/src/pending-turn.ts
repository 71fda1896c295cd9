import { AsyncResource } from 'node:async_hooks';
import type { ActiveRequest } from './active-request.js';
import type { Connection } from './connection.js';
import type { Load } from './load.js';
import { onNextToLeave } from './node-internals.js';

/**
 * A request that waits until fewer requests of its connection are in progress. One whose response is the next to leave
 * begins at once: behind a middleware that takes its time others may have overtaken it, and they finish only after it.
 */
export class PendingTurn {
  readonly #load: Load;
  #isOver = false;

  /** Calls `begin` once, in the asynchronous context of this request, and not of the one that makes way for it. */
  constructor({ res }: ActiveRequest, connection: Connection, load: Load, begin: (hasTurn: boolean) => void) {
    this.#load = load;
    const beginOnce = (hasTurn: boolean): void => {
      if (this.#isOver) {
        if (hasTurn) connection.passTurn();
        return;
      }
      this.cancel();
      begin(hasTurn);
    };
    connection.waitForTurn(
      load,
      AsyncResource.bind(() => beginOnce(true)),
    );
    const beginAsNext = AsyncResource.bind(() => beginOnce(false));
    // Most often the response before it hands over its turn as it finishes.
    onNextToLeave(res, () => queueMicrotask(beginAsNext));
  }

  cancel(): void {
    if (!this.#isOver) this.#load.endWait();
    this.#isOver = true;
  }
}

/** Whether others finish only after this request, or, where a middleware is mounted twice, only with it. */
export function mayNotWait({ req, res, older }: ActiveRequest): boolean {
  let before = older;
  while (before && before.res !== res) before = before.older;
  return before !== undefined || res.socket !== null || req.httpVersionMajor > 1;
}
