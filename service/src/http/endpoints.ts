import { API_ENDPOINTS } from '../api/endpoints.js';
import { REFERENCE_PATHS } from '../api/reference-paths.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { METRICS_PATH } from './metrics.js';
import { pathOf, plainPath } from './request-address.js';

const ROUTES = [...API_ENDPOINTS, ...[...REFERENCE_PATHS, METRICS_PATH].map((path) => ({ method: 'GET', path }))];

/** The paths there are, and what may be done with each. */
const ADDRESSES = Array.from(new Set(ROUTES.map(({ path }) => path)), (path) => ({
  path,
  pattern: patternOf(path),
  methods: ROUTES.filter((route) => route.path === path).flatMap(withHead),
}));

/** For a request that no route took: 405 where another method would do, 404 otherwise. */
export function unrouted(target: string, { metrics }: Pick<Telemetry, 'metrics'> = {}): Problem {
  const path = plainPath(pathOf(target));
  const address = ADDRESSES.find(({ pattern }) => pattern.test(path));
  if (!address || (address.path === METRICS_PATH && !metrics))
    return new Problem(404, 'There is nothing at this address');
  const allow = address.methods.join(', ');
  return new Problem(405, `This address answers ${allow} only`, { allow });
}

function withHead({ method }: { readonly method: string }): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function patternOf(path: string): RegExp {
  // A collection may also be written with a slash at its end.
  const end = path.startsWith('/api/') && !path.endsWith('}') ? '/?' : '';
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}${end}$`);
}
