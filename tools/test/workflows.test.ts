import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { workflowProblems } from '../deploy/workflows.mjs';

const FOLDER = join(import.meta.dirname, '../../.github/workflows');
const RELEASE = readFileSync(join(FOLDER, 'release.yml'), 'utf8');

function changed(from: RegExp, to: string): string {
  expect(RELEASE).toMatch(from);
  return RELEASE.replace(from, to);
}

describe('workflows', () => {
  it.each(readdirSync(FOLDER))('%s pins its actions and publishes in a job of its own', (name) => {
    expect(workflowProblems(readFileSync(join(FOLDER, name), 'utf8'))).toEqual([]);
  });

  it.each([
    ['an action at a tag, which can be moved', /checkout@[0-9a-f]{40} # v[\d.]+/, 'checkout@v5', 'pinned to a commit'],
    ['a commit whose version nobody can read', / # v5\.1\.0/, '', 'pinned to a commit'],
    ['a branch', /setup-node@[0-9a-f]{40}/, 'setup-node@main', 'pinned to a commit'],
    ['permissions that are not named', /^permissions: \{\}$/m, '', 'are to be named'],
    ['every job may publish', /^permissions: \{\}$/m, 'permissions:\n  id-token: write', 'for the one job'],
    [
      'the publishing job may write',
      /( +)id-token: write/,
      '$1id-token: write\n$1contents: write',
      'no other permission',
    ],
    [
      'the publishing job checks out',
      /- uses: actions\/download/,
      '- uses: actions/checkout@v5\n      - uses: actions/download',
      'checks nothing out',
    ],
    [
      'the publishing job installs',
      /while read -r tarball/,
      'npm ci\n          while read -r tarball',
      'runs no other code: npm ci',
    ],
    [
      'the publishing job tests',
      /while read -r tarball/,
      'npm test\n          while read -r tarball',
      'runs no other code: npm test',
    ],
    [
      'the publishing job runs a script',
      /while read -r tarball/,
      'node x.mjs\n          while read -r tarball',
      'runs no other code: node x.mjs',
    ],
    ['scripts of packages run', /(npm publish .*) --ignore-scripts/, '$1', 'npm publish needs --ignore-scripts'],
    ['scripts of packages run before', /npm ci --ignore-scripts/, 'npm ci', 'npm ci --ignore-scripts'],
  ])('are refused: %s', (_, from, to, problem) => {
    expect(workflowProblems(changed(from, to))).toContainEqual(expect.stringContaining(problem));
  });
});
