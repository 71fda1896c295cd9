import type { FastifyInstance } from 'fastify';
import { Problem } from '../../problem.js';

export async function healthRoutes(server: FastifyInstance): Promise<void> {
  server.get('/live', async () => ({ status: 'live' }));

  server.get('/ready', async (request) => {
    const readiness = await request.container.resolve('IHealth').readiness();
    if (readiness !== 'ready') throw new Problem(503, `Not ready: ${readiness}`);
    return { status: readiness };
  });
}
