import { Get, Inject } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { ClsModule, ClsService } from 'nestjs-cls';
import { Application, bodyOf, RequestScope } from '../graph.mjs';
import { route, startNest } from '../nest.mjs';

class Handler {
  constructor(cls) {
    this.cls = cls;
  }
  get() {
    const { users, audit, context } = this.cls.get('scope');
    return bodyOf(users, audit, context);
  }
}
Inject(ClsService)(Handler, undefined, 0);

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'nestjs-cls, hand-written services, nothing disposed',
  package: 'nestjs-cls',
  start: () => {
    const application = new Application();
    const setup = (cls) => cls.set('scope', new RequestScope(application));
    return startNest(new ExpressAdapter(), {
      imports: [ClsModule.forRoot({ global: true, middleware: { mount: true, setup } })],
      controllers: [route(Handler, Get())],
    });
  },
};
