import { createDirectory, type Directory, findPrimary, type Primary } from './directory.ts';
import { asOwner, createRole, createTables, databaseOf, unlock } from './tenant-database.ts';

/** Adds a server that tenants may be created on and moved to. */
export async function addPrimary({ database }: Directory, { name, host, port }: Primary): Promise<void> {
  await createDirectory(database);
  const server = asOwner({ name, host, port });
  try {
    await createRole(server);
  } finally {
    await server.close();
  }
  await database.query('INSERT INTO primaries (name, host, port) VALUES ($1, $2, $3)', [name, host, port]);
}

/** A tenant with its database, tables and stock. It is in the directory when it can be used. */
export async function createTenant(
  { database }: Directory,
  name: string,
  primaryName: string,
  stock: Readonly<Record<string, number>>,
): Promise<void> {
  // It becomes part of the names of databases and of a subscription.
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(name))
    throw new Error(`The name of a tenant has small letters and digits: ${name}`);
  const primary = await findPrimary(database, primaryName);
  const server = asOwner(primary);
  const own = asOwner(primary, databaseOf(name));
  try {
    await server.query(`CREATE DATABASE ${databaseOf(name)}`);
    await createTables(own);
    await own.query('INSERT INTO stock SELECT key, value::integer FROM json_each_text($1)', [JSON.stringify(stock)]);
    await unlock(own);
  } finally {
    await Promise.all([server.close(), own.close()]);
  }
  await database.query('INSERT INTO tenants (name, home) VALUES ($1, $2)', [name, primaryName]);
}
