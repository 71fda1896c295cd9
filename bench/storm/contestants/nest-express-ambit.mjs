import { ExpressAdapter } from '@nestjs/platform-express';
import { startNest } from '../nest.mjs';

export const contestant = {
  title: 'ambit, NestJS on Express',
  package: '@ambit/nest',
  start: (pool) => startNest(new ExpressAdapter(), pool),
};
