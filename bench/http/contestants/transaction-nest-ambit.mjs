import { AmbitModule, InjectScoped, Transactional } from '@ambit/nest';
import { ExpressAdapter } from '@nestjs/platform-express';
import { ambitContainer } from '../containers.mjs';
import { INSERT } from '../instant-pool.mjs';
import { post, route, startNest } from '../nest.mjs';

class Handler {
  async get(connection) {
    const [order] = await connection.query(INSERT, [1]);
    return order;
  }
}
InjectScoped('IConnection')(Handler.prototype, 'get', 0);

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit: @Transactional()',
  package: '@ambit/nest',
  start: () =>
    startNest(new ExpressAdapter(), {
      imports: [AmbitModule.forRoot({ container: ambitContainer() })],
      controllers: [route(Handler, post, Transactional())],
    }),
};
