import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { Sandboxes } from '@ambit/transaction/testing';
import { API_ENDPOINTS } from '../api/endpoints.js';
import { Reference, REFERENCE_PATHS } from '../api/reference.js';
import type { HostOptions } from '../hosts/host.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { normalizedPath, pathOf } from './request.js';
import { type HttpResponse, jsonResponse, textResponse } from './response.js';

const METRICS_PATH = '/metrics';

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

/** The content type that Prometheus expects. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Served even when the service is overloaded: an instance that does not respond here would be restarted. */
const ESSENTIAL: ReadonlySet<unknown> = new Set(['/health/live', METRICS_PATH]);

export const isEssential = ({ url }: IncomingMessage): boolean => ESSENTIAL.has(url);

interface ServiceRequest {
  readonly container: IContainer;
  readonly headers: IncomingHttpHeaders;
  readonly params: unknown;
}

/** A route about the service itself, which both hosts mount as it is. */
export interface ServiceRoute {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly respond: (request: ServiceRequest) => HttpResponse | Promise<HttpResponse>;
}

const HEALTH_ROUTES: readonly ServiceRoute[] = [
  { method: 'get', path: '/health/live', respond: () => jsonResponse(200, { status: 'live' }) },
  {
    method: 'get',
    path: '/health/ready',
    respond: async ({ container }) => {
      const readiness = await container.resolve('IHealth').readiness();
      if (readiness !== 'ready' && readiness !== 'read-only') throw new Problem(503, `Not ready: ${readiness}`);
      return jsonResponse(200, { status: readiness });
    },
  },
];

function referenceRoutes({ inspect, identify }: Pick<HostOptions, 'inspect' | 'identify'>): readonly ServiceRoute[] {
  const links = { 'OpenAPI document': '/openapi.json' };
  const inspector = inspect && `${inspect.path ?? '/inspector'}/`;
  const reference = new Reference({ links, inspector, authenticates: identify !== undefined });
  return REFERENCE_PATHS.map((path) => ({
    method: 'get',
    path,
    respond: ({ headers }) => reference.respond(path, headers),
  }));
}

/** For tests: each opens a sandbox, sends its id with its requests, and releases it. */
const sandboxRoutes = (sandboxes: Sandboxes): readonly ServiceRoute[] => [
  {
    method: 'post',
    path: '/sandboxes',
    respond: async () => jsonResponse(201, { id: await sandboxes.create() }),
  },
  {
    method: 'delete',
    path: '/sandboxes/:id',
    respond: async ({ params }) => {
      const { id } = params as { id: string };
      await sandboxes.release(id);
      return jsonResponse(200, { id });
    },
  },
];

export function serviceRoutes(options: Omit<HostOptions, 'logger'>): ServiceRoute[] {
  const { telemetry, sandboxes } = options;
  const routes = [...HEALTH_ROUTES, ...referenceRoutes(options), ...(sandboxes ? sandboxRoutes(sandboxes) : [])];
  const metrics = telemetry?.metrics;
  if (metrics)
    routes.push({
      method: 'get',
      path: METRICS_PATH,
      respond: async () => textResponse(200, METRICS_TYPE, await metrics()),
    });
  return routes;
}
