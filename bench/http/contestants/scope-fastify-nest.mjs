import { FastifyAdapter } from '@nestjs/platform-fastify';
import { injectedController, perRequest, providersOf, startNest } from '../nest.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'NestJS, request scope',
  package: '@nestjs/core',
  start: () =>
    startNest(new FastifyAdapter(), { controllers: [injectedController()], providers: providersOf(perRequest) }),
};
