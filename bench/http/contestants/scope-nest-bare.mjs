import { ExpressAdapter } from '@nestjs/platform-express';
import { asSingletons, injectedController, providersOf, startNest } from '../nest.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'bare: singletons',
  start: () =>
    startNest(new ExpressAdapter(), { controllers: [injectedController()], providers: providersOf(asSingletons) }),
};
