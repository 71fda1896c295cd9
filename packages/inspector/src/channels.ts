import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** The channels whose messages could not be recorded. */
const failing = new Set<string>();

/**
 * Subscribes to diagnostics channels; the returned function stops that. Node exits for an error that a subscriber throws, so none
 * leaves from here: the application goes on, and loses at most a record.
 */
export function subscribeAll<M>(handlers: Readonly<Record<string, (message: M) => void>>): () => void {
  const listeners = Object.entries(handlers).map(([name, handle]) => {
    const listener = (message: unknown): void => {
      try {
        handle(message as M);
      } catch {
        warn(name);
      }
    };
    return [name, listener] as const;
  });
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
}

/** Once for each channel, and without the message of the error, which may contain values. */
function warn(name: string): void {
  if (failing.has(name)) return;
  failing.add(name);
  process.emitWarning(`The inspector could not record a message of ${name}`, { type: 'InspectorWarning' });
}
