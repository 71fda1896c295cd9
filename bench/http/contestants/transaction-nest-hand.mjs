import { ExpressAdapter } from '@nestjs/platform-express';
import { insertDirectly } from '../instant-pool.mjs';
import { post, route, startNest } from '../nest.mjs';

class Handler {
  get() {
    return insertDirectly();
  }
}

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  start: () => startNest(new ExpressAdapter(), { controllers: [route(Handler, post)] }),
};
