import { subscribeAll } from './channels.js';
import { errorName } from './error-names.js';
import type { Recorder } from './recorder.js';
import { Where } from './where.js';

interface Message {
  readonly table: string;
  readonly lag: number;
  readonly pending: number;
  readonly error?: unknown;
}

/** An event that waits for longer, although the relay runs, is trouble. */
const LONG_LAG_MS = 10_000;

/** Records events that are not delivered: why, and for how long they have waited. The returned function stops that. */
export function outboxOf(recorder: Recorder): () => void {
  /** Of each table the last failure. */
  const failures = new Map<
    string,
    { readonly at: number; readonly error: string; readonly where: string | undefined }
  >();
  return subscribeAll<Message>({
    'ambit:outbox:failed': ({ table, error: thrown }) => {
      const error = errorName(thrown);
      const where = thrown instanceof Error ? new Where(thrown).line : undefined;
      failures.set(table, { at: performance.now(), error, where });
      recorder.noticed({
        kind: 'outbox',
        cause: `A delivery of ${table} failed: ${error}`,
        about: table,
        error,
        where,
      });
    },
    'ambit:outbox:backlog': ({ table, lag, pending }) => {
      if (lag < LONG_LAG_MS) return;
      const waits = `The oldest of ${pending} events of ${table} has waited for ${Math.round(lag / 1000)} s`;
      const failure = failures.get(table);
      // Others may have been delivered since: what counts is that one failed while this one waited.
      if (failure && performance.now() - failure.at <= lag) {
        const { error, where } = failure;
        recorder.noticed({
          kind: 'outbox',
          cause: `${waits}; a delivery failed meanwhile: ${error}`,
          about: table,
          error,
          where,
        });
      } else {
        const cause = `${waits}; no delivery failed meanwhile, so the relay or the receiver is slow`;
        recorder.noticed({ kind: 'outbox', cause, about: table });
      }
    },
  });
}
