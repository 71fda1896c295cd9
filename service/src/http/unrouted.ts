import { API_ENDPOINTS } from '../api/endpoints.js';
import { REFERENCE_PATHS } from '../api/reference-paths.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { normalizedPath, pathOf } from './request-head.js';

export const METRICS_PATH = '/metrics';

const ROUTES = [...API_ENDPOINTS, ...[...REFERENCE_PATHS, METRICS_PATH].map((path) => ({ method: 'GET', path }))];

/** Every path of the service, with its methods. */
const ADDRESSES = Array.from(new Set(ROUTES.map(({ path }) => path)), (path) => ({
  path,
  pattern: patternOf(path),
  methods: ROUTES.filter((route) => route.path === path).flatMap(withHead),
}));

/** The error for a request that matches no route: 405 if the path has other methods, otherwise 404. */
export function unrouted(target: string, { metrics }: Pick<Telemetry, 'metrics'> = {}): Problem {
  const path = normalizedPath(pathOf(target));
  const address = ADDRESSES.find(({ pattern }) => pattern.test(path));
  if (!address || (address.path === METRICS_PATH && !metrics))
    return new Problem(404, 'There is nothing at this address');
  const allow = address.methods.join(', ');
  return new Problem(405, `This address accepts ${allow} only`, { allow });
}

function withHead({ method }: { readonly method: string }): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function patternOf(path: string): RegExp {
  // A collection may also be requested with a trailing slash.
  const end = path.startsWith('/api/') && !path.endsWith('}') ? '/?' : '';
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}${end}$`);
}
