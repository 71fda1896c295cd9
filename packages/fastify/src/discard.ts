/** A stream that waits fails for nobody: without a listener its error would crash the process. */
export function ignoreErrors(payload: unknown): void {
  const { on } = Object(payload) as { on?: unknown };
  if (typeof on === 'function') on.call(payload, 'error', () => undefined);
}

/** Closes a response stream, of Node or of the web, that will not be sent. */
export function discard(payload: unknown): void {
  ignoreErrors(payload);
  const { destroy, cancel, body } = Object(payload) as { destroy?: unknown; cancel?: unknown; body?: unknown };
  if (typeof destroy === 'function') destroy.call(payload);
  else if (typeof cancel === 'function') (cancel.call(payload) as Promise<void>).catch(() => undefined);
  else if (payload instanceof Response) discard(body);
}
