import { FastifyAdapter } from '@nestjs/platform-fastify';
import { startNest } from '../nest.mjs';

export const contestant = {
  title: 'ambit, NestJS on Fastify',
  package: '@ambit/nest',
  start: (pool) => startNest(new FastifyAdapter(), pool),
};
