import type { IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import { API_ENDPOINTS } from '../api/document.js';
import { REFERENCE_PATHS, referenceResponses } from '../api/reference.js';
import type { HostOptions } from '../hosts/host.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { normalizedPath, pathOf } from './request.js';
import { type HttpResponse, jsonResponse, textResponse } from './response.js';

const METRICS_PATH = '/metrics';

/** The methods of every path of the service, HEAD where there is GET. */
const ADDRESSES = new Map<string, string[]>();
for (const { method, path } of [
  ...API_ENDPOINTS,
  ...[...REFERENCE_PATHS, METRICS_PATH].map((name) => ({ method: 'GET', path: name })),
])
  ADDRESSES.set(path, [...(ADDRESSES.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);

const PATTERNS = Array.from(ADDRESSES.keys(), (path) => ({ path, pattern: patternOf(path) }));

/** The error for a request that matches no route: 405 if the path has other methods, otherwise 404. */
export function unrouted(target: string, { metrics }: Pick<Telemetry, 'metrics'> = {}): Problem {
  const path = normalizedPath(pathOf(target));
  const address = PATTERNS.find(({ pattern }) => pattern.test(path))?.path;
  if (address === undefined || (address === METRICS_PATH && !metrics))
    return new Problem(404, 'There is nothing at this address');
  const allow = (ADDRESSES.get(address) ?? []).join(', ');
  return new Problem(405, `This address accepts ${allow} only`, { allow });
}

function patternOf(path: string): RegExp {
  // A collection may also be requested with a trailing slash.
  const end = path.startsWith('/api/') && !path.endsWith('}') ? '/?' : '';
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}${end}$`);
}

/** Served even when the service is overloaded: an instance that does not respond here would be restarted. */
const ESSENTIAL: ReadonlySet<unknown> = new Set(['/health/live', METRICS_PATH]);

export const isEssential = ({ url }: IncomingMessage): boolean => ESSENTIAL.has(url);

interface ServiceRequest {
  readonly container: IContainer;
  readonly params: unknown;
}

/** A route about the service itself, which both hosts mount as it is. */
interface ServiceRoute {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly respond: (request: ServiceRequest) => HttpResponse | Promise<HttpResponse>;
}

export function serviceRoutes({
  inspect,
  identify,
  telemetry,
  sandboxes,
}: Omit<HostOptions, 'logger'>): ServiceRoute[] {
  const metrics = telemetry?.metrics;
  const page = { inspector: inspect && `${inspect.path ?? '/inspector'}/`, authenticates: identify !== undefined };
  const get = (path: string, respond: ServiceRoute['respond']): ServiceRoute => ({ method: 'get', path, respond });
  const routes = [
    get('/health/live', () => jsonResponse(200, { status: 'live' })),
    get('/health/ready', async ({ container }) => {
      const status = await container.resolve('IHealth').readiness();
      if (status !== 'ready' && status !== 'read-only') throw new Problem(503, `Not ready: ${status}`);
      return jsonResponse(200, { status });
    }),
    ...referenceResponses(page).map(([path, respond]) => get(path, respond)),
  ];
  if (metrics)
    // The content type that Prometheus expects.
    routes.push(
      get(METRICS_PATH, async () => textResponse(200, 'text/plain; version=0.0.4; charset=utf-8', await metrics())),
    );
  // For tests: each opens a sandbox, sends its id with its requests, and releases it.
  if (sandboxes)
    routes.push(
      { method: 'post', path: '/sandboxes', respond: async () => jsonResponse(201, { id: await sandboxes.create() }) },
      {
        method: 'delete',
        path: '/sandboxes/:id',
        respond: async ({ params }) => {
          const { id } = params as { id: string };
          await sandboxes.release(id);
          return jsonResponse(200, { id });
        },
      },
    );
  return routes;
}
