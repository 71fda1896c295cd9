import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../src');

/** Each folder, and the folders that it may import from, types included. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  sql: ['core'],
  pool: ['core', 'sql'],
  transaction: ['core', 'pool', 'sql'],
  check: ['core', 'sql'],
  replicas: ['core', 'pool'],
  tenants: ['core', 'pool'],
  testing: ['core', 'pool', 'sandbox', 'sql'],
  transactional: ['core', 'transaction'],
  sandbox: ['core', 'databases', 'pool', 'postgres', 'sql'],
  databases: ['core', 'mariadb', 'postgres', 'sql', 'sqlite'],
  postgres: ['core', 'databases', 'pool', 'sql'],
  sqlite: ['core', 'databases', 'pool', 'sql'],
  mariadb: ['core', 'databases', 'pool', 'sql'],
  host: ['core', 'sql', 'transaction'],
  extension: ['core', 'databases', 'pool', 'postgres', 'sql', 'sqlite', 'transaction'],
};
const files = Object.keys(MAY_IMPORT).flatMap((folder) =>
  readdirSync(join(src, folder)).map((file) => `${folder}/${file}`),
);

test('every folder has its line in the table', () => {
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).toSorted()).toEqual(Object.keys(MAY_IMPORT).toSorted());
});

function importsOf(file: string, { withTypes }: { readonly withTypes: boolean }): string[] {
  const all = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[^]*?\*\//g, '');
  const code = withTypes ? all : all.replaceAll(/^(?:import|export) type [^;]*;/gm, '');
  return [...code.matchAll(/from '(\.[^']+)\.js'/g)].map(([, path = '']) =>
    relative(src, join(src, dirname(file), `${path}.ts`)),
  );
}

test.each(files)('%s imports only from the folders below it', (file) => {
  const folder = dirname(file);
  const others = importsOf(file, { withTypes: true })
    .map((imported) => dirname(imported))
    .filter((imported) => imported !== folder);
  expect(MAY_IMPORT[folder]).toEqual(expect.arrayContaining(others));
});

test('drivers and adapters in other packages load no driver of this one', () => {
  const reached = new Set<string>();
  const visit = (at: string): void => {
    reached.add(at);
    for (const imported of importsOf(at, { withTypes: false })) if (!reached.has(imported)) visit(imported);
  };
  visit('extension/index.ts');
  const loads = (file: string): boolean =>
    /^import (?!type )[^;]*from 'pg';/m.test(readFileSync(join(src, file), 'utf8'));
  expect(files.filter(loads)).not.toEqual([]);
  expect([...reached].filter(loads)).toEqual([]);
});
