import 'reflect-metadata';
import { Container, type Factory, hasTag, Registration, scope, singleton } from '@ambit/container';
import { AmbitModule, type AmbitModuleOptions } from '@ambit/nest';
import type { DatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

export const PLATFORMS = [
  { platform: 'Express', adapter: () => new ExpressAdapter() },
  { platform: 'Fastify', adapter: () => new FastifyAdapter() },
] as const;

export const QUIET = { logger: false, abortOnError: false } as const;

/** A pool with a table of orders, and what is stored in it. */
export async function openDatabase(): Promise<{ pool: DatabasePool; stored: () => Promise<string[]> }> {
  const pool = createSqlitePool({ path: ':memory:' });
  await pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  const stored = async (): Promise<string[]> => {
    const rows = await pool.query<{ id: string }>('SELECT id FROM orders ORDER BY rowid');
    return rows.map(({ id }) => id);
  };
  return { pool, stored };
}

/** An application container with the pool, and with services that live as long as a request. */
export function containerWith(pool: DatabasePool, perRequest: Readonly<Record<string, Factory>> = {}): Container {
  const container = new Container({ tags: ['application'] });
  container.addRegistration(Registration.fromValue(pool).to('IDatabasePool'));
  for (const [key, factory] of Object.entries(perRequest))
    container.addRegistration(
      Registration.fromFactory(factory)
        .pipe(singleton(), scope(hasTag('request')))
        .to(key),
    );
  return container;
}

/** The root module of an application with one set of options. */
export function rootModule(
  options: AmbitModuleOptions,
  { imports = [], ...metadata }: ModuleMetadata,
): new () => object {
  class RootModule {}
  Module({ ...metadata, imports: [AmbitModule.forRoot(options), ...imports] })(RootModule);
  return RootModule;
}

/** Sends a request, and reads the response. */
export type Send = (method: string, path: string) => Promise<{ status: number; body: unknown; headers: Headers }>;

/** Listens, and sends requests. */
export async function serve(app: INestApplication): Promise<Send> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return async (method, path) => {
    const response = await fetch(`${url}${path}`, { method });
    const text = await response.text();
    return { status: response.status, body: readable(text), headers: response.headers };
  };
}

export async function create(
  root: new () => object,
  adapter: () => ExpressAdapter | FastifyAdapter,
): Promise<INestApplication> {
  return NestFactory.create(root, adapter(), QUIET);
}

function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
