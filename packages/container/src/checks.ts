import { ago } from './age.js';
import type { Container } from './container.js';
import { ContainerError, show } from './errors.js';
import type { Key } from './keys.js';

export function refuse(about: string, hint: string, key?: Key): never {
  throw new ContainerError('AMBIT_BAD_REGISTRATION', { about, hint, key });
}

export function checkFunction(value: unknown, where: string, wanted: string, key?: Key): void {
  if (typeof value !== 'function') refuse(`${where} got ${show(value)}`, `pass ${wanted}`, key);
}

export function checkKey(key: unknown, where: string): void {
  if (typeof key !== 'string' && typeof key !== 'symbol' && typeof key !== 'function')
    refuse(`${where} got ${show(key)}`, 'a key is a string, a symbol or a class');
}

export function checkedTags(tags: readonly string[]): readonly string[] {
  if (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')) return Object.freeze([...tags]);
  throw new ContainerError('AMBIT_BAD_TAGS', { about: show(tags), hint: "write { tags: ['request'] }" });
}

/** Throws if the scope has ended. */
export function refuseEnded(scope: Container, doing: string, key?: Key): void {
  if (!scope.closed) return;
  throw new ContainerError('AMBIT_DISPOSED', {
    key,
    about: `${doing}(${key === undefined ? '' : show(key)})`,
    tags: scope.shape.lineage,
    hint: `it was opened ${ago(scope.opened)}, and something outlived it: await all its work before dispose(), or use a scope that lives on`,
  });
}
