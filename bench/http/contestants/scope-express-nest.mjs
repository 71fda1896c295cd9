import { ExpressAdapter } from '@nestjs/platform-express';
import { injectedController, perRequest, providersOf, startNest } from '../nest.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'NestJS, request scope',
  package: '@nestjs/core',
  start: () =>
    startNest(new ExpressAdapter(), { controllers: [injectedController()], providers: providersOf(perRequest) }),
};
