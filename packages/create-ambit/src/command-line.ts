import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import {
  type Database,
  DATABASES,
  type Host,
  HOSTS,
  PACKAGE_MANAGERS,
  type PackageManager,
  projectFiles,
  QUERY_BUILDERS,
  type QueryBuilder,
} from './project.js';

/** The streams that the command reads and writes. */
export interface Surroundings {
  readonly cwd: string;
  /** `npm_config_user_agent`, which every package manager sets, as in `pnpm/10.1.0 npm/? node/v22.0.0 linux x64`. */
  readonly userAgent: string | undefined;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly error: NodeJS.WritableStream;
  /** True if somebody can be asked. */
  readonly isInteractive: boolean;
}

/** The questions. The first of the values is the default; a folder may have any other name, too. */
const QUESTIONS = {
  folder: { title: 'Folder', values: ['my-shop'] },
  host: { title: 'Host', values: HOSTS },
  database: { title: 'Database', values: DATABASES },
  'query-builder': { title: 'Query builder', values: QUERY_BUILDERS },
} satisfies Record<string, { title: string; values: readonly string[] }>;

type Question = keyof typeof QUESTIONS;
type Choices = Record<Question, string>;
type FindProblem = (question: Question, choice: string) => string | undefined;

const ORDER = Object.keys(QUESTIONS) as Question[];

const HELP = `create-ambit [folder] [options]

Writes a project into a new folder: an API for orders, with transactions and a test. What is not given is asked.

  --host            ${HOSTS.join(', ')}
  --database        ${DATABASES.join(', ')}
  --query-builder   ${QUERY_BUILDERS.join(', ')}
  --name            the name in package.json; by default that of the folder
  --yes             asks nothing: what is not given is ${ORDER.map(defaultOf).join(', ')}
  --help, --version
`;

/** A mistake that the user can correct: only its message is shown. */
class UsageError extends Error {}

/**
 * Runs the command.
 *
 * @param args - the arguments behind its name
 * @param surroundings - where it runs
 * @returns the exit code
 */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<0 | 2> {
  try {
    surroundings.output.write(await create(args, surroundings));
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    surroundings.error.write(`${error.message}\n`);
    return 2;
  }
}

/** Resolves to what is shown at the end. */
async function create(args: readonly string[], surroundings: Surroundings): Promise<string> {
  const { values: flags, positionals } = parsed(args);
  if (flags.help) return HELP;
  if (flags.version) return `${ownVersion()}\n`;
  if (positionals.length > 1)
    throw new UsageError(`Name one folder, not ${positionals.length}: ${positionals.join(', ')}`);

  const packageManager = packageManagerOf(surroundings.userAgent);
  const given: Partial<Choices> = { ...flags, ...(positionals[0] ? { folder: positionals[0] } : {}) };
  const missing = ORDER.filter((question) => given[question] === undefined);
  if (missing.length > 0 && !flags.yes && !surroundings.isInteractive)
    throw new UsageError(cannotAsk(missing, packageManager));

  const nameIn = (folder: string) => flags.name ?? basename(folder);
  const pathOf = (folder: string) => resolve(surroundings.cwd, folder);
  const choices = await choose(given, flags.yes ? [] : missing, surroundings, (question, choice) =>
    question === 'folder'
      ? (problemOfFolder(pathOf(choice)) ?? problemOfName(nameIn(pathOf(choice))))
      : problemOfChoice(question, choice),
  );
  const folder = pathOf(choices.folder);
  const files = projectFiles({
    name: nameIn(folder),
    // None of them has a problem, so each is one of those that are offered.
    host: choices.host as Host,
    database: choices.database as Database,
    queryBuilder: choices['query-builder'] as QueryBuilder,
    packageManager,
  });
  write(files, folder);
  return nextSteps(files, folder, surroundings.cwd, packageManager);
}

