/** Keeps the last resolved object, so that the work is not optimised away. */
const sink = { value: undefined };
export const use = (value) => {
  sink.value = value;
};

/** Visits of an open scope, each with what it resolves. */
export const visits = {
  one: (get) => (scope) => use(get(scope, 'config')),

  three: (get) => (scope) => {
    use(get(scope, 'users'));
    use(get(scope, 'audit'));
    use(get(scope, 'context'));
  },

  last: (get) => (scope) => use(get(scope, 'd19')),
};

/**
 * @typedef {object} Work
 * @property {string} title
 * @property {keyof typeof visits} visits what is resolved, and checked
 * @property {keyof import('./graph.mjs').graphs} graph
 * @property {boolean} [disposable] something must be disposed
 * @property {boolean} [stays] it all happens in one scope that stays open
 */

/** @type {Record<string, Work>} */
export const works = {
  main: { title: 'open, resolve three that share one, dispose', visits: 'three', graph: 'small' },
  'main+end': {
    title: 'the same; the shared one has an async dispose',
    visits: 'three',
    graph: 'disposable',
    disposable: true,
  },
  deep: { title: 'open, resolve the last of 20 in a diamond chain, dispose', visits: 'last', graph: 'deep' },
  hit: { title: 'an application singleton from an open request scope', visits: 'one', graph: 'small', stays: true },
};

/** How many times hand-written code Ambit may cost at most, in the same run. @type {Record<string, number>} */
export const targets = { main: 2.5, 'main+end': 2.5, deep: 2.5, hit: 8 / 1.2 };
