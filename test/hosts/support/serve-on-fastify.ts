import type { FastifyInstance } from 'fastify';
import { fastifyWith } from '../adapters/fastify.js';
import type { Stage } from '@ambit/testing/hosts';

/** Serves routes that say what only Fastify can say. */
export function serveOnFastify(
  stage: Stage,
  mount: (app: FastifyInstance) => unknown,
  parts: { disposeOn?: 'error' | 'response' } = {},
): Promise<void> {
  return stage.serve([], { host: fastifyWith(mount, parts) });
}
