import { AmbitModule, InjectScoped } from '@ambit/nest';
import { Get } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { ambitContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';
import { route, startNest } from '../nest.mjs';

class Handler {
  get(users, audit, context) {
    return bodyOf(users, audit, context);
  }
}
['users', 'audit', 'context'].forEach((key, index) => InjectScoped(key)(Handler.prototype, 'get', index));

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/nest',
  start: () =>
    startNest(new ExpressAdapter(), {
      imports: [AmbitModule.forRoot({ container: ambitContainer() })],
      controllers: [route(Handler, Get())],
    }),
};
