import { createHook, executionAsyncResource } from 'node:async_hooks';
import { CallStack } from './finding.js';
import type { Contexts } from './rules.js';

/** The code that began an asynchronous call: its stack, and the code that had led there. */
interface Link {
  readonly stack: CallStack;
  readonly before: Link | undefined;
  readonly length: number;
}

/** A loop in a transaction may make one link after another. */
const LONGEST = 32;

/**
 * Follows the code of an open transaction from one asynchronous call to the next. Clients send much of what they are asked for in a later turn, where no line
 * of the application is in the stack any more.
 */
export class Trail {
  readonly #links = new WeakMap<object, Link>();
  readonly #hook: { disable(): unknown } | undefined;

  /** `begins` is called with each asynchronous call that the code of an open transaction begins, by the name that Node has for it. */
  constructor(contexts: Contexts, begins: (type: string, stack: CallStack) => void) {
    // Bun has hooks for process.nextTick() alone, and its executionAsyncResource() calls that: the two would call each other without end.
    if (process.versions['bun']) return;
    this.#hook = createHook({
      init: (_id, type, _trigger, resource) => {
        if (!contexts.watched) return;
        const stack = new CallStack();
        this.#links.set(resource, linkTo(this.#last, stack));
        begins(type, stack);
      },
    }).enable();
  }

  /** The stack of the running code; where that has no line of the application, the last one that has led to it. */
  stack(at = new CallStack()): CallStack {
    return at.place ? at : (placed(this.#last)?.stack ?? at);
  }

  stop(): void {
    this.#hook?.disable();
  }

  get #last(): Link | undefined {
    return this.#hook && this.#links.get(executionAsyncResource());
  }
}

function placed(link: Link | undefined): Link | undefined {
  let at = link;
  while (at && !at.stack.place) at = at.before;
  return at;
}

function linkTo(last: Link | undefined, stack: CallStack): Link {
  const isLong = last !== undefined && last.length >= LONGEST;
  const found = isLong ? placed(last) : last;
  const before = found && isLong ? { stack: found.stack, before: undefined, length: 1 } : found;
  return { stack, before, length: (before?.length ?? 0) + 1 };
}
