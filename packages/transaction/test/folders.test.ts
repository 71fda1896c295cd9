import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../src');

/** Each folder, and the folders that it may import from, types included. `.` is what all of them have in common. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  '.': [],
  sql: ['.'],
  pool: ['.', 'sql'],
  transaction: ['.', 'pool', 'sql'],
  check: ['.', 'sql'],
  replicas: ['.', 'pool'],
  tenants: ['.', 'pool', 'transaction'],
  testing: ['.', 'pool', 'sandbox', 'sql'],
  sandbox: ['.', 'databases', 'pool', 'postgres', 'sql'],
  databases: ['.', 'mariadb', 'postgres', 'sql', 'sqlite'],
  postgres: ['.', 'databases', 'pool', 'sql'],
  sqlite: ['.', 'databases', 'pool', 'sql'],
  mariadb: ['.', 'databases', 'pool', 'sql'],
};
/** They gather what users import, from every folder. */
const ENTRY_POINTS = ['index.ts', 'extension.ts', 'host.ts', 'transactional.ts'];
const files = Object.keys(MAY_IMPORT)
  .flatMap((folder) => readdirSync(join(src, folder)).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.ts') && !ENTRY_POINTS.includes(file));

test('every folder has its line in the table', () => {
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(MAY_IMPORT)
      .filter((name) => name !== '.')
      .toSorted(),
  );
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
  visit('extension.ts');
  const loads = (file: string): boolean =>
    /^import (?!type )[^;]*from 'pg';/m.test(readFileSync(join(src, file), 'utf8'));
  expect(files.filter(loads)).not.toEqual([]);
  expect([...reached].filter(loads)).toEqual([]);
});
