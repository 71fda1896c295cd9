import { Container } from '../../../src/index.js';
import { drainScopes, inScope } from '../../../src/work.js';

/** What goes wrong with work outside of HTTP. */
export const working = {
  AMBIT_DRAINING: {
    'new work during shutdown': async () => {
      const app = new Container({ tags: ['application'] });
      await drainScopes(app);
      await inScope(app, {}, () => undefined);
    },
  },
  AMBIT_DRAIN_TIMEOUT: {
    'work that is still running when its time is up': async () => {
      const app = new Container({ tags: ['application'] });
      const work = inScope(
        app,
        {},
        (_scope, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      );
      await Promise.all([work, drainScopes(app, { timeoutMs: 0 })]);
    },
  },
  AMBIT_OPTION: {
    'a time that is no number': () => drainScopes(new Container(), { timeoutMs: '5s' as never }),
  },
};
