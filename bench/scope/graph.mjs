import { Audit, Config, Context, DisposableContext, Log, Pool, Users, chain } from './classes.mjs';

/**
 * @typedef {object} Service
 * @property {string} key
 * @property {new (...deps: any[]) => object} type
 * @property {string[]} deps keys, in the order of the constructor's parameters
 * @property {'app' | 'request'} lifetime
 * @property {boolean} [disposable] has an async `dispose()`
 */

/** @type {(lifetime: Service['lifetime'], key: string, type: Service['type'], ...deps: string[]) => Service} */
const service = (lifetime, key, type, ...deps) => ({ key, type, deps, lifetime });

const application = [
  service('app', 'config', Config),
  service('app', 'pool', Pool, 'config'),
  service('app', 'log', Log, 'config'),
];
const request = [
  service('request', 'context', Context, 'config'),
  service('request', 'users', Users, 'pool', 'context'),
  service('request', 'audit', Audit, 'log', 'context'),
];
const disposable = [
  { ...service('request', 'context', DisposableContext, 'config'), disposable: true },
  ...request.slice(1),
];

const diamonds = chain.map((type, i) =>
  service('request', `d${i}`, type, ...[i - 2, i - 1].filter((j) => j >= 0).map((j) => `d${j}`)),
);

export const graphs = {
  small: [...application, ...request],
  disposable: [...application, ...disposable],
  deep: [...application, ...diamonds],
};
