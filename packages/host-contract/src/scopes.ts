import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Container } from '@ambit/container';
import type { Happenings } from './events.js';

interface Life {
  readonly tag: string;
  ends: number;
}

/** Every scope that was opened under one application, and how often it ended. */
export class ScopeLedger {
  readonly #happenings: Happenings;
  readonly #lives: Life[] = [];
  /** Weak, so that a test can see a scope being forgotten. */
  readonly #lifeOf = new WeakMap<object, Life>();

  constructor(happenings: Happenings) {
    this.#happenings = happenings;
  }

  opened(scope: object, tag: string): void {
    const life = { tag, ends: 0 };
    this.#lives.push(life);
    this.#lifeOf.set(scope, life);
    this.#happenings.tell();
  }

  ended(scope: object): void {
    const life = this.#lifeOf.get(scope);
    if (life) life.ends += 1;
    this.#happenings.tell();
  }

  /** How many scopes with this tag were opened so far. */
  count(tag: string): number {
    return this.#lives.filter((life) => life.tag === tag).length;
  }

  get open(): string[] {
    return this.#tagsOf((life) => life.ends === 0);
  }

  get endedTwice(): string[] {
    return this.#tagsOf((life) => life.ends > 1);
  }

  /** Resolves when `times` scopes with this tag are open or were. */
  opens(tag: string, times = 1): Promise<void> {
    return this.#happenings.until(() => this.count(tag) >= times, `${times} scopes tagged ${tag} were opened`);
  }

  /** Resolves when no more than `count` scopes are open. */
  until(count: number): Promise<void> {
    return this.#happenings.until(() => this.open.length <= count, `${count} scopes are open`);
  }

  /** Resolves when no scope is open. */
  allEnd(): Promise<void> {
    return this.#happenings.until(() => this.open.length === 0, 'every scope is disposed');
  }

  /** Follows all scopes below `app`; returns what stops it. */
  follow(app: Container): () => void {
    const isOurs = (scope: Container): boolean => {
      let root = scope;
      while (root.parent) root = root.parent;
      return root === app;
    };
    const onOpened = (message: unknown): void => {
      const { scope } = message as { scope: Container };
      if (!isOurs(scope)) return;
      this.opened(scope, scope.tags.join(' '));
      scope.defer(() => this.ended(scope));
    };
    subscribe('ambit:scope:opened', onOpened);
    return () => unsubscribe('ambit:scope:opened', onOpened);
  }

  #tagsOf(isSo: (life: Life) => boolean): string[] {
    return this.#lives.filter(isSo).map((life) => life.tag);
  }
}
