import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parseSync } from 'oxc-parser';
import { Project } from './program/project.js';
import { SourceFile } from './program/source-file.js';
import { checks } from './rules/index.js';

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const SKIPPED = new Set(['node_modules', 'dist', 'build', 'coverage']);
const TESTS = /(?:^|\/)(?:tests?|__tests__|__mocks__|e2e)\/|\.(?:test|spec|e2e-spec)\.[cm]?[jt]sx?$/;

const EXPLAIN = 'npx @ambit/doctor --explain';
const USAGE = `Usage: npx @ambit/doctor <files or folders> [--json] [--tests]
       ${EXPLAIN} <rule>

Reports transactions and request data that the wrong code shares, with file and line.
--json prints one JSON object. --tests reads tests, too. --explain prints the harm of a rule and a program, wrong and right.`;

interface Report {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly rule: string;
  readonly problem: string;
  readonly fix: string;
}

interface Terminal {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** The command line. Returns the exit code: 0 for nothing found, 1 for reports, 2 for wrong usage. */
export function command(args: readonly string[], { print, complain }: Terminal): 0 | 1 | 2 {
  if (args.includes('--explain')) {
    const rule = args[args.indexOf('--explain') + 1];
    const section = rules().find((text) => text.startsWith(`${rule}\n`));
    if (section) print(section.trim());
    else complain(`There is no rule ${rule}. The rules:\n${checks.map(({ name }) => `  ${name}`).join('\n')}`);
    return section ? 0 : 2;
  }
  const paths = args.filter((one) => !one.startsWith('-'));
  if (args.includes('--help')) {
    print(USAGE);
    return 0;
  }
  const unknown = args.find((one) => one.startsWith('-') && !['--json', '--tests'].includes(one));
  const missing = paths.find((path) => !existsSync(path));
  if (unknown !== undefined || missing !== undefined || paths.length === 0) {
    const path = missing === undefined ? 'Name files or folders' : `There is no ${missing}`;
    complain(`${unknown === undefined ? path : `Unknown option ${unknown}`}\n\n${USAGE}`);
    return 2;
  }
  const found = paths.flatMap((path) =>
    sourcesIn(path).filter((file) => args.includes('--tests') || !TESTS.test(file.slice(shown(path).length))),
  );
  const unread: string[] = [];
  const files = Array.from(new Set(found), (path) => read(path, unread)).filter((file) => file !== undefined);
  const reports = reportsOf(files);
  if (args.includes('--json')) print(JSON.stringify({ files: files.length, unread, reports }, undefined, 2));
  else {
    for (const { file, line, column, rule, problem, fix } of reports)
      print(`${file}:${line}:${column + 1}  ${rule}\n  ${problem}.\n  Fix: ${fix}\n  [${EXPLAIN} ${rule}]\n`);
    for (const file of unread) complain(`${file} does not parse and was not read`);
    print(`${plural(files.length, 'file')} read, ${plural(reports.length, 'problem')} found.`);
  }
  return reports.length > 0 ? 1 : 0;
}

/** The sections of rules.md, which is packed beside this file; in the repository it is in docs. */
function rules(): string[] {
  const beside = join(import.meta.dirname, 'rules.md');
  return readFileSync(existsSync(beside) ? beside : join(beside, '../../../../docs/rules.md'), 'utf8').split(/^## /m);
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function sourcesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [shown(path)];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (SKIPPED.has(entry.name) || entry.name.startsWith('.')) return [];
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return sourcesIn(inner);
      return entry.isFile() && SOURCE.test(entry.name) ? [shown(inner)] : [];
    });
}

/** A path that a terminal makes a link of, with the same separators on each system. */
const shown = (path: string): string => relative(process.cwd(), path).split(sep).join('/');

function read(path: string, unread: string[]): SourceFile | undefined {
  const text = readFileSync(path, 'utf8');
  try {
    if (!isTooDeep(text)) {
      const { program, errors } = parseSync(path, text, { preserveParens: false });
      if (errors.length === 0 || program.body.length > 0) return new SourceFile(path, program, text);
    }
  } catch {
    // A chain of thousands of calls: the stack is too small for it.
  }
  if (text.trim() !== '') unread.push(path);
  return undefined;
}

/** The parser crashes where brackets are nested by the thousand. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const { 0: bracket } of text.matchAll(/[([{]|[)\]}]/g)) {
    depth += '([{'.includes(bracket) ? 1 : -1;
    if (depth > 1_000) return true;
  }
  return false;
}

function reportsOf(files: readonly SourceFile[]): Report[] {
  const project = new Project(files);
  return files.flatMap((file) =>
    checks
      .flatMap((check) =>
        Array.from(check.find(file, project), ({ node, problem }) => ({
          file: file.path,
          ...file.positionOf(node),
          rule: check.name,
          problem,
          fix: check.fix,
        })),
      )
      .filter(({ line, rule }) => !file.isDisabled(line, rule))
      .toSorted((a, b) => a.line - b.line || a.column - b.column),
  );
}
