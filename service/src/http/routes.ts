import type { IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import { openApiDocument, PATHS } from '../api/document.js';
import { referencePage } from '../api/reference.js';
import type { HostOptions } from '../hosts/host.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { pathOf } from './request.js';
import { type HttpResponse, JSON_TYPE, jsonResponse, textResponse } from './response.js';

const METRICS_PATH = '/metrics';

/** Every path of the service, with its methods: HEAD where there is GET. */
const ADDRESSES = Object.entries({
  ...PATHS,
  '/docs': { get: {} },
  '/openapi.json': { get: {} },
  [METRICS_PATH]: { get: {} },
}).map(([path, operations]) => {
  const methods = ['get' in operations && 'GET, HEAD', 'post' in operations && 'POST'];
  // A collection may also be requested with a trailing slash.
  const end = path.startsWith('/api/') && !path.endsWith('}') ? '/?' : '';
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}${end}$`);
  return { path, pattern, allow: methods.filter(Boolean).join(', ') };
});

/** The error for a request that matches no route: 405 if the path has other methods, otherwise 404. */
export function unrouted(target: string, { metrics }: Pick<Telemetry, 'metrics'> = {}): Problem {
  const { path, allow } = ADDRESSES.find(({ pattern }) => pattern.test(pathOf(target))) ?? {};
  if (allow === undefined || (path === METRICS_PATH && !metrics))
    return new Problem(404, 'There is nothing at this address');
  return new Problem(405, `This address accepts ${allow} only`, { allow });
}

/** Served even when the service is overloaded: an instance that does not respond here would be restarted. */
const ESSENTIAL: ReadonlySet<unknown> = new Set(['/health/live', METRICS_PATH]);

export const isEssential = ({ url }: IncomingMessage): boolean => ESSENTIAL.has(url);

/** A GET route about the service itself, which both hosts mount as it is. */
interface ServiceRoute {
  readonly path: string;
  readonly respond: (request: { readonly container: IContainer }) => HttpResponse | Promise<HttpResponse>;
}

export function serviceRoutes({ telemetry }: Pick<HostOptions, 'telemetry'>): ServiceRoute[] {
  const metrics = telemetry?.metrics;
  const [page, document] = [referencePage(), textResponse(200, JSON_TYPE, openApiDocument())];
  const get = (path: string, respond: ServiceRoute['respond']): ServiceRoute => ({ path, respond });
  const routes = [
    get('/health/live', () => jsonResponse(200, { status: 'live' })),
    get('/health/ready', async ({ container }) => {
      const status = await container.resolve('IHealth').readiness();
      if (status !== 'ready') throw new Problem(503, `Not ready: ${status}`);
      return jsonResponse(200, { status });
    }),
    get('/docs', () => page),
    get('/openapi.json', () => document),
  ];
  if (metrics)
    // The content type that Prometheus expects.
    routes.push(
      get(METRICS_PATH, async () => textResponse(200, 'text/plain; version=0.0.4; charset=utf-8', await metrics())),
    );
  return routes;
}
