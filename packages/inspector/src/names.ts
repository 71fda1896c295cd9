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

export function ms(milliseconds = 0): string {
  return milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds)} ms`;
}

export function nameOf(tags: readonly string[]): string {
  return tags.join(', ').slice(0, LONGEST) || 'no tags';
}
