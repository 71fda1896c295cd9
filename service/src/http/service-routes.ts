import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import { referenceResponse } from '../api/reference.js';
import { REFERENCE_PATHS } from '../api/reference-paths.js';
import { Problem } from '../problem.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { type HttpResponse, jsonResponse, textResponse } from './response.js';
import { METRICS_PATH } from './unrouted.js';

/** The content type that Prometheus expects. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Served even when the service is overloaded: an instance that does not respond here would be restarted. */
const ESSENTIAL: ReadonlySet<unknown> = new Set(['/health/live', METRICS_PATH]);

export const isEssential = ({ url }: IncomingMessage): boolean => ESSENTIAL.has(url);

/** A GET route about the service itself, which both hosts mount as it is. */
export interface ServiceRoute {
  readonly path: string;
  readonly respond: (container: IContainer, headers: IncomingHttpHeaders) => HttpResponse | Promise<HttpResponse>;
}

const HEALTH_ROUTES: readonly ServiceRoute[] = [
  { path: '/health/live', respond: () => jsonResponse(200, { status: 'live' }) },
  {
    path: '/health/ready',
    respond: async (container) => {
      const readiness = await container.resolve('IHealth').readiness();
      if (readiness !== 'ready') throw new Problem(503, `Not ready: ${readiness}`);
      return jsonResponse(200, { status: readiness });
    },
  },
];

const REFERENCE_ROUTES: readonly ServiceRoute[] = REFERENCE_PATHS.map((path) => ({
  path,
  respond: (_container, headers) => referenceResponse(path, headers),
}));

export function serviceRoutes({ metrics }: Pick<Telemetry, 'metrics'> = {}): readonly ServiceRoute[] {
  const routes = [...HEALTH_ROUTES, ...REFERENCE_ROUTES];
  if (metrics)
    routes.push({ path: METRICS_PATH, respond: async () => textResponse(200, METRICS_TYPE, await metrics()) });
  return routes;
}
