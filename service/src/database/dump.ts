import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { ExplainedError } from '../problem.js';

/** The dump is renamed to its final name when it is complete, and never replaces a file. */
export async function dumpTo(target: string, write: (file: string) => Promise<void>): Promise<void> {
  const path = resolve(target);
  const partial = join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);
  try {
    await write(partial);
    await link(partial, path).catch((error: unknown) => {
      throw isCode(error, 'EEXIST') ? new ExplainedError(`${path} exists already, and was left as it is`, 1) : error;
    });
  } finally {
    await rm(partial, { force: true });
  }
}

export function noTablesToDump(): ExplainedError {
  return new ExplainedError(
    'The database of DATABASE_URL has no tables of the service, so no backup was made. Correct DATABASE_URL',
    1,
  );
}

/** A client program of the database. */
export interface ClientProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** Added to the environment: the arguments of a program are visible to all users of the machine, its environment is not. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** What to do where the program is missing. */
  readonly missing: string;
}

/** Resolves with what the program printed. */
export async function run({ program, args, secrets, missing }: ClientProgram): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...secrets }, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = [text(child.stdout), text(child.stderr)];
  const [code] = await once(child, 'close').catch((error: unknown) => {
    throw isCode(error, 'ENOENT') ? new ExplainedError(`${program} was not found. ${missing}`, 1) : error;
  });
  if (code !== 0) throw new ExplainedError((await errors).trim() || `${program} exited with ${String(code)}`, 1);
  return output;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
