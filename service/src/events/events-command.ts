import type { Outbox } from '@ambit/outbox';
import { ExplainedError } from '../problem.js';

const USAGE = `npm run events -- list                shows the events that could not be delivered
npm run events -- retry <id> ...      sends these again, or all of them: npm run events -- retry all`;

/** Resolves to the lines to print. */
export type EventsCommand = (outbox: Pick<Outbox, 'deadLetters' | 'retry'>) => Promise<string[]>;

/** The command in these arguments; throws an ExplainedError with the usage if there is none. */
export function readEventsCommand([command, ...ids]: readonly string[]): EventsCommand {
  if (command === 'list' && ids.length === 0) return list;
  if (command === 'retry' && ids.length > 0) return (outbox) => retry(outbox, ids);
  throw new ExplainedError(USAGE, 64);
}

const MOST = 1000;

const list: EventsCommand = async (outbox) => {
  const letters = await outbox.deadLetters({ limit: MOST });
  if (letters.length === 0) return ['No event has failed for good.'];
  return letters.map(({ id, topic, key = '', attempt, diedAt, lastError }) =>
    [id, topic, key, `${attempt} attempts`, diedAt.toISOString(), lastError.replaceAll(/\s+/g, ' ')].join('\t'),
  );
};

async function retry(outbox: Pick<Outbox, 'retry'>, ids: readonly string[]): Promise<string[]> {
  const isAll = ids.length === 1 && ids[0] === 'all';
  const count = await outbox.retry(isAll ? 'all' : ids);
  const said = count === 1 ? '1 event is sent again' : `${count} events are sent again`;
  return [isAll || count === ids.length ? said : `${said}; the other ids are of no event that failed for good`];
}
