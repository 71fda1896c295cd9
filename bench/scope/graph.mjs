import { Audit, Config, Context, DisposableContext, Filler, Log, Pool, Users, chain } from './classes.mjs';
import { modules, tree } from './generated.mjs';

/**
 * @typedef {object} Service
 * @property {string} key
 * @property {new (...deps: any[]) => object} type
 * @property {string[]} deps keys, in the order of the constructor's parameters
 * @property {'app' | 'request' | 'request or job' | 'transaction'} lifetime
 * @property {boolean} [disposable] has an async `dispose()`
 * @property {'listed' | 'from scope' | 'decorated'} [made] not by its class: by a factory that gets the dependencies or the
 *   scope, or with a decorator around it
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

const everyRequestService = (change) => [...application, ...request.map((it) => ({ ...it, ...change }))];

/** Fills a graph up to `size` registrations, half application singletons and half request services. */
const fill = (services, size) => [
  ...services,
  ...Array.from({ length: Math.max(0, size - services.length) }, (_, i) =>
    service(i % 2 ? 'request' : 'app', `f${i}`, Filler, 'config'),
  ),
];

export const graphs = {
  small: (size) => fill([...application, ...request], size),
  disposable: (size) => fill([...application, ...disposable], size),
  deep: () => [...application, ...diamonds],
  listed: () => everyRequestService({ made: 'listed' }),
  'from scope': () => everyRequestService({ made: 'from scope' }),
  decorated: () => everyRequestService({ made: 'decorated' }),
  kinds: () => everyRequestService({ lifetime: 'request or job' }),
  levels: () => [...application, request[0], ...request.slice(1).map((it) => ({ ...it, lifetime: 'transaction' }))],
  ten: () => diamonds.slice(0, 10).map((it) => ({ ...it, lifetime: 'app' })),
  modules,
  tree,
  slots: (size) => [
    ...application,
    ...Array.from({ length: size }, (_, i) => service('request', `f${i}`, Filler, 'config')),
    ...request,
  ],
  big: (size) => fill([...application, ...request, ...diamonds.slice(0, 2)], size),
};
