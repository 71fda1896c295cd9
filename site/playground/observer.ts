import type { Container, Key } from '@ambit/container';
import type { ScopeDeclaration } from '@ambit/container/tools';
import { subscribe } from '../../packages/container/dist/platform/web.js';
import { Drawing } from '../../packages/inspector/src/graph-view.js';
import { boxOf, label, lineageOf, nameOf } from '../../packages/inspector/src/names.js';
import type { Message, Step } from './messages.js';
import { onContainer } from './observed.js';

interface Declared {
  readonly tags: readonly string[];
  readonly registers: readonly Extract<Key, string>[];
  readonly scopes: Declared[];
}

/** Sends the graph of the newest container, and what happens in its scopes. */
export class Observer {
  readonly #send: (message: Message) => void;
  #container: Container | undefined;
  #scopes: Declared[] = [];
  /** While the graph is drawn, scopes are opened to ask them. */
  #isDrawing = false;

  constructor(send: (message: Message) => void) {
    this.#send = send;
    onContainer((container, scopes) => this.#note(container, scopes));
    this.#on('scope:opened', 'opened');
    this.#on('instance:created', 'created');
    this.#on('instance:disposed', 'disposed');
    this.#on('scope:closed', 'closed');
  }

  /** Once more when the program has finished: it may have registered something since. */
  draw(): void {
    const container = this.#container;
    if (!container || this.#isDrawing) return;
    this.#isDrawing = true;
    try {
      this.#send({ kind: 'graph', view: new Drawing(container, this.#scopes).view() });
    } catch {
      // The container is disposed: the graph from before stays.
    } finally {
      this.#isDrawing = false;
    }
  }

  #note(container: Container, scopes: readonly ScopeDeclaration[]): void {
    if (this.#container !== container) this.#scopes = [];
    this.#container = container;
    for (const declaration of scopes) declare(this.#scopes, declaration);
    if (scopes.length > 0) this.draw();
  }

  #on(channel: string, what: Step['what']): void {
    subscribe(`ambit:${channel}`, (message) => {
      if (this.#isDrawing) return;
      const { scope, key, error } = message as { scope: Container; key?: Key; error?: unknown };
      const lineage = lineageOf(scope);
      if (what === 'opened') declarePath(this.#scopes, lineage.slice(1));
      if (what === 'opened' || what === 'created') this.draw();
      const named = {
        ...(key !== undefined && { key: label(key) }),
        ...(error !== undefined && { error: asText(error) }),
      };
      this.#send({ kind: 'step', step: { what, box: boxOf(lineage), ...named } });
    });
  }
}

function declare(into: Declared[], { tags, registers = [], scopes = [] }: ScopeDeclaration): void {
  const known = into.find((one) => nameOf(one.tags) === nameOf(tags));
  const declared = known ?? { tags, registers: registers as Declared['registers'], scopes: [] };
  if (!known) into.push(declared);
  for (const inner of scopes) declare(declared.scopes, inner);
}

function declarePath(into: Declared[], lineage: readonly (readonly string[])[]): void {
  const [tags, ...below] = lineage;
  if (!tags) return;
  declare(into, { tags });
  const declared = into.find((one) => nameOf(one.tags) === nameOf(tags));
  if (declared) declarePath(declared.scopes, below);
}

/** A value as the console would print it, in one line where it is one. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === 'function') return `[Function: ${value.name || '(anonymous)'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    const text = JSON.stringify(value);
    const { name } = value.constructor ?? {};
    return Array.isArray(value) || name === undefined || name === 'Object' ? text : `${name} ${text}`;
  } catch {
    return Object.prototype.toString.call(value); // it refers to itself
  }
}
