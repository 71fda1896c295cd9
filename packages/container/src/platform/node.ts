/** The functions of Node, Bun and Deno that the container uses. `web.ts` has the same for browsers and Workers. */
import { setTimeout } from 'node:timers';

export { AsyncLocalStorage } from 'node:async_hooks';
export { channel } from 'node:diagnostics_channel';
export { subscribe, unsubscribe } from 'node:diagnostics_channel';
export { setMaxListeners } from 'node:events';
export { inspect } from 'node:util';
// Tests replace the global one.
export { setTimeout };
