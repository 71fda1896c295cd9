import { elsewhere, write } from '../hand-written/elsewhere.mjs';
import { Application, mainPath } from '../hand-written/main-path.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written, awaited',
  scopes: 'a class',
  disposal: 'awaited',
  cliffs: true,
  write,
  setup(services, work) {
    const written = elsewhere[work]?.(services);
    if (written) return written;
    const app = new Application();
    const [Scope, visit] = mainPath[work.split(',')[0]];
    return {
      app,
      open: () => new Scope(app),
      get: (scope, key) => scope[key],
      close: (scope) => scope.dispose(),
      visit,
    };
  },
};