/** Checks what is given or a default, then asks the rest. */
async function choose(
  given: Partial<Choices>,
  asked: readonly Question[],
  surroundings: Surroundings,
  findProblem: FindProblem,
): Promise<Choices> {
  const known = ORDER.map((question) => [question, given[question] ?? defaultOf(question)] as const);
  for (const [question, choice] of known.filter(([each]) => !asked.includes(each))) {
    const problem = findProblem(question, choice);
    if (problem) throw new UsageError(problem);
  }
  const typed = asked.length > 0 ? await ask(asked, findProblem, surroundings) : {};
  return { ...(Object.fromEntries(known) as Choices), ...typed };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        host: { type: 'string' },
        database: { type: 'string' },
        'query-builder': { type: 'string' },
        name: { type: 'string' },
        yes: { type: 'boolean', short: 'y' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function ownVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

function packageManagerOf(userAgent = ''): PackageManager {
  return PACKAGE_MANAGERS.find((name) => userAgent.startsWith(`${name}/`)) ?? 'npm';
}

function defaultOf(question: Question): string {
  const [first] = QUESTIONS[question].values;
  return String(first);
}

function problemOfFolder(folder: string): string | undefined {
  // A repository that was just made may be there.
  const isEmpty = !existsSync(folder) || readdirSync(folder).every((name) => name === '.git');
  return isEmpty ? undefined : `${folder} is not empty. Name another folder.`;
}

/** The rule of npm for new packages. */
function problemOfName(name: string): string | undefined {
  const isValid = /^(@[a-z\d~-][a-z\d._~-]*\/)?[a-z\d~-][a-z\d._~-]*$/.test(name) && name.length <= 214;
  if (isValid && name !== 'node_modules' && !builtinModules.includes(name)) return undefined;
  return `npm allows no package named '${name}'. Give a name of small letters, digits and hyphens with --name.`;
}

function problemOfChoice(question: Question, choice: string): string | undefined {
  const offered: readonly string[] = QUESTIONS[question].values;
  return offered.includes(choice) ? undefined : `'${choice}' is not offered. Choose ${eitherOf(offered)}.`;
}

function eitherOf(values: readonly string[]): string {
  return `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

function cannotAsk(missing: readonly Question[], packageManager: PackageManager): string {
  const lacking = missing.map((question) => (question === 'folder' ? 'the folder' : `--${question}`));
  // npm takes flags for its own, unless they follow `--`, which PowerShell takes for its own, unless it is quoted.
  const command =
    packageManager === 'npm' ? 'npm create ambit@latest my-shop "--"' : `${packageManager} create ambit my-shop`;
  const flags = ORDER.slice(1).map((question) => ` --${question} ${defaultOf(question)}`);
  return `This is not a terminal, so nothing can be asked. Give ${lacking.join(', ')}, or --yes for the defaults:

  ${command}${flags.join('')}`;
}

async function ask(
  questions: readonly Question[],
  findProblem: FindProblem,
  { input, output }: Surroundings,
): Promise<Partial<Choices>> {
  const choices: Partial<Choices> = {};
  const reader = createInterface({ input, output });
  // Keeps the lines that are typed before their question is asked.
  const lines = reader[Symbol.asyncIterator]();
  try {
    for (const question of questions) {
      const { title, values } = QUESTIONS[question];
      const offered = values.length > 1 ? `, ${eitherOf(values)}` : '';
      reader.setPrompt(`${title}${offered} (${defaultOf(question)}): `);
      let problem: string | undefined;
      do {
        reader.prompt();
        const { value, done } = await lines.next();
        if (done) throw new UsageError('\nCancelled. Nothing was written.');
        choices[question] = value.trim() || defaultOf(question);
        problem = findProblem(question, choices[question]);
        if (problem) output.write(`${problem}\n`);
      } while (problem);
    }
    return choices;
  } finally {
    reader.close();
  }
}

function write(files: Readonly<Record<string, string>>, folder: string): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function nextSteps(
  files: Readonly<Record<string, string>>,
  folder: string,
  cwd: string,
  packageManager: PackageManager,
): string {
  const path = relative(cwd, folder);
  // In a clone of the repository, whose packages npm does not have.
  const clone = join(import.meta.dirname, '../../..');
  const inClone = resolve(cwd) === clone && existsSync(join(clone, 'tools/install-in.mjs'));
  const install = inClone ? [] : [`${packageManager} install`];
  const steps = [
    ...(inClone ? [`npm run install-in ${path}`] : []),
    ...(path === '' ? [] : [`cd ${path.includes(' ') ? `"${path}"` : path}`]),
    ...install,
    ...('compose.yaml' in files ? ['docker compose up --detach --wait'] : []),
    `${packageManager} run dev`,
  ];
  return `${Object.keys(files).length} files are in ${folder}. Next:\n\n${steps.map((step) => `  ${step}\n`).join('')}`;
}
