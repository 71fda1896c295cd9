/** The contestants by name. Each loads what it needs when it starts, on the runtime that it is for. */
const expressOn = (title, name) => ({
  title,
  package: '@ambit/express',
  start: async (pool) => (await import('./servers/express.mjs')).startExpress((await import(name)).default, pool),
});
const nestOn = (title, name, adapter) => ({
  title,
  package: '@ambit/nest',
  start: async (pool) => (await import('./servers/nest.mjs')).startNest(new (await import(name))[adapter](), pool),
});
const fetchOn = (runtime) => ({
  title: `ambit, fetch handler on ${runtime}`,
  package: '@ambit/fetch',
  runtime: runtime.toLowerCase(),
  start: async (pool) => (await import('./servers/fetch.mjs')).startFetch(pool),
});
const own = (title, name, file) => ({
  title,
  package: name,
  start: async (pool) => (await import(`./servers/${file}.mjs`)).start(pool),
});

export const contestants = {
  'express-4-ambit': expressOn('ambit, Express 4', 'express-4'),
  'express-ambit': expressOn('ambit, Express 5', 'express'),
  'fastify-ambit': own('ambit, Fastify', '@ambit/fastify', 'fastify'),
  'fetch-ambit': fetchOn('Node'),
  'fetch-bun-ambit': fetchOn('Bun'),
  'fetch-deno-ambit': fetchOn('Deno'),
  'hono-ambit': own('ambit, Hono', '@ambit/hono', 'hono'),
  'nest-express-ambit': nestOn('ambit, NestJS on Express', '@nestjs/platform-express', 'ExpressAdapter'),
  'nest-fastify-ambit': nestOn('ambit, NestJS on Fastify', '@nestjs/platform-fastify', 'FastifyAdapter'),
  'node-ambit': own('ambit, node:http', '@ambit/http', 'node'),
  'express-awilix': own('awilix-express', 'awilix-express', 'express-awilix'),
  'fastify-awilix': own('@fastify/awilix', '@fastify/awilix', 'fastify-awilix'),
};
