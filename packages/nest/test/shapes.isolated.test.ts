import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { Transactional } from '@ambit/nest';
import { FakePool } from '@ambit/transaction/testing';
import { Controller, Post, Req } from '@nestjs/common';
import { expect, it } from 'vitest';
import { containerWith, create, PLATFORMS, rootModule, serve } from './support/app.js';

setFlagsFromString('--allow-natives-syntax');
const hasOwnShape = runInThisContext('(object) => %HasFastProperties(object)') as (object: unknown) => boolean;

@Controller()
class Orders {
  @Post()
  @Transactional()
  async look(@Req() req: { readonly res: object }): Promise<unknown> {
    return { request: hasOwnShape(req), response: hasOwnShape(req.res) };
  }
}

// A shape of its own, which Express gives each, makes a request of NestJS cost half as much again. From Node 24 on they share it.
it.runIf(process.version < 'v24')(
  'requests and responses of NestJS on Express have no shape of their own',
  async () => {
    const container = containerWith(new FakePool());
    const app = await create(rootModule({ container }, { controllers: [Orders] }), PLATFORMS[0].adapter);
    expect((await (await serve(app))('POST', '/')).body).toEqual({ request: false, response: false });
    await app.close();
  },
);
