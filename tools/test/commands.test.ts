import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shellProblems } from '../docs/commands.mjs';
import { fencesIn } from '../docs/extract.mjs';

const root = join(import.meta.dirname, '../..');

/** Pages for users of the packages, whatever their system. What operates the service, and what is for contributors, is for a shell of Linux. */
const FOR_USERS = [
  'README.md',
  'docs/tutorial.md',
  'docs/guides/*.md',
  'docs/coming-from/*.md',
  'packages/*/README.md',
];
const FOR_LINUX = ['docs/guides/failover.md'];
const OTHER_SHELLS = ['bash', 'shell', 'console', 'zsh', 'powershell', 'cmd'];
const OF_CONTRIBUTORS = ['packages/host-contract/README.md'];
const pages = execFileSync('git', ['ls-files', ...FOR_USERS], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((page) => !OF_CONTRIBUTORS.includes(page));

const blocks = (page: string) => fencesIn(readFileSync(join(root, page), 'utf8'));

describe('commands for users of the packages', () => {
  it.each(pages)('work in bash, zsh, PowerShell 7 and cmd: %s', (page) => {
    const problems = blocks(page)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ line, body }) =>
        body
          .split('\n')
          .flatMap((command, index) =>
            shellProblems(command).map((problem) => `${page}:${line + 1 + index} ${command}: ${problem}`),
          ),
      );
    expect(problems).toEqual([]);
  });

  it('are in blocks of sh: one of bash is for Linux, and only a guide that operates the service has it', () => {
    const others = pages
      .filter((page) => !FOR_LINUX.includes(page))
      .flatMap((page) => blocks(page).filter(({ language }) => OTHER_SHELLS.includes(language)));
    expect(others).toEqual([]);
  });

  it('are many', () => {
    expect(pages.flatMap(blocks).filter(({ language }) => language === 'sh').length).toBeGreaterThan(30);
  });
});

it.each([
  ['npm install ../ambit-*-0.1.0.tgz', 'a glob'],
  ['npm install ../ambit-{container,http}-0.1.0.tgz', 'braces'],
  ['PORT=3001 node dist/server.js', 'VAR=x'],
  ['node --run $NAME', 'variables'],
  ['curl "localhost:3000/$(id)"', 'variables'],
  [`curl localhost:3000 -d '{"a":1}'`, 'single quotes'],
  ['curl localhost:3000 -d "{\\"a\\":1}"', 'quotes inside quotes'],
  ['curl localhost:3000?limit=2', 'a glob'],
  ['curl -d @order.json localhost:3000', '@name'],
  ['npm install pg # or mysql2', 'no comments'],
  ['npm run check -- lint', 'removes --'],
  ['curl localhost:3000 | grep apple', 'only &&'],
  ['node server.js & node other.js', '& starts'],
  ['curl localhost:3000 \\', 'a backslash'],
  ['rm first.ts', 'rm is not there'],
  ['npm ci && mkdir ../shop', 'mkdir is not there'],
])('finds what shells read differently: %s', (command, problem) => {
  expect(shellProblems(command)).toContainEqual(expect.stringContaining(problem));
});

it.each([
  'npm ci && npm start',
  'npm run install-in ../shop @ambit/express @ambit/container express',
  'npm install -D typescript @types/express',
  'curl -d product=apple http://localhost:3000/orders',
  'curl -s -o page.html -w "%{http_code}" http://localhost:3000/inspector/',
])('finds nothing in %s', (command) => {
  expect(shellProblems(command)).toEqual([]);
});
