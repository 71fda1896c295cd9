import { API_ENDPOINTS } from '../api/endpoints.js';
import { REFERENCE_PATHS } from '../api/reference-paths.js';
import { Problem } from '../problem.js';
import { pathOf, plainAddress } from './request-address.js';

const ROUTES = [...API_ENDPOINTS, ...REFERENCE_PATHS.map((path) => ({ method: 'GET', path }))];

/** The paths there are, and what may be done with each. */
const ADDRESSES = Array.from(new Set(ROUTES.map(({ path }) => path)), (path) => ({
  pattern: patternOf(path),
  methods: ROUTES.filter((route) => route.path === path).flatMap(withHead),
}));

/** For a request that no route took: 405 where another method would do, 404 otherwise. */
export function unrouted(url: string): Problem {
  const path = pathOf(plainAddress(url));
  const address = ADDRESSES.find(({ pattern }) => pattern.test(path));
  if (!address) return new Problem(404, 'There is nothing at this address');
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
