import 'reflect-metadata';
import { Container, lifetimes } from '@ambit/container';
import { databases } from '@ambit/host-contract';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { Controller, Get, type INestApplication, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, expect, it } from 'vitest';
import { AmbitModule, InjectScoped, Transactional } from '@ambit/nest';

void databases;
class Greeter {
  #n = 0;
  greet(): string {
    return `hello ${(this.#n += 1)}`;
  }
}

@Controller('greetings')
class Greetings {
  constructor(@InjectScoped('IGreeter') private readonly greeter: Greeter) {}

  @InjectScoped('IGreeter') private readonly other!: Greeter;

  @Get()
  greet(@InjectScoped('IGreeter') own: Greeter): object {
    return [this.greeter.greet(), own.greet(), this.other.greet()];
  }
}

let app: INestApplication | undefined;
afterEach(() => app?.close());

it.each(['express', 'fastify'])('injects on %s', async (platform) => {
  const { make, build } = lifetimes('application', 'request', 'transaction');
  const { registrations } = build({ IGreeter: make('request', () => new Greeter()) });
  const container = new Container({ tags: ['application'] }).addRegistration(...registrations);
  @Module({ imports: [AmbitModule.forRoot({ container })], controllers: [Greetings] })
  class AppModule {}
  app =
    platform === 'express'
      ? await NestFactory.create(AppModule, { logger: false, abortOnError: false })
      : await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  for (let i = 0; i < 2; i += 1)
    expect(await (await fetch(`${url}/greetings`)).json()).toEqual(['hello 1', 'hello 2', 'hello 3']);
});
