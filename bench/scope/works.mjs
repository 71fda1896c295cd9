/** Keeps the last resolved object, so that the work is not optimised away. */
const sink = { value: undefined };
export const use = (value) => {
  sink.value = value;
};

/** What is resolved in an open scope. Keys become tokens beforehand, for contestants that need tokens. */
export const visits = {
  nothing: () => () => {},

  one(get, key) {
    const config = key('config');
    return (scope) => use(get(scope, config));
  },

  three(get, key) {
    const [users, audit, context] = ['users', 'audit', 'context'].map(key);
    return (scope) => {
      use(get(scope, users));
      use(get(scope, audit));
      use(get(scope, context));
    };
  },

  five(get, key) {
    const three = visits.three(get, key);
    const [d0, d1] = ['d0', 'd1'].map(key);
    return (scope) => {
      three(scope);
      use(get(scope, d0));
      use(get(scope, d1));
    };
  },

  last(get, key) {
    const d19 = key('d19');
    return (scope) => use(get(scope, d19));
  },
};

/**
 * @typedef {object} Work
 * @property {string} title
 * @property {keyof typeof visits} visits what is resolved, and checked
 * @property {keyof import('./graph.mjs').graphs} graph
 * @property {number} size registrations in the container
 * @property {number} live scopes that stay open meanwhile
 * @property {boolean} [disposable] something must be disposed
 * @property {boolean} [stays] it all happens in one scope that stays open
 */

/** @type {(title: string, visits: Work['visits'], more?: Partial<Work>) => Work} */
const work = (title, visited, more) => ({ title, visits: visited, graph: 'small', size: 6, live: 0, ...more });

/** @type {Record<string, Work>} */
export const works = {
  main: work('open, resolve three that share one, dispose', 'three'),
  'main+end': work('the same; the shared one has an async dispose', 'three', { graph: 'disposable', disposable: true }),
  deep: work('open, resolve the last of 20 in a diamond chain, dispose', 'last', { graph: 'deep' }),
  empty: work('open, dispose', 'nothing'),
  hit: work('an application singleton from an open request scope', 'one', { stays: true }),
  big: work('5,000 registrations: open, resolve five, dispose', 'five', { graph: 'big', size: 5000 }),
  live: work('main with 10,000 scopes open', 'three', { live: 10_000 }),
  'main, 20 registrations': work('', 'three', { size: 20 }),
  'main, 5,000 registrations': work('', 'three', { size: 5000 }),
  'empty, 20 registrations': work('', 'nothing', { size: 20 }),
  'empty, 5,000 registrations': work('', 'nothing', { size: 5000 }),
};

/** Measured next to one another in one contestant: what grows with registrations, or with open scopes? */
export const flatness = [
  'empty, 20 registrations',
  'empty, 5,000 registrations',
  'main, 20 registrations',
  'main, 5,000 registrations',
  'main',
  'live',
];

/** How many times hand-written code Ambit may cost at most, in the same run. @type {Record<string, number>} */
export const targets = { main: 2.5, 'main+end': 2.5, deep: 2.5, hit: 8 / 1.2 };
