import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// What is built is tested here, because vitest itself needs code from text.
const entry = new URL('../dist/index.js', import.meta.url).href;

const program = `
  import { Container, Registration, singleton, scope, hasTag } from '${entry}';
  let asked = 'code from text is allowed';
  try { new Function('') } catch { asked = 'no code from text' }
  class Pool { dispose() { asked += ', pool disposed' } }
  class Users { constructor(...pools) { this.pools = pools } }
  const pools = (count) => Array(count).fill('IPool');
  const app = new Container({ tags: ['application'] })
    .addRegistration(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));
  for (let count = 0; count < 8; count++)
    app.addRegistration(Registration.fromClass(Users, pools(count)).pipe(singleton(), scope(hasTag('request'))).to('IUsers' + count));
  const request = app.createScope({ tags: ['request'] });
  for (let count = 0; count < 8; count++) asked += ' ' + request.resolve('IUsers' + count).pools.length;
  if (request.resolve('IUsers3') !== request.resolve('IUsers3')) asked += ', not a singleton';
  await app.dispose();
  console.log(asked);
`;

const run = (...flags: string[]) =>
  execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  }).trim();

it.each([
  ['as fast as it can where code may be made from text', [], 'code from text is allowed'],
  ['as well where it may not', ['--disallow-code-generation-from-strings'], 'no code from text'],
])('the container does its work %s', (_, flags, said) => {
  expect(run(...flags)).toBe(`${said} 0 1 2 3 4 5 6 7, pool disposed`);
});
