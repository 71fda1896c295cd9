import type { Container, Key } from '@ambit/container';

const LONGEST = 200;

/** A key as text. */
export function label(key: Key): string {
  if (typeof key === 'function') return key.name || '(anonymous class)';
  return (typeof key === 'symbol' ? (key.description ?? 'a symbol') : key).slice(0, LONGEST);
}

/** The kind of scope that has these tags, and above it those: `application > request`. */
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

/** What an error is called. Its message may hold values, so it stays here. */
function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'something thrown';
  const { code } = error as { code?: unknown };
  const isName = typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code);
  return isName ? `${error.constructor.name} ${code}` : error.constructor.name;
}

export function failure(error: unknown): { error?: string } {
  return error === undefined ? {} : { error: errorName(error) };
}
