import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { Sandboxes } from '@ambit/transaction/testing';
import { Reference } from '../api/reference.js';
import { REFERENCE_PATHS } from '../api/reference-paths.js';
import type { HostOptions } from '../hosts/host.js';
import { Problem } from '../problem.js';
import { type HttpResponse, jsonResponse, textResponse } from './response.js';
import { METRICS_PATH } from './unrouted.js';

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
      if (readiness !== 'ready') throw new Problem(503, `Not ready: ${readiness}`);
      return jsonResponse(200, { status: readiness });
    },
  },
];

function referenceRoutes({ inspect, identify }: Pick<HostOptions, 'inspect' | 'identify'>): readonly ServiceRoute[] {
  const inspector = inspect && { Inspector: `${inspect.path ?? '/inspector'}/` };
  const links = { 'OpenAPI document': '/openapi.json', ...inspector };
  const reference = new Reference({ links, authenticates: identify !== undefined });
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
