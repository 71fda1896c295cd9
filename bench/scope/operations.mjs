/**
 * What is done `n` times in the works off the main path. Each is a loop of its own, as a shared one that calls it would cost as
 * much as the work.
 */
import { use } from './use.mjs';

export const REQUEST = ['request'];
export const JOB = ['job'];
export const TWO_TAGS = ['request', 'public'];

/** @type {Record<string, (running: import('./contestant.mjs').Running, visit: (scope: any) => void, again: () => import('./contestant.mjs').Running) => (n: number) => Promise<void>>} */
export const operations = {
  'two kinds':
    ({ app, child, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const scope = child(app, i & 1 ? JOB : REQUEST);
        visit(scope);
        await close(scope);
      }
    },

  'two tags':
    ({ app, child, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const scope = child(app, TWO_TAGS);
        visit(scope);
        await close(scope);
      }
    },

  'three levels':
    ({ open, transaction, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const request = open();
        const scope = transaction(request);
        visit(scope);
        await close(scope);
        await close(request);
      }
    },

  'a value':
    ({ open, value, get, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const scope = open();
        value(scope, 'session', { id: i });
        use(get(scope, 'session'));
        visit(scope);
        await close(scope);
      }
    },

  'a factory':
    ({ open, register, get, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const scope = open();
        register(scope, 'session', () => ({ id: i }));
        use(get(scope, 'session'));
        visit(scope);
        await close(scope);
      }
    },

  'a new key': ({ open, register, get, close }, visit) => {
    let number = 0;
    return async (n) => {
      for (let i = 0; i < n; i++) {
        const key = `session${number++}`;
        const scope = open();
        register(scope, key, () => ({ id: i }));
        use(get(scope, key));
        visit(scope);
        await close(scope);
      }
    };
  },

  'a late factory':
    ({ open, child, register, get, close }, visit) =>
    async (n) => {
      for (let i = 0; i < n; i++) {
        const request = open();
        const scope = child(request, JOB);
        register(request, 'session', () => ({ id: i }));
        use(get(scope, 'session'));
        visit(request);
        await close(scope);
        await close(request);
      }
    },

  '300 tags': (running, visit) => tagged(running, visit, 300),
  '5,000 tags': (running, visit) => tagged(running, visit, 5000),

  'a container': (_running, _visit, again) => async (n) => {
    for (let i = 0; i < n; i++) {
      const { app, get, close } = again();
      use(get(app, 'd9'));
      await close(app);
    }
  },
};

function tagged({ app, tagged: open, close }, visit, count) {
  const tenants = Array.from({ length: count }, (_, i) => `tenant${i}`);
  let number = 0;
  return async (n) => {
    for (let i = 0; i < n; i++) {
      const scope = open(app, 'request', tenants[number++ % count]);
      visit(scope);
      await close(scope);
    }
  };
}
