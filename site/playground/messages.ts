import type { GraphView } from '../../packages/inspector/src/wire.js';

/** What a program does with its scopes, as it happens. */
export interface Step {
  readonly what: 'opened' | 'created' | 'disposed' | 'closed';
  /** The kind of the scope: `application > request`. */
  readonly box: string;
  readonly key?: string;
  /** Why an instance failed to dispose. */
  readonly error?: string;
}

/** From the worker that runs a program, to the page. */
export type Message =
  | { readonly kind: 'log'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'graph'; readonly view: GraphView }
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'finished' };
