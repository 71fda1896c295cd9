import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';

// Within the package, so that the programs find Ambit and the libraries that they come from.
const BUILT = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url));
mkdirSync(BUILT, { recursive: true });
const folder = mkdtempSync(join(BUILT, 'command-line-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  rmSync(folder, { recursive: true });
  write('.git/HEAD', '');
  write('package.json', '{ "name": "shop", "type": "module" }');
  write(
    'tsconfig.json',
    '{ "compilerOptions": { "experimentalDecorators": true, "module": "esnext", "moduleResolution": "bundler", "strict": true } }',
  );
});

function write(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function started(...args: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = run(
    args,
    (text) => void printed.push(text),
    (text) => void complained.push(text),
  );
  return { code, printed: printed.join('\n'), complained: complained.join('\n') };
}

const BEFORE = `import { container, injectable } from 'tsyringe';

@injectable()
export class Users {}

export const users: Users = container.resolve(Users);
`;

test('without --write it prints the changes and writes nothing', () => {
  const file = write('src/users.ts', BEFORE);
  const { code, printed } = started('tsyringe', folder);
  expect(code).toBe(0);
  expect(printed).toContain('-@injectable()');
  expect(printed).toContain('1 file read, 2 changed. 2 constructs converted, 0 left.');
  expect(readFileSync(file, 'utf8')).toBe(BEFORE);
});

test('with --write it writes them, and a second run changes nothing', () => {
  const file = write('src/users.ts', BEFORE);
  expect(started('tsyringe', folder, '--write').code).toBe(0);
  const after = readFileSync(file, 'utf8');
  expect(after).toBe(`import { container } from './container';

export class Users {}

export const users: Users = container.resolve(Users);
`);
  expect(existsSync(join(folder, 'src/container.ts'))).toBe(true);
  expect(started('tsyringe', folder, '--write').printed).toContain('2 files read, 0 changed');
  expect(readFileSync(file, 'utf8')).toBe(after);
});

test('what would not compile afterwards stays, with the error and its line', () => {
  // The type of the result is written down, and awilix inferred it from the cradle.
  const text = `import { asValue, createContainer } from 'awilix';

const container = createContainer();
container.register({ size: asValue(42) });
export const cradle: { dispose(): Promise<void>; createScope(): { dispose(): Promise<void>; cradle: object } } = container;
`;
  const file = write('src/main.ts', text);
  const { code, printed } = started('awilix', folder, '--write');
  expect(code).toBe(0);
  expect(printed).toContain('0 changed');
  expect(printed).toContain('main.ts:5  TS2322 afterwards');
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('a program is converted with its tests, also those of other packages of the workspace', () => {
  write('packages/core/package.json', '{ "name": "@shop/core" }');
  write(
    'packages/core/src/index.ts',
    "import { Container } from 'inversify';\nexport const container = new Container();\n",
  );
  write('packages/api/package.json', '{ "name": "@shop/api" }');
  write(
    'packages/api/src/main.ts',
    "import { injectable } from 'inversify';\nimport { container } from '@shop/core';\n\n@injectable()\nclass Users {}\ncontainer.rebind(Users).toSelf();\n",
  );
  const { code, complained } = started('inversify', join(folder, 'packages/core'));
  expect(code).toBe(2);
  expect(complained).toContain('packages/api/src/main.ts');
  const { printed } = started('inversify', folder);
  expect(printed).toContain('2 files read, 0 changed');
  expect(printed).toContain('main.ts:6  container.rebind');
});

test('with --partial it converts what has an equal', () => {
  write('src/users.ts', `${BEFORE}container.reset();\n`);
  expect(started('tsyringe', folder).printed).toContain('0 changed');
  expect(started('tsyringe', folder, '--partial').printed).toContain('2 changed. 2 constructs converted, 1 left.');
});

test.each([
  ['jest', '29.3.1', 'Update jest from 29.3.1 to 29.4.0'],
  ['jest', '29.7.0', 'Let Jest compile the packages of Ambit'],
  ['typescript', '4.9.5', 'Update typescript from 4.9.5 to 5.4.0'],
])('a program whose %s %s cannot read the packages of Ambit is not written', (name, version, need) => {
  const file = write('src/users.ts', BEFORE);
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version }));
  const { code, complained } = started('tsyringe', folder, '--write');
  expect(code).toBe(2);
  expect(complained).toContain(need);
  expect(readFileSync(file, 'utf8')).toBe(BEFORE);
});

test.each([
  [[], 'Name a library'],
  [['spring', folder], "Unknown library 'spring'"],
  [['tsyringe'], 'Name files or folders'],
  [['tsyringe', join(folder, 'nothing')], 'There is no'],
  [['tsyringe', folder, '--force'], 'Unknown option --force'],
])('wrong usage %j is refused with exit code 2', (args, why) => {
  const { code, complained } = started(...args);
  expect(code).toBe(2);
  expect(complained).toContain(why);
});
