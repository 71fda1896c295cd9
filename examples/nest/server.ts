import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.ts';

const { DATABASE_URL, FILE = 'shop.db', PLATFORM = 'express', PORT = '3000' } = process.env;

const adapter = PLATFORM === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create(AppModule.with({ databaseUrl: DATABASE_URL, file: FILE }), adapter, {
  logger: ['error', 'warn'],
});
// At SIGTERM the requests in progress finish, then the container is disposed, which closes the pool.
app.enableShutdownHooks();
await app.listen(PORT);
console.log(`Listening on port ${new URL(await app.getUrl()).port}`);
