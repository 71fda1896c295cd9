import type { Container, Key } from '@ambit/container';

const LONGEST = 200;

/** A key as text. */
export function label(key: Key): string {
  if (typeof key === 'function') return key.name || '(anonymous class)';
  return (typeof key === 'symbol' ? (key.description ?? 'a symbol') : key).slice(0, LONGEST);
}

/** The kind of a scope, from the tags of the outermost scope to its own: `application > request`. */
export function boxOf(lineage: readonly (readonly string[])[]): string {
  return lineage.map(nameOf).join(' > ');
}

export function boxBelow(parent: string, { tags }: Container): string {
  return `${parent} > ${nameOf(tags)}`;
}

export function lineageOf(scope: Container): (readonly string[])[] {
  return scope.parent ? [...lineageOf(scope.parent), scope.tags] : [scope.tags];
}

export function nameOf(tags: readonly string[]): string {
  return tags.join(', ').slice(0, LONGEST) || 'no tags';
}

/** The class of an error and its code or status. Its message may contain values, so it is not sent. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'something thrown';
  const { code, status, statusCode, cause } = error as Error &
    Partial<Record<'code' | 'status' | 'statusCode', unknown>>;
  // It only says that the transaction is over: its cause says why.
  if (code === 'AMBIT_TX_FINISHED' && cause !== undefined) return errorName(cause);
  if (typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code)) return `${error.constructor.name} ${code}`;
  const known = [statusCode, status].find((each) => typeof each === 'number' && each >= 400 && each < 600);
  return known === undefined ? error.constructor.name : `${error.constructor.name} ${Number(known)}`;
}

export function failure(error: unknown): { error?: string } {
  return error === undefined ? {} : { error: errorName(error) };
}
